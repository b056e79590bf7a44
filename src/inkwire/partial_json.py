"""JSON text in, in pieces of any size; what is known of it so far out: for a screen, never for running anything.

A scanner that sees every character once. While a tool call streams, a screen wants the path at once and the
file's content as it grows; re-parsing the text at each delta costs its square (24 s for 256 KB in 4-character deltas,
measured), so the state is kept instead: a stack of open containers, the open string in decoded pieces, the
number or word in progress.

The grammar is RFC 8259 with two allowances that lose nothing: raw control characters in strings (models write raw line
feeds), and halves of surrogate pairs, which are shown as U+FFFD unless their other half follows. A high half at the
end of what came is held back until the next character decides, so that no broken character is ever shown.
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal, TypeAlias

import msgspec

__all__ = ["Growth", "PartialJSON", "Verdict", "classify"]

Verdict: TypeAlias = Literal["complete", "incomplete", "malformed"]

_MAX_DEPTH: Final = 200
_MAX_DIGITS: Final = 4300
"""Python's own bound for reading an int; far beyond it, reading costs the square of the digits."""

_BLANK: Final = " \t\r\n"
_NO_BLANK: Final = re.compile(r"[^ \t\r\n]")
_STRING_STOP: Final = re.compile(r'["\\]')
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_ESCAPES: Final = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS: Final[dict[str, tuple[str, bool | None]]] = {"t": ("true", True), "f": ("false", False), "n": ("null", None)}

# What may follow inside a number: state -> character -> next state.
_NONZERO, _DIGIT = "123456789", "0123456789"
_NUMBER: Final[dict[str, dict[str, str]]] = {
    "start": {"-": "minus", "0": "zero", **dict.fromkeys(_NONZERO, "int")},
    "minus": {"0": "zero", **dict.fromkeys(_NONZERO, "int")},
    "zero": {".": "dot", "e": "e", "E": "e"},
    "int": {".": "dot", "e": "e", "E": "e", **dict.fromkeys(_DIGIT, "int")},
    "dot": dict.fromkeys(_DIGIT, "fraction"),
    "fraction": {"e": "e", "E": "e", **dict.fromkeys(_DIGIT, "fraction")},
    "e": {"+": "sign", "-": "sign", **dict.fromkeys(_DIGIT, "exponent")},
    "sign": dict.fromkeys(_DIGIT, "exponent"),
    "exponent": dict.fromkeys(_DIGIT, "exponent"),
}
_NUMBER_ENDS: Final = frozenset({"zero", "int", "fraction", "exponent"})

# What the grammar allows next, outside strings, numbers and words; the words are the error's.
_VALUE: Final = "a value"
_VALUE_OR_END: Final = "a value or ']'"
_KEY: Final = "a key in double quotes"
_KEY_OR_END: Final = "a key in double quotes or '}'"
_COLON: Final = "':'"
_COMMA_OR_END: Final = "',' or the closing bracket"
_NOTHING: Final = "nothing more"
_WANTS_VALUE: Final = frozenset({_VALUE, _VALUE_OR_END})
_WANTS_KEY: Final = frozenset({_KEY, _KEY_OR_END})


class Growth(msgspec.Struct, frozen=True, gc=False):
    """One step of a top-level entry of the object.

    `start`: the key is known, its value begins, and what was shown of an earlier entry of this key is void.
    `text`: more characters of its string. `end`: the value is whole.
    """

    kind: Literal["start", "text", "end"]
    key: str
    text: str = ""
    """The new characters, decoded; only of `text`. Joined they are the string."""
    value: Any = None
    """The whole value; only of `end`."""


