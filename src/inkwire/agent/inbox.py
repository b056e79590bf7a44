"""Messages for a run that is under way in; each delivered or returned, out.

Steering goes in before the next model call; a follow-up when the run would stop. The sender holds a `Delivery` that
says what became of the message: nothing that a user typed disappears.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Generator
from typing import Literal, TypeAlias

from inkwire.messages import UserMessage

__all__ = ["Delivery", "DeliveryState", "Inbox"]

DeliveryState: TypeAlias = Literal["queued", "delivered", "returned"]


class Delivery:
    """What became of one message; `await` it for the end: `delivered` or `returned`."""

    def __init__(self, message: UserMessage) -> None:
        self.message = message
        self.state: DeliveryState = "queued"
        self._settled = asyncio.Event()

    def __await__(self) -> Generator[None, None, DeliveryState]:
        yield from self._settled.wait().__await__()
        return self.state

    def _settle(self, state: DeliveryState) -> None:
        self.state = state
        self._settled.set()


class Inbox:
    """What waits for a run; closed while none is under way."""

    def __init__(self) -> None:
        self._steering: deque[Delivery] = deque()
        self._follow_ups: deque[Delivery] = deque()
        self._open = False

    def open(self) -> None:
        """A run begins: messages are queued from now on."""
        self._open = True

    def close(self) -> tuple[UserMessage, ...]:
        """The run ends: whatever waits is returned."""
        self._open = False
        waiting = [*self._steering, *self._follow_ups]
        self._steering.clear()
        self._follow_ups.clear()
        for delivery in waiting:
            delivery._settle("returned")
        return tuple(delivery.message for delivery in waiting)

    def steer(self, message: UserMessage) -> Delivery:
        """Queue for the next model call; returned at once when there is no run."""
        return self._queue(message, self._steering)

    def follow_up(self, message: UserMessage) -> Delivery:
        """Queue for when the run would stop; returned at once when there is no run."""
        return self._queue(message, self._follow_ups)

    def take_back(self) -> tuple[UserMessage, ...]:
        """All that waits, out of the queues and back to the sender."""
        was_open = self._open
        returned = self.close()
        self._open = was_open
        return returned

    @property
    def waits(self) -> bool:
        """Whether a message waits."""
        return bool(self._steering or self._follow_ups)

    def take_steering(self) -> list[UserMessage]:
        """All steering so far, as delivered."""
        return [self._deliver(self._steering) for _ in range(len(self._steering))]

    def take_follow_up(self) -> list[UserMessage]:
        """One follow-up, so that each gets its own answer."""
        return [self._deliver(self._follow_ups)] if self._follow_ups else []

    def _queue(self, message: UserMessage, queue: deque[Delivery]) -> Delivery:
        delivery = Delivery(message)
        if self._open:
            queue.append(delivery)
        else:
            delivery._settle("returned")
        return delivery

    def _deliver(self, queue: deque[Delivery]) -> UserMessage:
        delivery = queue.popleft()
        delivery._settle("delivered")
        return delivery.message
