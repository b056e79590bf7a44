"""A file's bytes in, its text with all that must be kept when it is written back out."""

from __future__ import annotations

import codecs
import contextlib
import os
import tempfile
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from inkwire.errors import ToolError

__all__ = ["TextFile", "decode", "write_atomically"]

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_SNIFFED = 8192
_Errors: TypeAlias = Literal["strict", "surrogateescape", "surrogatepass"]


class TextFile(msgspec.Struct, frozen=True):
    """Text with line ends `\\n` where the file used one kind throughout, else exactly as it is.

    Bytes that are no text of its encoding are in it as surrogates, so that they are written back as they were.
    """

    text: str
    encoding: str = "utf-8"
    errors: _Errors = "strict"
    mark: bytes = b""
    newline: Literal["\n", "\r\n", "\r"] = "\n"

    def encode(self, text: str) -> bytes:
        """Other text as this file would hold it; raises `ToolError` when its encoding has no such character."""
        if self.newline != "\n":
            text = text.replace("\r\n", "\n").replace("\n", self.newline)
        try:
            return self.mark + text.encode(self.encoding, self.errors)
        except UnicodeEncodeError as error:
            bad = error.object[error.start]
            raise ToolError(f"the file is {self.encoding}, which has no {bad!r} (U+{ord(bad):04X})") from None


def decode(data: bytes, shown: str) -> TextFile:
    """The text of a file; raises `ToolError` when it is binary."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _marked(data[len(mark) :], encoding, mark, shown)
    if b"\0" in data[:_SNIFFED]:
        raise ToolError(f"{shown} is a binary file of {len(data)} bytes; it cannot be shown or edited as text")
    try:
        return _normal(data.decode("utf-8"), "utf-8", b"")
    except UnicodeDecodeError:
        pass
    if data.decode("utf-8", "ignore").isascii():
        return _normal(data.decode("latin-1"), "latin-1", b"")
    return _normal(data.decode("utf-8", "surrogateescape"), "utf-8", b"", "surrogateescape")


def _marked(data: bytes, encoding: str, mark: bytes, shown: str) -> TextFile:
    errors: _Errors = "surrogateescape" if encoding == "utf-8" else "surrogatepass"
    try:
        return _normal(data.decode(encoding, errors), encoding, mark, errors)
    except UnicodeDecodeError as error:
        raise ToolError(f"{shown} begins as {encoding}, but its end is no whole character ({error.reason})") from None


def _normal(text: str, encoding: str, mark: bytes, errors: _Errors = "strict") -> TextFile:
    pairs, feeds, returns = text.count("\r\n"), text.count("\n"), text.count("\r")
    if pairs and pairs == feeds == returns:
        return TextFile(text.replace("\r\n", "\n"), encoding, errors, mark, "\r\n")
    if returns and not feeds:
        return TextFile(text.replace("\r", "\n"), encoding, errors, mark, "\r")
    return TextFile(text, encoding, errors, mark)


def write_atomically(path: Path, data: bytes) -> None:
    """Replace the file in one step, keeping its mode: a reader sees the old or the new one, never half of either."""
    try:
        mode = path.stat().st_mode & 0o7777
    except FileNotFoundError:
        mode = None
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:50]}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(descriptor, mode if mode is not None else 0o666 & ~_umask())
            os.fsync(descriptor)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _umask() -> int:
    # There is no way to ask without setting it.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
