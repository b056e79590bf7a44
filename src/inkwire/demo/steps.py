"""Exchanges in, the steps of their trace out, each with all that the layer holds then: for showing one at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from inkwire.inspector.held import PartGrew, PartNamed, PartOpaque, PartOpened, Voided
from inkwire.inspector.trace import Step, trace
from inkwire.recording import Exchange

__all__ = ["HeldPart", "Shown", "shown_steps"]


class HeldPart(msgspec.Struct, frozen=True):
    """A part as far as it came."""

    kind: str
    """`text`, `reasoning`, `tool_call`, or the provider's own kind."""
    text: str = ""
    """Of a call, its argument text."""
    id: str = ""
    name: str = ""
    opaque: Mapping[str, Any] | None = None


class Shown(msgspec.Struct, frozen=True):
    """A step, and how things stand after it."""

    step: Step
    parts: tuple[HeldPart, ...]
    status: int
    asked_again: bool
    """Whether another attempt of the same call follows: then the loop is not told how this one ended."""

    @property
    def is_void(self) -> bool:
        """Whether this step declares void what is held."""
        return self.step.moment == "again"


def shown_steps(exchanges: Sequence[Exchange]) -> list[Shown]:
    """The steps of a recording, short enough to hold what each step holds."""
    steps = trace(exchanges)
    statuses = {exchange.number: exchange.status or 200 for exchange in exchanges}
    attempts = {step.call: step.attempt for step in steps}
    parts: list[HeldPart] = []
    shown = []
    for step in steps:
        if step.moment != "again":
            _change(parts, step)
        asked_again = step.attempt < attempts[step.call]
        shown.append(Shown(step, tuple(parts), statuses[step.exchange], asked_again))
        if step.moment == "again":
            parts.clear()
    return shown


def _change(parts: list[HeldPart], step: Step) -> None:
    for change in step.changes:
        match change:
            case Voided():
                parts.clear()
            case PartOpened():
                parts.append(HeldPart(change.kind))
            case PartGrew():
                before = parts[change.part]
                parts[change.part] = msgspec.structs.replace(before, text=before.text + change.text)
            case PartNamed():
                parts[change.part] = msgspec.structs.replace(parts[change.part], id=change.id, name=change.name)
            case PartOpaque():
                parts[change.part] = msgspec.structs.replace(parts[change.part], opaque=change.opaque)
            case _:
                pass
