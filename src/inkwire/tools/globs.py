"""Globs and .gitignore lines in; patterns over relative paths, and a walk that honours them, out."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["Found", "Glob", "ignore_rules", "walk"]

_PIECES = re.compile(r"(\*+|\?|\[(?:[!^])?\]?[^\]]*\]|\\.)", re.DOTALL)
_MAX_IGNORE_BYTES = 1_000_000


class Found(NamedTuple):
    """One entry of a walk."""

    path: str
    """Relative to where the walk began, with `/`."""
    is_directory: bool


class _IgnoreRule(NamedTuple):
    """One line of a .gitignore (gitignore(5))."""

    pattern: Glob
    negated: bool
    directories_only: bool


class Glob:
    """A glob over whole relative paths; a match costs the length of the path times that of the glob, never more.

    `*`, `?` and `[…]` stay within a name; a name of `**` alone stands for any directories or none, at the end for
    everything below.
    """

    def __init__(self, glob: str) -> None:
        names = glob.removeprefix("./").split("/")
        self._below = len(names) > 1 and names[-1] == "**"
        """Whether it names what is below, and so not the directory itself."""
        self._names = [None if name == "**" else _name_pattern(name) for name in names]

    def matches(self, path: str) -> bool:
        """Whether the path is one that the glob names."""
        names, wanted = path.split("/"), self._names
        if self._below and not path.rstrip("/").count("/") >= len([each for each in wanted if each is not None]):
            return False
        at = place = 0
        again: tuple[int, int] | None = None
        while at < len(names):
            pattern = wanted[place] if place < len(wanted) else _NOTHING
            if pattern is None:
                again, place = (at, place + 1), place + 1  # of no directory first, of one more each time it fails
            elif pattern.fullmatch(names[at]):
                at, place = at + 1, place + 1
            elif again is not None:
                again = (again[0] + 1, again[1])
                at, place = again
            else:
                return False
        return all(pattern is None for pattern in wanted[place:])


_NOTHING = re.compile(r"(?!)")


def _name_pattern(glob: str) -> re.Pattern[str]:
    """One name's pattern. Between two stars the first place that fits is as good as any, so none is tried twice."""
    runs: list[list[str]] = [[]]
    for piece in _PIECES.split(glob):
        if piece and not piece.strip("*"):
            runs.append([])
        elif piece == "?":
            runs[-1].append(".")
        elif piece.startswith("[") and len(piece) > 2:
            runs[-1].append(_character_class(piece[1:-1]))
        elif piece.startswith("\\") and len(piece) == 2:
            runs[-1].append(re.escape(piece[1]))
        else:
            runs[-1].append(re.escape(piece))
    first, *rest = ("".join(run) for run in runs)
    middle = "".join(f"(?>.*?{run})" for run in rest[:-1] if run)
    return re.compile(first + middle + (f".*{rest[-1]}" if rest else ""), re.DOTALL)


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
            rules.append(_IgnoreRule(Glob(line.removeprefix("/")), negated, directories_only))
    return rules


class _Layer(NamedTuple):
    """The rules of one directory."""

    prefix: str
    rules: list[_IgnoreRule]


def _is_ignored(path: str, is_directory: bool, layers: list[_Layer]) -> bool:
    for layer in reversed(layers):
        inside = path[len(layer.prefix) :]
        for rule in reversed(layer.rules):
            if (is_directory or not rule.directories_only) and rule.pattern.matches(inside):
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
        # A pipe would wait for ever, and a link may lead out of the workspace; git follows none here, either.
        opened = os.open(directory / ".gitignore", os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with open(opened, "rb") as file:
            if not stat.S_ISREG(os.fstat(opened).st_mode):
                return []
            text = file.read(_MAX_IGNORE_BYTES).decode("utf-8", "replace")
    except OSError:
        return []
    return [_Layer(prefix, rules)] if (rules := ignore_rules(text)) else []
