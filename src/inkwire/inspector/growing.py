"""A file that is still being written in; the exchanges that it holds so far out. Each byte is read once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from inkwire.captured import read_captured
from inkwire.recording import Exchange, LineReader, Read, is_protocol_told, is_recording

__all__ = ["GrowingFile"]

_HEAD_BYTES = 4096
_PATIENT_LOOKS = 10
"""So often a body that tells no protocol may be looked at without growing before it is shown as what it may be."""


class GrowingFile:
    """Looks at one file again and again: a recording, or a body as `curl -N … > FILE` writes it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0
        self._head = b""
        self._lines: LineReader | None = None
        self._body: _GrowingBody | None = None

    def look(self, *, done: bool) -> Sequence[Exchange]:
        """All exchanges so far; `done` says that nothing more will be written."""
        data = self._new()
        if self._lines is None and self._body is None:
            self._head += data
            if not (b"\n" in self._head or len(self._head) >= _HEAD_BYTES or done):
                return ()  # what kind of file it is, its first line tells
            if is_recording(self._head):
                self._lines = LineReader()
            else:
                self._body = _GrowingBody()
            data = self._head
        if self._lines is not None:
            self._lines.feed(data + b"\n" if done else data)
            return self._lines.exchanges
        assert self._body is not None
        return self._body.grow(data, done=done)

    def _new(self) -> bytes:
        try:
            with self._path.open("rb") as file:
                file.seek(self._at)
                data = file.read()
        except FileNotFoundError:
            return b""  # nothing was asked yet
        self._at += len(data)
        return data


class _GrowingBody:
    """A body, or what `curl -i` prints, while it is being written: each growth is a read."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._reads: list[Read] = []
        self._size = 0
        self._is_shown = False
        self._quiet = 0

    def grow(self, data: bytes, *, done: bool) -> Sequence[Exchange]:
        self._data += data
        self._quiet = 0 if data else self._quiet + 1
        if not self._data.strip():
            return ()
        if data:
            self._captured = read_captured(bytes(self._data))
            if len(self._captured.body) > self._size:
                self._reads.append(Read(0.0, self._captured.body[self._size :]))
                self._size = len(self._captured.body)
        exchange = Exchange(tuple(self._reads), self._captured.status, self._captured.headers, timed=False)
        self._is_shown = self._is_shown or done or self._quiet >= _PATIENT_LOOKS or is_protocol_told(exchange)
        if not self._is_shown:
            return ()
        return (exchange if done else msgspec.structs.replace(exchange, end="unknown"),)
