"""A call in, the lines of our own code that ran in it out, with their source: nothing is guessed, Python itself tells.

Only the rooms that turn bytes into a message are watched. A set of lines that was seen before keeps its number, so
that a long stream costs numbers, not lists.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import msgspec

import inkwire

__all__ = ["Function", "LineWatch"]

_ROOT = Path(inkwire.__file__).parent
_ROOMS = ("framing", "protocols", "pipeline.py", "calls.py", "text_parts.py", "assembler.py", "arguments.py", "gate.py")
"""In the order in which bytes pass through them."""
_LINES_A_FILE = 1 << 20


class Function(msgspec.Struct, frozen=True):
    """A function of the watched rooms, as it stands in its file."""

    file: str
    """Below the package, such as `framing/sse.py`."""
    name: str
    first: int
    """The number of its first line."""
    source: str


class LineWatch:
    """Notes which lines run inside `watching()`; `take()` gives the number of that set of lines.

    `sets[n]` are the lines of set n as pairs of a number into `functions` and the line numbers, in the order of rooms.
    A trace function that was set before (a debugger's, a coverage tool's) is put back.
    """

    def __init__(self) -> None:
        self.functions: list[Function] = []
        self.sets: list[list[tuple[int, list[int]]]] = []
        self._ran: set[int] = set()
        self._numbers: dict[frozenset[int], int] = {}
        self._tracers: dict[CodeType, Any] = {}
        self._files: list[tuple[str, list[tuple[int, int, int]]]] = []
        """Path, and of each of its functions first line, last line and number."""
        self._bases: dict[str, int | None] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Lines that run in here are noted."""
        before = sys.gettrace()
        sys.settrace(self._called)
        try:
            yield
        finally:
            sys.settrace(before)

    def take(self) -> int:
        """The number of the set of lines that ran since the last call."""
        ran = frozenset(self._ran)
        self._ran.clear()
        number = self._numbers.get(ran)
        if number is None:
            number = self._numbers[ran] = len(self.sets)
            self.sets.append(self._by_function(ran))
        return number

    def _called(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        try:
            return self._tracers[code]
        except KeyError:
            tracer = self._tracers[code] = self._tracer(code)
            return tracer

    def _tracer(self, code: CodeType) -> Any:
        base = self._base(code.co_filename)
        if base is None:
            return None
        ran = self._ran

        def trace(frame: FrameType, event: str, arg: Any) -> Any:
            if event == "line":
                ran.add(base + frame.f_lineno)
            return trace

        return trace

    def _base(self, filename: str) -> int | None:
        if filename not in self._bases:
            path = Path(filename)
            inside = path.relative_to(_ROOT) if path.is_relative_to(_ROOT) else None
            self._bases[filename] = None
            if inside is not None and inside.parts[0] in _ROOMS:
                self._bases[filename] = len(self._files) * _LINES_A_FILE
                self._files.append((inside.as_posix(), self._functions_of(path, inside.as_posix())))
        return self._bases[filename]

    def _functions_of(self, path: Path, name: str) -> list[tuple[int, int, int]]:
        """The file's functions and methods; those inside others count as part of them."""
        try:
            source = path.read_text(encoding="utf-8")
        except OSError:  # a package without its sources
            return []
        lines, found = source.splitlines(), []
        for owner, node in _definitions(ast.parse(source).body):
            first, last = node.lineno, node.end_lineno or node.lineno
            found.append((first, last, len(self.functions)))
            self.functions.append(Function(name, owner + node.name, first, "\n".join(lines[first - 1 : last])))
        return found

    def _by_function(self, ran: frozenset[int]) -> list[tuple[int, list[int]]]:
        lines: dict[int, list[int]] = {}
        for key in sorted(ran, key=self._order):
            at, line = divmod(key, _LINES_A_FILE)
            for first, last, number in self._files[at][1]:
                if first <= line <= last:
                    lines.setdefault(number, []).append(line)
        return list(lines.items())

    def _order(self, key: int) -> tuple[int, int]:
        room = self._files[key // _LINES_A_FILE][0].split("/")[0]
        return _ROOMS.index(room), key


def _definitions(body: Sequence[ast.stmt], owner: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield owner, node
        elif isinstance(node, ast.ClassDef):
            yield from _definitions(node.body, f"{owner}{node.name}.")
