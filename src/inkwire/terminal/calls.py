"""The events of tool calls in, their lines out: the name at once, the path as its characters arrive.

Calls may arrive interleaved, but a terminal has one line at a time: the first call that is not shown yet owns it, the
others wait until its headline is complete.
"""

from __future__ import annotations

from typing import Any

from inkwire.partial_json import PartialJSON
from inkwire.terminal.sanitize import Sanitizer, sanitize_line
from inkwire.terminal.style import Style
from inkwire.terminal.summary import headline, headline_key

__all__ = ["CallLines"]

_MOST_HEADLINE = 160


class _Line:
    """One call's line: how far it is known, and how far it is shown."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.arguments = PartialJSON()
        self.sanitizer = Sanitizer()
        self.key: str | None = None
        self.pending = ""
        self.length = 0
        self.begun = False
        self.complete = False

    def feed(self, json_delta: str) -> None:
        for growth in self.arguments.feed(json_delta):
            if growth.kind == "start" and self.key is None:
                self.key = headline_key([growth.key])
            elif growth.key == self.key and growth.kind == "text":
                self._show(growth.text)
            elif growth.key == self.key and growth.kind == "end":
                if not isinstance(growth.value, str):
                    self._show(str(growth.value))
                self.complete = True

    def _show(self, text: str) -> None:
        flat = " ".join(self.sanitizer.feed(text).split("\n"))
        left = _MOST_HEADLINE - self.length
        if left > 0:
            self.pending += flat if len(flat) <= left else flat[:left] + "…"
        self.length += len(flat)


class CallLines:
    """The lines of one message's calls; what a method returns is to be written at once."""

    def __init__(self, style: Style) -> None:
        self._style = style
        self._lines: dict[str, _Line] = {}
        self._order: list[str] = []

    @property
    def open(self) -> bool:
        """The cursor stands in a line that is not complete."""
        return bool(self._order) and self._lines[self._order[0]].begun

    def start(self, call_id: str, name: str) -> str:
        """A call begins to arrive."""
        self._lines[call_id] = _Line(name)
        self._order.append(call_id)
        return self._advance()

    def delta(self, call_id: str, json_delta: str) -> str:
        """More of a call's arguments."""
        line = self._lines.get(call_id)
        if line is None:
            return ""
        line.feed(json_delta)
        return self._advance() if self._order and self._order[0] == call_id else ""

    def close(self) -> str:
        """Ends the open line and shows those that waited, as far as they are known."""
        written = ""
        while self._order:
            self._lines[self._order[0]].complete = True
            written += self._advance()
        return written

    def void(self) -> None:
        """Forgets all calls: their attempt does not count."""
        self._lines.clear()
        self._order.clear()

    def knows(self, call_id: str) -> bool:
        """The call's line was shown."""
        return call_id in self._lines

    def whole(self, name: str, arguments: dict[str, Any] | str | None) -> str:
        """The line of a call that is known at once."""
        return f"{self._head(name)}{sanitize_line(headline(arguments), _MOST_HEADLINE)}".rstrip() + "\n"

    def _advance(self) -> str:
        written = ""
        while self._order:
            line = self._lines[self._order[0]]
            if not line.begun:
                written += self._head(line.name)
                line.begun = True
            written += line.pending
            line.pending = ""
            if not line.complete:
                break
            written += "\n"
            self._order.pop(0)
        return written

    def _head(self, name: str) -> str:
        return (
            f"{self._style.paint(self._style.mark('●'), 'call')} {self._style.paint(sanitize_line(name, 64), 'bold')} "
        )
