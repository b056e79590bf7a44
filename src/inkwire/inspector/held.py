"""An assembler in, what changed in it since the last look out: differences, never a copy of all that it holds.

A look costs what is new, not what is there: the events say which parts grew, and only those that can change without an
event (the last one, calls that are not announced yet) are looked at besides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from inkwire.assembler import Assembler, OpenOpaque
from inkwire.calls import OpenCall, tail
from inkwire.events import Event, MessageEnd, ReasoningDelta, TextDelta, ToolCallDelta, ToolCallStart
from inkwire.fragments import Fragment, OpaqueFragment, ReasoningFragment, TextFragment
from inkwire.inspector.known import KnownJSON, Op
from inkwire.text_parts import OpenText

__all__ = [
    "Change",
    "Fact",
    "Held",
    "PartGrew",
    "PartKnown",
    "PartNamed",
    "PartOpaque",
    "PartOpened",
    "SeenPart",
    "Voided",
    "Warned",
]

_LONGEST_OPAQUE = 240
"""Characters of an opaque string that are told; signatures and encrypted thinking are long and say nothing."""


class PartOpened(msgspec.Struct, frozen=True, tag_field="type", tag="opened"):
    """A new part: `text`, `reasoning`, `tool_call`, or the provider's own kind of an opaque one."""

    part: int
    kind: str


class PartGrew(msgspec.Struct, frozen=True, tag_field="type", tag="grew"):
    """More of the part's text; of a call, of its argument text."""

    part: int
    text: str


class PartNamed(msgspec.Struct, frozen=True, tag_field="type", tag="named"):
    """What is known of a call's id and name now; `announced` once it was shown."""

    part: int
    id: str
    name: str
    announced: bool


class PartKnown(msgspec.Struct, frozen=True, tag_field="type", tag="known"):
    """How the tree of the call's arguments grew; `inspector.known` has the steps."""

    part: int
    ops: tuple[Op, ...]
    whole: bool
    """The text so far is one whole JSON value."""
    broken: str | None = None


class PartOpaque(msgspec.Struct, frozen=True, tag_field="type", tag="opaque"):
    """What only the provider understands, long strings shortened."""

    part: int
    opaque: Mapping[str, Any]


class Fact(msgspec.Struct, frozen=True, tag_field="type", tag="fact"):
    """A fact about the message: a token count, the stop reason, model, response id, damage, completion."""

    name: str
    value: Any


class Warned(msgspec.Struct, frozen=True, tag_field="type", tag="warned"):
    """An oddity was noted."""

    kind: str
    detail: str


class Voided(msgspec.Struct, frozen=True, tag_field="type", tag="voided"):
    """All parts so far are void; the next ones count from 0 again."""


Change: TypeAlias = PartOpened | PartGrew | PartNamed | PartKnown | PartOpaque | Fact | Warned | Voided


class SeenPart:
    """A part as it was at the last look."""

    __slots__ = ("free_text", "id", "kind", "known", "name", "opaque_size", "size", "started")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.size = 0
        self.id = ""
        self.name = ""
        self.started = False
        self.free_text = False
        self.opaque_size = 0
        self.known = KnownJSON()

    @property
    def whole(self) -> bool:
        """Whether it is a call whose argument text is one whole JSON value by now."""
        return self.kind == "tool_call" and self.size > 0 and not self.free_text and self.known.whole


