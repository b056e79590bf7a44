"""Every case of tests/cases/cancel.json: what is raised, what the server sees, and that nothing is left over."""

from __future__ import annotations

import asyncio
import gc
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from inkwire.client import Client
from inkwire.errors import ClosedError
from inkwire.events import TextDelta
from inkwire.stream import ModelStream
from tests.case_notation import load_cases
from tests.scripted_server import EVENT, ScriptedServer
from tests.transport.test_http_cases import request, target_at

TESTED = {
    "cancel-during-connect": "test_cancel_during_connect",
    "cancel-mid-stream": "test_cancel_mid_stream",
    "cancel-mid-burst": "test_cancel_mid_burst",
    "cancel-twice": "test_cancel_twice",
    "cancel-in-backoff": "test_cancel_in_backoff",
    "close-from-other-task": "test_close_from_other_task",
    "close-twice": "test_close_twice",
    "consumer-raises": "test_consumer_raises",
    "client-closed-with-open-streams": "test_client_closed_with_open_streams",
    "loop-shutdown": "test_loop_shutdown",
    "new-loop-same-client": "test_new_loop_same_client",
    "cancel-while-draining-after-done": "test_cancel_while_draining_after_done",
}
HOLD = {"status": 200, "headers": {"content-type": "text/event-stream"}, "reads": [EVENT.decode()], "end": "hold"}
DONE = 'data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
WHOLE = {"status": 200, "headers": {"content-type": "text/event-stream"}, "reads": [DONE], "end": "eof"}
BURST = {**HOLD, "reads": [], "after": "events_0ms_forever"}


@asynccontextmanager
async def nothing_left(server: ScriptedServer) -> AsyncIterator[Client]:
    """A client; after it the server saw every connection close, and no task of ours is left."""
    before = asyncio.all_tasks()
    async with asyncio.timeout(60):
        async with Client(resolve=lambda model: target_at(server.url), retries=0) as client:
            yield client
            await server.disconnected()
        left = {task for task in asyncio.all_tasks() - before if "aiohttp" in repr(task) or "inkwire" in repr(task)}
    assert not left


async def read_all(stream: ModelStream, first: asyncio.Event | None = None) -> None:
    async with stream:
        async for _ in stream:
            if first is not None:
                first.set()


def test_every_case_has_a_test() -> None:
    assert {case["id"] for case in load_cases("cancel")} == set(TESTED)
    assert all(name in globals() for name in TESTED.values())


async def test_cancel_during_connect() -> None:
    full = socket.socket()
    full.bind(("127.0.0.1", 0))
    full.listen(0)
    others = [socket.socket() for _ in range(8)]
    for other in others:  # fill the backlog, so that the next connection hangs
        other.setblocking(False)
        other.connect_ex(full.getsockname())
    try:
        async with ScriptedServer([WHOLE]) as server:
            places = [f"http://127.0.0.1:{full.getsockname()[1]}/v1", server.url]
            async with Client(resolve=lambda model: target_at(places[0]), retries=0) as client:
                task = asyncio.create_task(client.complete(request()))
                await asyncio.sleep(0.05)
                task.cancel()
                async with asyncio.timeout(60):
                    with pytest.raises(asyncio.CancelledError):
                        await task
                    places.reverse()
                    assert (await client.complete(request())).text == "x"
    finally:
        for each in (*others, full):
            each.close()


async def test_cancel_mid_stream() -> None:
    async with ScriptedServer([HOLD]) as server, nothing_left(server) as client:
        first = asyncio.Event()
        task = asyncio.create_task(read_all(client.stream(request()), first))
        await first.wait()
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_cancel_mid_burst() -> None:
    async with ScriptedServer([BURST]) as server, nothing_left(server) as client:
        first = asyncio.Event()
        task = asyncio.create_task(read_all(client.stream(request()), first))
        await first.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_cancel_twice() -> None:
    async with ScriptedServer([*[HOLD] * 12, WHOLE]) as server, nothing_left(server) as client:
        for _ in range(12):
            first = asyncio.Event()
            task = asyncio.create_task(read_all(client.stream(request()), first))
            await first.wait()
            task.cancel()
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert (await client.complete(request())).text == "x"
        await client._transport.aclose()


