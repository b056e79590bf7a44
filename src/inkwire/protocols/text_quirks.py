"""A decoder's fragments in; fragments with an endpoint's text deviations put right, out.

Two deviations need more than one look at the text, and only where an endpoint's quirks name them: reasoning inside
`<think>` tags at the very start of the text, and text that each delta repeats from the beginning. Tags in the
middle of a text are text. Where the wire also has a reasoning field, the field wins and the tagged text is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from inkwire.fragments import (
    CallFragment,
    DoneFragment,
    FailureFragment,
    FinishFragment,
    Fragment,
    ReasoningFragment,
    TextFragment,
)
from inkwire.framing.frame import Frame
from inkwire.protocols.base import Decoder, Quirks

__all__ = ["TextQuirks", "with_text_quirks"]

_OPEN, _CLOSE = "<think>", "</think>"
_CLOSES_TEXT = (CallFragment, FinishFragment, DoneFragment, FailureFragment)
"""After these, what was held back can no longer become a tag."""


def with_text_quirks(decoder: Decoder, quirks: Quirks) -> Decoder:
    """The decoder itself, or wrapped if the quirks concern its text."""
    if quirks.think_tags or quirks.think_open or quirks.cumulative_text:
        return TextQuirks(decoder, quirks)
    return decoder


class TextQuirks:
    """A decoder around a decoder."""

    def __init__(self, decoder: Decoder, quirks: Quirks) -> None:
        self._decoder = decoder
        self._cumulative = quirks.cumulative_text
        self._so_far = {TextFragment: "", ReasoningFragment: ""}
        self._tags = _ThinkTags(quirks.think_open) if quirks.think_tags or quirks.think_open else None

    def feed(self, frame: Frame) -> Sequence[Fragment]:
        """The fragments of one payload, put right."""
        return self._mend(self._decoder.feed(frame))

    def finish(self) -> Sequence[Fragment]:
        """What was held back at the end of the body."""
        held = self._tags.flush() if self._tags else []
        return [*self._mend(self._decoder.finish()), *held]

    def _mend(self, fragments: Iterable[Fragment]) -> list[Fragment]:
        out: list[Fragment] = []
        for fragment in fragments:
            if self._cumulative and isinstance(fragment, (TextFragment, ReasoningFragment)):
                fragment = msgspec.structs.replace(fragment, text=self._new_part(type(fragment), fragment.text))
            if self._tags is None:
                out.append(fragment)
            elif isinstance(fragment, TextFragment):
                out.extend(self._tags.feed(fragment.text))
            else:
                if isinstance(fragment, ReasoningFragment):
                    self._tags.field_seen = self._tags.field_seen or bool(fragment.text)
                elif isinstance(fragment, _CLOSES_TEXT):
                    out.extend(self._tags.flush())
                out.append(fragment)
        return out

    def _new_part(self, kind: type[TextFragment] | type[ReasoningFragment], text: str) -> str:
        so_far = self._so_far[kind]
        new = text[len(so_far) :] if text.startswith(so_far) else text
        self._so_far[kind] = text if text.startswith(so_far) else so_far + text
        return new


class _ThinkTags:
    """Splits text at the tags; each character is looked at once, and at most a tag's length is held back."""

    def __init__(self, starts_inside: bool) -> None:
        self._state: Literal["start", "inside", "after"] = "inside" if starts_inside else "start"
        self._may_open = True
        self._held = ""
        self.field_seen = False

    def feed(self, text: str) -> list[Fragment]:
        if self._state == "after":
            return [TextFragment(text)]
        text, self._held = self._held + text, ""
        return self._at_start(text) if self._state == "start" else self._inside(text)

    def flush(self) -> list[Fragment]:
        """What was held back can no longer become a tag."""
        held, self._held = self._held, ""
        if self._state == "start":
            self._state = "after" if held.strip() else "start"
            return [TextFragment(held)] if held else []
        return self._reasoning(held)

    def _at_start(self, text: str) -> list[Fragment]:
        body = text.lstrip()
        if body.startswith(_OPEN):
            self._state, self._may_open = "inside", False
            return self._inside(body[len(_OPEN) :])
        if _OPEN.startswith(body):
            self._held = text
            return []
        self._state = "after"
        return [TextFragment(text)]

    def _inside(self, text: str) -> list[Fragment]:
        if self._may_open:  # the template opened the tag, yet some models write it once more
            body = text.lstrip()
            if body.startswith(_OPEN):
                text = body[len(_OPEN) :]
            elif _OPEN.startswith(body):
                self._held = text
                return []
            self._may_open = False
        at = text.find(_CLOSE)
        if at >= 0:
            self._state = "after"
            rest = text[at + len(_CLOSE) :]
            return [*self._reasoning(text[:at]), *([TextFragment(rest)] if rest else [])]
        keep = next((n for n in range(min(len(_CLOSE) - 1, len(text)), 0, -1) if text.endswith(_CLOSE[:n])), 0)
        self._held = text[len(text) - keep :]
        return self._reasoning(text[: len(text) - keep])

    def _reasoning(self, text: str) -> list[Fragment]:
        return [ReasoningFragment(text)] if text and not self.field_seen else []