class Held:
    """Looks at one assembler again and again."""

    def __init__(self, assembler: Assembler) -> None:
        self._assembler = assembler
        self._list = assembler.parts
        self.parts: list[SeenPart] = []
        self._unannounced: set[int] = set()
        self._facts: dict[str, Any] = {}
        self._warnings = 0

    def look(self, fragments: Sequence[Fragment], events: Sequence[Event]) -> list[Change]:
        """What changed while these fragments came in and these events went out."""
        changes: list[Change] = []
        if self._assembler.parts is not self._list:
            self._list = self._assembler.parts
            self.parts.clear()
            self._unannounced.clear()
            changes.append(Voided())
        for index in range(len(self.parts), len(self._list)):
            changes.append(self._open(index))
        for index in self._touched(fragments, events):
            changes += self._part(index, events)
        changes += self._new_facts()
        warnings = self._assembler.warnings
        changes += [Warned(warning.kind, warning.detail) for warning in warnings[self._warnings :]]
        self._warnings = len(warnings)
        return changes

    def _open(self, index: int) -> PartOpened:
        part = self._list[index]
        kind = part.kind if isinstance(part, (OpenText, OpenOpaque)) else "tool_call"
        self.parts.append(SeenPart(kind))
        if isinstance(part, OpenCall):
            self._unannounced.add(index)
        return PartOpened(index, kind)

    def _touched(self, fragments: Sequence[Fragment], events: Sequence[Event]) -> Sequence[int]:
        if any(isinstance(event, MessageEnd) for event in events) or any(map(_may_change_any, fragments)):
            return range(len(self.parts))
        grown = (TextDelta, ReasoningDelta, ToolCallStart, ToolCallDelta)
        touched = {event.index for event in events if isinstance(event, grown)} | self._unannounced
        if self.parts:
            touched.add(len(self.parts) - 1)
        return sorted(touched)

    def _part(self, index: int, events: Sequence[Event]) -> Iterator[Change]:
        part, seen = self._list[index], self.parts[index]
        if isinstance(part, OpenCall):
            yield from self._call(index, part, seen)
        elif isinstance(part, OpenText):
            text = "".join(
                event.text
                for event in events
                if isinstance(event, (TextDelta, ReasoningDelta)) and event.index == index
            )
            if text:
                seen.size += len(text)
                yield PartGrew(index, text)
        if (size := _size(part.opaque)) != seen.opaque_size:
            seen.opaque_size = size
            yield PartOpaque(index, {key: _shortened(value) for key, value in part.opaque.items()})

    def _call(self, index: int, call: OpenCall, seen: SeenPart) -> Iterator[Change]:
        seen.free_text = call.free_text
        now = (call.id or call.wire_id, call.name, call.started)
        if now != (seen.id, seen.name, seen.started):
            seen.id, seen.name, seen.started = now
            if call.started:
                self._unannounced.discard(index)
            yield PartNamed(index, *now)
        if call.size > seen.size:
            text = tail(call.pieces, call.size - seen.size)
            seen.size = call.size
            yield PartGrew(index, text)
            if not call.free_text and seen.known.broken is None:
                ops = seen.known.grow(text)
                yield PartKnown(index, ops, seen.known.whole, seen.known.broken)

    def _new_facts(self) -> Iterator[Fact]:
        assembler = self._assembler
        facts: dict[str, Any] = {
            "model": assembler.model or None,
            "response_id": assembler.response_id,
            "stop_reason": assembler.stop,
            "raw_stop_reason": assembler.raw_stop,
            "damaged": assembler.damaged or None,
            "complete": assembler.complete or None,
            **assembler.usage,
        }
        for name, value in facts.items():
            if value != self._facts.get(name):
                self._facts[name] = value
                yield Fact(name, value)


def _may_change_any(fragment: Fragment) -> bool:
    """Whether it can change a part of its own without an event."""
    if isinstance(fragment, ReasoningFragment):
        return bool(fragment.opaque or fragment.append)
    return isinstance(fragment, OpaqueFragment) or (isinstance(fragment, TextFragment) and bool(fragment.opaque))


def _size(opaque: Mapping[str, Any]) -> int:
    return sum(1 + (len(value) if isinstance(value, str) else 0) for value in opaque.values())


def _shortened(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _LONGEST_OPAQUE:
        return f"{value[:_LONGEST_OPAQUE]}… ({len(value):,} characters)"
    return value
