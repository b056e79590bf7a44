"""The text of a file in, its blocks out: headings, paragraphs and code, each with its line and the headings above it.

Markdown is read as far as a README uses it: `#` and underlined headings, fenced and indented code, paragraphs and
lists. Any other file is cut at its blank lines, every block being code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import msgspec

__all__ = ["Block", "BlockKind", "Document", "blocks", "numbered_lines"]

BlockKind: TypeAlias = Literal["heading", "text", "code"]

_PROSE_ENDINGS = ("", "md", "markdown", "mdx", "txt", "rst", "adoc")
_NUMBERED = re.compile(r"^\s*(\d+)(?:\t|→|: ?|\| ?)(.*)$")
_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*\s*$")
_FENCE = re.compile(r"^\s{0,3}(`{3,}|~{3,})\s*([\w+-]*)")
_UNDERLINE = re.compile(r"^(=+|-+|~+)\s*$")


class Block(msgspec.Struct, frozen=True):
    """A piece of a file that makes sense alone."""

    kind: BlockKind
    text: str
    line: int
    """Its first line, from 1."""
    trail: tuple[str, ...] = ()
    """The headings above it, outermost first; for a heading, itself included."""
    language: str = ""

    @property
    def last_line(self) -> int:
        """Its last line of text; the fences of code are not counted."""
        return self.line + self.text.count("\n")


class Document(msgspec.Struct, frozen=True):
    """A file as the read tool returned it."""

    path: str
    blocks: tuple[Block, ...]
    prose: bool
    note: str = ""
    """What the tool said beside the file's lines: a cut, an error."""

    @classmethod
    def of(cls, path: str, result: str) -> Document:
        """The document in a tool's result; without numbered lines a short result is taken for the tool's own words."""
        first, lines, note = numbered_lines(result)
        ending = path.rsplit("/", 1)[-1].rpartition(".")[2].lower() if "." in path.rsplit("/", 1)[-1] else ""
        prose = ending in _PROSE_ENDINGS
        return cls(path, tuple(blocks(lines, prose=prose, first=first)), prose, note)

    @property
    def headings(self) -> tuple[str, ...]:
        """The names of its sections, in order."""
        return tuple(block.text for block in self.blocks if block.kind == "heading")


def numbered_lines(result: str) -> tuple[int, list[str], str]:
    """The first line's number, the file's lines without their numbers, and what stood around them."""
    raw = result.splitlines()
    found = [(index, match) for index, line in enumerate(raw) if (match := _NUMBERED.match(line))]
    start = next((n for n, (_, match) in enumerate(found) if _counts_up(found[n : n + 2])), None)
    if start is None or len(found) * 2 < len(raw):
        return (1, [], result.strip()) if len(raw) <= 3 else (1, raw, "")
    taken, wanted = [], int(found[start][1].group(1))
    first, positions = wanted, set()
    for index, match in found[start:]:
        if int(match.group(1)) == wanted:
            taken.append(match.group(2))
            positions.add(index)
            wanted += 1
    note = " ".join(line.strip() for index, line in enumerate(raw) if index not in positions and line.strip())
    return first, taken, note


def _counts_up(pair: Sequence[tuple[int, re.Match[str]]]) -> bool:
    return len(pair) == 1 or int(pair[1][1].group(1)) == int(pair[0][1].group(1)) + 1


def blocks(lines: Sequence[str], *, prose: bool, first: int = 1) -> Iterator[Block]:
    """The blocks of a file's lines, in order."""
    return _prose(lines, first) if prose else _code(lines, first)


def _code(lines: Sequence[str], first: int) -> Iterator[Block]:
    held: list[str] = []
    for number, line in enumerate([*lines, ""], first):
        if line.strip():
            held.append(line)
        elif held:
            yield Block("code", "\n".join(held), number - len(held))
            held = []


def _prose(lines: Sequence[str], first: int) -> Iterator[Block]:
    trail: list[tuple[int, str]] = []
    held: list[str] = []
    number = 0
    while number < len(lines):
        line = lines[number]
        names = tuple(name for _, name in trail)
        heading = _heading_at(lines, number)
        fence = _FENCE.match(line)
        if held and (heading or fence or not line.strip()):
            yield _paragraph(held, first + number - len(held), names)
            held = []
        if heading:
            level, name, length = heading
            trail = [*(entry for entry in trail if entry[0] < level), (level, name)]
            yield Block("heading", name, first + number, tuple(entry[1] for entry in trail))
            number += length
        elif fence:
            end = _fence_end(lines, number + 1, fence.group(1))
            yield Block("code", "\n".join(lines[number + 1 : end]), first + number + 1, names, fence.group(2))
            number = end + 1
        else:
            if line.strip():
                held.append(line)
            number += 1
    if held:
        yield _paragraph(held, first + number - len(held), tuple(name for _, name in trail))


def _heading_at(lines: Sequence[str], number: int) -> tuple[int, str, int] | None:
    """Level, name and length in lines of a heading that starts here."""
    if match := _HEADING.match(lines[number]):
        return len(match.group(1)), match.group(2), 1
    below = _UNDERLINE.match(lines[number + 1]) if number + 1 < len(lines) else None
    title = lines[number].strip()
    alone = number == 0 or not lines[number - 1].strip()
    if below and alone and title and len(below.group(1)) >= 3 and not title.startswith(("-", "*", "|", ">", "`")):
        return (1 if below.group(1)[0] == "=" else 2), title, 2
    return None


def _fence_end(lines: Sequence[str], start: int, fence: str) -> int:
    for number in range(start, len(lines)):
        if lines[number].strip().startswith(fence) and not lines[number].strip().strip(fence[0]):
            return number
    return len(lines)


def _paragraph(held: Sequence[str], line: int, trail: tuple[str, ...]) -> Block:
    indented = all(text.startswith(("    ", "\t")) for text in held)
    kind: BlockKind = "code" if indented else "text"
    body = [text[4:] if text.startswith("    ") else text.lstrip("\t") for text in held] if indented else list(held)
    return Block(kind, "\n".join(body), line, trail)
