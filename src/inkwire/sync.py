"""The synchronous front: the same client, driven on one portal thread with an event loop of its own.

Works inside a running loop too, for the portal's loop is another. Nothing is written twice: every call is handed over,
waited for, and its result or exception handed back. Ctrl-C in the waiting thread cancels what it waits for.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Coroutine, Iterator, Mapping
from concurrent.futures import CancelledError, Future
from types import TracebackType
from typing import Any, Self, TypeVar

from inkwire.call import Timings
from inkwire.client import Client
from inkwire.errors import ClosedError
from inkwire.events import Event
from inkwire.messages import AssistantMessage, Request
from inkwire.stream import ModelStream

__all__ = ["SyncClient", "SyncStream"]

_Result = TypeVar("_Result")


class _Portal:
    """One daemon thread that runs an event loop; started with the first call."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """The work's result, from any thread but the portal's own."""
        future: Future[_Result] = asyncio.run_coroutine_threadsafe(work, self._start())
        try:
            return future.result()
        except CancelledError:
            raise ClosedError("the client was closed while it was waited for") from None
        except BaseException:
            future.cancel()  # Ctrl-C, or the work's own error, after which this changes nothing
            raise

    def close(self) -> None:
        """Stop the loop after its open work was cancelled; idempotent."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is not None and thread is not None and thread is not threading.current_thread():
            loop.call_soon_threadsafe(loop.stop)
            thread.join()

    def _start(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                ready = threading.Event()
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_serve, args=(self._loop, ready), name="inkwire-portal", daemon=True
                )
                self._thread.start()
                ready.wait()
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop, ready: threading.Event) -> None:
    asyncio.set_event_loop(loop)
    loop.call_soon(ready.set)
    try:
        loop.run_forever()
    finally:
        open_tasks = asyncio.all_tasks(loop)
        for task in open_tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*open_tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


class SyncClient:
    """`Client` for code without an event loop; takes what `Client` takes.

    A context manager; `close` is idempotent, and a client that is dropped closes itself.
    """

    def __init__(self, **options: Any) -> None:
        self._client = Client(**options)
        self._portal = _Portal()
        self._finalizer = weakref.finalize(self, _Portal.close, self._portal)

    def stream(self, request: Request, **options: Any) -> SyncStream:
        """One answer as an iterator of events; options and errors are those of `Client.stream`."""
        return SyncStream(self._client.stream(request, **options), self, self._portal)

    def complete(self, request: Request) -> AssistantMessage:
        """The complete message of one answer."""
        return self._portal.run(self._client.complete(request))

    def close(self) -> None:
        """Close every open stream, all connections and the portal."""
        if self._finalizer.alive:
            self._portal.run(self._client.aclose())
            self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class SyncStream:
    """The events of one answer: a context manager and an iterator, read once."""

    def __init__(self, stream: ModelStream, client: SyncClient, portal: _Portal) -> None:
        self._stream = stream
        self._client = client  # a client that is dropped closes itself, but not under its streams
        self._portal = portal

    @property
    def message(self) -> AssistantMessage | None:
        """The complete message, once `message_end` was handed out."""
        return self._stream.message

    @property
    def partial(self) -> AssistantMessage:
        """What has arrived."""
        return self._stream.partial

    @property
    def request_id(self) -> str | None:
        """The service's name for the last attempt."""
        return self._stream.request_id

    @property
    def status(self) -> int | None:
        """The HTTP status of the last attempt."""
        return self._stream.status

    @property
    def headers(self) -> Mapping[str, str]:
        """The response headers of the last attempt, names in lower case."""
        return self._stream.headers

    @property
    def timings(self) -> Timings:
        """When things happened."""
        return self._stream.timings

    def cancel(self) -> None:
        """End the stream quietly, from any thread."""
        self._stream.cancel()

    def result(self) -> AssistantMessage:
        """The complete message, read to its end if nobody did. Raises `StreamCancelled` after a cancel."""
        return self._portal.run(self._stream.result())

    def close(self) -> None:
        """Close the connection; idempotent."""
        self._portal.run(self._stream.aclose())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[Event]:
        aiter(self._stream)  # refuses what was read to its end
        return self

    def __next__(self) -> Event:
        if (event := self._stream.take_arrived()) is not None:
            return event
        try:
            return self._portal.run(_next(self._stream))
        except _End:
            raise StopIteration from None


class _End(Exception):
    """The end of the events; `StopAsyncIteration` cannot leave a coroutine."""


async def _next(stream: ModelStream) -> Event:
    try:
        return await anext(stream)
    except StopAsyncIteration:
        raise _End from None
