"""A wish to stop in, from any task or thread; the one thing that a run waits for right now, told to stop, out.

A run never cancels the task that reads it. It stops what it waits for (the stream, the tools), so a cancellation that
reaches the reading task is always somebody else's: it passes through, counted by nobody but asyncio.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Literal, TypeAlias

__all__ = ["Interrupt", "InterruptReason"]

InterruptReason: TypeAlias = Literal["cancelled", "max_time"]


class Interrupt:
    """One run's stop button; needs a running event loop."""

    def __init__(self) -> None:
        self.reason: InterruptReason | None = None
        self._stop: Callable[[], None] | None = None
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._timer: asyncio.TimerHandle | None = None

    def trigger(self, reason: InterruptReason = "cancelled") -> None:
        """Stop the run; the first reason counts. Any task, any thread."""
        if threading.get_ident() != self._thread:
            self._loop.call_soon_threadsafe(self.trigger, reason)
        elif self.reason is None:
            self.reason = reason
            if self._stop is not None:
                self._stop()

    def after(self, seconds: float | None) -> None:
        """Trigger `max_time` by itself then."""
        if seconds is not None:
            self._timer = self._loop.call_later(max(seconds, 0), self.trigger, "max_time")

    def attach(self, stop: Callable[[], None]) -> None:
        """What to stop from now on; at once, if that is already wished."""
        self._stop = stop
        if self.reason is not None:
            stop()

    def detach(self) -> None:
        """Nothing is waited for."""
        self._stop = None

    def close(self) -> None:
        """The run is over."""
        self._stop = None
        if self._timer is not None:
            self._timer.cancel()
