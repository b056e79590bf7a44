"""One answer's stream where signing, the total time and dropped references meet; the rest is in test_client.py."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import Any

import pytest

from inkwire.client import Client
from inkwire.errors import ModelTimeoutError, ServerError
from inkwire.events import MessageEnd, Retrying, TextDelta
from inkwire.messages import Timeouts
from inkwire.providers.base import Target
from inkwire.transport import timers
from tests.scripted_server import ScriptedServer
from tests.test_client import DONE, STOP, WHOLE, chunk, client_of, entry, request

FAILING = {"status": 500, "headers": {}, "body": "{}"}


async def test_a_cancel_while_signing_sends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    signing, may_end = threading.Event(), threading.Event()

    def sign(self: Client, *about: Any) -> dict[str, str]:
        signing.set()
        may_end.wait(60)
        return {}

    monkeypatch.setattr(Client, "_sign", sign)
    async with ScriptedServer([{"then": "accept_and_hold"}]) as server:
        target = Target("t", "m", server.url, "chat", auth="sigv4")
        async with Client(resolve=lambda model: target, retries=0) as client:
            stream = client.stream(request())
            reader = asyncio.ensure_future(anext(stream, None))
            await asyncio.to_thread(signing.wait, 60)
            stream.cancel()
            async with asyncio.timeout(60):
                assert await reader is None
            may_end.set()
    assert server.seen == []


@pytest.mark.parametrize("by_task", [True, False], ids=["task", "stream"])
async def test_a_cancel_just_before_the_wait_leaves_nothing_unawaited(by_task: bool) -> None:
    async with ScriptedServer([FAILING]) as server, client_of(server) as client:
        stream = client.stream(request())
        assert isinstance(await anext(stream), Retrying)
        reader = asyncio.ensure_future(anext(stream, None))
        # Runs after the reader's step, before the first step of the wait that it starts.
        asyncio.get_running_loop().call_soon(reader.cancel if by_task else stream.cancel)
        async with asyncio.timeout(60):
            if by_task:
                with pytest.raises(asyncio.CancelledError):
                    await reader
            else:
                assert await reader is None
        gc.collect()


async def test_the_total_time_counts_the_wait_for_the_head() -> None:
    async with ScriptedServer([{"then": "accept_and_hold"}]) as server, client_of(server) as client:
        with pytest.raises(ModelTimeoutError) as caught:
            await client.complete(request(timeouts=Timeouts(total_seconds=0.05)))
    assert caught.value.timer == "total"
    assert server.seen[1:] == [], "a call whose time is over is not asked again"


async def test_a_retry_that_would_begin_after_the_total_time_is_not_waited_for() -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    answer = {**FAILING, "headers": {"retry-after": "100"}}
    async with ScriptedServer([answer]) as server, client_of(server, sleep=sleep) as client:
        with pytest.raises(ServerError) as caught:
            await client.complete(request(timeouts=Timeouts(total_seconds=90.0)))
    assert (waits, caught.value.retry_after) == ([], 100.0)


async def test_keep_alives_after_the_finish_reason_do_not_hold_the_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timers, "AFTER_FINISH_SECONDS", 0.1)
    pinging = entry(chunk("x"), STOP, end="hold", after="comments_20ms_forever")
    async with ScriptedServer([pinging]) as server, client_of(server) as client, asyncio.timeout(60):
        assert (await client.complete(request())).text == "x"


async def test_streams_that_are_dropped_leave_nothing_in_their_client() -> None:
    async with ScriptedServer([entry(chunk("x"), end="hold")]) as server, client_of(server) as client:
        for _ in range(3):
            stream = client.stream(request())
            await anext(stream)
            assert len(client._open) == 1
            del stream
            gc.collect()
            assert len(client._open) == 0
        await server.disconnected()


async def test_what_has_arrived_is_taken_without_waiting() -> None:
    whole = entry(chunk("a") + chunk("b") + STOP + DONE)
    async with ScriptedServer([whole]) as server, client_of(server) as client:
        stream = client.stream(request())
        assert stream.take_arrived() is None
        assert await anext(stream) == TextDelta(0, "a")
        assert stream.take_arrived() == TextDelta(0, "b")
        assert isinstance(stream.take_arrived(), MessageEnd)
        assert stream.message is not None
        assert stream.take_arrived() is None
        await stream.aclose()


async def test_a_cancel_leaves_nothing_to_take() -> None:
    whole = entry(chunk("a") + chunk("b") + STOP + DONE)
    async with ScriptedServer([whole]) as server, client_of(server) as client:
        stream = client.stream(request())
        await anext(stream)
        stream.cancel()
        assert stream.take_arrived() is None
        assert [event async for event in stream] == []


async def test_times_are_told_in_their_order() -> None:
    async with ScriptedServer([WHOLE]) as server, client_of(server) as client:
        stream = client.stream(request())
        await stream.result()
    times = stream.timings
    known = [times.started, times.head, times.first_event, times.ended]
    assert None not in known
    assert known == sorted(known, key=lambda at: at or 0)
