"""One answer over real sockets: when it commits, is retried, restarted, cancelled and closed, and what it tells."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from typing import Any

import pytest
from msgspec.structs import replace

from inkwire.client import Client
from inkwire.errors import (
    ClosedError,
    ConfigurationError,
    IncompleteStreamError,
    ModelTimeoutError,
    RateLimitError,
    StreamCancelled,
    TransportError,
)
from inkwire.events import Event, MessageEnd, RawEvent, Retrying, StreamReset, TextDelta
from inkwire.messages import Request, Timeouts, UserMessage
from inkwire.providers.base import Target
from inkwire.transport import timers
from tests.scripted_server import ScriptedServer

SSE = {"content-type": "text/event-stream", "x-request-id": "req_7"}


def chunk(content: str | None = None, finish: str | None = None) -> str:
    delta = {} if content is None else {"content": content}
    return "data: " + json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}) + "\n\n"


ROLE = 'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n'
STOP = chunk(finish="stop")
DONE = "data: [DONE]\n\n"


def entry(*reads: str, end: str = "eof", **more: Any) -> dict[str, Any]:
    return {"status": 200, "headers": SSE, "reads": list(reads), "end": end, **more}


WHOLE = entry(chunk("Hel"), chunk("lo"), STOP, DONE)
LOST = entry(chunk("Hel"), end="reset")


async def no_wait(seconds: float) -> None:
    """A sleep that takes no time."""


def client_of(server: ScriptedServer, **options: Any) -> Client:
    target = Target("test", "model", server.url, options.pop("protocol", "chat"), key="sk-secret", auth="bearer")
    return Client(resolve=lambda model: target, **{"sleep": no_wait, **options})


def request(**more: Any) -> Request:
    return Request("test/model", (UserMessage.of("my private words"),), **more)


async def collect(client: Client, **options: Any) -> list[Event]:
    async with client.stream(request(), **options) as stream:
        return [event async for event in stream]


async def test_a_connection_lost_before_output_is_asked_again() -> None:
    async with ScriptedServer([entry(ROLE, end="reset"), WHOLE]) as server, client_of(server) as client:
        events = await collect(client)
    assert isinstance(events[0], Retrying)
    assert events[0].attempt == 2
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["Hel", "lo"]
    assert len(server.seen) == 2
    assert server.seen[0].body == server.seen[1].body
    assert server.seen[0].headers["idempotency-key"] == server.seen[1].headers["idempotency-key"]


async def test_an_end_without_its_signal_before_output_is_asked_again() -> None:
    async with ScriptedServer([entry(ROLE), WHOLE]) as server, client_of(server) as client:
        events = await collect(client)
    assert isinstance(events[-1], MessageEnd)
    assert len(server.seen) == 2


async def test_an_overload_inside_the_stream_before_output_is_asked_again() -> None:
    overload = entry('event: error\ndata: {"error":{"type":"overloaded_error","message":"Overloaded"}}\n\n')
    async with ScriptedServer([overload, WHOLE]) as server, client_of(server) as client:
        assert isinstance((await collect(client))[-1], MessageEnd)


async def test_nothing_is_asked_again_after_output() -> None:
    async with ScriptedServer([LOST, WHOLE]) as server, client_of(server) as client:
        stream = client.stream(request())
        assert isinstance(await anext(stream), TextDelta)
        with pytest.raises(TransportError) as caught:
            await anext(stream)
    assert caught.value.committed
    assert caught.value.partial is not None
    assert caught.value.partial.text == "Hel"
    assert caught.value.request_id == "req_7"
    assert len(server.seen) == 1


async def test_a_restart_voids_what_was_shown() -> None:
    async with ScriptedServer([LOST, WHOLE]) as server, client_of(server) as client:
        events = await collect(client, restarts=2)
    reset = next(number for number, event in enumerate(events) if isinstance(event, StreamReset))
    assert [event.text for event in events[:reset] if isinstance(event, TextDelta)] == ["Hel"]
    assert [event.text for event in events[reset:] if isinstance(event, TextDelta)] == ["Hel", "lo"]
    last = events[-1]
    assert isinstance(last, MessageEnd)
    assert last.message.text == "Hello"


async def test_restarts_have_an_end() -> None:
    async with ScriptedServer([LOST]) as server, client_of(server) as client:
        with pytest.raises(TransportError):
            await collect(client, restarts=2)
    assert len(server.seen) == 3


async def test_the_message_is_handed_out_before_the_body_ends() -> None:
    async with ScriptedServer([entry(chunk("x"), STOP, DONE, end="hold")]) as server, client_of(server) as client:
        stream = client.stream(request())
        events = [await anext(stream) for _ in range(2)]
        assert isinstance(events[-1], MessageEnd)
        assert stream.message is not None
        await stream.aclose()
        await server.disconnected()


async def test_silence_after_the_finish_reason_ends_the_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timers, "AFTER_FINISH_SECONDS", 0.05)
    async with ScriptedServer([entry(chunk("x"), STOP, end="hold")]) as server, client_of(server) as client:
        events = await collect(client)
    assert isinstance(events[-1], MessageEnd)


async def test_a_timer_names_itself() -> None:
    short = Timeouts(idle_seconds=0.5)
    async with ScriptedServer([entry(chunk("x"), end="hold")]) as server, client_of(server) as client:
        stream = client.stream(request(timeouts=short))
        await anext(stream)
        with pytest.raises(ModelTimeoutError) as caught:
            await anext(stream)
    assert (caught.value.timer, caught.value.committed) == ("idle", True)


async def test_cancel_ends_the_iteration_quietly() -> None:
    async with ScriptedServer([entry(chunk("x"), end="hold")]) as server, client_of(server) as client:
        stream = client.stream(request())
        events = [await anext(stream)]
        asyncio.get_running_loop().call_later(0.01, stream.cancel)
        events += [event async for event in stream]
        assert events == [TextDelta(0, "x")]
        assert stream.partial.text == "x"
        with pytest.raises(StreamCancelled):
            await stream.result()
        await server.disconnected()


async def test_cancel_from_another_thread_ends_the_iteration() -> None:
    async with ScriptedServer([entry(chunk("x"), end="hold")]) as server, client_of(server) as client:
        stream = client.stream(request())
        await anext(stream)
        threading.Timer(0.01, stream.cancel).start()
        assert [event async for event in stream] == []


async def test_cancel_before_the_first_event_sends_nothing() -> None:
    async with ScriptedServer([WHOLE]) as server, client_of(server) as client:
        stream = client.stream(request())
        stream.cancel()
        assert [event async for event in stream] == []
        assert server.seen == []


async def test_a_cancel_before_the_message_was_handed_out_wins() -> None:
    async with ScriptedServer([entry(chunk("x") + STOP + DONE)]) as server, client_of(server) as client:
        stream = client.stream(request())
        assert isinstance(await anext(stream), TextDelta)  # the message waits behind it
        stream.cancel()
        assert [event async for event in stream] == []
        assert stream.message is None


async def test_a_cancel_after_the_message_changes_nothing() -> None:
    async with ScriptedServer([WHOLE]) as server, client_of(server) as client:
        stream = client.stream(request())
        message = await stream.result()
        stream.cancel()
        assert await stream.result() is message
        assert not stream.cancelled


async def test_cancel_ends_the_wait_for_the_head() -> None:
    async with ScriptedServer([{"then": "accept_and_hold"}]) as server, client_of(server) as client:
        stream = client.stream(request())
        asyncio.get_running_loop().call_later(0.05, stream.cancel)
        assert [event async for event in stream] == []
        await server.disconnected()


async def test_cancel_ends_the_wait_before_a_retry() -> None:
    stream: Any = None

    async def sleep(seconds: float) -> None:
        asyncio.get_running_loop().call_soon(stream.cancel)
        await asyncio.Event().wait()

    failing = {"status": 500, "headers": {}, "body": "{}"}
    async with ScriptedServer([failing]) as server, client_of(server, sleep=sleep) as client:
        stream = client.stream(request())
        events = [event async for event in stream]
    assert [type(event) for event in events] == [Retrying]
    assert len(server.seen) == 1


async def test_a_cancelled_task_aborts_the_socket_and_passes() -> None:
    async with ScriptedServer([entry(chunk("x"), end="hold")]) as server, client_of(server) as client:
        stream = client.stream(request())
        await anext(stream)
        task = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.disconnected()
        assert stream.partial.text == "x"


async def test_a_timeout_of_the_caller_stays_the_caller_s() -> None:
    async with ScriptedServer([entry(chunk("x"), end="hold")]) as server, client_of(server) as client:
        stream = client.stream(request())
        await anext(stream)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await anext(stream)
        await server.disconnected()


async def test_closing_from_another_task_ends_the_reader() -> None:
    async with ScriptedServer([entry(chunk("x"), end="hold")]) as server, client_of(server) as client:
        stream = client.stream(request())
        await anext(stream)
        reader = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.01)
        await stream.aclose()
        with pytest.raises(ClosedError):
            await reader


async def test_two_readers_are_refused() -> None:
    async with ScriptedServer([entry(chunk("x"), end="hold")]) as server, client_of(server) as client:
        stream = client.stream(request())
        await anext(stream)
        reader = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.01)
        with pytest.raises(ClosedError, match="another task"):
            await anext(stream)
        await stream.aclose()
        with pytest.raises(ClosedError):
            await reader


async def test_reading_twice_and_asking_a_closed_client_are_refused() -> None:
    async with ScriptedServer([WHOLE]) as server:
        async with client_of(server) as client:
            stream = client.stream(request())
            assert (await stream.result()).text == "Hello"
            with pytest.raises(ClosedError):
                aiter(stream)
        with pytest.raises(ClosedError, match="client is closed"):
            client.stream(request())


async def test_result_raises_what_iterating_raised() -> None:
    async with ScriptedServer([entry(chunk("x"))]) as server, client_of(server) as client:
        stream = client.stream(request())
        with pytest.raises(IncompleteStreamError) as first:
            await stream.result()
        with pytest.raises(IncompleteStreamError) as second:
            await stream.result()
    assert first.value is second.value


async def test_breaking_out_and_closing_leaves_a_client_that_works() -> None:
    async with ScriptedServer([entry(chunk("x"), end="hold"), WHOLE]) as server, client_of(server) as client:
        async with client.stream(request()) as stream:
            async for _ in stream:
                break
        assert (await client.complete(request())).text == "Hello"


async def test_many_streams_at_once_do_not_mix() -> None:
    async with ScriptedServer([WHOLE]) as server, client_of(server) as client:
        messages = await asyncio.gather(*(client.complete(request()) for _ in range(50)))
    assert {message.text for message in messages} == {"Hello"}


async def test_raw_payloads_stand_beside_our_events() -> None:
    async with ScriptedServer([WHOLE]) as server, client_of(server) as client:
        events = await collect(client, raw=True)
    assert [type(event) for event in events[:4]] == [RawEvent, TextDelta, RawEvent, TextDelta]


@pytest.mark.parametrize(
    ("auth", "header", "value"),
    [
        ("bearer", "authorization", "Bearer sk-secret"),
        ("x-api-key", "x-api-key", "sk-secret"),
        ("x-goog-api-key", "x-goog-api-key", "sk-secret"),
        ("api-key", "api-key", "sk-secret"),
    ],
)
async def test_the_key_travels_as_the_provider_wants_it(auth: Any, header: str, value: str) -> None:
    async with ScriptedServer([WHOLE]) as server:
        target = Target("test", "model", server.url, "chat", key="sk-secret", auth=auth, headers={"X-Title": "Ink"})
        async with Client(resolve=lambda model: target) as client:
            await client.complete(request(extra_headers={"X-Mine": "1"}))
    headers = server.seen[0].headers
    assert headers[header] == value
    assert (headers["x-title"], headers["x-mine"]) == ("Ink", "1")
    assert headers["accept-encoding"] == "identity"


async def test_extra_fields_are_merged_into_the_body() -> None:
    extra = {"stream_options": {"more": True}, "provider": {"order": ["a"]}}
    async with ScriptedServer([WHOLE]) as server, client_of(server) as client:
        await client.complete(request(extra_body=extra))
    body = json.loads(server.seen[0].body)
    assert body["stream_options"] == {"include_usage": True, "more": True}
    assert body["provider"] == {"order": ["a"]}


async def test_an_error_of_the_service_has_its_class_and_its_words() -> None:
    answer = {
        "status": 429,
        "headers": {"x-request-id": "req_9", "retry-after": "3600"},
        "body": '{"error": {"message": "slow down", "code": "rate_limit_exceeded"}}',
    }
    async with ScriptedServer([answer]) as server, client_of(server) as client:
        with pytest.raises(RateLimitError, match="slow down") as caught:
            await client.complete(request())
    error = caught.value
    assert (error.status, error.code, error.request_id) == (429, "rate_limit_exceeded", "req_9")
    assert (error.retryable, error.retry_after) == (True, 3600)
    assert len(server.seen) == 1


async def test_the_log_has_ids_and_times_but_no_content_and_no_key(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="inkwire")
    async with ScriptedServer([entry(ROLE, end="reset"), WHOLE]) as server, client_of(server) as client:
        await client.complete(request())
    text = caplog.text
    assert "test/model" in text
    assert "req_7" in text
    for secret in ("sk-secret", "Hello", "private words"):
        assert secret not in text


async def test_no_error_and_no_target_shows_a_key() -> None:
    target = Target("t", "m", "http://127.0.0.1:9/v1?key=sk-secret", "chat", key="sk-secret")
    assert "sk-secret" not in repr(target).replace(target.base_url, "")
    async with Client(resolve=lambda model: target, retries=0) as client:
        with pytest.raises(TransportError) as caught:
            await client.complete(request())
    assert "sk-secret" not in str(caught.value)


async def test_a_password_in_an_address_is_not_shown() -> None:
    target = Target("t", "m", "http://user:sk-secret@127.0.0.1:9/v1", "chat", key="other")
    async with Client(resolve=lambda model: target, retries=0) as client:
        with pytest.raises(ConfigurationError) as caught:
            await client.complete(request())
    assert "sk-secret" not in str(caught.value)


async def test_an_address_that_is_none_is_a_configuration_error() -> None:
    target = Target("t", "m", "not an address", "chat")
    async with Client(resolve=lambda model: target, retries=0) as client:
        with pytest.raises(ConfigurationError):
            await client.complete(request())


async def test_an_option_that_the_protocol_has_not_is_told_before_anything_is_sent() -> None:
    async with ScriptedServer([WHOLE]) as server, client_of(server) as client:
        with pytest.raises(ConfigurationError, match="reasoning_budget_tokens"):
            client.stream(replace(request(), reasoning_budget_tokens=100))
    assert server.seen == []
