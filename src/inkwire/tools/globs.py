"""Globs and .gitignore lines in; patterns over relative paths, and a walk that honours them, out."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["Found", "glob_pattern", "ignore_rules", "walk"]

_PIECES = re.compile(r"(\*\*/|/\*\*$|\*\*|\*|\?|\[(?:[!^])?\]?[^\]]*\]|\\.)", re.DOTALL)
_MAX_IGNORE_BYTES = 1_000_000


class Found(NamedTuple):
    """One entry of a walk."""

    path: str
    """Relative to where the walk began, with `/`."""
    is_directory: bool


class _IgnoreRule(NamedTuple):
    """One line of a .gitignore (gitignore(5))."""

    pattern: re.Pattern[str]
    negated: bool
    directories_only: bool


def glob_pattern(glob: str) -> re.Pattern[str]:
    """A glob as a pattern over whole relative paths: `*` within a name, `**/` over any directories or none."""
    found: list[str] = []
    for piece in _PIECES.split(glob.removeprefix("./")):
        if piece == "**/":
            found.append(r"(?:.*/)?")
        elif piece == "/**":
            found.append(r"/.*")
        elif piece == "**":
            found.append(r".*")
        elif piece == "*":
            found.append(r"[^/]*")
        elif piece == "?":
            found.append(r"[^/]")
        elif piece.startswith("[") and len(piece) > 2:
            found.append(_character_class(piece[1:-1]))
        elif piece.startswith("\\") and len(piece) == 2:
            found.append(re.escape(piece[1]))
        else:
            found.append(re.escape(piece))
    return re.compile("".join(found), re.DOTALL)


def _character_class(inside: str) -> str:
    negated = inside[0] in "!^"
    members = (inside[1:] if negated else inside).replace("\\", r"\\").replace("[", r"\[").replace("]", r"\]")
    if not members:
        return re.escape(f"[{inside}]")
    found = f"(?!/)[{'^' if negated else ''}{members}]"
    try:
        re.compile(found)
    except re.error:
        return re.escape(f"[{inside}]")
    return found


def ignore_rules(text: str) -> list[_IgnoreRule]:
    """The lines of a .gitignore, in order; paths are relative to its directory."""
    rules: list[_IgnoreRule] = []
    for raw in text.splitlines():
        line = raw if raw.endswith("\\ ") else raw.rstrip()
        negated = line.startswith("!")
        line = line[1:] if negated else line
        if not line or line.startswith("#"):
            continue
        directories_only = line.endswith("/")
        line = line.rstrip("/")
        if "/" not in line:
            line = f"**/{line}"
        if line:
            rules.append(_IgnoreRule(glob_pattern(line.removeprefix("/")), negated, directories_only))
    return rules


class _Layer(NamedTuple):
    """The rules of one directory."""

    prefix: str
    rules: list[_IgnoreRule]


def _is_ignored(path: str, is_directory: bool, layers: list[_Layer]) -> bool:
    for layer in reversed(layers):
        inside = path[len(layer.prefix) :]
        for rule in reversed(layer.rules):
            if (is_directory or not rule.directories_only) and rule.pattern.fullmatch(inside):
                return not rule.negated
    return False


def walk(top: Path, *, above: Path | None = None) -> Iterator[Found]:
    """Everything below `top` in the order of names, without .git and what .gitignore files leave out.

    Rules of the directories from `above` (the workspace) down to `top` count, too. Links are named, not followed.
    """
    root = above if above is not None and top.is_relative_to(above) else top
    steps = top.relative_to(root).parts
    layers: list[_Layer] = []
    for count in range(len(steps)):
        inner = Path(*steps[:count])
        layers += _layer(root / inner, "".join(f"{step}/" for step in steps[:count]))
    prefix = "".join(f"{step}/" for step in steps)
    for found in _walk(top, prefix, layers):
        yield Found(found.path[len(prefix) :], found.is_directory)


def _walk(directory: Path, prefix: str, layers: list[_Layer]) -> Iterator[Found]:
    layers = [*layers, *_layer(directory, prefix)]
    try:
        with os.scandir(directory) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        path = f"{prefix}{entry.name}"
        is_directory = entry.is_dir(follow_symlinks=False)
        if entry.name == ".git" or _is_ignored(path, is_directory, layers):
            continue
        yield Found(path, is_directory)
        if is_directory:
            yield from _walk(Path(entry.path), f"{path}/", layers)


def _layer(directory: Path, prefix: str) -> list[_Layer]:
    """The rules of the directory's own .gitignore, if it has one."""
    try:
        with open(directory / ".gitignore", "rb") as file:
            text = file.read(_MAX_IGNORE_BYTES).decode("utf-8", "replace")
    except OSError:
        return []
    return [_Layer(prefix, rules)] if (rules := ignore_rules(text)) else []
