"""One answer while it arrives: attempts, retries and restarts around a pipeline, read by one consumer.

There is no task, queue or lock for a chunk: the consumer's own `anext` reads the socket. A task of its own runs only
what must be stoppable from outside before a body exists (the request's head, the wait before a retry).
"""

from __future__ import annotations

import asyncio
import logging
import time
import weakref
from collections.abc import Coroutine, Mapping
from types import TracebackType
from typing import Any, NoReturn, Self, TypeVar

import msgspec

from inkwire.call import Attempts, Call, Timings
from inkwire.errors import (
    ClosedError,
    ModelError,
    ModelTimeoutError,
    ProtocolError,
    StreamCancelled,
    TransportError,
)
from inkwire.events import Event, MessageEnd, Retrying, StreamReset
from inkwire.messages import AssistantMessage, Timeouts
from inkwire.protocols.service_errors import from_response, request_id_of
from inkwire.transport.base import Response, Transport
from inkwire.transport.endings import drain, read_error
from inkwire.transport.timers import BodyTimers, TotalTimer

__all__ = ["ModelStream"]

_logger = logging.getLogger("inkwire")
_Result = TypeVar("_Result")


class ModelStream:
    """The events of one answer: an async context manager and an async iterator, read once.

    Iterating raises a `ModelError` when the call fails; `cancel()` ends it quietly. `message` is the complete message
    once `message_end` was handed out; `partial` is what has arrived at any time.
    """

    def __init__(self, call: Call, transport: Transport, registry: weakref.WeakSet[ModelStream]) -> None:
        self._call = call
        self._transport = transport
        self._registry = registry
        self._pipeline = call.pipeline()
        self._total = TotalTimer(call.timeouts.total_seconds)
        self._response: Response | None = None
        self._timers: BodyTimers | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self._batch: list[Event] = []
        self._next = 0
        self._held: list[Event] = []
        self._pending_error: ModelError | None = None
        self._wait_seconds: float | None = None
        self._attempts = Attempts(call)
        self._cancelled = False
        self._is_over = False
        self._was_closed = False
        self._reading = False
        self._error: BaseException | None = None
        self.status: int | None = None
        """The HTTP status of the last attempt."""
        self.headers: Mapping[str, str] = {}
        """The response headers of the last attempt, names in lower case."""
        self.message: AssistantMessage | None = None
        self.timings = Timings()

    # ---- what the consumer asks ----------------------------------------------------------------

    @property
    def partial(self) -> AssistantMessage:
        """What has arrived; the whole message once it is complete."""
        return self.message or self._pipeline.partial()

    @property
    def request_id(self) -> str | None:
        """The service's name for the last attempt."""
        return request_id_of(self.headers)

    @property
    def cancelled(self) -> bool:
        """Whether `cancel()` came before the message was handed out."""
        return self._cancelled

    def cancel(self) -> None:
        """End the stream quietly, from any task or thread; after `message_end` it changes nothing."""
        if self.message is not None or self._is_over:
            return
        self._cancelled = True
        loop = self._loop
        if loop is None or loop.is_closed():
            return
        try:
            same = asyncio.get_running_loop() is loop
        except RuntimeError:
            same = False
        if same:
            self._interrupt()
        else:
            loop.call_soon_threadsafe(self._interrupt)

    async def result(self) -> AssistantMessage:
        """The complete message, read to its end if nobody did. Raises `StreamCancelled` after a cancel."""
        if self._error is not None:
            raise self._error
        if self.message is None and not self._is_over:
            async for _ in self:
                pass
        if self.message is None:
            if self._cancelled:
                raise StreamCancelled(partial=self.partial)
            raise ClosedError("the stream was closed before its message was complete")
        return self.message

    async def aclose(self) -> None:
        """Close the connection; idempotent, from any task. A reader that waits ends."""
        self._was_closed = True
        if self._is_over and self._response is None:
            return
        if self.message is not None and not self._reading:
            await self._drain()
        self._interrupt()
        self._end()

    close = aclose

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._abort()
            self._end()
        await self.aclose()

    def __aiter__(self) -> Self:
        if self._is_over:
            raise ClosedError("the stream was read to its end or closed; ask again for a new one")
        return self

    async def __anext__(self) -> Event:
        event = self.take_arrived()
        return event if event is not None else await self._next_event()

    def take_arrived(self) -> Event | None:
        """The next of the events that are here already; None when it must be waited for, or there is none."""
        if self._next < len(self._batch) and not self._cancelled and not self._was_closed:
            return self._hand_out()
        return None

    def _hand_out(self) -> Event:
        event = self._batch[self._next]
        self._next += 1
        if type(event) is MessageEnd:
            self.message = event.message
        return event

    def _is_stopped(self) -> bool:
        return self._cancelled or self._was_closed

    # ---- the machine ---------------------------------------------------------------------------

    async def _next_event(self) -> Event:
        if self._reading:
            raise ClosedError("the stream is being read by another task; read it in one")
        self._reading = True
        try:
            while True:
                if self._cancelled:
                    self._abort()
                    self._end()
                    raise StopAsyncIteration
                if self.message is not None:
                    await self._drain()
                    self._end()
                    raise StopAsyncIteration
                if self._is_over or self._was_closed:
                    raise ClosedError("the stream was closed before its end; ask again for a new one")
                if self._pending_error is not None:
                    self._raise()
                self._batch, self._next = await self._step(), 0
                if self._batch and not self._is_stopped():
                    return self._hand_out()
        except StopAsyncIteration:
            raise
        except BaseException as error:
            # A cancelled task or any error: the socket first, without awaiting.
            self._error = error if isinstance(error, ModelError) else None
            self._abort()
            self._end()
            raise
        finally:
            self._reading = False

    def _raise(self) -> NoReturn:
        error = self._pending_error
        assert error is not None
        self._log(f"failed: {type(error).__name__}")
        raise error

    async def _step(self) -> list[Event]:
        """The next events: of the wait, of the head, or of one read."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._registry.add(self)
            self.timings.started = time.monotonic()
        if self._wait_seconds is not None:
            seconds, self._wait_seconds = self._wait_seconds, None
            self._total.spend(seconds)
            await self._stoppable(self._sleep(seconds))
            return []
        try:
            if self._response is None:
                await self._ask()
                return []
            return await self._read()
        except ModelError as error:
            return self._failed(error)

    async def _sleep(self, seconds: float) -> None:
        # Made in here: a cancel may come before this has begun, and a coroutine made outside would never be awaited.
        await self._call.sleep(seconds)

    async def _ask(self) -> None:
        """One attempt up to its head."""
        self._attempts.number += 1
        self.status, self.headers = None, {}
        self._pipeline = self._call.pipeline()
        response = await self._head()
        if response is None:
            return
        self._response = response
        self.status, self.headers = response.status, response.headers
        self.timings.head = self.timings.head or time.monotonic()
        if not 200 <= response.status < 300:
            raise from_response(
                response.status, response.headers, await read_error(response.body, self._call.limits.error_body_bytes)
            )
        if response.status in (204, 205):
            raise ProtocolError(
                f"the service answered with status {response.status}, which has no body; expected a stream",
                status=response.status,
            )
        self._pipeline = self._call.pipeline(response.headers.get("content-type", ""))
        assert self._loop is not None
        self._timers = BodyTimers(self._call.timeouts, self._total, self._expired, self._loop)

    async def _head(self) -> Response | None:
        """The response of one attempt; None when `cancel` or `aclose` came first."""
        limits = self._call.timeouts
        capped = self._total.cap(limits)
        started = time.monotonic()
        try:
            return await self._stoppable(self._send(capped))
        except ModelTimeoutError as error:
            if capped is not limits and error.timer == "head":
                raise self._total.error() from error
            raise
        finally:
            self._total.spend(time.monotonic() - started)

    async def _send(self, timeouts: Timeouts) -> Response:
        request, sign = self._call.request, self._call.sign
        if sign is not None:
            signed = await asyncio.to_thread(sign, request.method, request.url, request.headers, request.body)
            request = msgspec.structs.replace(request, headers={**request.headers, **signed})
        return await self._transport.send(request, timeouts)

    async def _read(self) -> list[Event]:
        """The events of one read."""
        response, timers, pipeline = self._response, self._timers, self._pipeline
        assert response is not None
        assert timers is not None
        timers.start_waiting()
        try:
            data = await response.body.read()
        except ModelError as error:
            if self._cancelled or self._was_closed:
                return []
            timers.stop_waiting()
            events = pipeline.lost(error)
        else:
            timers.stop_waiting()
            payloads = pipeline.payloads
            events = pipeline.feed(data) if data else pipeline.finish()
            if pipeline.payloads != payloads:
                timers.progress()
            if pipeline.complete:
                timers.finish_seen()
        if pipeline.error is not None:
            what_follows = self._failed(pipeline.error)
            is_void = not pipeline.committed and self._pending_error is None
            events = [] if is_void else [*self._held, *events]
            self._held = []
            return [*events, *what_follows]
        if not pipeline.committed:
            # Opening events wait until the attempt commits, so that a second attempt does not show them twice.
            self._held += events
            return []
        if self.timings.first_event is None:
            self.timings.first_event = time.monotonic()
            events, self._held = [*self._held, *events], []
        return events

    def _failed(self, error: ModelError) -> list[Event]:
        """What follows a failed attempt: a retry, a restart, or the error."""
        committed = self._pipeline.committed
        again = self._attempts.after(error, self.headers, committed=committed, seconds_left=self._total.left)
        self._abort()
        if again is None:
            if error.partial is None:
                error.partial = self._pipeline.partial()
            self._pending_error = error
            return []
        self._log(f"asking again in {again.delay_seconds:.2f} s: {type(error).__name__}", error)
        self._wait_seconds = again.delay_seconds
        following, reason = self._attempts.number + 1, _reason(error)
        return [StreamReset(following, reason) if committed else Retrying(following, again.delay_seconds, reason)]

    async def _stoppable(self, work: Coroutine[Any, Any, _Result]) -> _Result | None:
        """The work's result; None when `cancel` or `aclose` stopped it. The consumer's own cancellation passes."""
        task = asyncio.ensure_future(work)
        self._task = task
        try:
            return await task
        except asyncio.CancelledError:
            if task.done() and not task.cancelled() and task.exception() is None:
                _discard(task.result())  # it arrived together with the cancel
            current = asyncio.current_task()
            if (self._cancelled or self._was_closed) and not (current and current.cancelling()):
                return None
            raise
        finally:
            self._task = None
            if not task.done():
                task.cancel()

    async def _drain(self) -> None:
        """After completion: read to the end of the body for a moment, so that the connection can be used again."""
        response = self._response
        if response is None:
            return
        if self._timers is not None:
            self._timers.close()
        try:
            await drain(response.body)
        finally:
            self._abort()

    # ---- endings -------------------------------------------------------------------------------

    def _expired(self, error: ModelTimeoutError) -> None:
        if self._response is not None:
            self._response.body.fail(error)

    def _interrupt(self) -> None:
        """End whatever the reader waits for."""
        if self._task is not None:
            self._task.cancel()
        if self._response is not None and self._reading:
            self._response.body.fail(TransportError("the stream was closed"))
        self._abort()

    def _abort(self) -> None:
        if self._timers is not None:
            self._timers.close()
            self._timers = None
        response, self._response = self._response, None
        if response is not None:
            response.body.abort()

    def _end(self) -> None:
        if not self._is_over:
            self._is_over = True
            self.timings.ended = time.monotonic()
            if self._loop is not None:
                self._log("cancelled" if self._cancelled else "done" if self.message else "closed")
        self._registry.discard(self)

    def __del__(self) -> None:
        response = getattr(self, "_response", None)
        loop = getattr(self, "_loop", None)
        if response is not None and loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(response.body.abort)

    def _log(self, what: str, error: ModelError | None = None) -> None:
        if not _logger.isEnabledFor(logging.INFO):
            return
        started = self.timings.started or time.monotonic()
        _logger.info(
            "%s attempt %d status %s request %s after %.3f s: %s",
            self._call.name,
            self._attempts.number,
            self.status or (error.status if error else None) or "-",
            self.request_id or (error.request_id if error else None) or "-",
            time.monotonic() - started,
            what,
        )


def _discard(result: object) -> None:
    body = getattr(result, "body", None)
    if body is not None:
        body.abort()


def _reason(error: ModelError) -> str:
    status = f" (status {error.status})" if error.status else ""
    return f"{error.message}{status}"
