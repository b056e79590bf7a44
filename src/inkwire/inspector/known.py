"""Argument text in, piece by piece; how its JSON tree grows out, as steps of a small machine that anyone can replay.

    {  [        a container opens          }  ]   the innermost one closes
    ["k", key]  the key of what comes      ["s"]  a string opens      ["t", text]  characters of it      ["e"]  it ends
    ["n", text]  a whole number, as it was written: not every reader has such numbers      ["v", v]  true, false or null

The scanner is `PartialJSON` itself, looked at while it works; so the tree is what the product knows, and nothing else.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from inkwire.partial_json import PartialJSON

__all__ = ["KnownJSON", "Op"]

Op: TypeAlias = str | tuple[str] | tuple[str, Any]


class KnownJSON(PartialJSON):
    """A scanner that also tells each step of its tree; linear in the text, like the scanner."""

    def __init__(self) -> None:
        super().__init__()
        self._ops: list[Op] = []
        self._told = 0
        """Pieces of the open string that were told."""
        self._number_text = ""
        """The last number, as it was written."""

    @property
    def whole(self) -> bool:
        """Whether the text so far is one whole JSON value."""
        return self.broken is None and not self.incomplete

    def grow(self, text: str) -> tuple[Op, ...]:
        """Take the next characters; what they add to the tree."""
        self.feed(text)
        self._tell_string()
        ops, self._ops = tuple(self._ops), []
        return ops

    def _tell_string(self) -> None:
        string = self._string
        if string is not None and not self._string_is_key and len(string.pieces) > self._told:
            self._ops.append(("t", "".join(string.pieces[self._told :])))
            self._told = len(string.pieces)

    def _open_string(self, *, is_key: bool) -> None:
        super()._open_string(is_key=is_key)
        self._told = 0
        if not is_key:
            self._ops.append(("s",))

    def _end_string(self, string: Any) -> None:
        is_key = self._string_is_key
        string.close()
        self._tell_string()
        super()._end_string(string)
        self._ops.append(("k", self._keys[-1]) if is_key else ("e",))

    def _open_container(self, container: dict[str, Any] | list[Any], at: int) -> None:
        super()._open_container(container, at)
        if self.broken is None:
            self._ops.append("{" if isinstance(container, dict) else "[")

    def _close_container(self) -> None:
        self._ops.append("}" if isinstance(self._stack[-1], dict) else "]")
        super()._close_container()

    def _number_so_far(self) -> int | float:
        self._number_text = self._digits
        return super()._number_so_far()

    def _put(self, value: Any) -> None:
        if value is None or isinstance(value, bool):
            self._ops.append(("v", value))
        elif isinstance(value, (int, float)):
            self._ops.append(("n", self._number_text))
        super()._put(value)
