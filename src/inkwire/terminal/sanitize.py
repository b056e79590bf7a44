"""Text that anyone may have written in, text that is safe to print out.

A terminal obeys what is printed to it: escape sequences move the cursor, retitle the window, write the clipboard or
repeat text as input; bidirectional overrides show one thing and mean another. Only printable characters, newlines and
tabs pass. Sequences are dropped whole, also when they are cut between two pieces; other control characters are shown
as the pictures that Unicode has for them.

Source: ECMA-48 sections 5 and 8 (CSI, OSC, DCS, SOS, PM, APC and their ends); Unicode Standard Annex 9 (overrides).
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["MAX_HELD", "Sanitizer", "sanitize", "sanitize_code", "sanitize_line"]

MAX_HELD = 4096
"""A sequence longer than this is no sequence; it is dropped as far as it came, so that memory stays bounded."""

_PLAIN = re.compile(r"[\n\t\x20-\x7e\xa1-\xac\xae-\u02ff\u0370-\u05ff\u3000-\u9fff\uac00-\ud7a3\uff01-\uff5e]*")
_ESCAPE, _CSI, _STRING, _STRING_ESCAPE, _TEXT = "escape", "csi", "string", "string_escape", "text"
_STRING_STARTS_7BIT = frozenset("P]X^_")
_STRING_STARTS_8BIT = frozenset("\x90\x98\x9d\x9e\x9f")
_INVISIBLE = frozenset(
    # Overrides, embeddings and isolates; the byte order mark; tag characters are caught by their range.
    "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\ufeff\u2028\u2029"
)
_REPLACED = "\ufffd"


class Sanitizer:
    """Makes a stream of text safe piece by piece: what `feed` returns may be printed at once."""

    def __init__(self) -> None:
        self._state = _TEXT
        self._held = 0

    def feed(self, text: str) -> str:
        """The safe part of `text`; a sequence that is not over yet is held back."""
        if self._state is _TEXT and _PLAIN.fullmatch(text):
            return text
        return "".join(map(self._take, text))

    def finish(self) -> str:
        """Ends the text: a sequence that never ended is dropped. The next piece begins anew."""
        self._state, self._held = _TEXT, 0
        return ""

    def _take(self, char: str) -> str:
        if self._state is _TEXT:
            return self._text(char)
        self._held += 1
        if char == "\x1b":
            self._state = _STRING_ESCAPE if self._state in (_STRING, _STRING_ESCAPE) else _ESCAPE
        elif char in "\x18\x1a" or self._held > MAX_HELD:
            self._state = _TEXT  # CAN and SUB abort any sequence.
        elif char == "\n" and self._state is not _ESCAPE:
            # A real terminal swallows what follows an unfinished sequence; the reader must not lose the rest.
            self._state = _TEXT
            return char
        elif self._state is _ESCAPE:
            self._after_escape(char)
        elif self._state is _CSI:
            self._state = _TEXT if "\x40" <= char <= "\x7e" else _CSI
        elif self._state is _STRING_ESCAPE:
            self._state = _TEXT if char == "\\" else _STRING
        elif char in "\x07\x9c":
            self._state = _TEXT
        return ""

    def _text(self, char: str) -> str:
        if char == "\x1b":
            return self._begin(_ESCAPE)
        if char == "\x9b":
            return self._begin(_CSI)
        if char in _STRING_STARTS_8BIT:
            return self._begin(_STRING)
        return _shown(char)

    def _begin(self, state: str) -> str:
        self._state, self._held = state, 0
        return ""

    def _after_escape(self, char: str) -> None:
        if char == "[":
            self._state = _CSI
        elif char in _STRING_STARTS_7BIT:
            self._state = _STRING
        elif not "\x20" <= char <= "\x2f":  # Intermediate bytes: the sequence goes on.
            self._state = _TEXT


def sanitize(text: str) -> str:
    """A whole text made safe; newlines and tabs stay."""
    return Sanitizer().feed(text)


def sanitize_line(text: str, limit: int = 200) -> str:
    """A text made safe and put on one line of at most `limit` characters, an ellipsis at the cut."""
    line = " ".join(sanitize(text[: limit * 4]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def sanitize_code(line: str, limit: int = 200) -> str:
    """One line of code made safe, its spaces kept, tabs as four of them, an ellipsis at the cut."""
    safe = sanitize(line[: limit * 4]).replace("\n", " ").replace("\t", "    ")
    return safe if len(safe) <= limit else safe[: limit - 1] + "…"


def _shown(char: str) -> str:
    if char in "\n\t":
        return char
    if char == "\r":
        return ""  # Alone it would let a line overwrite itself; before a newline it says nothing.
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if 0x80 <= code <= 0x9F or char in _INVISIBLE or 0xE0000 <= code <= 0xE007F or 0xD800 <= code <= 0xDFFF:
        return _REPLACED
    return _REPLACED if unicodedata.category(char) == "Cc" else char
