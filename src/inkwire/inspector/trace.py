"""Exchanges in, one step for each thing that happened out: bytes, frame, fragments, events, and what changed inside.

The recorded reads go through the real pipeline. A read is handed over line by line, so that each step is one event of
the wire; by the first law that changes nothing. A step holds differences only: a trace is as long as its recording.

    again       the client asks again: `retrying`, or `stream_reset` when an answer had begun
    head        the response's head came                    refused    a status that is no success, with its body
    frame       one event of the wire was handled           read       bytes came that complete no event
    eof · lost · cancelled · unknown                        how the body ended; unknown: the recording ends first
    unread      bytes after the end that nobody reads
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Final, Literal, TypeAlias

import msgspec

from inkwire import protocols
from inkwire.errors import ModelError, TransportError
from inkwire.events import Event, MessageEnd, Retrying, StreamReset
from inkwire.fragments import Fragment
from inkwire.framing.frame import Frame
from inkwire.inspector.code import LineWatch
from inkwire.inspector.held import Change, Held, Voided
from inkwire.inspector.notes import notes_of
from inkwire.inspector.watched import WatchedPipeline
from inkwire.messages import AssistantMessage
from inkwire.protocols.base import DecodeOptions
from inkwire.protocols.service_errors import from_response
from inkwire.recording import Exchange, protocol_of
from inkwire.transport.retry import decide

__all__ = ["Moment", "Step", "Tracer", "trace"]

Moment: TypeAlias = Literal[
    "again", "head", "read", "frame", "refused", "eof", "lost", "cancelled", "unknown", "unread"
]

_LINE_END: Final = re.compile(rb"\r\n|\n|\r")
_BLOCK_END: Final = re.compile(rb"(?:\r\n|\n|\r){2}\Z")
_LENGTH_BYTES: Final = 4


class Step(msgspec.Struct, frozen=True):
    """One thing that happened, and what changed by it."""

    moment: Moment
    exchange: int
    """The exchange's number in its recording, from 1."""
    call: int
    """The model call, from 1; several exchanges may be attempts of one call."""
    attempt: int
    """From 1 in each call."""
    seconds: float
    """Since the exchange's request was sent."""
    received: bytes = b""
    """The bytes that are new in this step."""
    start: int = 0
    """Where in the body the event begins that this step is about; earlier steps may have brought its beginning."""
    end: int = 0
    """Where in the body the new bytes end."""
    waiting: int = 0
    """Bytes that are no whole event yet."""
    frame: Frame | None = None
    fragments: tuple[Fragment, ...] = ()
    events: tuple[Event, ...] = ()
    changes: tuple[Change, ...] = ()
    lines: int | None = None
    """The number of the set of our own lines that ran (`Tracer.watch`)."""
    complete: bool = False
    """Whether the protocol's completion signal has come."""
    message: AssistantMessage | None = None
    """What the loop was given: the message, once, at the end."""
    error: ModelError | None = None
    """What the attempt ended in; the loop is given it unless the call is asked again."""
    notes: tuple[str, ...] = ()
    """Names in `inspector.notes.NOTES`, most important first."""


def trace(exchanges: Sequence[Exchange]) -> list[Step]:
    """All steps of a recording, without the lines that ran."""
    return list(Tracer(lines=False).feed(exchanges))


class Tracer:
    """Traces a recording that may still grow: each `feed` goes on where the last one stopped."""

    def __init__(
        self,
        *,
        lines: bool = True,
        protocol: str | None = None,
        options: DecodeOptions = DecodeOptions(),  # noqa: B008 - a frozen value
    ) -> None:
        self.watch = LineWatch() if lines else None
        self._protocol = protocol
        self._options = options
        self._at = 0
        """The exchange that is being traced."""
        self._run: _Attempt | None = None
        self._call = self._attempt = 0

    def feed(self, exchanges: Sequence[Exchange], *, done: bool = True) -> Iterator[Step]:
        """The steps of what is new in `exchanges`; with `done` nothing more will come."""
        while self._at < len(exchanges):
            exchange = exchanges[self._at]
            is_over = exchange.end != "unknown" or done or exchange.run < exchanges[-1].run
            if self._run is None:
                if exchange.status is None and not exchange.reads and not is_over:
                    return  # the answer has not begun
                before = exchanges[self._at - 1] if self._at else None
                yield from self._begin(exchange, before)
            assert self._run is not None
            yield from self._run.read(exchange)
            if not is_over:
                return
            yield from self._run.finish(exchange)
            self._last, self._run = self._run, None
            self._at += 1

    def _begin(self, exchange: Exchange, before: Exchange | None) -> Iterator[Step]:
        again = None if before is None else _asked_again(before, self._last.error, exchange, self._attempt + 1)
        if again is None:
            self._call, self._attempt = self._call + 1, 1
        else:
            self._attempt += 1
        self._run = run = _Attempt(exchange, self._pipeline(exchange), self._call, self._attempt, self.watch)
        if again is not None:
            yield run.step("again", 0.0, events=(again,), changes=(Voided(),))
        yield run.step("head", exchange.head_seconds)

    def protocol_of(self, exchange: Exchange) -> str:
        """The protocol that the exchange is read as."""
        return self._protocol or protocol_of(exchange)

    def _pipeline(self, exchange: Exchange) -> WatchedPipeline:
        return WatchedPipeline(
            protocols.get(self.protocol_of(exchange)),
            options=self._options,
            tools=exchange.tools,
            content_type=exchange.headers.get("content-type", ""),
            watch=self.watch,
        )


