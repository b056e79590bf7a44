"""Gemini's `partialArgs` in, a call's arguments as JSON out.

Vertex can stream a call's arguments as values with a JSON path (`$.path`, `$.edits[0].text`); a string goes on while
its `willContinue` is true. We never ask for it, yet what comes must not turn into a call without arguments.

Source: cloud.google.com/vertex-ai, streaming function call arguments.
"""

from __future__ import annotations

import re
from typing import Any

from inkwire.protocols.requests import compact_json

__all__ = ["GrowingCall"]

_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d{1,9})\]|\['((?:[^'\\]|\\.)*)'\]")
_MOST_SKIPPED = 16
"""Places of an array that may come later than those behind them; more would cost memory that nobody sent."""


class GrowingCall:
    """The arguments of one call, value by value."""

    def __init__(self, key: int) -> None:
        self.key = key
        self._values: dict[tuple[str | int, ...], list[Any]] = {}
        """The pieces of the value at each path, in order of first appearance."""
        self._open: set[tuple[str | int, ...]] = set()
        self._damaged = False

    def add(self, pieces: Any) -> None:
        """Take a list of partial arguments; what cannot be placed leaves the text cut."""
        for piece in pieces if isinstance(pieces, list) else ():
            path = _path(piece.get("jsonPath")) if isinstance(piece, dict) else None
            if path is None:
                self._damaged = True
                continue
            value = _value(piece)
            if path in self._open and isinstance(value, str):
                self._values[path].append(value)
            else:
                self._values[path] = [value]
            (self._open.add if piece.get("willContinue") is True else self._open.discard)(path)

    def text(self) -> str:
        """The arguments so far as JSON; cut before its end when a value is missing or not whole."""
        root: dict[str, Any] = {}
        damaged = self._damaged or bool(self._open)
        for path, pieces in self._values.items():
            whole = "".join(pieces) if isinstance(pieces[0], str) else pieces[0]
            damaged |= not _place(root, path, whole)
        text = compact_json(root)
        return text[:-1] if damaged else text


def _path(text: Any) -> tuple[str | int, ...] | None:
    """`$.a[0].b` as its steps; None when it is no such path."""
    if not isinstance(text, str) or not text.startswith("$"):
        return None
    steps: list[str | int] = []
    at = 1
    while at < len(text):
        step = _STEP.match(text, at)
        if step is None:
            return None
        name, index, quoted = step.groups()
        steps.append(int(index) if index is not None else name if name is not None else quoted.replace("\\'", "'"))
        at = step.end()
    return tuple(steps) if steps and isinstance(steps[0], str) else None


def _value(piece: dict[str, Any]) -> Any:
    for name in ("stringValue", "numberValue", "boolValue"):
        if name in piece:
            value = piece[name]
            return int(value) if isinstance(value, float) and value.is_integer() else value
    return None


def _place(root: dict[str, Any], path: tuple[str | int, ...], value: Any) -> bool:
    """Put the value at its path, making the containers on the way; False when something else is in the way."""
    here: Any = root
    for step, following in zip(path, (*path[1:], None), strict=True):
        fresh: Any = value if following is None else [] if isinstance(following, int) else {}
        if isinstance(step, int):
            if not isinstance(here, list) or step > len(here) + _MOST_SKIPPED:
                return False
            here.extend([None] * (step + 1 - len(here)))
            if following is None or here[step] is None:
                here[step] = fresh
        elif not isinstance(here, dict):
            return False
        elif following is None:
            here[step] = fresh
        else:
            here.setdefault(step, fresh)
        here = here[step]
    return True
