"""Words and a meaning in, the words as a terminal shows that meaning out; plain when there is no colour."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal, TextIO, TypeAlias

import msgspec

__all__ = ["Meaning", "Style", "style_for"]

Meaning: TypeAlias = Literal["dim", "bold", "good", "bad", "warning", "call", "void"]

_CODES: Mapping[str, str] = {
    "dim": "2",
    "bold": "1",
    "good": "32",
    "bad": "31",
    "warning": "33",
    "call": "36",
    "void": "7",
}
_PLAIN_MARKS = {"●": "*", "└": "-", "✗": "x", "…": "...", "·": "-", "─": "-", "▌": ">", "↻": "~", "⚠": "!"}


class Style(msgspec.Struct, frozen=True):
    """What a terminal can do."""

    colour: bool = False
    unicode: bool = True

    def paint(self, text: str, meaning: Meaning) -> str:
        """`text` in the colour of its meaning; each line by itself, so that a pager can cut anywhere."""
        if not self.colour or not text:
            return text
        begin, end = f"\x1b[{_CODES[meaning]}m", "\x1b[0m"
        return "\n".join(f"{begin}{line}{end}" if line else "" for line in text.split("\n"))

    def mark(self, symbol: str) -> str:
        """One of our own symbols, or its ASCII stand-in."""
        return symbol if self.unicode else _PLAIN_MARKS.get(symbol, symbol)


def style_for(stream: TextIO, environ: Mapping[str, str] = os.environ) -> Style:
    """The style for a stream: colour on a terminal that is not dumb, unless NO_COLOR is set."""
    colour = stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
    encoding = (getattr(stream, "encoding", None) or "").lower().replace("-", "")
    return Style(colour=colour, unicode=encoding.startswith("utf"))