class _Attempt:
    """One exchange while it is traced."""

    def __init__(
        self, exchange: Exchange, pipeline: WatchedPipeline, call: int, attempt: int, watch: LineWatch | None
    ) -> None:
        self._number, self._call, self._number_of_attempt = exchange.number, call, attempt
        self._watch = watch
        self._status = exchange.status or 200
        self._pipeline = pipeline
        self._held = Held(self._pipeline.assembler)
        self._reads = 0
        """Reads that were traced."""
        self._open = bytearray()
        """The wire's event that is not whole yet."""
        self._end = self._fresh = 0
        """Where in the body tracing stands; where the bytes begin that no step has told of."""
        self._unread = bytearray()
        self._seconds = exchange.head_seconds
        self.error: ModelError | None = None

    # ---- reading -------------------------------------------------------------------------------

    def read(self, exchange: Exchange) -> Iterator[Step]:
        """The steps of the reads that are new."""
        for read in exchange.reads[self._reads :]:
            self._reads += 1
            self._seconds = read.seconds
            if self._status >= 300 or self._pipeline.ended:
                self._unread += read.data
            else:
                yield from self._read(read.data)

    def _read(self, data: bytes) -> Iterator[Step]:
        at, fresh = 0, bytearray()
        while at < len(data) and not self._pipeline.ended:
            end = self._next_cut(data, at)
            piece = data[at:end]
            at = end
            self._end += len(piece)
            self._open += piece if self._open else piece.lstrip(b"\r\n")  # blank lines before an event say nothing
            fresh += piece
            with self._watch.watching() if self._watch else nullcontext():
                self._pipeline.feed(piece)
            for step in self._decoded(bytes(fresh)):
                yield step
                fresh.clear()
        self._unread += data[at:]
        if fresh and (self._open or len(fresh) == len(data)):
            yield self._rest(bytes(fresh))

    def _next_cut(self, data: bytes, at: int) -> int:
        """Where the piece ends that can complete one event at most."""
        match self._pipeline.framing:
            case "json":
                return data.find(b"}", at) + 1 or len(data)
            case "eventstream":
                head = (bytes(self._open[:_LENGTH_BYTES]) + data[at : at + _LENGTH_BYTES])[:_LENGTH_BYTES]
                if len(head) < _LENGTH_BYTES:
                    return len(data)
                return min(at + max(int.from_bytes(head, "big") - len(self._open), 1), len(data))
            case _:
                found = _LINE_END.search(data, at)
                return found.end() if found else len(data)

    def _decoded(self, fresh: bytes) -> Iterator[Step]:
        """The steps of the frames that the piece completed."""
        decoded = self._pipeline.take()
        if not decoded and self._pipeline.ended:
            self.error = self._pipeline.error
            yield self._told("frame", fresh, (), ())
        for number, one in enumerate(decoded, 1):
            self.error = self._pipeline.error if number == len(decoded) else None
            yield self._told("frame", fresh, one.fragments, one.events, frame=one.frame, lines=one.lines)
            fresh = b""
        if decoded:
            self._open.clear()

    def _rest(self, fresh: bytes) -> Step:
        """Bytes that complete no event: they wait, or they say nothing (a comment, white space)."""
        is_quiet = not self._open or (self._pipeline.framing == "sse" and _BLOCK_END.search(self._open[-4:]))
        self._open = self._open or bytearray(fresh)
        step = self._told("read", fresh, (), (), waiting=0 if is_quiet else len(self._open))
        if is_quiet:
            self._open.clear()
        return step

    # ---- the end -------------------------------------------------------------------------------

    def finish(self, exchange: Exchange) -> Iterator[Step]:
        """The steps of the body's end."""
        if self._status >= 300:
            yield self._refused(exchange)
            return
        if not self._pipeline.ended:
            yield self._last_step(exchange)
        if self._unread.strip():
            self._end += len(self._unread)
            self._open = self._unread
            yield self.step("unread", self._seconds, received=bytes(self._unread))

    def _refused(self, exchange: Exchange) -> Step:
        error = from_response(self._status, exchange.headers, exchange.body)
        error.partial = self._pipeline.partial()
        self.error = error
        self._end, self._open = len(exchange.body), bytearray(exchange.body)
        return self.step("refused", self._seconds, received=exchange.body, error=error)

    def _last_step(self, exchange: Exchange) -> Step:
        pipeline, lost = self._pipeline, None
        if exchange.end in ("closed", "unknown") and not pipeline.complete:
            return self.step("cancelled" if exchange.end == "closed" else "unknown", self._seconds)
        if exchange.end == "unknown":
            return self.step("unknown", self._seconds)
        if exchange.end not in ("eof", "closed"):
            lost = TransportError(_lost_words(exchange), retryable=True, phase="body")
        with self._watch.watching() if self._watch else nullcontext():
            events = pipeline.finish() if lost is None else pipeline.lost(lost)
        decoded, self.error = pipeline.take(), pipeline.error
        return self._told(
            "eof" if lost is None else "lost",
            b"",
            [*(fragment for one in decoded for fragment in one.fragments), *pipeline.held_back],
            events,
            frame=decoded[-1].frame if decoded else None,
        )

    # ---- steps ---------------------------------------------------------------------------------

    def _told(
        self,
        moment: Moment,
        fresh: bytes,
        fragments: Sequence[Fragment],
        events: Sequence[Event],
        *,
        waiting: int = 0,
        frame: Frame | None = None,
        lines: int | None = None,
    ) -> Step:
        changes = self._held.look(fragments, events)
        message = next((event.message for event in events if isinstance(event, MessageEnd)), None)
        if lines is None and self._watch is not None:
            lines = self._watch.take()
        return self.step(
            moment,
            self._seconds,
            received=fresh,
            waiting=waiting,
            frame=frame,
            fragments=tuple(fragments),
            events=tuple(events),
            changes=tuple(changes),
            lines=lines,
            message=message,
            error=self.error,
        )

    def step(
        self,
        moment: Moment,
        seconds: float,
        *,
        received: bytes = b"",
        waiting: int = 0,
        frame: Frame | None = None,
        fragments: tuple[Fragment, ...] = (),
        events: tuple[Event, ...] = (),
        changes: tuple[Change, ...] = (),
        lines: int | None = None,
        message: AssistantMessage | None = None,
        error: ModelError | None = None,
    ) -> Step:
        """A step of this attempt, with its notes."""
        step = Step(
            moment=moment,
            exchange=self._number,
            call=self._call,
            attempt=self._number_of_attempt,
            seconds=seconds,
            received=received,
            start=self._end - len(self._open),
            end=self._end,
            waiting=waiting,
            frame=frame,
            fragments=fragments,
            events=events,
            changes=changes,
            lines=lines,
            complete=self._pipeline.complete,
            message=message,
            error=error,
        )
        return msgspec.structs.replace(step, notes=tuple(notes_of(step, self._held.parts)))


def _asked_again(before: Exchange, error: ModelError | None, exchange: Exchange, attempt: int) -> Event | None:
    """What the client said between two exchanges that are attempts of one call; None when they are two calls."""
    asked = (before.method, before.url, before.request_body)
    if error is None or asked != (exchange.method, exchange.url, exchange.request_body) or _overlap(before, exchange):
        return None
    again = decide(error, before.headers, attempt - 2, now=lambda: 0.0, random=lambda: 0.0)
    if again is None:
        return None
    if error.committed:
        return StreamReset(attempt, error.message)
    return Retrying(attempt, again.delay_seconds, error.message)


def _overlap(before: Exchange, exchange: Exchange) -> bool:
    """Whether the second was asked while the first was still answered: nobody asks again before that."""
    if before.started is None or exchange.started is None or not before.reads:
        return False
    return exchange.started < before.started + before.reads[-1].seconds


def _lost_words(exchange: Exchange) -> str:
    if exchange.end == "lost":
        return "the connection was lost in mid-answer"
    return f"no answer came: {exchange.end}" if not exchange.reads else f"the answer broke off: {exchange.end}"
