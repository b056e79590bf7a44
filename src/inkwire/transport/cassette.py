"""A transport in, the same transport out, with every exchange written to a file as `inkwire.recording` describes it.

Keys are left out before anything is written, and only the file's owner may read it. A disk that fails costs the
recording, never the call: it is told once in the log.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inkwire.errors import ModelError
from inkwire.messages import Timeouts
from inkwire.recording import protocol_of_url
from inkwire.recording.keys import url_without_keys, without_keys
from inkwire.recording.lines import FORMAT
from inkwire.transport.base import Body, HTTPRequest, Response, Transport

__all__ = ["RecordingTransport"]

_logger = logging.getLogger("inkwire")


class RecordingTransport:
    """Sends through another transport and writes down what went out and what came in.

    A file that is there is continued; each run begins with a line of its own.
    """

    def __init__(self, inner: Transport, path: Path | str) -> None:
        self._inner = inner
        self._file = _Lines(Path(path))
        self._number = 0

    async def send(self, request: HTTPRequest, timeouts: Timeouts) -> Response:
        """The inner transport's response, whose reads are recorded; its errors pass."""
        self._number += 1
        record = _Record(self._file, self._number)
        record.request(request)
        try:
            response = await self._inner.send(request, timeouts)
        except ModelError as error:
            record.end(error.kind, error.message)
            raise
        except BaseException:  # cancelled, or a configuration that does not work: no answer either way
            record.end("closed")
            raise
        record.write("response", status=response.status, headers=without_keys(response.headers))
        return _RecordedResponse(response, record)

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()


class _Record:
    """The lines of one exchange, with their times."""

    def __init__(self, file: _Lines, number: int) -> None:
        self._file = file
        self._number = number
        self._started = time.monotonic()
        self._over = False

    def request(self, request: HTTPRequest) -> None:
        url = url_without_keys(request.url)
        about = {"protocol": name} if (name := protocol_of_url(url)) else {}
        self._file.write(
            {
                "exchange": self._number,
                "kind": "request",
                "at": round(time.time(), 3),
                "method": request.method,
                "url": url,
                **about,
                "headers": without_keys(request.headers),
                "body": request.body.decode("utf-8", "replace"),
            }
        )

    def write(self, kind: str, **fields: Any) -> None:
        t = round(time.monotonic() - self._started, 6)
        self._file.write({"exchange": self._number, "kind": kind, "t": t, **fields})

    def end(self, how: str, detail: str = "") -> None:
        if not self._over:
            self._over = True
            self.write("end", how=how, **({"detail": detail} if detail else {}))


class _Lines:
    """Appends JSON lines to a file, each at once; stops for good when that fails."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._begun = False
        self._broken = False

    def write(self, entry: Mapping[str, Any]) -> None:
        if self._broken:
            return
        # Opened for each line: a recording can be moved away or watched, and nothing is left open.
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                if not self._begun:
                    self._begin(file)
                _append(file, entry)
            finally:
                os.close(file)
        except OSError as error:
            self._broken = True
            _logger.warning("recording to %s stopped: %s", self._path, error)

    def _begin(self, file: int) -> None:
        """Take the file over: its owner's alone, any torn line ended, a first line of this run."""
        self._begun = True
        about = os.fstat(file)
        if stat.S_ISREG(about.st_mode):
            os.fchmod(file, 0o600)
            if about.st_size and os.pread(file, 1, about.st_size - 1) != b"\n":
                os.write(file, b"\n")
        _append(file, {FORMAT: 1, "created": round(time.time(), 3)})


def _append(file: int, entry: Mapping[str, Any]) -> None:
    line = memoryview(json.dumps(entry, separators=(",", ":")).encode() + b"\n")
    while line:
        line = line[os.write(file, line) :]


class _RecordedResponse:
    def __init__(self, response: Response, record: _Record) -> None:
        self.status = response.status
        self.headers = response.headers
        self.body = _RecordedBody(response.body, record)


class _RecordedBody:
    """Writes each read before it is handed on."""

    def __init__(self, body: Body, record: _Record) -> None:
        self._body = body
        self._record = record

    async def read(self) -> bytes:
        """The inner body's next read."""
        try:
            data = await self._body.read()
        except ModelError as error:
            self._record.end("lost" if error.kind == "transport" else error.kind, error.message)
            raise
        if data:
            self._record.write("read", **_content(data))
        else:
            self._record.end("eof")
        return data

    def fail(self, error: Exception) -> None:
        """End a pending read with this error."""
        self._body.fail(error)

    def abort(self) -> None:
        """Give the connection up."""
        self._record.end("closed")
        self._body.abort()


def _content(data: bytes) -> dict[str, str]:
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(data).decode("ascii")}
