"""A transport in, the same transport out, with every exchange written to a file as `inkwire.recording` describes it.

Keys are left out before anything is written. A disk that fails costs the recording, never the call: it is told once in
the log.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inkwire.messages import Timeouts
from inkwire.recording import FORMAT
from inkwire.transport.base import Body, HTTPRequest, Response, Transport

__all__ = ["RecordingTransport", "without_keys"]

_logger = logging.getLogger("inkwire")
_SECRET_HEADER = re.compile(r"authorization|api-?key|token|cookie|secret|signature|credential", re.IGNORECASE)
_SECRET_QUERY = re.compile(r"([?&](?:key|api[_-]?key|access_token|token|sig|signature)=)[^&#]+", re.IGNORECASE)


def without_keys(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers with the values of those that carry a key or a cookie replaced by `***`."""
    return {name: "***" if _SECRET_HEADER.search(name) else value for name, value in headers.items()}


class RecordingTransport:
    """Sends through another transport and writes down what went out and what came in."""

    def __init__(self, inner: Transport, path: Path | str) -> None:
        self._inner = inner
        self._path = Path(path)
        self._number = 0
        self._broken = False

    async def send(self, request: HTTPRequest, timeouts: Timeouts) -> Response:
        """The inner transport's response, whose reads are recorded; its errors pass."""
        self._number += 1
        number, started = self._number, time.monotonic()
        if number == 1:
            self._write({FORMAT: 1, "created": time.time()})
        url = _SECRET_QUERY.sub(r"\1***", re.sub(r"//[^/@]+@", "//***@", request.url))
        body = request.body.decode("utf-8", "replace")
        sent = {"method": request.method, "url": url, "headers": without_keys(request.headers), "body": body}
        self._line(number, "request", at=time.time(), **sent)
        response = await self._inner.send(request, timeouts)
        t = round(time.monotonic() - started, 6)
        self._line(number, "response", t=t, status=response.status, headers=without_keys(response.headers))
        return _RecordedResponse(response, self, number, started)

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()

    def _line(self, number: int, kind: str, **fields: Any) -> None:
        self._write({"exchange": number, "kind": kind, **fields})

    def _write(self, entry: dict[str, Any]) -> None:
        if self._broken:
            return
        line = json.dumps(entry, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
        try:
            file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(file, line)
            finally:
                os.close(file)
        except OSError as error:
            self._broken = True
            _logger.warning("recording to %s stopped: %s", self._path, error)


class _RecordedResponse:
    def __init__(self, response: Response, writer: RecordingTransport, number: int, started: float) -> None:
        self.status = response.status
        self.headers = response.headers
        self.body = _RecordedBody(response.body, writer, number, started)


class _RecordedBody:
    """Writes each read before it is handed on."""

    def __init__(self, body: Body, writer: RecordingTransport, number: int, started: float) -> None:
        self._body = body
        self._writer = writer
        self._number = number
        self._started = started
        self._over = False

    async def read(self) -> bytes:
        """The inner body's next read."""
        try:
            data = await self._body.read()
        except Exception:
            self._end("lost")
            raise
        if data:
            self._writer._line(self._number, "read", t=self._now(), **_content(data))
        else:
            self._end("eof")
        return data

    def fail(self, error: Exception) -> None:
        """End a pending read with this error."""
        self._body.fail(error)

    def abort(self) -> None:
        """Give the connection up."""
        self._end("closed")
        self._body.abort()

    def _end(self, how: str) -> None:
        if not self._over:
            self._over = True
            self._writer._line(self._number, "end", t=self._now(), how=how)

    def _now(self) -> float:
        return round(time.monotonic() - self._started, 6)


def _content(data: bytes) -> dict[str, str]:
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(data).decode("ascii")}
