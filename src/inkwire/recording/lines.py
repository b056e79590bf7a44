"""Our own format in, its exchanges out; the writer is `inkwire.transport.cassette`."""

from __future__ import annotations

import msgspec

from inkwire.recording.exchange import Exchange, Read

__all__ = ["FORMAT", "read_lines"]

FORMAT = "inkwire_recording"
"""The key that tells a recording's first line; its value is the version of the format."""


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


def read_lines(data: bytes) -> list[Exchange]:
    """Each run numbers its exchanges from 1: a request opens one, later lines go to the last of their number."""
    exchanges: list[list[_Line]] = []
    latest: dict[int, list[_Line]] = {}
    for text in data.split(b"\n"):
        try:
            line = msgspec.json.decode(text, type=_Line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue  # the first line of a run, or torn: the process or the disk stopped here
        if line.kind == "request" or line.exchange not in latest:
            latest[line.exchange] = []
            exchanges.append(latest[line.exchange])
        latest[line.exchange].append(line)
    return [_exchange(number, lines) for number, lines in enumerate(exchanges, 1)]


def _exchange(number: int, lines: list[_Line]) -> Exchange:
    def first(kind: str) -> _Line:
        return next((line for line in lines if line.kind == kind), _Line(number, kind))

    request, response = first("request"), first("response")
    return Exchange(
        reads=tuple(Read(line.t, line.data) for line in lines if line.kind == "read"),
        status=response.status,
        headers=response.headers,
        end=first("end").how,
        method=request.method,
        url=request.url,
        request_headers=request.headers,
        request_body=request.body.encode(),
        number=number,
        protocol=request.protocol,
        started=request.at,
        head_seconds=response.t,
    )
