"""Reads in, frames out: what all framers share.

A framer is sans-IO: `feed` takes a read of any size and returns the frames it completed, `finish` says that
the body is over. The same bytes give the same frames however they are cut, also when they end in an error:
an error that is met behind complete frames of the same read is held back until the next call, so that those
frames are handed out first.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Final

from inkwire.errors import LimitExceededError, ProtocolError
from inkwire.framing.frame import Frame

__all__ = ["DEFAULT_MAX_EVENT_BYTES", "STRAY_BYTES", "ByteOrderMark", "Framer", "is_like_payload"]

DEFAULT_MAX_EVENT_BYTES: Final = 32 * 1024 * 1024
"""Base64 images and tool results of several MiB are real; an endless line must still end."""

STRAY_BYTES: Final = 4096
"""How much is kept of bytes that belong to no frame, to explain a failure."""

_BOM: Final = b"\xef\xbb\xbf"
_LIKE_ARRAY: Final = re.compile(rb"\s*(?:[\w .-]{1,32}[:=]\s*)?[\[\]](?!DONE\])")


class Framer(ABC):
    """Cuts a body into frames; linear in time, holding at most one frame of `max_event_bytes` bytes."""

    def __init__(self, *, max_event_bytes: int = DEFAULT_MAX_EVENT_BYTES) -> None:
        self._limit = max_event_bytes
        self.failure: LimitExceededError | ProtocolError | None = None
        """The error that the next call raises; set as soon as it is known, maybe behind frames just returned."""

    def feed(self, data: bytes) -> list[Frame]:
        """Take one read and return the frames it completes.

        Raises `LimitExceededError` while a frame grows past the limit, `ProtocolError` where the format itself
        is damaged; behind frames of the same read, with the next call.
        """
        if self.failure is not None:
            raise self.failure
        frames: list[Frame] = []
        try:
            self._feed(data, frames)
        except (LimitExceededError, ProtocolError) as failure:
            self.failure = failure
            if not frames:
                raise
        return frames

    def finish(self) -> list[Frame]:
        """Close the body and return what it left open, as far as the format allows."""
        if self.failure is not None:
            raise self.failure
        frames: list[Frame] = []
        self._finish(frames)
        return frames

    @property
    def unframed(self) -> bytes:
        """What stands behind the last frame, belongs to none and looks like a lost payload; its first 4 KiB."""
        return b""

    @property
    def is_cut(self) -> bool:
        """Whether a payload was begun or promised of which `finish()` can give nothing."""
        return False

    @abstractmethod
    def _feed(self, data: bytes, frames: list[Frame]) -> None: ...

    @abstractmethod
    def _finish(self, frames: list[Frame]) -> None: ...

    def _refuse_size(self, what: str) -> LimitExceededError:
        return LimitExceededError(f"{what} is longer than the limit of {self._limit} bytes", phase="body")


class ByteOrderMark:
    """Drops exactly one UTF-8 byte order mark from the start of a body, also when reads cut it."""

    __slots__ = ("_held", "done")

    def __init__(self) -> None:
        self._held = b""
        self.done = False
        """Whether the start is over; then `feed` need not be called any more."""

    def feed(self, data: bytes) -> bytes:
        """Take a read and return what of the body is known to follow the mark."""
        head = self._held + data
        if len(head) < len(_BOM) and _BOM.startswith(head):
            self._held = head
            return b""
        self.done, self._held = True, b""
        return head.removeprefix(_BOM)

    def finish(self) -> bytes:
        """Return the bytes of a mark that never became one."""
        self.done = True
        held, self._held = self._held, b""
        return held


def is_like_payload(line: bytes) -> bool:
    """Whether a line that is no field holds JSON, however its field's name is spelt: braces anywhere, or an array."""
    return b"{" in line or b"}" in line or _LIKE_ARRAY.match(line) is not None
