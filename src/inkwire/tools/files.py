"""A path in, numbered lines or an image out; text in, a file out: the tools `read` and `write`."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from inkwire.errors import ToolError
from inkwire.messages import ImagePart
from inkwire.surrogates import mend_surrogates
from inkwire.tools.base import ToolContext, ToolResult, tool
from inkwire.tools.paths import read_bytes, reading, relative, resolve, writing
from inkwire.tools.text import TextFile, decode, write_atomically

__all__ = ["diff", "read", "write"]

_MAX_LINES = 2_000
_MAX_BYTES = 50_000
_MAX_LINE = 2_000
_MAX_IMAGE_BYTES = 5 * 1024 * 1024
_MAX_DIFF_CHARACTERS = 400_000
_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


@tool(writes=False, accesses=lambda arguments, context: reading(arguments["path"], context), max_output_bytes=60_000)
async def read(
    context: ToolContext,
    path: Annotated[str, "The file, relative to the workspace."],
    offset: Annotated[int, "The first line to show, from 1."] = 1,
    limit: Annotated[int, "How many lines to show."] = _MAX_LINES,
) -> ToolResult:
    """Read a file. Text comes with line numbers, up to 2,000 lines at a time; images are shown to you."""
    if offset < 1 or limit < 1:
        raise ToolError(f"offset and limit start at 1; received {offset} and {limit}")
    target = resolve(path, context)
    data = read_bytes(target, path)
    media_type = _image_type(data)
    if media_type is not None:
        return _image(data, media_type, path)
    text = mend_surrogates(decode(data, path).text)
    if not text:
        return ToolResult("(the file is empty)")
    return ToolResult(_numbered(text, offset, min(limit, _MAX_LINES), path))


def _image_type(data: bytes) -> str | None:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for start, media_type in _IMAGES if data.startswith(start)), None)


def _image(data: bytes, media_type: str, path: str) -> ToolResult:
    if len(data) > _MAX_IMAGE_BYTES:
        raise ToolError(f"{path} is an image of {len(data)} bytes; at most {_MAX_IMAGE_BYTES} can be shown")
    return ToolResult(f"{path}: {media_type}, {len(data)} bytes", parts=(ImagePart(media_type, data),))


def _numbered(text: str, offset: int, limit: int, path: str) -> str:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()  # the newline that ends the last line begins no other
    if offset > len(lines):
        raise ToolError(f"{path} has {len(lines)} lines; there is no line {offset}")
    shown: list[str] = []
    room = _MAX_BYTES
    for number, line in enumerate(lines[offset - 1 : offset - 1 + limit], offset):
        entry = f"{number}\t{_short(line)}"
        room -= len(entry.encode("utf-8", "replace")) + 1
        if room < 0 and shown:
            break
        shown.append(entry)
    last = offset + len(shown) - 1
    if last < len(lines):
        shown.append(f"(lines {offset} to {last} of {len(lines)}; go on with offset={last + 1})")
    return "\n".join(shown)


def _short(line: str) -> str:
    return line if len(line) <= _MAX_LINE else f"{line[:_MAX_LINE]}… ({len(line) - _MAX_LINE} more characters)"


@tool(writes=True, accesses=lambda arguments, context: writing(arguments["path"], context))
async def write(
    context: ToolContext,
    path: Annotated[str, "The file, relative to the workspace; missing directories are made."],
    content: Annotated[str, "The whole new content."],
) -> ToolResult:
    """Write a file, replacing what it held. To change a part of a file, use edit."""
    target = resolve(path, context, write=True)
    before = _existing(target, path)
    data = _encoded(content, before)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, data)
    except OSError as error:
        raise ToolError(f"{path} cannot be written: {error.strerror}") from error
    verb = "Created" if before is None else "Replaced"
    name = relative(target, context)
    told = " (UTF-8 now, for it was latin-1)" if before is not None and _is_recoded(content, before) else ""
    return ToolResult(
        f"{verb} {name}: {len(data)} bytes, {content.count(chr(10)) + (not content.endswith(chr(10)))} lines{told}",
        display=diff(before.text if before is not None else "", content, name),
    )


def _encoded(content: str, before: TextFile | None) -> bytes:
    """As the file had it; in UTF-8 when it is new, or its old encoding has no such characters."""
    if before is None or _is_recoded(content, before):
        return content.encode("utf-8", "replace")
    return before.encode(content)


def _is_recoded(content: str, before: TextFile) -> bool:
    return before.encoding == "latin-1" and content != "" and max(content) > "\xff"


def _existing(target: Path, path: str) -> TextFile | None:
    """What the file holds; a binary file counts as empty, for it is replaced whole."""
    try:
        if not target.exists():
            return None
    except OSError as error:
        raise ToolError(f"{path[:200]} cannot be written: {error.strerror}") from error
    data = read_bytes(target, path)
    try:
        return decode(data, path)
    except ToolError:
        return TextFile("")


def diff(before: str, after: str, name: str) -> str:
    """A unified diff, or empty where it would be too large to compute or to look at."""
    if len(before) + len(after) > _MAX_DIFF_CHARACTERS:
        return ""
    return "".join(_diff_lines(mend_surrogates(before), mend_surrogates(after), name))


def _diff_lines(before: str, after: str, name: str) -> Iterator[str]:
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{name}", f"b/{name}"
    )
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