class PartialJSON:
    """Scans JSON that is still arriving; linear in the text however it is cut. Never raises on any text."""

    def __init__(self) -> None:
        self.broken: str | None = None
        """What is wrong with the text, once no continuation can make it JSON; then nothing more is read."""
        self.position: int | None = None
        """Where it broke: characters from the start."""
        self._offset = 0
        """Characters fed before the present piece."""
        self._expects = _VALUE
        self._stack: list[dict[str, Any] | list[Any]] = []
        self._keys: list[str] = []
        """The open key of each open object."""
        self._root: Any = None
        self._string: _String | None = None
        self._string_is_key = False
        self._shown_key: str | None = None
        """The top-level key whose string is open: its characters are reported as they come."""
        self._number = ""
        """The state of the open number in `_NUMBER`; empty when there is none."""
        self._digits = ""
        self._word = ""
        """What must still come of the open `true`, `false` or `null`."""
        self._word_value: bool | None = None
        self._growth: list[Growth] = []

    @property
    def incomplete(self) -> bool:
        """The text is a true beginning of JSON: it is not broken, and more must come before it is whole."""
        if self.broken is not None:
            return False
        if self._number and not self._stack:
            return self._number not in _NUMBER_ENDS
        return self._expects != _NOTHING

    @property
    def value(self) -> Any:
        """What is known so far of whatever value the text holds; open containers and strings as far as they came.

        A copy along the open containers; what is inside closed ones is shared and must not be changed.
        """
        known: Any = self._open_scalar()
        is_known = known is not None
        keys = list(self._keys)
        for container in reversed(self._stack):
            if isinstance(container, dict):
                key = keys.pop()
                copy: dict[str, Any] | list[Any] = {**container, key: known} if is_known else dict(container)
            else:
                copy = [*container, known] if is_known else list(container)
            known, is_known = copy, True
        return known if is_known else self._root

    def snapshot(self) -> dict[str, Any]:
        """`value` if it is an object, else an empty dict."""
        value = self.value
        return value if isinstance(value, dict) else {}

    def feed(self, text: str) -> list[Growth]:
        """Take the next characters and return the growth of the top-level entries, in order."""
        if self.broken is not None or not text:
            return []
        string = self._string
        if string is not None and '"' not in text and "\\" not in text and text.isprintable() and string.is_at_rest:
            # Most deltas of a file's content: no end, no escape, and (printable) no surrogate.
            string.pieces.append(text)
            string.reported += 1
            self._offset += len(text)
            return [Growth("text", self._shown_key, text)] if self._shown_key is not None else []
        growth: list[Growth] = []
        self._growth = growth
        at, size = 0, len(text)
        while at < size and self.broken is None:
            if self._string is not None:
                at = self._scan_string(self._string, text, at)
            elif self._number:
                at = self._scan_number(text, at)
            elif self._word:
                at = self._scan_word(text, at)
            else:
                at = self._scan_structure(text, at)
        self._show_string()
        self._offset += size
        return growth

    def _scan_structure(self, text: str, at: int) -> int:
        if text[at] in _BLANK:
            found = _NO_BLANK.search(text, at)
            return found.start() if found else len(text)
        char, expects = text[at], self._expects
        if char == '"' and (expects in _WANTS_VALUE or expects in _WANTS_KEY):
            self._open_string(is_key=expects in _WANTS_KEY)
        elif expects in _WANTS_VALUE and char in "{[":
            self._open_container({} if char == "{" else [], at)
        elif expects in _WANTS_VALUE and char in _WORDS:
            self._start_entry()
            self._word, self._word_value = _WORDS[char]
            return at
        elif expects in _WANTS_VALUE and char in _NUMBER["start"]:
            self._start_entry()
            self._number = "start"
            return at
        elif expects == _COLON and char == ":":
            self._expects = _VALUE
        elif expects == _COMMA_OR_END and char == ",":
            self._expects = _KEY if isinstance(self._stack[-1], dict) else _VALUE
        elif char in "}]" and self._may_close(char):
            self._close_container()
        else:
            self._break(f"expected {expects}, found {char!r}", at)
        return at + 1

    def _start_entry(self) -> None:
        """Report the key of a top-level value that begins here."""
        if len(self._stack) == 1 and self._keys:
            self._growth.append(Growth("start", self._keys[0]))

    def _open_string(self, *, is_key: bool) -> None:
        self._string, self._string_is_key = _String(), is_key
        if not is_key:
            self._start_entry()
            self._shown_key = self._keys[0] if len(self._stack) == 1 and self._keys else None

    def _open_container(self, container: dict[str, Any] | list[Any], at: int) -> None:
        if len(self._stack) >= _MAX_DEPTH:
            self._break(f"nested deeper than {_MAX_DEPTH} levels", at)
            return
        self._start_entry()
        self._stack.append(container)
        if isinstance(container, dict):
            self._keys.append("")
            self._expects = _KEY_OR_END
        else:
            self._expects = _VALUE_OR_END

    def _may_close(self, char: str) -> bool:
        if not self._stack or self._expects not in (_KEY_OR_END, _VALUE_OR_END, _COMMA_OR_END):
            return False
        return isinstance(self._stack[-1], dict) == (char == "}")

    def _close_container(self) -> None:
        container = self._stack.pop()
        if isinstance(container, dict):
            self._keys.pop()
        self._put(container)

    def _put(self, value: Any) -> None:
        """Store a value that is whole in the container around it."""
        if not self._stack:
            self._root, self._expects = value, _NOTHING
            return
        container = self._stack[-1]
        if isinstance(container, dict):
            container[self._keys[-1]] = value
            if len(self._stack) == 1:
                self._growth.append(Growth("end", self._keys[0], "", value))
        else:
            container.append(value)
        self._expects = _COMMA_OR_END

    def _scan_string(self, string: _String, text: str, at: int) -> int:
        if string.escape:
            if not string.take_escaped(text[at]):
                self._break(f"{string.escape + text[at]!r} is no escape", at)
            return at + 1
        stop = _STRING_STOP.search(text, at)
        end = stop.start() if stop else len(text)
        if end > at:
            string.add(text[at:end])
        if stop is None:
            return end
        if stop.group() == "\\":
            string.escape = "\\"
        else:
            self._end_string(string)
        return stop.end()

    def _end_string(self, string: _String) -> None:
        string.close()
        self._show_string()
        self._string = self._shown_key = None
        whole = "".join(string.pieces)
        if self._string_is_key:
            self._keys[-1], self._expects = whole, _COLON
        else:
            self._put(whole)

    def _show_string(self) -> None:
        """Report what the open string gained since it was last reported."""
        if self._string is not None and self._shown_key is not None and (text := self._string.gained()):
            self._growth.append(Growth("text", self._shown_key, text))

    def _scan_number(self, text: str, at: int) -> int:
        start, state = at, self._number
        while at < len(text) and (following := _NUMBER[state].get(text[at])):
            state, at = following, at + 1
        self._number, room = state, _MAX_DIGITS - len(self._digits)
        self._digits += text[start : min(at, start + room)]
        if at - start > room:
            self._break(f"a number of more than {_MAX_DIGITS} characters", start + room)
        elif at < len(text) and state in _NUMBER_ENDS:
            value = self._number_so_far()
            self._number = self._digits = ""
            self._put(value)
        elif at < len(text):
            self._break(f"expected a digit, found {text[at]!r}", at)
        return at

    def _number_so_far(self) -> int | float:
        return int(self._digits) if self._number in ("zero", "int") else float(self._digits)

    def _scan_word(self, text: str, at: int) -> int:
        if text[at] != self._word[0]:
            self._break(f"expected {self._word[0]!r}, found {text[at]!r}", at)
            return at
        self._word = self._word[1:]
        if not self._word:
            self._put(self._word_value)
        return at + 1

    def _open_scalar(self) -> Any:
        """The open string as far as it came, or a top-level number that nothing need follow; else None."""
        if self._string is not None and not self._string_is_key:
            return "".join(self._string.pieces)
        if not self._stack and self._number in _NUMBER_ENDS:
            return self._number_so_far()
        return None

    def _break(self, what: str, at: int) -> None:
        self.broken = what
        self.position = self._offset + at


