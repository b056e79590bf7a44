"""The same cause has the same class, as a status or inside a 200 stream, in the service's own words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from inkwire.errors import (
    AuthenticationError,
    ContextOverflowError,
    InvalidRequestError,
    QuotaError,
    RateLimitError,
    ServerError,
    ServiceError,
)
from inkwire.protocols.service_errors import from_response, in_payload

INSIDE: list[tuple[dict[str, Any], str, type[ServiceError], int | None, bool | None]] = [
    ({"error": {"message": "m", "code": 502}}, "", ServerError, 502, True),
    ({"error": {"message": "m", "code": "400"}}, "", InvalidRequestError, 400, False),
    ({"error": {"message": "m", "code": "rate_limit_exceeded"}}, "", RateLimitError, 429, True),
    ({"error": {"message": "m", "type": "insufficient_quota"}}, "", QuotaError, 429, False),
    ({"error": {"message": "m", "code": "context_length_exceeded"}}, "", ContextOverflowError, 400, False),
    ({"error": {"message": "prompt is too long: 9 tokens > 8"}}, "", ContextOverflowError, 400, False),
    ({"error": "Unauthorized"}, "", ServiceError, None, None),
    ({"error": {"message": "m", "code": None, "type": None}}, "", ServiceError, None, None),
    ({"type": "error", "error": {"type": "overloaded_error", "message": "m"}}, "", ServerError, 529, True),
    ({"type": "error", "code": "rate_limit_exceeded", "message": "m"}, "error", RateLimitError, 429, True),
    ({"message": "m", "code": 503}, "error", ServerError, 503, True),
    (
        {"type": "response.failed", "response": {"error": {"code": "server_error", "message": "m"}}},
        "",
        ServerError,
        500,
        True,
    ),
    ({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "m"}}, "", RateLimitError, 429, True),
    ({"message": "m"}, "throttlingException", RateLimitError, 429, True),
    ({"object": "error", "message": "m", "code": 404}, "", InvalidRequestError, 404, False),
    ({"base_resp": {"status_code": 1008, "status_msg": "m"}}, "", QuotaError, 402, False),
    ({"error": {"message": "m", "code": "tool_use_failed"}}, "", ServiceError, 400, True),
    ({"error": {"message": "Insufficient Balance"}}, "", QuotaError, 429, False),
]


@pytest.mark.parametrize(("payload", "event", "kind", "status", "retryable"), INSIDE)
def test_an_error_inside_the_stream(
    payload: dict[str, Any], event: str, kind: type[ServiceError], status: int | None, retryable: bool | None
) -> None:
    error = in_payload(payload, event)
    assert error is not None
    assert (type(error), error.status, error.retryable) == (kind, status, retryable)


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"error": None},
        {"error": {}},
        {"error": ""},
        {"choices": [], "message": "x", "code": 1},
        {"type": "message_start", "message": {"id": "m"}},
        {"model": "m", "message": {"role": "assistant"}, "done": False},
        {"type": "response.created", "response": {"error": None}},
        {"candidates": []},
    ],
)
def test_what_is_no_error_is_none(payload: dict[str, Any]) -> None:
    assert in_payload(payload) is None


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        (401, '{"error":"Unauthorized"}', AuthenticationError, "Unauthorized"),
        (403, '{"error":{"message":"no"}}', AuthenticationError, "no"),
        (402, "pay", QuotaError, "pay"),
        (429, '{"error":{"message":"You exceeded your current quota"}}', QuotaError, "quota"),
        (429, "slow", RateLimitError, "slow"),
        (400, '[{"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT"}}]', InvalidRequestError, "bad"),
        (400, '{"detail":"wrong"}', InvalidRequestError, "wrong"),
        (413, "", InvalidRequestError, "status 413"),
        (500, "<html><title>Oops</title></html>", ServerError, "Oops"),
        (529, '{"type":"error","error":{"type":"overloaded_error","message":"busy"}}', ServerError, "busy"),
        (302, "", InvalidRequestError, "/login"),
        (400, '{"error":{"message":"maximum context length is 8192 tokens"}}', ContextOverflowError, "8192"),
        (
            429,
            '{"error":{"message":"Too many tokens, please wait","code":"throttlingException"}}',
            RateLimitError,
            "wait",
        ),
    ],
)
def test_a_status_with_every_body(status: int, body: str, kind: type[ServiceError], words: str) -> None:
    error = from_response(status, {"X-Request-Id": "req_1", "Location": "/login"}, body.encode())
    assert type(error) is kind
    assert words in error.message
    assert (error.status, error.request_id) == (status, "req_1")


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        ({"error": {"message": "Please try again in 1.898s."}}, 1.898),
        ({"error": {"message": "Try again in 250ms"}}, 0.25),
        ({"error": {"message": "retry after 20 seconds"}}, 20),
        ({"error": {"message": "try again in 1m30s"}}, 90),
        ({"error": {"message": "no hint"}}, None),
        ({"error": {"message": "x", "details": [{"retryDelay": "2.5s"}]}}, 2.5),
    ],
)
def test_the_wait_that_the_body_asks_for(body: dict[str, Any], seconds: float | None) -> None:
    assert from_response(429, {}, json.dumps(body).encode()).retry_after == seconds


def test_the_words_are_bounded() -> None:
    assert len(from_response(500, {}, b"x" * 100_000).message) <= 500
