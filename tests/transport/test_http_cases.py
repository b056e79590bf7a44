"""Every case of tests/cases/http.json, and those of json.json that need a socket, against a server that misbehaves."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from inkwire.client import Client
from inkwire.errors import (
    ClosedError,
    IncompleteStreamError,
    LimitExceededError,
    ModelError,
    ModelTimeoutError,
    ProtocolError,
    ServiceError,
    TransportError,
)
from inkwire.messages import AssistantMessage, Request, Timeouts, UserMessage
from inkwire.providers.base import Target
from tests.case_notation import load_cases
from tests.scripted_server import ScriptedServer

PACES = (0.2, 1.0, 5.0)
"""Seconds of a case, scaled: one becomes a fifth; again slower where a machine that is busy makes timers fire early."""

KINDS: dict[str, type[Exception]] = {
    "provider_error": ServiceError,
    "http_status": ServiceError,
    "incomplete_stream": IncompleteStreamError,
    "bad_payload": ProtocolError,
    "unexpected_content": ProtocolError,
    "event_too_large": LimitExceededError,
    "connect": TransportError,
    "connection_lost": TransportError,
    "closed": ClosedError,
}
TIMERS = {
    "timeout_first_byte": "head",
    "timeout_idle": "idle",
    "timeout_no_progress": "progress",
    "timeout_total": "total",
    "timeout_connect": "connect",
}
HTTP = load_cases("http")
LIVE = [
    case
    for case in load_cases("json")
    if case["server"].get("end") != "eof" or "content-encoding" in (case["server"].get("headers") or {})
]


def target_at(url: str, protocol: str = "chat") -> Target:
    return Target("test", "model", url, protocol, key="sk-secret")


def request(timeouts: Timeouts | None = None) -> Request:
    return Request("test/model", (UserMessage.of("Hi"),), timeouts=timeouts or Timeouts())


class Recorded:
    """The waits that a client asked for, none of which takes time."""

    def __init__(self) -> None:
        self.delays: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.delays.append(seconds)


def timeouts_of(case: dict[str, Any], pace: float) -> Timeouts:
    said = case.get("timeouts")
    if said is None:
        return Timeouts()

    def scaled(name: str) -> float | None:
        return said[name] * pace if name in said else None

    return Timeouts(scaled("connect"), scaled("first_byte"), scaled("idle"), scaled("no_progress"), scaled("total"))


async def ask(
    client: Client, timeouts: Timeouts, pause: float = 0.0
) -> tuple[AssistantMessage | None, ModelError | None]:
    async with client.stream(request(timeouts)) as stream:
        try:
            async for _ in stream:
                await asyncio.sleep(pause)
        except ModelError as error:
            return None, error
        return stream.message, None


@pytest.mark.parametrize("case", HTTP, ids=[case["id"] for case in HTTP])
async def test_http_case(case: dict[str, Any]) -> None:
    for pace in PACES:
        try:
            await run_http_case(case, pace)
        except AssertionError:
            if "timeouts" not in case or pace == PACES[-1]:
                raise
        else:
            return


async def run_http_case(case: dict[str, Any], pace: float) -> None:
    script, expect = case["server"]["script"], case["expect"]
    waits = Recorded()
    protocol = case.get("protocol", "chat")
    if protocol == "gemini":
        # What is told is the delay; the stream that follows is the other cases' chat stream.
        protocol = "chat"
    async with (
        ScriptedServer(script, pace=pace) as server,
        Client(
            resolve=lambda model: target_at(server.url, protocol),
            retries=case["policy"]["max_retries"],
            sleep=waits.sleep,
            now=time.time,
        ) as client,
    ):
        pause = case.get("client", {}).get("sleep_between_events_s", 0) * pace
        for _ in range(expect.get("calls", 1)):
            message, error = await ask(client, timeouts_of(case, pace), pause)
    if "requests" in expect:
        # A connection that is closed without an answer is a request, too.
        assert len(server.seen) == expect["requests"]
    if "connections" in expect:
        assert server.connections == expect["connections"]
    if "delays_s" in expect:
        assert len(waits.delays) == len(expect["delays_s"])
        for delay, (low, high) in zip(waits.delays, expect["delays_s"], strict=True):
            assert low <= delay <= high
    for name, value in expect.get("request_headers", {}).items():
        if name == "accept_contains":
            assert value in server.seen[0].headers["accept"]
        else:
            assert server.seen[0].headers[name] == value
    if expect["outcome"] == "ok":
        assert error is None, error
        assert message is not None
        assert message.stop_reason == "end_turn"
    else:
        assert error is not None
        judge(error, expect["error"])


def judge(error: ModelError, expect: dict[str, Any]) -> None:
    if expect["kind"] in TIMERS:
        assert isinstance(error, ModelTimeoutError)
        assert error.timer == TIMERS[expect["kind"]]
    else:
        assert isinstance(error, KINDS[expect["kind"]]), repr(error)
    for name in ("status", "code", "retryable", "committed", "retry_after"):
        if expect.get(name) is not None:
            assert str(getattr(error, name)) == str(expect[name])
    if "retry_after_s" in expect:
        assert error.retry_after == expect["retry_after_s"]
    if expect.get("message"):
        assert expect["message"] in error.message
    if "message_max_chars" in expect:
        assert len(error.message) <= expect["message_max_chars"]
    if "text" in expect:
        assert error.partial is not None
        assert error.partial.text == expect["text"]
    assert "sk-secret" not in repr(error) + str(error)


@pytest.mark.parametrize("case", LIVE, ids=[case["id"] for case in LIVE])
async def test_json_case_over_a_socket(case: dict[str, Any]) -> None:
    protocol = {"openai-chat": "chat", "openai-responses": "responses"}.get(case["protocol"], case["protocol"])
    async with ScriptedServer([case["server"]], pace=PACES[0]) as server:
        async with Client(resolve=lambda model: target_at(server.url, protocol), retries=0) as client:
            async with asyncio.timeout(60):
                message, error = await ask(client, Timeouts())
        async with asyncio.timeout(60):
            await server.disconnected()
    expect = case["expect"]
    if expect["outcome"] == "complete":
        assert error is None, error
        assert message is not None
    else:
        assert error is not None
        judge(error, expect["error"])
