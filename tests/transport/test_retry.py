"""Which failures are asked again, and after how long: decided from facts, with the clock and chance given."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import formatdate

import pytest

from inkwire.errors import (
    IncompleteStreamError,
    InvalidRequestError,
    LimitExceededError,
    ModelError,
    ModelTimeoutError,
    ProtocolError,
    QuotaError,
    RateLimitError,
    ServerError,
    TransportError,
)
from inkwire.transport.retry import Retry, decide, retry_after_seconds

NOW = 1_800_000_000.0


def now() -> float:
    return NOW


def wait(
    error: ModelError, headers: Mapping[str, str] | None = None, attempt: int = 0, chance: float = 0.0
) -> float | None:
    again = decide(error, headers or {}, attempt, now=now, random=lambda: chance)
    return again.delay_seconds if isinstance(again, Retry) else None


def overload() -> ServerError:
    return ServerError("overloaded", status=529, retryable=True)


@pytest.mark.parametrize(
    "error",
    [
        TransportError("lost", retryable=True),
        ModelTimeoutError("no byte came", timer="idle"),
        ModelTimeoutError("no head", timer="head"),
        IncompleteStreamError("cut", retryable=True),
        RateLimitError("slow down", status=429, retryable=True),
        overload(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_may_go_away_is_asked_again(error: ModelError) -> None:
    assert wait(error) is not None


@pytest.mark.parametrize(
    "error",
    [
        InvalidRequestError("no", status=400, retryable=False),
        QuotaError("all used up", status=429, retryable=False),
        ProtocolError("damage", retryable=False),
        LimitExceededError("too long", retryable=False),
        ModelTimeoutError("took too long", timer="total"),
        TransportError("certificate", retryable=False),
        RateLimitError("nobody knows", retryable=None),
    ],
    ids=lambda error: f"{type(error).__name__}-{error.retryable}",
)
def test_what_stays_is_not_asked_again(error: ModelError) -> None:
    assert wait(error) is None


def test_without_a_word_the_wait_doubles_to_a_cap_and_is_spread() -> None:
    assert [wait(overload(), attempt=n, chance=1.0) for n in range(6)] == [0.5, 1.0, 2.0, 4.0, 8.0, 8.0]
    assert wait(overload(), chance=0.0) == 0.375
    assert wait(overload(), attempt=2_000) is not None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after-ms": "0", "retry-after": "9"}, 9.0),
        ({"retry-after": formatdate(NOW + 20, usegmt=True)}, 20.0),
        ({"retry-after": "120"}, 120.0),
    ],
)
def test_the_services_word_on_the_wait_counts(headers: dict[str, str], seconds: float) -> None:
    assert wait(overload(), headers) == seconds
    assert wait(overload(), headers, chance=1.0) == seconds * 1.25


@pytest.mark.parametrize(
    "value",
    [
        "nan",
        "inf",
        "1e400",
        "0",
        "-5",
        "",
        "soon",
        "Fri, 31 Dec 99999 23:59:59 GMT",
        formatdate(NOW - 20, usegmt=True),
        formatdate(NOW, usegmt=True),
    ],
)
def test_a_wait_that_is_none_falls_back_to_the_formula(value: str) -> None:
    assert retry_after_seconds({"retry-after": value}, now) is None
    assert wait(overload(), {"retry-after": value}) == 0.375


@pytest.mark.parametrize("headers", [{"retry-after": "121"}, {"retry-after-ms": "3600000"}])
def test_a_longer_wait_is_told_not_waited_for(headers: dict[str, str]) -> None:
    error = overload()
    assert wait(error, headers) is None
    assert error.retry_after == retry_after_seconds(headers, now)


def test_a_hint_inside_the_error_counts_when_the_headers_say_nothing() -> None:
    assert wait(RateLimitError("again in 2.5 s", retryable=True, retry_after=2.5)) == 2.5
    assert wait(RateLimitError("x", retryable=True, retry_after=2.5), {"retry-after": "4"}) == 4.0
    assert wait(RateLimitError("x", retryable=True, retry_after=float("inf"))) == 0.375
    assert wait(RateLimitError("x", retryable=True, retry_after=500.0)) is None


def test_x_should_retry_is_obeyed_both_ways() -> None:
    refused = overload()
    assert wait(refused, {"x-should-retry": "false"}) is None
    assert refused.retryable is False
    assert wait(InvalidRequestError("no", status=400, retryable=False), {"x-should-retry": "true"}) is not None


@pytest.mark.parametrize(
    "error",
    [
        QuotaError("all used up", status=429, retryable=False),
        ProtocolError("a page", status=204, retryable=False),
        ModelTimeoutError("took too long", timer="total"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_x_should_retry_does_not_refill_a_quota_nor_mend_damage(error: ModelError) -> None:
    assert wait(error, {"x-should-retry": "true"}) is None
