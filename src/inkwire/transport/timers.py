"""Timers of one body: which one ran out, and when to look again. All stand still while the consumer is busy.

One call of the loop's `call_later` is armed at a time, for the nearest deadline, and armed again when it finds
that bytes came in between; a read costs two looks at the clock and nothing else.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable

from inkwire.errors import ModelTimeoutError, Timer
from inkwire.messages import Timeouts

__all__ = ["AFTER_FINISH_SECONDS", "BodyTimers"]

AFTER_FINISH_SECONDS = 10.0
"""Silence after a finish reason ends the message; late usage and calls have come by then."""

_WORDS: dict[Timer, str] = {
    "idle": "no byte came for {:g} s",
    "progress": "only keep-alives came for {:g} s",
    "total": "the answer took longer than {:g} s",
}


class BodyTimers:
    """Measures the time spent waiting, and calls `expire` with the error when a timer runs out."""

    def __init__(
        self, timeouts: Timeouts, expire: Callable[[ModelTimeoutError], None], loop: asyncio.AbstractEventLoop
    ) -> None:
        self._timeouts = timeouts
        self._expire = weakref.WeakMethod(expire)
        self._loop = loop
        self._handle: asyncio.TimerHandle | None = None
        self._waiting_since: float | None = None
        self._without_progress = 0.0
        self._in_all = 0.0
        self._after_finish = False

    def start_waiting(self) -> None:
        """The consumer is back, and nothing has arrived yet."""
        self._waiting_since = self._loop.time()
        if self._handle is None:
            self._arm()

    def stop_waiting(self) -> None:
        """Bytes have arrived."""
        if self._waiting_since is not None:
            waited = self._loop.time() - self._waiting_since
            self._waiting_since = None
            self._without_progress += waited
            self._in_all += waited

    def progress(self) -> None:
        """A real event was among them."""
        self._without_progress = 0.0

    def finish_seen(self) -> None:
        """The finish reason came: from now on silence is short."""
        if not self._after_finish:
            self._after_finish = True
            if self._handle is not None:
                self._handle.cancel()
                self._handle = None

    def close(self) -> None:
        """No more alarms."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        self._waiting_since = None

    def _left(self) -> list[tuple[float, Timer, float]]:
        """What is left of each timer, if the wait goes on: (seconds left, its name, its whole length)."""
        since = self._waiting_since
        waited = 0.0 if since is None else self._loop.time() - since
        limits = self._timeouts
        idle = limits.idle_seconds
        if self._after_finish:
            idle = AFTER_FINISH_SECONDS if idle is None else min(idle, AFTER_FINISH_SECONDS)
        left: list[tuple[float, Timer, float]] = []
        if idle is not None:
            left.append((idle - waited, "idle", idle))
        if limits.progress_seconds is not None:
            spent = self._without_progress + waited
            left.append((limits.progress_seconds - spent, "progress", limits.progress_seconds))
        if limits.total_seconds is not None:
            left.append((limits.total_seconds - self._in_all - waited, "total", limits.total_seconds))
        return left

    def _arm(self) -> None:
        left = self._left()
        if left:
            # A weak method, so that a stream that nobody holds any more is not kept alive by its alarm.
            self._handle = self._loop.call_later(max(min(left)[0], 0.001), _ring, weakref.ref(self))

    def ring(self) -> None:
        """The alarm: expire, or look again later."""
        self._handle = None
        if self._waiting_since is None:
            return  # the consumer is busy; its next wait arms again
        seconds, timer, length = min(self._left())
        if seconds > 0.0005:
            self._arm()
            return
        if (expire := self._expire()) is not None:
            expire(ModelTimeoutError(_WORDS[timer].format(length), timer=timer, phase="body"))


def _ring(timers: weakref.ref[BodyTimers]) -> None:
    if (alive := timers()) is not None:
        alive.ring()
