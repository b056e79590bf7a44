"""One body in, read by read; its events out. Framing, decoder and assembler wired up, without a socket.

    bytes ─ framer.feed ─▶ frames ─ decoder.feed ─▶ fragments ─ assembler.feed ─▶ events

`feed` and `finish` never raise for what the body holds: the events that came before a fault are returned, and the fault
waits in `error`. So cuts do not matter (law 1), and a stream ends in exactly one way (law 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from inkwire.assembler import Assembler
from inkwire.errors import LimitExceededError, ModelError, ProtocolError
from inkwire.events import Event, RawEvent
from inkwire.fragments import WarningFragment
from inkwire.framing.base import Framer
from inkwire.framing.document import JSONDocumentFramer
from inkwire.framing.eventstream import EventStreamFramer
from inkwire.framing.frame import Frame
from inkwire.framing.ndjson import NDJSONFramer
from inkwire.framing.sniff import sniff
from inkwire.framing.sse import SSEFramer
from inkwire.limits import Limits
from inkwire.messages import AssistantMessage
from inkwire.protocols.base import DecodeOptions, WireProtocol
from inkwire.protocols.payload import SENTINEL, excerpt, is_sentinel, read_value
from inkwire.protocols.service_errors import in_payload

__all__ = ["Pipeline"]

_FRAMERS: Final[dict[str, type[Framer]]] = {
    "sse": SSEFramer,
    "ndjson": NDJSONFramer,
    "json": JSONDocumentFramer,
    "eventstream": EventStreamFramer,
}
_REFUSED_BYTES: Final = 1024
"""How much of a page or a plain text is read before it is refused, so that its words can be told."""


_BLANKS: Final = b" \t\r\n"
_BOM: Final = b"\xef\xbb\xbf"
_UNEXPECTED: Final = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What a payload of a shape that no service was seen to send may raise in a decoder."""


