"""Exact replacements in; the changed file and its diff, out: the tool `edit`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, ClassVar

from inkwire.errors import ToolError
from inkwire.tools.base import ToolContext, ToolResult, tool
from inkwire.tools.files import diff
from inkwire.tools.paths import read_bytes, relative, resolve, writing
from inkwire.tools.text import TextFile, decode, write_atomically

__all__ = ["Replacement", "apply", "edit"]

_MAX_LINES_NAMED = 10
_MAX_WORDS_COMPARED = 50
"""Of a text that was not found, to tell where one like it begins."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """One exact replacement."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    old_text: str
    new_text: str
    replace_all: bool = False


@dataclass(frozen=True, slots=True)
class _Span:
    """A place in the old text and what comes there."""

    start: int
    end: int
    text: str
    number: int


@tool(writes=True, accesses=lambda arguments, context: writing(arguments["path"], context))
async def edit(
    context: ToolContext,
    path: Annotated[str, "The file, relative to the workspace."],
    edits: Annotated[list[Replacement], "Each old_text is looked for in the file as it is now; they must not overlap."],
) -> ToolResult:
    """Change parts of a file by exact replacement.

    old_text must be in the file exactly once, white space included (without the line numbers that read shows), unless
    replace_all is set. All edits of one call are made together, or none of them.
    """
    target = resolve(path, context, write=True)
    file = decode(read_bytes(target, path), path)
    after = apply(file, edits, path)
    if after == file.text:
        raise ToolError(f"the edits change nothing in {path}")
    try:
        write_atomically(target, file.encode(after))
    except OSError as error:
        raise ToolError(f"{path} cannot be written: {error.strerror}") from error
    name = relative(target, context)
    changes = diff(file.text, after, name)
    return ToolResult(f"Edited {name}: {_counts(changes, len(edits))}", display=changes)


def apply(file: TextFile, edits: list[Replacement], path: str) -> str:
    """The text after all replacements; raises `ToolError` that says which one does not fit, and why."""
    if not edits:
        raise ToolError("edits is empty: there is nothing to change")
    spans = [span for number, each in enumerate(edits, 1) for span in _spans(file, each, number, len(edits), path)]
    spans.sort(key=lambda span: span.start)
    pieces: list[str] = []
    at = 0
    for span in spans:
        if span.start < at:
            raise ToolError(f"edit {span.number} overlaps another one; make one edit of them. Nothing was changed")
        pieces += [file.text[at : span.start], span.text]
        at = span.end
    return "".join([*pieces, file.text[at:]])


def _spans(file: TextFile, edit: Replacement, number: int, of: int, path: str) -> list[_Span]:
    which = f"edit {number} of {of}: " if of > 1 else ""
    old, new = edit.old_text, edit.new_text
    if file.newline != "\n":
        old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    if not old:
        raise ToolError(f"{which}old_text is empty. Nothing was changed; to write a whole file, use write")
    starts = _places(file.text, old)
    if not starts:
        raise ToolError(f"{which}old_text is not in {path}. Nothing was changed.{_hint(file.text, old)}")
    if len(starts) > 1 and not edit.replace_all:
        lines = [str(file.text.count("\n", 0, start) + 1) for start in starts[:_MAX_LINES_NAMED]]
        more = ", …" if len(starts) > len(lines) else ""
        raise ToolError(
            f"{which}old_text is in {path} {len(starts)} times (lines {', '.join(lines)}{more}). Nothing was changed; "
            "give more lines around it, or set replace_all"
        )
    return [_Span(start, start + len(old), new, number) for start in starts]


def _places(text: str, old: str) -> list[int]:
    places: list[int] = []
    at = text.find(old)
    while at >= 0:
        places.append(at)
        at = text.find(old, at + len(old))
    return places


def _hint(text: str, old: str) -> str:
    """Where a text is that differs in white space alone."""
    words = old.split()[:_MAX_WORDS_COMPARED]
    if not words:
        return ""
    found = re.search(r"\s+".join(re.escape(word) for word in words), text)
    if found is None:
        return " Read the file again: it may have changed"
    line = text.count("\n", 0, found.start()) + 1
    return f" A text that differs in white space alone begins in line {line}: copy it exactly as it is there"


def _counts(changes: str, edits: int) -> str:
    lines = changes.splitlines()
    plus = sum(line.startswith("+") and not line.startswith("+++") for line in lines)
    minus = sum(line.startswith("-") and not line.startswith("---") for line in lines)
    made = "1 edit" if edits == 1 else f"{edits} edits"
    return f"{made}, +{plus} -{minus} lines" if changes else made
