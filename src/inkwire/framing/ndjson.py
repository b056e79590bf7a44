"""Bytes in, the lines of newline-delimited JSON out.

A line ends at LF alone; a CR before it is white space to JSON and is dropped. U+2028, U+0085 and the like are
characters of the payload (Ollama sends them raw), so `splitlines()` would be wrong here.
"""

from __future__ import annotations

from inkwire.framing.base import DEFAULT_MAX_EVENT_BYTES, ByteOrderMark, Framer
from inkwire.framing.frame import Frame

__all__ = ["NDJSONFramer"]


class NDJSONFramer(Framer):
    """Cuts a body into its lines that are not blank; `finish()` returns a last line without LF, which may be cut."""

    def __init__(self, *, max_event_bytes: int = DEFAULT_MAX_EVENT_BYTES) -> None:
        super().__init__(max_event_bytes=max_event_bytes)
        self._bom = ByteOrderMark()
        self._open_line = bytearray()

    def _feed(self, data: bytes, frames: list[Frame]) -> None:
        if not self._bom.done:
            data = self._bom.feed(data)
        if self._open_line and b"\n" in data:
            data = bytes(self._open_line) + data
            self._open_line.clear()
        *lines, open_line = data.split(b"\n")
        for line in lines:
            if len(line) > self._limit:
                raise self._refuse_size("a line")
            if payload := line.removesuffix(b"\r"):
                _append_unless_blank(payload, frames)
        self._open_line += open_line
        if len(self._open_line) > self._limit:
            raise self._refuse_size("a line")

    def _finish(self, frames: list[Frame]) -> None:
        last_line = bytes(self._open_line) + self._bom.finish()
        self._open_line.clear()
        _append_unless_blank(last_line.removesuffix(b"\r"), frames)


def _append_unless_blank(line: bytes, frames: list[Frame]) -> None:
    if line and not line.isspace():
        frames.append(Frame(line))