async def test_cancel_in_backoff() -> None:
    asked = asyncio.Event()

    async def sleep(seconds: float) -> None:
        assert seconds >= 30
        asked.set()
        await asyncio.Event().wait()

    async with ScriptedServer([{"status": 429, "headers": {"retry-after": "30"}, "body": "{}"}]) as server:
        async with Client(resolve=lambda model: target_at(server.url), sleep=sleep) as client:
            task = asyncio.create_task(client.complete(request()))
            await asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert len(server.seen) == 1


async def test_close_from_other_task() -> None:
    async with ScriptedServer([HOLD]) as server, nothing_left(server) as client:
        stream = client.stream(request())
        assert isinstance(await anext(stream), TextDelta)
        reader = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.01)
        await stream.aclose()
        with pytest.raises(ClosedError):
            await reader


async def test_close_twice() -> None:
    async with ScriptedServer([HOLD]) as server, nothing_left(server) as client:
        stream = client.stream(request())
        await anext(stream)
        await stream.aclose()
        await stream.aclose()
        await stream.close()


async def raise_in_the_middle(stream: ModelStream) -> None:
    async with stream:
        async for _ in stream:
            raise ValueError("mine")


async def test_consumer_raises() -> None:
    async with ScriptedServer([BURST]) as server, nothing_left(server) as client:
        with pytest.raises(ValueError, match="mine"):
            await raise_in_the_middle(client.stream(request()))


async def test_client_closed_with_open_streams() -> None:
    async with ScriptedServer([HOLD]) as server, asyncio.timeout(60):
        client = Client(resolve=lambda model: target_at(server.url), retries=0)
        streams = [client.stream(request()) for _ in range(3)]
        for stream in streams:
            await anext(stream)
        readers = [asyncio.ensure_future(anext(stream)) for stream in streams]
        await asyncio.sleep(0.01)
        await client.aclose()
        outcomes = await asyncio.gather(*readers, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [ClosedError] * 3
        await server.disconnected()


async def test_cancel_while_draining_after_done() -> None:
    async with ScriptedServer([{**WHOLE, "end": "hold"}]) as server, nothing_left(server) as client:
        stream = client.stream(request())
        while stream.message is None:
            await anext(stream)
        task = asyncio.ensure_future(anext(stream, None))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_stream_that_nobody_holds_closes_its_connection() -> None:
    async with ScriptedServer([HOLD]) as server, nothing_left(server) as client:
        stream = client.stream(request())
        await anext(stream)
        del stream
        gc.collect()


_PROGRAM = """
import asyncio, sys
from inkwire import Client, Request, UserMessage
from inkwire.providers.base import Target
url = sys.argv[1]
def make():
    return Client(resolve=lambda model: Target("t", "m", url, "chat"))
shared = make()
async def main(client):
    message = await client.complete(Request("t/m", (UserMessage.of("Hi"),)))
    assert message.text == "x"
async def closed():
    async with make() as client:
        await main(client)
PROGRAM
"""
_BAD_WORDS = (
    "Unclosed",
    "destroyed but it is pending",
    "Event loop is closed",
    "never awaited",
    "Warning",
    "Traceback",
)


async def _run(program: str) -> None:
    async with ScriptedServer([WHOLE]) as server:
        command = [sys.executable, "-X", "dev", "-c", _PROGRAM.replace("PROGRAM", program), server.url]
        root = Path(__file__).parent.parent.parent
        done = await asyncio.to_thread(
            subprocess.run, command, capture_output=True, text=True, timeout=100, check=False, cwd=root
        )
    assert done.returncode == 0, done.stderr
    assert not [word for word in _BAD_WORDS if word in done.stderr], done.stderr


async def test_loop_shutdown() -> None:
    await _run("asyncio.run(closed()); asyncio.run(main(shared))")


async def test_new_loop_same_client() -> None:
    await _run("asyncio.run(main(shared)); asyncio.run(main(shared))")
