"""Timers of a call and of one body: which ran out, and when to look again. All stand still while the consumer is busy.

One call of the loop's `call_later` is armed at a time, for the nearest deadline, and armed again when it finds
that bytes came in between; a read costs two looks at the clock and nothing else.
"""

from __future__ import annotations

import asyncio
import math
import weakref
from collections.abc import Callable

import msgspec

from inkwire.errors import ModelTimeoutError, Timer
from inkwire.messages import Timeouts

__all__ = ["AFTER_FINISH_SECONDS", "BodyTimers", "TotalTimer"]

AFTER_FINISH_SECONDS = 10.0
"""Silence after a finish reason, or mere keep-alives, ends the message; late usage and calls have come by then."""

_WORDS: dict[Timer, str] = {
    "idle": "no byte came for {:g} s",
    "progress": "only keep-alives came for {:g} s",
    "total": "the answer took longer than {:g} s",
}


class TotalTimer:
    """The time that one call may wait in all: for heads, reads and before retries, over all attempts."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._spent = 0.0

    @property
    def left(self) -> float:
        """Seconds; infinite when the timer is off."""
        return math.inf if self._seconds is None else self._seconds - self._spent

    def spend(self, seconds: float) -> None:
        """So much was waited."""
        self._spent += seconds

    def cap(self, timeouts: Timeouts) -> Timeouts:
        """The timeouts with a head that ends with the call. Raises `ModelTimeoutError` when nothing is left."""
        if self.left <= 0:
            raise self.error()
        head = timeouts.head_seconds
        if self.left >= (math.inf if head is None else head):
            return timeouts
        return msgspec.structs.replace(timeouts, head_seconds=self.left)

    def error(self) -> ModelTimeoutError:
        """What is raised when it ran out."""
        return ModelTimeoutError(_WORDS["total"].format(self._seconds or 0), timer="total", phase="head")


class BodyTimers:
    """Measures the time spent waiting, and calls `expire` with the error when a timer runs out."""

    def __init__(
        self,
        timeouts: Timeouts,
        total: TotalTimer,
        expire: Callable[[ModelTimeoutError], None],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._timeouts = timeouts
        self._total = total
        self._expire = weakref.WeakMethod(expire)
        self._loop = loop
        self._handle: asyncio.TimerHandle | None = None
        self._waiting_since: float | None = None
        self._without_progress = 0.0
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
            self._total.spend(waited)

    def progress(self) -> None:
        """A real event was among them."""
        self._without_progress = 0.0

    def finish_seen(self) -> None:
        """The finish reason came: from now on silence is short."""
        if not self._after_finish:
            self._after_finish = True
            self._without_progress = 0.0
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
        idle, progress = limits.idle_seconds, limits.progress_seconds
        if self._after_finish:
            idle, progress = _at_most(idle), _at_most(progress)
        left: list[tuple[float, Timer, float]] = []
        if idle is not None:
            left.append((idle - waited, "idle", idle))
        if progress is not None:
            left.append((progress - self._without_progress - waited, "progress", progress))
        if limits.total_seconds is not None:
            left.append((self._total.left - waited, "total", limits.total_seconds))
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


def _at_most(seconds: float | None) -> float:
    return AFTER_FINISH_SECONDS if seconds is None else min(seconds, AFTER_FINISH_SECONDS)


def _ring(timers: weakref.ref[BodyTimers]) -> None:
    if (alive := timers()) is not None:
        alive.ring()
