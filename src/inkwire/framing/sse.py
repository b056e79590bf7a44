"""Bytes in, server-sent events out.

The rules are those of WHATWG HTML, sections 9.2.5 and 9.2.6: lines end at CRLF, LF or CR and at nothing else, one
byte order mark is dropped, a blank line dispatches, field names match exactly. All of them are about ASCII
bytes, so the machine works on bytes and leaves decoding to whoever reads the payload; a character can never be cut.

How it stays fast and linear: CRs become LFs at the door (JSON payloads have none, so this is one `in`), and a read
is split at blank lines by one call. Most blocks are a single `data: ...` line; everything else goes line by line.
Only the open line is carried over, in a bytearray that each byte enters once. Searching for LF LF in a growing buffer
was rejected because it is quadratic in small reads, regular expressions because they cost three times as much.

One deliberate leniency: the standard drops a block that the end of the body leaves open; `finish()` returns it if it
has data, an unterminated last line included. Many servers forget the last blank line; whether the payload is whole
is for the caller to judge.
"""

from __future__ import annotations

from typing import Final

from inkwire.framing.base import DEFAULT_MAX_EVENT_BYTES, STRAY_BYTES, ByteOrderMark, Framer, is_like_payload
from inkwire.framing.frame import Frame

__all__ = ["SSEFramer"]

_RETRY_DIGITS: Final = 18
"""Longer reconnection times are ignored: no clock needs them, and `int()` refuses thousands of digits."""


class SSEFramer(Framer):
    """Cuts a body into the events of the SSE standard, each handed out with the read that completes its blank line.

    A frame's `data` is the data lines joined by LF and may be empty. The limit counts the bytes of the open event's
    data lines and of the open line. `finish()` returns an unterminated last block if it has data: the one leniency.
    """

    def __init__(self, *, max_event_bytes: int = DEFAULT_MAX_EVENT_BYTES) -> None:
        super().__init__(max_event_bytes=max_event_bytes)
        self.last_event_id = ""
        """The id in force: that of the last block that a blank line ended and that had one."""
        self.retry: int | None = None
        """The last reconnection time of the body, in milliseconds."""
        self.comments = 0
        """How many comment lines came."""
        self._bom = ByteOrderMark()
        self._after_cr = False
        self._open_line = bytearray()
        self._stray = bytearray()
        self._since_frame = b""
        self._id = ""
        self._block_is_open = False
        self._data: list[bytes] = []
        self._data_size = 0
        self._event = ""
        self._block_retry: int | None = None

    @property
    def stray(self) -> bytes:
        """The first 4 KiB of lines that are no field, joined by LF: an unframed error, a proxy's text."""
        return bytes(self._stray)

    @property
    def unframed(self) -> bytes:
        """Lines since the last frame that are no field and look like a lost payload."""
        return self._since_frame

    def _feed(self, data: bytes, frames: list[Frame]) -> None:
        if not self._bom.done:
            data = self._bom.feed(data)
        if self._after_cr or b"\r" in data:
            data = self._unify_line_ends(data)
        if self._open_line:
            if b"\n" not in data:
                self._grow_open_line(data)
                return
            data = bytes(self._open_line) + data
            self._open_line.clear()
        blocks = data.split(b"\n\n")
        tail = blocks.pop()
        is_small = len(data) <= self._limit
        for block in blocks:
            if (
                block[:6] == b"data: "
                and b"\n" not in block
                and is_small
                and not self._block_is_open
                and not self._since_frame
            ):
                frames.append(Frame(block[6:], "", self._id))
                continue
            for line in block.split(b"\n"):
                self._line(line, frames)
            self._dispatch(frames)
        if tail:
            *lines, open_line = tail.split(b"\n")
            for line in lines:
                self._line(line, frames)
            self._grow_open_line(open_line)

    def _finish(self, frames: list[Frame]) -> None:
        self._open_line += self._bom.finish()
        if self._open_line:
            last_line = bytes(self._open_line)
            self._open_line.clear()
            self._line(last_line, frames)
        if self._data:
            frames.append(Frame(b"\n".join(self._data), self._event, self._id, self._block_retry, self._since_frame))
            self._since_frame = b""
            self._data = []

    def _unify_line_ends(self, data: bytes) -> bytes:
        """Turn CRLF and CR into LF; the LF that follows a CR of the read before belongs to that CR."""
        if not data:
            return data
        if self._after_cr:
            data = data.removeprefix(b"\n")
        self._after_cr = data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _grow_open_line(self, piece: bytes) -> None:
        self._open_line += piece
        if self._open_line and self._data_size + len(self._open_line) > self._limit:
            raise self._refuse_size("an event")

    def _line(self, line: bytes, frames: list[Frame]) -> None:
        if not line:
            self._dispatch(frames)
            return
        if self._data_size + len(line) > self._limit:
            raise self._refuse_size("an event")
        self._block_is_open = True
        name, _, value = line.partition(b":")
        if value[:1] == b" ":
            value = value[1:]
        match name:
            case b"data":
                self._data.append(value)
                self._data_size += len(line) + 1
            case b"event":
                self._event = value.decode("utf-8", "replace")
            case b"id":
                if b"\0" not in value:
                    self._id = value.decode("utf-8", "replace")
            case b"retry":
                if value.isdigit() and len(value) <= _RETRY_DIGITS:
                    self.retry = self._block_retry = int(value)
            case b"":
                self.comments += 1
            case _:
                self._keep_stray(line)

    def _dispatch(self, frames: list[Frame]) -> None:
        if not self._block_is_open:
            return
        self.last_event_id = self._id
        if self._data:
            frames.append(Frame(b"\n".join(self._data), self._event, self._id, self._block_retry, self._since_frame))
            self._since_frame = b""
            self._data = []
            self._data_size = 0
        self._event = ""
        self._block_retry = None
        self._block_is_open = False

    def _keep_stray(self, line: bytes) -> None:
        room = STRAY_BYTES - len(self._stray)
        if room > 0:
            self._stray += (b"\n" + line if self._stray else line)[:room]
        if len(self._since_frame) < STRAY_BYTES and is_like_payload(line):
            self._since_frame = (self._since_frame + b"\n" + line if self._since_frame else line)[:STRAY_BYTES]