class _String:
    """A string that is arriving: raw characters and escapes in, decoded pieces out."""

    __slots__ = ("_high", "escape", "pieces", "reported")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.escape = ""
        r"""What came of an escape that is still open, up to `\uXXX`."""
        self._high = ""
        """The first half of a surrogate pair whose second half has not come."""
        self.reported = 0
        """How many of the pieces were handed out as growth."""

    @property
    def is_at_rest(self) -> bool:
        """No escape and no pair is half done: the next characters can be appended as they are."""
        return not self.escape and not self._high

    def add(self, text: str) -> None:
        """Append characters, joining halves of pairs and replacing those that stay alone."""
        if self._high:
            text, self._high = self._high + text, ""
        if "\ud800" <= text[-1] <= "\udbff":
            text, self._high = text[:-1], text[-1]
        if not text.isascii() and _SURROGATE.search(text):
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        if text:
            self.pieces.append(text)

    def take_escaped(self, char: str) -> bool:
        """Take one character of the open escape; False if it cannot be one."""
        if self.escape == "\\" and char != "u":
            if char not in _ESCAPES:
                return False
            self.escape = ""
            self.add(_ESCAPES[char])
            return True
        if self.escape != "\\" and char not in _HEX:
            return False
        self.escape += char
        if len(self.escape) == len(r"\uXXXX"):
            code, self.escape = int(self.escape[2:], 16), ""
            self.add(chr(code))
        return True

    def gained(self) -> str:
        """The characters that came since the last call."""
        text = "".join(self.pieces[self.reported :])
        self.reported = len(self.pieces)
        return text

    def close(self) -> None:
        """The string is over: a half that still waits stays alone."""
        if self._high:
            self._high = ""
            self.pieces.append("\ufffd")


def classify(text: str) -> tuple[Verdict, int]:
    """Tell whether a whole text is JSON, a beginning of it that was cut, or malformed, and at which character."""
    scanner = PartialJSON()
    scanner.feed(text)
    if scanner.broken is not None and scanner.position is not None:
        return "malformed", scanner.position
    return ("incomplete" if scanner.incomplete else "complete"), len(text)
