"""Exchanges in, one step for each thing that happened out: what came, what is held, what the loop was given.

The steps come from the real pipeline, fed with the recorded reads. Between exchanges stands what the client would say:
`retrying` where no answer had begun, `stream_reset` where one had.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import msgspec

from inkwire import protocols
from inkwire.errors import ModelError, TransportError
from inkwire.events import Event, MessageEnd, Retrying, StreamReset
from inkwire.messages import AssistantMessage
from inkwire.pipeline import Pipeline
from inkwire.protocols.service_errors import from_response
from inkwire.recording import Exchange, protocol_of
from inkwire.transport.retry import decide

__all__ = ["Moment", "Step", "steps_of"]

Moment: TypeAlias = Literal["head", "read", "eof", "lost", "cancelled"]

_BLANK_LINE = re.compile(rb"\r\n\r\n|\n\n|\r\r")


class Step(msgspec.Struct, frozen=True):
    """One moment of an exchange, and how things stand after it."""

    moment: Moment
    attempt: int
    """From 1."""
    seconds: float
    status: int
    held: AssistantMessage
    """What the layer has so far; none of its calls is executable."""
    received: bytes = b""
    waiting: int = 0
    """Bytes that are no whole event yet."""
    events: tuple[Event, ...] = ()
    complete: bool = False
    """Whether the protocol's completion signal has come."""
    message: AssistantMessage | None = None
    """What the loop was given: the message, once, at the end."""
    error: ModelError | None = None
    """What the loop was given instead."""


def steps_of(exchanges: Sequence[Exchange]) -> list[Step]:
    """The steps of one call of a model; several exchanges are its attempts."""
    steps: list[Step] = []
    for attempt, exchange in enumerate(exchanges, 1):
        found = list(_attempt(exchange, attempt))
        if attempt < len(exchanges) and (error := found[-1].error) is not None:
            found[-1] = _asked_again(found[-1], error, exchange)
        steps += found
    return steps


def _attempt(exchange: Exchange, attempt: int) -> Iterator[Step]:
    status = exchange.status or 200
    pipeline = Pipeline(
        protocols.get(protocol_of(exchange)),
        tools=exchange.tools,
        content_type=exchange.headers.get("content-type", ""),
    )
    seconds, body = exchange.head_seconds, b""
    yield Step("head", attempt, seconds, status, pipeline.partial())
    if status >= 300:
        error = from_response(status, exchange.headers, exchange.body)
        error.partial = pipeline.partial()
        last = exchange.reads[-1].seconds if exchange.reads else seconds
        yield Step("read", attempt, last, status, pipeline.partial(), exchange.body, error=error)
        return
    for read in exchange.reads:
        seconds, body = read.seconds, body + read.data
        events = pipeline.feed(read.data)
        yield _step("read", pipeline, events, attempt, seconds, status, read.data, _waiting(body))
        if pipeline.ended:
            return
    yield _end(exchange, pipeline, attempt, seconds, status)


def _end(exchange: Exchange, pipeline: Pipeline, attempt: int, seconds: float, status: int) -> Step:
    match exchange.end:
        case "lost":
            events = pipeline.lost(
                TransportError("the connection was lost in mid-answer", retryable=True, phase="body")
            )
            return _step("lost", pipeline, events, attempt, seconds, status)
        case "closed" if not pipeline.complete:
            return _step("cancelled", pipeline, [], attempt, seconds, status)
        case _:
            return _step("eof", pipeline, pipeline.finish(), attempt, seconds, status)


def _step(
    moment: Moment,
    pipeline: Pipeline,
    events: list[Event],
    attempt: int,
    seconds: float,
    status: int,
    received: bytes = b"",
    waiting: int = 0,
) -> Step:
    message = next((event.message for event in events if isinstance(event, MessageEnd)), None)
    return Step(
        moment=moment,
        attempt=attempt,
        seconds=seconds,
        status=status,
        held=message or pipeline.partial(),
        received=received,
        waiting=waiting,
        events=tuple(events),
        complete=pipeline.complete,
        message=message,
        error=pipeline.error,
    )


def _asked_again(step: Step, error: ModelError, exchange: Exchange) -> Step:
    """The failed attempt's last step, with what the client says instead of the error."""
    number = step.attempt + 1
    event: Event
    if error.committed:
        event = StreamReset(number, error.message)
    else:
        again = decide(error, exchange.headers, step.attempt - 1, now=lambda: 0.0, random=lambda: 0.0)
        event = Retrying(number, again.delay_seconds if again else 0.0, error.message)
    return msgspec.structs.replace(step, events=(*step.events, event), error=None)


def _waiting(body: bytes) -> int:
    """How many bytes stand behind the last blank line."""
    end = 0
    for found in _BLANK_LINE.finditer(body):
        end = found.end()
    return len(body[end:].lstrip(b"\r\n"))
