"""Our own format in, its exchanges out; the writer is `inkwire.transport.cassette`."""

from __future__ import annotations

import re

import msgspec

from inkwire.recording.exchange import Exchange, Read

__all__ = ["FORMAT", "LineReader", "is_recording", "read_lines"]

FORMAT = "inkwire_recording"
"""The key that tells a recording's first line; its value is the version of the format."""


_RUN = f'"{FORMAT}"'.encode()
_START = re.compile(rb"\s*\{\s*" + _RUN + rb"\s*:")


class _Line(msgspec.Struct):
    """Any line of a recording; what a kind does not have is empty."""

    exchange: int
    kind: str
    t: float = 0.0
    at: float | None = None
    method: str = "POST"
    url: str = ""
    protocol: str = ""
    status: int | None = None
    headers: dict[str, str] = {}
    body: str = ""
    text: str = ""
    b64: bytes = b""
    how: str = "unknown"

    @property
    def data(self) -> bytes:
        return self.b64 or self.text.encode()


def is_recording(start: bytes) -> bool:
    """Whether what begins so is in our own format."""
    return _START.match(start) is not None


def read_lines(data: bytes) -> list[Exchange]:
    """The exchanges of a recording that is there as a whole."""
    reader = LineReader()
    reader.feed(data + b"\n")
    return reader.exchanges


class LineReader:
    """Reads a recording in pieces, each of them once.

    Each run numbers its exchanges from 1: a request opens one, later lines go to the last of their number.
    """

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        """All so far, as far as they came."""
        self._torn = b""
        self._open: list[_OpenExchange] = []
        self._latest: dict[int, _OpenExchange] = {}
        """The last exchange of each number."""
        self._run = 0

    def feed(self, data: bytes) -> None:
        """Take the next piece; a line that is not whole yet waits."""
        *whole, self._torn = (self._torn + data).split(b"\n")
        grown = {exchange.number: exchange for text in whole if (exchange := self._line(text)) is not None}
        for number, exchange in grown.items():
            self.exchanges[number - 1 : number] = [exchange.so_far()]

    def _line(self, text: bytes) -> _OpenExchange | None:
        """The exchange that the line belongs to; None of a run's first line, and of one that is torn."""
        try:
            line = msgspec.json.decode(text, type=_Line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            self._run += _RUN in text  # the first line of a run, or torn: the process or the disk stopped here
            return None
        if line.kind == "request" or line.exchange not in self._latest:
            self._latest[line.exchange] = _OpenExchange(len(self._open) + 1, max(self._run, 1))
            self._open.append(self._latest[line.exchange])
        exchange = self._latest[line.exchange]
        exchange.take(line)
        return exchange


class _OpenExchange:
    """An exchange while its lines are read; of each kind the first counts, but all reads."""

    def __init__(self, number: int, run: int) -> None:
        self.number = number
        self._run = run
        self._first: dict[str, _Line] = {}
        self._reads: list[Read] = []

    def take(self, line: _Line) -> None:
        if line.kind == "read":
            self._reads.append(Read(line.t, line.data))
        else:
            self._first.setdefault(line.kind, line)

    def so_far(self) -> Exchange:
        request, response, end = (
            self._first.get(kind) or _Line(self.number, kind) for kind in ("request", "response", "end")
        )
        return Exchange(
            reads=tuple(self._reads),
            status=response.status,
            headers=response.headers,
            end=end.how,
            method=request.method,
            url=request.url,
            request_headers=request.headers,
            request_body=request.body.encode(),
            number=self.number,
            protocol=request.protocol,
            started=request.at,
            head_seconds=response.t,
            run=self._run,
        )
