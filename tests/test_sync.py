"""The synchronous front: the same streams, from code without an event loop."""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from inkwire.errors import ClosedError, StreamCancelled, TransportError
from inkwire.events import MessageEnd, TextDelta
from inkwire.providers.base import Target
from inkwire.sync import SyncClient
from tests.scripted_server import ScriptedServer
from tests.test_client import DONE, LOST, STOP, WHOLE, chunk, entry, request

HOLD = entry(chunk("x"), end="hold")


class Running:
    """A scripted server on a loop of its own thread."""

    def __init__(self, script: list[dict[str, Any]]) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.server = ScriptedServer(script)
        self._run(self.server.__aenter__())

    def _run(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        self._run(self.server.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@pytest.fixture
def serve() -> Iterator[Any]:
    running: list[Running] = []

    def make(*script: dict[str, Any]) -> SyncClient:
        running.append(Running(list(script)))
        target = Target("t", "m", running[-1].server.url, "chat")
        return SyncClient(resolve=lambda model: target, retries=0)

    yield make
    for each in running:
        each.close()


def test_events_come_one_by_one_and_then_the_message(serve: Any) -> None:
    with serve(WHOLE) as client, client.stream(request()) as stream:
        events = list(stream)
        assert isinstance(events[-1], MessageEnd)
        assert stream.message is not None
        assert stream.message.text == "Hello"


def test_complete_gives_the_message(serve: Any) -> None:
    with serve(WHOLE) as client:
        assert client.complete(request()).text == "Hello"


async def test_it_works_inside_a_running_loop(serve: Any) -> None:
    with serve(WHOLE) as client:
        assert client.complete(request()).text == "Hello"


def test_threads_may_share_a_client(serve: Any) -> None:
    with serve(WHOLE) as client, ThreadPoolExecutor(4) as pool:
        texts = list(pool.map(lambda _: client.complete(request()).text, range(8)))
    assert set(texts) == {"Hello"}


def test_errors_keep_their_class(serve: Any) -> None:
    with serve(LOST) as client:
        stream = client.stream(request())
        assert isinstance(next(stream), TextDelta)
        with pytest.raises(TransportError):
            next(stream)


def test_cancel_from_another_thread_ends_the_iteration(serve: Any) -> None:
    with serve(HOLD) as client:
        stream = client.stream(request())
        next(stream)
        threading.Timer(0.02, stream.cancel).start()
        assert list(stream) == []
        with pytest.raises(StreamCancelled):
            stream.result()


def test_closing_twice_is_nothing_and_a_closed_client_says_so(serve: Any) -> None:
    client = serve(WHOLE)
    assert client.complete(request()).text == "Hello"
    client.close()
    client.close()
    with pytest.raises(ClosedError):
        client.stream(request())


def test_result_raises_what_iterating_raised(serve: Any) -> None:
    with serve(LOST) as client:
        stream = client.stream(request())
        with pytest.raises(TransportError) as first:
            list(stream)
        with pytest.raises(TransportError) as second:
            stream.result()
    assert first.value is second.value


def test_reading_twice_is_refused(serve: Any) -> None:
    with serve(WHOLE) as client:
        stream = client.stream(request())
        assert stream.result().text == "Hello"
        with pytest.raises(ClosedError):
            list(stream)


def test_a_stream_keeps_its_client_alive(serve: Any) -> None:
    stream = serve(WHOLE).stream(request())
    gc.collect()
    assert stream.result().text == "Hello"
    assert (stream.status, stream.request_id) == (200, "req_7")
    assert stream.timings.ended is not None
    stream.close()


def test_events_that_came_together_take_one_trip(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    trips = 0
    run = asyncio.run_coroutine_threadsafe

    def counted(*args: Any) -> Any:
        nonlocal trips
        trips += 1
        return run(*args)

    with serve(entry("".join(chunk("x") for _ in range(100)) + STOP + DONE)) as client:
        monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", counted)
        assert len(list(client.stream(request()))) == 101
        assert trips < 50
        monkeypatch.undo()


def test_ctrl_c_ends_the_wait_and_closes_the_connection(serve: Any) -> None:
    with serve(HOLD) as client:
        with client.stream(request()) as stream:
            next(stream)
            main = threading.main_thread().ident
            assert main is not None
            threading.Timer(0.1, signal.pthread_kill, (main, signal.SIGINT)).start()
            with pytest.raises(KeyboardInterrupt):
                next(stream)
        assert stream.message is None
        assert stream.partial.text == "x"
