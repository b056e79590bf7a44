"""Text in pieces in, the same text with a line end where a terminal would cut a word out.

A word is held back only where it might pass the edge: near it, and no longer than a word may be. What is longer (an
address, a path) is left to the terminal, which keeps it whole for copying; wide characters may be cut anywhere.

Source: Unicode Standard Annex 11 (characters that take two cells).
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable
from typing import TextIO

__all__ = ["Wrapper", "columns_of", "wrap"]

_LONGEST_WORD = 24
_WIDE = "\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6"
_WIDE += "\U0001f300-\U0001faff\U00020000-\U0003fffd"
_TOKENS = re.compile(rf"\n|[ \t]|[{_WIDE}]+|[^\n\t {_WIDE}]+")
_IS_WIDE = re.compile(rf"[{_WIDE}]")


class Wrapper:
    """Remembers where the cursor stands; `columns` gives the width, 0 when there is none to keep to."""

    def __init__(self, columns: Callable[[], int]) -> None:
        self._columns = columns
        self._column = 0
        self._held = ""
        self._is_shown = False
        """The word that goes on is on the screen already, as far as it came."""

    def feed(self, text: str) -> str:
        """What may be written of all text so far and was not."""
        width = self._columns()
        if width <= 0:
            return text
        return "".join(self._take(token, width) for token in _TOKENS.findall(text))

    def finish(self) -> str:
        """The word that was held back; the next text begins a line."""
        last = self._release(self._columns())
        self._column, self._is_shown = 0, False
        return last

    def _take(self, token: str, width: int) -> str:
        if token in ("\n", " ", "\t"):
            return self._release(width) + self._blank(token, width)
        if _IS_WIDE.match(token):
            before = self._release(width)
            self._is_shown = False
            return before + self._place(token, width)
        if self._is_shown or (not self._held and self._column + _LONGEST_WORD <= width):
            self._is_shown = True
            return self._place(token, width)
        self._held += token
        if len(self._held) <= _LONGEST_WORD:
            return ""
        word = self._release(width)
        self._is_shown = True
        return word

    def _blank(self, char: str, width: int) -> str:
        self._is_shown = False
        if char == "\n" or self._column >= width:
            self._column = 0
            return "\n"
        self._column = self._column + 1 if char == " " else min(self._column // 8 * 8 + 8, width - 1)
        return char

    def _release(self, width: int) -> str:
        word, self._held = self._held, ""
        if not word or self._column == 0 or self._column + _cells(word) <= width:
            return self._place(word, width)
        self._column = 0
        return "\n" + self._place(word, width)

    def _place(self, text: str, width: int) -> str:
        """`text`, and the cursor moved past it as a terminal moves it."""
        end = self._column + _cells(text)
        self._column = end if end <= width or width <= 0 else (end - 1) % width + 1
        return text


def wrap(text: str, columns: int) -> str:
    """A whole text, wrapped."""
    wrapper = Wrapper(lambda: columns)
    return wrapper.feed(text) + wrapper.finish()


def columns_of(stream: TextIO) -> Callable[[], int]:
    """How wide the terminal behind a stream is now; 0 where there is none."""

    def columns() -> int:
        try:
            return os.get_terminal_size(stream.fileno()).columns
        except (OSError, ValueError):
            return 0

    return columns


def _cells(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.category(char) in ("Mn", "Me", "Cf")
        else 2
        if unicodedata.east_asian_width(char) in "WF"
        else 1
        for char in text
    )
