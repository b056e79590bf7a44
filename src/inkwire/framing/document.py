"""Bytes in, the payloads of one JSON document out: the document itself, or the elements of an array as they close.

A service may answer a request for a stream with one JSON object (a completion, an error), and Gemini's default body is
an array that grows element by element. Brackets are counted over new bytes only, with strings skipped; whether
a payload is good JSON is for the decoder to say.
"""

from __future__ import annotations

import re
from typing import Final

from inkwire.framing.base import DEFAULT_MAX_EVENT_BYTES, STRAY_BYTES, ByteOrderMark, Framer, is_like_payload
from inkwire.framing.frame import Frame

__all__ = ["JSONDocumentFramer"]

_NO_SPACE: Final = re.compile(rb"[^ \t\r\n]")
_STRUCTURE: Final = re.compile(rb'["{}\[\],]')
_STRING_STOP: Final = re.compile(rb'["\\]')


class JSONDocumentFramer(Framer):
    """Gives an object when its last brace comes, an array's elements each when it ends; `finish()` gives a cut rest.

    A frame from `finish()` is a payload that the end of the body cut. The limit counts the bytes of one payload.
    """

    def __init__(self, *, max_event_bytes: int = DEFAULT_MAX_EVENT_BYTES) -> None:
        super().__init__(max_event_bytes=max_event_bytes)
        self.complete = False
        """Whether the document's closing bracket came."""
        self._bom = ByteOrderMark()
        self._stray = bytearray()
        self._has_braces = False
        """Whether a brace follows the document, however far behind."""
        self._is_promised = False
        """Whether a comma said that another element comes."""
        self._payload = bytearray()
        self._begun = False
        self._is_array = False
        self._depth = 0
        """Open brackets inside the payload; the array around the payloads does not count."""
        self._in_string = False
        self._escaped = False

    @property
    def stray(self) -> bytes:
        """The first 4 KiB of what follows the document, white space before it dropped."""
        return bytes(self._stray)

    @property
    def unframed(self) -> bytes:
        """What follows the document, if any of it looks like a payload."""
        is_lost = self._has_braces or any(is_like_payload(line) for line in self.stray.splitlines())
        return self.stray if is_lost else b""

    @property
    def is_cut(self) -> bool:
        """Whether the array ends behind a comma, so that an element is missing."""
        return self._is_promised

    def _feed(self, data: bytes, frames: list[Frame]) -> None:
        if not self._bom.done:
            data = self._bom.feed(data)
        at = 0
        if not self._begun:
            first = _NO_SPACE.search(data)
            if first is None:
                return
            self._begun = True
            self._is_array = first.group() == b"["
            at = first.end() if self._is_array else first.start()
        while at < len(data) and not self.complete:
            at = self._scan(data, at, frames)
        if self.complete:
            self._keep_stray(data[at:])

    def _finish(self, frames: list[Frame]) -> None:
        self._payload += self._bom.finish()
        self._is_promised = self._is_promised and not self._payload
        self._give(frames)

    def _scan(self, data: bytes, at: int, frames: list[Frame]) -> int:
        """Move over one piece of structure or of a string; return where the next begins."""
        if self._in_string:
            end = self._string_end(data, at)
            self._take(data, at, end)
            return end
        found = _STRUCTURE.search(data, at)
        if found is None:
            self._take(data, at, len(data))
            return len(data)
        end, byte = found.end(), found.group()
        if self._is_array and self._depth == 0 and byte in b",]":
            self._take(data, at, found.start())
            self._give(frames)
            self.complete = byte == b"]"
            self._is_promised = byte == b","
            return end
        self._take(data, at, end)
        if byte == b'"':
            self._in_string = True
        elif byte in b"{[":
            self._depth += 1
        elif byte in b"}]":
            self._depth -= 1
            if self._depth <= 0:
                self._give(frames)
                self._depth = 0
                self.complete = not self._is_array
        return end

    def _string_end(self, data: bytes, at: int) -> int:
        if self._escaped:
            self._escaped = False
            return at + 1
        stop = _STRING_STOP.search(data, at)
        if stop is None:
            return len(data)
        if stop.group() == b'"':
            self._in_string = False
        else:
            self._escaped = True
        return stop.end()

    def _take(self, data: bytes, start: int, end: int) -> None:
        """Append to the open payload; white space in front of it does not count."""
        if not self._payload:
            first = _NO_SPACE.search(data, start, end)
            if first is None:
                return
            start = first.start()
        if len(self._payload) + end - start > self._limit:
            raise self._refuse_size("a JSON payload")
        self._payload += data[start:end]

    def _give(self, frames: list[Frame]) -> None:
        if self._payload:
            frames.append(Frame(bytes(self._payload.rstrip(b" \t\r\n"))))
            self._payload.clear()

    def _keep_stray(self, rest: bytes) -> None:
        if not self._stray:
            rest = rest.lstrip(b" \t\r\n")
        self._has_braces = self._has_braces or b"{" in rest or b"}" in rest
        self._stray += rest[: STRAY_BYTES - len(self._stray)]
