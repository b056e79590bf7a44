"""Answers in; what they cost, and which limit of the run is reached, out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from inkwire.agent.events import Outcome
from inkwire.messages import AssistantMessage, Usage

__all__ = ["Limits", "Price", "Tally"]

Price: TypeAlias = Callable[[AssistantMessage], float | None]
"""US dollars of one answer; None when its price is not known."""


class Limits(msgspec.Struct, frozen=True):
    """Where a run ends, done or not; None: no limit."""

    max_turns: int | None = 1_000
    """Model calls."""
    max_tokens: int | None = None
    """Input and output of all answers together."""
    max_cost: float | None = None
    """US dollars; answers without a known price count nothing."""
    max_time_seconds: float | None = None


class Tally:
    """The counts of one run."""

    def __init__(self, limits: Limits, price: Price) -> None:
        self._limits = limits
        self._price = price
        self._answers = 0
        self._priced = 0
        self._cost = 0.0
        self.turns = 0
        self.usage = Usage()
        self.ran = 0
        self.refused = 0

    def add(self, answer: AssistantMessage) -> None:
        """Count an answer, whole or partial, that the service will bill."""
        self.usage = _sum(self.usage, answer.usage)
        self._answers += 1
        cost = self._price(answer)
        if cost is not None:
            self._priced += 1
            self._cost += cost

    @property
    def cost(self) -> float | None:
        """US dollars so far, None when no price is known."""
        return self._cost if self._priced else None

    @property
    def cost_complete(self) -> bool:
        """Whether every answer's price is known."""
        return 0 < self._answers == self._priced

    def reached(self) -> tuple[Outcome, str] | None:
        """The limit that forbids another model call, and its words."""
        limits = self._limits
        if limits.max_turns is not None and self.turns >= limits.max_turns:
            return (
                "max_turns",
                f"the limit of {limits.max_turns} {'turn' if limits.max_turns == 1 else 'turns'} is reached",
            )
        used = (self.usage.input_tokens or 0) + (self.usage.output_tokens or 0)
        if limits.max_tokens is not None and used >= limits.max_tokens:
            return "max_tokens", f"the run's limit of {limits.max_tokens} tokens is reached ({used} used)"
        if limits.max_cost is not None and self._priced and self._cost >= limits.max_cost:
            return "max_cost", f"the cost limit of ${limits.max_cost:g} is reached (${self._cost:.4f} spent)"
        return None


def _sum(first: Usage, second: Usage) -> Usage:
    return Usage(*(_plus(getattr(first, name), getattr(second, name)) for name in Usage.__struct_fields__))


def _plus(first: int | None, second: int | None) -> int | None:
    return second if first is None else first if second is None else first + second
