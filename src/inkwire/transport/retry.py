"""What became of an attempt in; whether to ask again, and after how long, out. Pure: clock and chance are given.

Asked again while nothing was handed out: lost and refused connections, time-outs, statuses 408, 409, 429 and 5xx, an
overload or an end that came inside a 200 stream. Never: what the service calls final, an exhausted quota, damage, a
call whose total time is over. `x-should-retry` is obeyed on a service's error; an exhausted quota stays exhausted.
The service's word on the wait counts if it is finite and in (0, 120] s; a longer one is not waited for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import msgspec

from inkwire.errors import ModelError, ModelTimeoutError, QuotaError, ServiceError

__all__ = ["Retry", "decide", "retry_after_seconds"]

_LONGEST_WAIT = 120.0
_BASE, _CAP = 0.5, 8.0
_DOUBLINGS = 10
"""More would overflow some day, and the cap is reached long before."""


class Retry(msgspec.Struct, frozen=True):
    """Ask again after this long."""

    delay_seconds: float


def decide(
    error: ModelError,
    headers: Mapping[str, str],
    attempt: int,
    *,
    now: Callable[[], float],
    random: Callable[[], float],
) -> Retry | None:
    """The wait before the next attempt, or None to raise.

    `attempt` counts from 0; `headers` are the response's, names in lower case; `now` is in seconds since the epoch,
    `random` in [0, 1). Sets what the headers say on the error: `retry_after`, and `retryable` where they forbid it.
    """
    asked = retry_after_seconds(headers, now)
    if asked is None and error.retry_after is not None and _is_usable(error.retry_after):
        asked = error.retry_after
    if asked is not None:
        error.retry_after = asked
    if not _may_retry(error, headers.get("x-should-retry", "")):
        return None
    if asked is not None:
        # A little later than asked, so that all who wait do not come back at once.
        return Retry(asked * (1 + 0.25 * random())) if asked <= _LONGEST_WAIT else None
    return Retry(min(_BASE * 2.0 ** min(attempt, _DOUBLINGS), _CAP) * (0.75 + 0.25 * random()))


def _may_retry(error: ModelError, word: str) -> bool:
    if word.lower() == "false":
        error.retryable = False
        return False
    if isinstance(error, QuotaError) or (isinstance(error, ModelTimeoutError) and error.timer == "total"):
        return False
    return error.retryable is True or (word.lower() == "true" and isinstance(error, ServiceError))


def retry_after_seconds(headers: Mapping[str, str], now: Callable[[], float]) -> float | None:
    """The wait that the headers ask for, in seconds; None when they ask for none that can be used.

    Source: RFC 9110, section 10.2.3; `retry-after-ms` is OpenAI's and Azure's.
    """
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None and _is_usable(milliseconds):
        return milliseconds / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is None and value:
        seconds = _seconds_until(value, now)
    return seconds if seconds is not None and _is_usable(seconds) else None


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


def _seconds_until(date: str, now: Callable[[], float]) -> float | None:
    from email.utils import parsedate_to_datetime  # slow to load, rarely needed

    try:
        return parsedate_to_datetime(date).timestamp() - now()
    except (ValueError, OverflowError, TypeError, OSError):
        return None


def _is_usable(seconds: float) -> bool:
    return math.isfinite(seconds) and seconds > 0
