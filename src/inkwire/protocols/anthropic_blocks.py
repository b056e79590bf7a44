"""What must wait until a content block of Anthropic's stops: pieces in, the fragments of its end out."""

from __future__ import annotations

from typing import Any

from inkwire.errors import LimitExceededError
from inkwire.fragments import Fragment, OpaqueFragment, TextFragment, WarningFragment
from inkwire.protocols.payload import read_value

__all__ = ["Block"]

_PLAIN = ("text", "thinking", "redacted_thinking", "tool_use", "")


class Block:
    """One content block while it arrives; `kind` is empty when its start was never seen."""

    __slots__ = ("_closed", "_pieces", "citations", "held", "key", "kind")

    def __init__(self, key: int, kind: str) -> None:
        self.key = key
        self.kind = kind
        self.held = ""
        """The text of the start, where the first delta repeats it."""
        self.citations: list[Any] = []
        self._pieces: dict[str, list[Any]] = {}
        self._closed = False

    @property
    def kept_whole(self) -> bool:
        """Whether only the service understands this block."""
        return self.kind not in _PLAIN

    def absorb(self, delta: dict[str, Any]) -> None:
        """An event of a block that is kept whole: its fields are joined when the block stops."""
        for name, value in delta.items():
            if name != "type" and value is not None:
                self._pieces.setdefault("input" if name == "partial_json" else name, []).append(value)

    def close(self) -> list[Fragment]:
        """What was kept, once."""
        if self._closed:
            return []
        self._closed = True
        out: list[Fragment] = []
        if self.held:
            out.append(TextFragment(self.held, self.key))
            self.held = ""
        if self.citations:
            out.append(TextFragment("", self.key, {"citations": self.citations}))
        fields = {name: _joined(pieces) for name, pieces in self._pieces.items()}
        if isinstance(text := fields.pop("input", None), str) and text.strip():
            try:
                fields["input"] = read_value(text.encode("utf-8", "replace"))
            except (ValueError, LimitExceededError):
                out.append(WarningFragment("opaque_input_malformed", f"the input of a {self.kind} block is no JSON"))
        if fields:
            out.append(OpaqueFragment(self.kind, fields, self.key))
        return out


def _joined(pieces: list[Any]) -> Any:
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(pieces)
    if all(isinstance(piece, list) for piece in pieces):
        return [item for piece in pieces for item in piece]
    return pieces[-1]
