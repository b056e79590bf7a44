"""Pieces of text in; one part's text out, joined once, with no half characters.

A service may cut an escaped surrogate pair into two payloads (`\\ud83d` and `\\ude00`). The first half waits for the
second; a half that stays alone becomes U+FFFD, for it could never be written as UTF-8.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from inkwire.fragments import Key
from inkwire.surrogates import mend_surrogates

__all__ = ["OpenText", "tool_markup_in"]

_MARKUP = (
    "<tool_call>",
    "<function=",
    "<|tool_call",
    "<|python_tag|>",
    "[TOOL_CALLS]",
    "<｜tool▁call",
    "<function_calls>",
    "<invoke name=",
    "<|channel|>commentary to=",
    "<|tool_calls_section_begin|>",
)
_FENCE = re.compile(r"\A\s*```(?:json|tool_call)?\s*(\{.*\})\s*```\s*\Z", re.DOTALL)
_LONGEST_CALL_TEXT = 64 * 1024


class OpenText:
    """A text or reasoning part while it arrives."""

    __slots__ = ("_appended", "_counted", "_opaque", "_size", "differs", "half", "index", "key", "kind", "pieces")

    def __init__(self, kind: str, index: int, key: Key) -> None:
        self.kind = kind
        self.index = index
        self.key = key
        self._opaque: dict[str, Any] = {}
        self._appended: dict[str, _Appended] = {}
        self.differs = False
        self.pieces: list[str] = []
        """What was shown; the assembler appends plain pieces itself, so their lengths are counted when asked for."""
        self._counted = self._size = 0
        """How many of the pieces were counted, and their length."""
        self.half = ""

    @property
    def text(self) -> str:
        """All that was shown, joined."""
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
            self._counted = self._size = 0
        return self.pieces[0] if self.pieces else ""

    @property
    def size(self) -> int:
        """The length of what was shown; each piece is counted once."""
        self._size += sum(map(len, self.pieces[self._counted :]))
        self._counted = len(self.pieces)
        return self._size

    @property
    def opaque(self) -> dict[str, Any]:
        """What must go back verbatim, with the appended strings joined."""
        for key, appended in self._appended.items():
            if appended.size:
                self._opaque[key] = appended.join()
        return self._opaque

    def take(self, text: str, whole: bool) -> str:
        """A piece, or the authoritative whole; gives what is new to show."""
        if whole:
            text = self._missing(text)
        if self.half or not text.isascii():
            text = self._mend(text)
        if text:
            self.pieces.append(text)
        return text

    def flush(self) -> str:
        """At the end: a half character that stayed alone."""
        if not self.half:
            return ""
        self.half = ""
        self.pieces.append("\ufffd")
        return "\ufffd"

    def append(self, key: str, piece: str) -> None:
        """A piece of an opaque string such as a signature; the whole once more is ignored."""
        if key not in self._appended:
            have = self._opaque.get(key)
            self._appended[key] = _Appended(have if isinstance(have, str) else "")
        if piece:
            self._appended[key].add(piece)

    def merge(self, opaque: Mapping[str, Any]) -> None:
        """Opaque values; one of an appended string takes its place."""
        for key in self._appended.keys() & opaque.keys():
            del self._appended[key]
        self._opaque.update(opaque)

    def _missing(self, whole: str) -> str:
        whole = mend_surrogates(whole)
        if len(whole) >= self.size and whole.startswith(self.text):  # joined only for a whole that is as long
            return str(whole[self.size :])
        self.differs = True
        return ""

    def _mend(self, text: str) -> str:
        text, self.half = self.half + text, ""
        try:
            text.encode()
            return text
        except UnicodeEncodeError:
            pass
        if "\ud800" <= text[-1] <= "\udbff":
            text, self.half = text[:-1], text[-1]
        joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return str(mend_surrogates(joined))


class _Appended:
    """An opaque string that arrives in pieces."""

    __slots__ = ("pieces", "size")

    def __init__(self, start: str) -> None:
        self.pieces = [start]
        self.size = len(start)

    def add(self, piece: str) -> None:
        """Take a piece; the whole once more is ignored."""
        if len(piece) != self.size or piece != self.join():
            self.pieces.append(piece)
            self.size += len(piece)

    def join(self) -> str:
        """All of it."""
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0]


def tool_markup_in(text: str) -> str | None:
    """The mark of a tool call that came as plain text, or None."""
    for mark in _MARKUP:
        if mark in text:
            return mark
    if len(text) > _LONGEST_CALL_TEXT or '"arguments"' not in text:
        return None
    fenced = _FENCE.match(text)
    body = fenced[1] if fenced else text.strip()
    try:
        value = json.loads(body)
    except ValueError:
        return None
    is_call = isinstance(value, dict) and isinstance(value.get("name"), str) and "arguments" in value
    return f'{{"name": "{value["name"][:60]}", "arguments": …}}' if is_call else None