class Pipeline:
    """Reads one attempt's body; stop feeding when `ended`, then raise `error` if there is one."""

    def __init__(
        self,
        protocol: WireProtocol,
        options: DecodeOptions = DecodeOptions(),  # noqa: B008 - a frozen value
        *,
        tools: Sequence[str] = (),
        limits: Limits = Limits(),  # noqa: B008 - a frozen value
        content_type: str = "",
        provider: str = "",
        model: str = "",
        id_seed: str = "",
        raw: bool = False,
    ) -> None:
        self._protocol = protocol
        self._content_type = content_type
        self._tolerant = options.tolerant
        self._limits = limits
        self._raw = raw
        self._decoder = protocol.decoder(options)
        self._assembler = Assembler(
            tools=tools,
            limits=limits,
            provider=provider,
            model=model,
            protocol=protocol.name,
            id_seed=id_seed,
            done_completes=options.quirks.done_completes,
        )
        self._framer: Framer | None = None
        self._head = bytearray()
        self._refusing = False
        self.payloads = 0
        """Payloads that said something, so far: what the progress timer looks at."""

    # ---- what the caller asks ------------------------------------------------------------------

    @property
    def error(self) -> ModelError | None:
        """Why the stream failed; raise it after the events were handed out."""
        return self._assembler.error

    @property
    def ended(self) -> bool:
        """Whether the message was returned or the stream failed: nothing more is read."""
        return self._assembler.ended

    @property
    def complete(self) -> bool:
        """Whether the protocol's completion signal has come."""
        return self._assembler.complete

    @property
    def committed(self) -> bool:
        """Whether a text, reasoning or tool event was returned."""
        return self._assembler.committed

    def partial(self) -> AssistantMessage:
        """What has arrived; none of its calls is executable."""
        return self._assembler.partial()

    # ---- reading -------------------------------------------------------------------------------

    def feed(self, data: bytes) -> list[Event]:
        """The events of one read."""
        out: list[Event] = []
        if self._assembler.ended:
            return out
        framer = self._framer
        if framer is None:
            if (framer := self._choose(data)) is None:
                return out
            data = bytes(self._head)
            self._head.clear()
        try:
            frames = framer.feed(data)
        except (LimitExceededError, ProtocolError) as error:
            self._assembler.fail(error)
            return out
        self._read(frames, out)
        if framer.failure is not None and not self._assembler.ended:
            self._assembler.fail(framer.failure)
        return out

    def finish(self) -> list[Event]:
        """The events at the clean end of the body: the message, or `error` set."""
        out: list[Event] = []
        if not self._assembler.ended:
            self._finish_framing(out)
        if not self._is_over():
            self._finish_decoding(out)
        if not self._is_over() and not self.complete:
            self._explain()
        out.extend(self._assembler.finish())
        return out

    def _is_over(self) -> bool:
        return self._assembler.ended

    def lost(self, error: ModelError) -> list[Event]:
        """The connection broke, or a timer ran out: after completion that is no error, but the end of the body."""
        if self.complete or self.ended:
            return self.finish()
        self._assembler.fail(error)
        return []

    def _read(self, frames: Sequence[Frame], out: list[Event]) -> None:
        decoder, assembler = self._decoder, self._assembler
        for frame in frames:
            if frame.stray:
                self._warn_of_stray(frame.stray, out)
            if self._raw and frame.data:
                out.append(RawEvent(frame.event, frame.text))
            try:
                fragments = decoder.feed(frame)
            except _UNEXPECTED as cause:
                assembler.fail(_unexpected(frame, cause))
                return
            if fragments:
                self.payloads += 1
                out += assembler.feed(fragments)
                if assembler.ended:
                    return
            assembler.position += 1

    # ---- the start -----------------------------------------------------------------------------

    def _choose(self, data: bytes, *, at_end: bool = False) -> Framer | None:
        """The framer that the first bytes ask for; None while more are needed, or when the body is refused."""
        head = self._head
        head += data
        _drop_blanks(head)
        if self._refusing:
            self._refuse(at_end)
            return None
        kind = sniff(bytes(head), self._content_type, ndjson=self._protocol.ndjson, at_end=at_end)
        if kind is None:
            return None
        if kind in ("html", "text"):
            self._refusing = True
            self._refuse(at_end)
            return None
        self._framer = _FRAMERS[kind](max_event_bytes=self._limits.event_bytes)
        return self._framer

    def _refuse(self, at_end: bool) -> None:
        if len(self._head) < _REFUSED_BYTES and not at_end:
            return
        shown = excerpt(bytes(self._head[:_REFUSED_BYTES]))
        is_page = self._head.lstrip()[:1] == b"<"
        self._assembler.fail(
            ProtocolError(
                f"expected a stream of the {self._protocol.name} protocol, but the service sent "
                f"{'a web page' if is_page else 'plain text'} (content type {self._content_type or 'not given'}): "
                f"{shown!r}. "
                "Check the base URL, and whether a proxy or a login stands in between",
                excerpt=shown,
            )
        )

    # ---- the end -------------------------------------------------------------------------------

    def _finish_framing(self, out: list[Event]) -> None:
        framer = self._framer
        rest: list[Frame] = []
        try:
            if framer is None and (framer := self._choose(b"", at_end=True)) is not None:
                self._read(framer.feed(bytes(self._head)), out)
            if framer is not None:
                rest = framer.finish()
        except (LimitExceededError, ProtocolError) as error:
            self._assembler.fail(error)
        for frame in rest:
            # The one leniency: an unterminated last block counts if its payload is whole.
            if _is_whole(frame):
                self._read([frame], out)
            elif self.complete:
                what = f"the body ends in mid-payload: {excerpt(frame.data)}"
                self._warn("cut_tail", what, out, damage=not SENTINEL.startswith(frame.data.strip()))
        if framer is None or not self.complete:  # of an incomplete stream the error tells
            return
        if framer.is_cut:
            self._warn("cut_tail", "the body ends where a payload was begun", out, damage=True)
        if framer.unframed:
            self._warn_of_stray(framer.unframed, out)

    def _finish_decoding(self, out: list[Event]) -> None:
        try:
            out += self._assembler.feed(self._decoder.finish())
        except _UNEXPECTED as cause:
            self._assembler.fail(_unexpected(Frame(b""), cause))

    def _explain(self) -> None:
        """An end without completion that says why: an unframed error, or no stream at all."""
        stray = getattr(self._framer, "stray", b"").strip()
        if not stray:
            return
        try:
            value = read_value(stray)
        except (ValueError, LimitExceededError):
            value = None
        if isinstance(value, list) and value:
            value = value[0]
        failure = in_payload(value) if isinstance(value, dict) else None
        if failure is not None:
            self._assembler.fail(failure)
        elif not self.payloads:
            shown = excerpt(stray)
            self._assembler.fail(
                ProtocolError(
                    f"expected a stream of the {self._protocol.name} protocol, got {shown!r}. Check the base URL "
                    "(often /v1 is missing or too much) and the protocol",
                    excerpt=shown,
                )
            )

    def _warn_of_stray(self, stray: bytes, out: list[Event]) -> None:
        """Lines that are no field may be skipped, as the standard asks, unless they look like a payload."""
        what = f"lines outside of any event look like a lost payload: {excerpt(stray)}"
        self._warn("stray_payload", what, out, damage=True)

    def _warn(self, kind: str, detail: str, out: list[Event], *, damage: bool = False) -> None:
        out.extend(self._assembler.feed([WarningFragment(kind, detail, damage)]))


def _drop_blanks(head: bytearray) -> None:
    """White space before the body keeps the connection alive and says nothing."""
    start = len(_BOM) if head.startswith(_BOM) else 0
    end = start
    while end < len(head) and head[end] in _BLANKS:
        end += 1
    del head[start:end]


def _unexpected(frame: Frame, cause: Exception) -> ProtocolError:
    shown = excerpt(frame.data)
    return ProtocolError(
        f"a payload has a shape that cannot be read ({type(cause).__name__}: {str(cause)[:200]}): {shown!r}. A lost "
        "piece could change what a tool does, so the stream is refused",
        excerpt=shown,
    )


def _is_whole(frame: Frame) -> bool:
    if not frame.data.strip() or is_sentinel(frame.data):
        return True
    try:
        read_value(frame.data)
    except (ValueError, LimitExceededError):
        return False
    return True
