"""Output of any length in; its head and its tail within limits, and where the rest is, out."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import time
from pathlib import Path

__all__ = ["MAX_FILE_BYTES", "HeadAndTail", "clip"]

MAX_FILE_BYTES = 64 * 1024 * 1024
_KEPT_SECONDS = 3 * 86_400
_HALF_CHARACTER = re.compile(rb"^[\x80-\xbf]{1,3}")


class HeadAndTail:
    """Takes bytes as they come; keeps the first and the last of them, and all of them in a file once there are more."""

    def __init__(self, max_bytes: int, max_lines: int, directory: Path | None) -> None:
        self._room = max(max_bytes // 2, 1)
        self._max_lines = max_lines
        self._directory = directory
        self._head = bytearray()
        self._tail = bytearray()
        self._file: int | None = None
        self.path: Path | None = None
        """The file that holds everything, once there is one."""
        self.size = 0

    def feed(self, data: bytes) -> None:
        """Take more output; memory stays within the limits."""
        if self._file is None and self._directory is not None and self.size + len(data) > 2 * self._room:
            self._open(bytes(self._head + self._tail))
        if self._file is not None:
            _write(self._file, data[: max(MAX_FILE_BYTES - self.size, 0)])
        self.size += len(data)
        taken = self._room - len(self._head)
        if taken > 0:
            self._head += data[:taken]
            data = data[taken:]
        self._tail += data
        if len(self._tail) > 4 * self._room:
            del self._tail[: -self._room]

    def finish(self) -> str:
        """The text within the limits, with a note of what is missing; closes the file."""
        whole = len(self._head) + len(self._tail) == self.size <= 2 * self._room
        if whole:
            text = bytes(self._head + self._tail).decode("utf-8", "replace")
        else:
            tail = _HALF_CHARACTER.sub(b"", bytes(self._tail[-self._room :]))
            head = bytes(self._head).decode("utf-8", "ignore")
            text = f"{head}\n{self._note(self.size - len(self._head) - len(tail))}\n{tail.decode('utf-8', 'replace')}"
        if self._file is None and self._directory is not None and text.count("\n") > self._max_lines:
            self._open(bytes(self._head + self._tail))
        if self._file is not None:
            os.close(self._file)
            self._file = None
        return _fewer_lines(text, self._max_lines, f"; {_where(self.size)} in {self.path}" if self.path else "")

    def _open(self, so_far: bytes) -> None:
        self._file, self.path = _create(self._directory)
        if self._file is not None:
            _write(self._file, so_far)

    def _note(self, missing: int) -> str:
        where = f"; {_where(self.size)} in {self.path}" if self.path else ""
        return f"[… {missing} bytes left out{where} …]"


def clip(text: str, max_bytes: int, max_lines: int, directory: Path | None) -> str:
    """The text, shortened in the middle if it is too long; the whole goes to a file in `directory`."""
    if len(text) * 4 <= max_bytes and text.count("\n") <= max_lines:
        return text
    buffer = HeadAndTail(max_bytes, max_lines, directory)
    buffer.feed(text.encode("utf-8", "replace"))
    return buffer.finish()


def _where(size: int) -> str:
    return "the whole output is" if size <= MAX_FILE_BYTES else f"its first {MAX_FILE_BYTES} bytes are"


def _fewer_lines(text: str, max_lines: int, where: str) -> str:
    lines = text.split("\n")
    if len(lines) <= max_lines + 1:
        return text
    half = max(max_lines // 2, 1)
    note = f"[… {len(lines) - 2 * half} lines left out{where} …]"
    return "\n".join([*lines[:half], note, *lines[-half:]])


def _create(directory: Path | None) -> tuple[int | None, Path | None]:
    if directory is None:
        return None, None
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        _remove_old(directory)
        descriptor, name = tempfile.mkstemp(prefix="output-", suffix=".txt", dir=directory)
    except OSError:
        return None, None
    return descriptor, Path(name)


def _remove_old(directory: Path) -> None:
    """Nobody asks for the output of last week."""
    oldest = time.time() - _KEPT_SECONDS
    for path in directory.glob("output-*.txt"):
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < oldest:
                path.unlink()


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
