"""Which timer runs out, on a clock that is a number."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from inkwire.errors import ModelTimeoutError
from inkwire.messages import Timeouts
from inkwire.transport.timers import AFTER_FINISH_SECONDS, BodyTimers, TotalTimer


class Clock:
    """An event loop's clock and alarms, moved by hand."""

    def __init__(self) -> None:
        self.at = 0.0
        self.armed = 0
        self._alarms: list[Alarm] = []

    def time(self) -> float:
        return self.at

    def call_later(self, delay: float, ring: Callable[..., None], *args: object) -> Alarm:
        self.armed += 1
        alarm = Alarm(self.at + delay, lambda: ring(*args))
        self._alarms.append(alarm)
        return alarm

    def wait(self, seconds: float) -> None:
        end = self.at + seconds
        while due := [alarm for alarm in self._alarms if not alarm.over and alarm.at <= end]:
            first = min(due, key=lambda alarm: alarm.at)
            self.at, first.over = max(self.at, first.at), True
            first.ring()
        self.at = end


class Alarm:
    def __init__(self, at: float, ring: Callable[[], None]) -> None:
        self.at, self.ring, self.over = at, ring, False

    def cancel(self) -> None:
        self.over = True


class Waiting:
    """A body's reader with its timers."""

    def __init__(self, total: TotalTimer | None = None, **limits: float | None) -> None:
        timeouts = Timeouts(**limits)
        self.clock = Clock()
        self.expired: list[str] = []
        self.total = total or TotalTimer(timeouts.total_seconds)
        loop = cast(asyncio.AbstractEventLoop, self.clock)
        self.timers = BodyTimers(timeouts, self.total, self.expire, loop)

    def expire(self, error: ModelTimeoutError) -> None:
        self.expired.append(error.timer)

    def read(self, after: float, *, real: bool = True, busy: float = 0.0) -> None:
        """One read whose bytes come `after` so long; then the consumer works."""
        self.timers.start_waiting()
        self.clock.wait(after)
        self.timers.stop_waiting()
        if real:
            self.timers.progress()
        self.clock.wait(busy)


def test_silence_expires_and_any_byte_begins_anew() -> None:
    waiting = Waiting(idle_seconds=2.0)
    for _ in range(5):
        waiting.read(1.9, real=False)
    assert waiting.expired == []
    waiting.read(2.1)
    assert waiting.expired == ["idle"]


def test_keep_alives_are_no_progress() -> None:
    waiting = Waiting(idle_seconds=2.0, progress_seconds=5.0)
    for _ in range(4):
        waiting.read(1.2, real=False)
    assert waiting.expired == []
    waiting.read(1.2, real=False)
    assert waiting.expired == ["progress"]


def test_nothing_expires_while_the_consumer_is_busy() -> None:
    waiting = Waiting(idle_seconds=2.0, progress_seconds=3.0, total_seconds=10.0)
    for _ in range(5):
        waiting.read(1.0, busy=1_000.0)
    assert waiting.expired == []
    assert waiting.total.left == pytest.approx(5.0)


def test_a_total_ends_a_busy_stream_and_counts_what_was_waited_before() -> None:
    total = TotalTimer(4.0)
    total.spend(2.5)
    waiting = Waiting(total, total_seconds=4.0)
    waiting.read(1.0)
    assert waiting.expired == []
    waiting.read(1.0)
    assert waiting.expired == ["total"]


@pytest.mark.parametrize("real", [True, False], ids=["silence", "keep-alives"])
def test_after_the_finish_reason_the_wait_is_short(real: bool) -> None:
    waiting = Waiting()
    waiting.read(50.0)
    waiting.timers.finish_seen()
    if real:
        waiting.read(AFTER_FINISH_SECONDS + 1)
        assert waiting.expired == ["idle"]
    else:
        for _ in range(10):
            waiting.read(AFTER_FINISH_SECONDS / 9.5, real=False)
        assert waiting.expired == ["progress"]


def test_a_wait_of_its_own_that_is_shorter_stays_after_the_finish_reason() -> None:
    waiting = Waiting(idle_seconds=1.0)
    waiting.timers.finish_seen()
    waiting.read(1.5)
    assert waiting.expired == ["idle"]


def test_a_read_arms_no_alarm_of_its_own() -> None:
    waiting = Waiting()
    for _ in range(1_000):
        waiting.read(0.01)
    assert waiting.clock.armed == 1


def test_timers_that_are_off_never_ring() -> None:
    waiting = Waiting(idle_seconds=None, progress_seconds=None)
    waiting.read(1e6)
    assert (waiting.expired, waiting.clock.armed) == ([], 0)


def test_after_closing_nothing_rings() -> None:
    waiting = Waiting(idle_seconds=1.0)
    waiting.timers.start_waiting()
    waiting.timers.close()
    waiting.clock.wait(10.0)
    assert waiting.expired == []


@pytest.mark.parametrize(("head", "left", "capped"), [(5.0, 2.0, 2.0), (1.0, 2.0, 1.0), (None, 2.0, 2.0)])
def test_the_head_ends_with_the_call(head: float | None, left: float, capped: float) -> None:
    assert TotalTimer(left).cap(Timeouts(head_seconds=head)).head_seconds == capped


def test_without_a_total_the_head_keeps_its_own_time() -> None:
    for head in (3.0, None):
        timeouts: Any = Timeouts(head_seconds=head)
        assert TotalTimer(None).cap(timeouts) is timeouts


def test_no_attempt_begins_when_the_time_is_over() -> None:
    total = TotalTimer(1.0)
    total.spend(1.0)
    with pytest.raises(ModelTimeoutError) as caught:
        total.cap(Timeouts())
    assert caught.value.timer == "total"
