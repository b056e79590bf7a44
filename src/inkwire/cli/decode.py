"""`inkwire decode`: a captured body, or a whole `curl -i` answer, in; events out, one JSON a line.

The last line is the message or the error; the exit code is 0 for a message and 1 for an error.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import click
import msgspec

from inkwire import protocols
from inkwire.errors import ConfigurationError, ModelError
from inkwire.events import Event
from inkwire.framing.frame import Frame
from inkwire.framing.sse import SSEFramer
from inkwire.limits import Limits
from inkwire.pipeline import Pipeline
from inkwire.protocols.base import DecodeOptions, Quirks
from inkwire.protocols.service_errors import from_response
from inkwire.recording import Exchange, protocol_of, read_recording
from inkwire.terminal.sanitize import sanitize_line
from inkwire.transport.retry import retry_after_seconds

__all__ = ["decode", "quirks_of"]

_QUIRKS = ("think_tags", "think_open", "cumulative_text", "start_text_repeated", "done_completes")
"""Those that change how a stream is read; the others shape requests."""


@click.command()
@click.option("--protocol", type=click.Choice(protocols.NAMES), help="What the body speaks; told from it if not given.")
@click.option("--tolerant", is_flag=True, help="Damage is a warning; then no call of the message may run.")
@click.option("--quirk", "quirks", multiple=True, metavar="NAME", help="A named deviation of the endpoint; repeatable.")
@click.option("--tools", default="", metavar="A,B", help="The tools that the request offered.")
@click.option("--max-event-bytes", type=click.IntRange(min=1), default=Limits().event_bytes, help="Limit of one event.")
@click.option("--cut", type=click.IntRange(min=1), metavar="N", help="Feed N bytes at a time.")
@click.option("--frames", is_flag=True, help="Print the server-sent events only.")
@click.option("--raw", is_flag=True, help="Print each payload before the events that come of it.")
@click.option("--exchange", type=click.IntRange(min=1), metavar="N", help="Of a recording, the Nth exchange.")
@click.argument("file", type=click.File("rb"), default="-")
def decode(
    protocol: str | None,
    tolerant: bool,
    quirks: tuple[str, ...],
    tools: str,
    max_event_bytes: int,
    cut: int | None,
    frames: bool,
    raw: bool,
    exchange: int | None,
    file: BinaryIO,
) -> None:
    """Turn a captured stream into events, one JSON a line.

    FILE is a response body, what `curl -i` printed, a recording or a HAR export (of several exchanges the last, or
    --exchange N); `-` or nothing reads standard input.
    """
    body = file.read()
    if not body:
        where = "standard input" if file.name == "<stdin>" else sanitize_line(file.name)
        click.echo(f"inkwire decode: nothing was given: {where} is empty", err=True)
    if frames:
        _print_frames(body, max_event_bytes, cut)
        return
    captured = _exchange(body, exchange)
    if captured.status is not None and not 200 <= captured.status < 300:
        error = from_response(captured.status, captured.headers, captured.body)
        asked = retry_after_seconds(captured.headers, time.time)
        error.retry_after = error.retry_after if asked is None else asked
        _end(error)
    wire = protocols.get(protocol or protocol_of(captured))
    pipeline = Pipeline(
        wire,
        DecodeOptions(quirks_of(quirks), tolerant),
        tools=[name for name in tools.split(",") if name] or captured.tools,
        limits=Limits(event_bytes=max_event_bytes),
        content_type=captured.headers.get("content-type", ""),
        raw=raw,
    )
    for events in _run(pipeline, captured.body, cut):
        _print(events)
    if pipeline.error is not None:
        _end(pipeline.error)


def quirks_of(names: Sequence[str]) -> Quirks:
    """The quirks of these names, as far as they concern what is read; another name is wrong usage."""
    for name in names:
        if name not in _QUIRKS:
            raise click.UsageError(f"unknown quirk {name!r}; those that concern decoding are {', '.join(_QUIRKS)}")
    return msgspec.convert(dict.fromkeys(names, True), Quirks)


def _exchange(data: bytes, number: int | None) -> Exchange:
    try:
        exchanges = read_recording(data)
    except ConfigurationError as error:
        raise click.UsageError(str(error)) from error
    if not exchanges:
        raise click.UsageError("the recording holds no exchange yet")
    if number is not None and number > len(exchanges):
        raise click.UsageError(f"--exchange {number}: the recording holds {len(exchanges)}")
    return exchanges[(number or 0) - 1]


def _run(pipeline: Pipeline, body: bytes, cut: int | None) -> Iterator[list[Event]]:
    for read in _reads(body, cut):
        yield pipeline.feed(read)
        if pipeline.ended:
            return
    yield pipeline.finish()


def _reads(body: bytes, cut: int | None) -> Iterator[bytes]:
    size = cut or max(len(body), 1)
    for start in range(0, len(body), size):
        yield body[start : start + size]


def _print(values: list[Any]) -> None:
    if values:
        out = sys.stdout.buffer
        out.write(b"\n".join(msgspec.json.encode(value) for value in values) + b"\n")
        out.flush()


def _print_frames(body: bytes, limit: int, cut: int | None) -> None:
    framer = SSEFramer(max_event_bytes=limit)
    try:
        for read in _reads(body, cut):
            _print([_frame(frame) for frame in framer.feed(read)])
        _print([_frame(frame) for frame in framer.finish()])
    except ModelError as error:
        _end(error)


def _frame(frame: Frame) -> dict[str, Any]:
    return {"event": frame.event or "message", "data": frame.text, "id": frame.id, "retry": frame.retry}


def _end(error: ModelError) -> None:
    line: dict[str, Any] = {
        "type": "error",
        "kind": error.kind,
        "detail": error.message,
        "status": error.status,
        "code": error.code,
        "retryable": error.retryable,
        "committed": error.committed,
        "request_id": error.request_id,
        "retry_after": error.retry_after,
        "partial": error.partial or {"parts": []},
    }
    _print([line])
    sys.exit(1)
