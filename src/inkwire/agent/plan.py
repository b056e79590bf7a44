"""What a loop works with: everything that is the same for every run of an agent."""

from __future__ import annotations

import msgspec

from inkwire.agent.access import ModelAccess, Shortener
from inkwire.agent.dispatch import Dispatcher
from inkwire.agent.tally import Limits, Price
from inkwire.messages import Request

__all__ = ["Plan"]


class Plan(msgspec.Struct, frozen=True):
    """What is the same for every run of an agent."""

    access: ModelAccess
    template: Request
    """The model, the tools and every option; its messages are the system prompt."""
    dispatcher: Dispatcher
    price: Price
    limits: Limits = Limits()
    continuations: int = 0
    """How often a cut answer is continued without being asked."""
    restarts: int = 2
    shortener: Shortener | None = None
