"""Pieces of text in; one part's text out, joined once, with no half characters.

A service may cut an escaped surrogate pair into two payloads (`\\ud83d` and `\\ude00`). The first half waits for the
second; a half that stays alone becomes U+FFFD, for it could never be written as UTF-8.
"""

from __future__ import annotations

import json
import re
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

    __slots__ = ("differs", "half", "index", "key", "kind", "opaque", "pieces")

    def __init__(self, kind: str, index: int, key: Key) -> None:
        self.kind = kind
        self.index = index
        self.key = key
        self.opaque: dict[str, Any] = {}
        self.differs = False
        self.pieces: list[str] = []
        """What was shown; the assembler appends plain pieces itself, so their lengths are counted when asked for."""
        self.half = ""

    @property
    def text(self) -> str:
        """All that was shown, joined."""
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""

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
        have = self.opaque.get(key, "")
        if piece != have:
            self.opaque[key] = have + piece

    def _missing(self, whole: str) -> str:
        whole = mend_surrogates(whole)
        shown = self.text
        if whole.startswith(shown):
            return whole[len(shown) :]
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
