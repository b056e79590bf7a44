"""Fragments in; events and one checked message out. One assembler for every protocol.

It opens parts in order of first appearance, shows what arrives, and judges at the end. What it shows is what it stores
(law 3), each part's pieces wait in a list and are joined once (law 7), and what may run is the gate's to say (law 4).

A protocol that seems to need a branch in here is a sign to think again about its decoder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from inkwire.calls import CallBook, OpenCall
from inkwire.errors import IncompleteStreamError, ModelError
from inkwire.events import Event, MessageEnd, ReasoningDelta, StreamReset, TextDelta
from inkwire.fragments import (
    CallFragment,
    DoneFragment,
    FailureFragment,
    FinishFragment,
    Fragment,
    Key,
    OpaqueFragment,
    OriginFragment,
    ReasoningFragment,
    RestartFragment,
    TextFragment,
    UsageFragment,
    WarningFragment,
)
from inkwire.gate import is_milder, refusal_of, refusal_of_call
from inkwire.limits import LONGEST_NAME, Limits, limit_passed
from inkwire.messages import (
    AssistantMessage,
    OpaquePart,
    Part,
    ReasoningPart,
    StopReason,
    StreamWarning,
    TextPart,
    ToolCall,
    Usage,
)
from inkwire.surrogates import mend_surrogates
from inkwire.text_parts import OpenText, tool_markup_in

__all__ = ["Assembler", "OpenOpaque"]


class OpenOpaque:
    """A block that only its provider understands, while it arrives."""

    __slots__ = ("kind", "opaque")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.opaque: dict[str, Any] = {}

    def merge(self, opaque: Mapping[str, Any]) -> None:
        """Values that came later; they replace those of their names."""
        self.opaque.update(opaque)


def _numbered_id(seed: str) -> Callable[[int], str]:
    return lambda number: f"call_{seed}{number}"


class Assembler:
    """Assembles one message; `feed` fragments, then `finish`.

    `error` is set, never raised, so that the events before it are handed out first; after it, or after the message
    was handed out (`ended`), nothing comes any more. What is held meanwhile may be looked at, never changed.
    """

    def __init__(
        self,
        *,
        tools: Iterable[str] = (),
        limits: Limits = Limits(),  # noqa: B008 - a frozen value
        provider: str = "",
        model: str = "",
        protocol: str = "",
        id_seed: str = "",
        done_completes: bool = False,
    ) -> None:
        self._tools = frozenset(tools)
        self._limits = limits
        self._message_limit = limits.message_bytes
        self._provider, self._protocol, self.model = provider, protocol, model
        self._new_id = _numbered_id(id_seed)
        self._done_completes = done_completes
        self.error: ModelError | None = None
        self.ended = False
        self.committed = False
        self.position = 0
        """The number of the payload that is being read; the pipeline sets it, warnings carry it."""
        self._restarts = 0
        self.warnings: list[StreamWarning] = []
        self._handlers: dict[type, Callable[[Any, list[Event]], None]] = {
            TextFragment: self._on_text,
            ReasoningFragment: self._on_reasoning,
            CallFragment: self._on_call,
            OpaqueFragment: self._on_opaque,
            UsageFragment: self._on_usage,
            OriginFragment: self._on_origin,
            FinishFragment: self._on_finish,
            DoneFragment: self._on_done,
            RestartFragment: self._on_restart,
            WarningFragment: self._on_warning,
            FailureFragment: self._on_failure,
        }
        self._begin()

    def _begin(self) -> None:
        self.parts: list[OpenText | OpenCall | OpenOpaque] = []
        self._by_key: dict[tuple[str, Key], OpenText | OpenOpaque] = {}
        self._book = CallBook(self.parts, self._tools, self._new_id)
        self._halves: dict[Key, str] = {}
        """Of the call under each key the first half of a surrogate pair whose second half has not come."""
        self._size = 0
        self.usage: dict[str, int] = {}
        self.response_id: str | None = None
        self.stop: StopReason | None = None
        self.raw_stop: str | None = None
        self._done = False
        self.damaged = False

    # ---- what the pipeline asks ----------------------------------------------------------------

    @property
    def complete(self) -> bool:
        """Whether the protocol's completion signal has come (law 2)."""
        return self.stop is not None or self._done

    def feed(self, fragments: Iterable[Fragment]) -> list[Event]:
        """The events that these fragments make; the message itself with the fragment that says that all is done."""
        out: list[Event] = []
        handlers = self._handlers
        for fragment in fragments:
            if self.ended:
                break
            handlers[type(fragment)](fragment, out)
        if self._size > self._message_limit:
            self.fail(limit_passed(f"the message is longer than {self._message_limit:,} characters"))
        return out

    def finish(self) -> list[Event]:
        """The end of the stream: the message, or `error` set to what is missing."""
        out: list[Event] = []
        if self.ended:
            return out
        if not self.complete:
            self.fail(
                IncompleteStreamError(
                    "the stream ended without its completion signal, so the answer may be cut",
                    retryable=True,
                    phase="body",
                )
            )
            return out
        self._end(out)
        return out

    def fail(self, error: ModelError) -> None:
        """End with an error that carries what had arrived."""
        self.ended = True
        error.committed = self.committed
        error.partial = self.partial()
        self.error = error

    def partial(self) -> AssistantMessage:
        """What has arrived so far; none of its calls is executable."""
        return self._message("unknown", "the answer did not arrive whole")

    # ---- parts ---------------------------------------------------------------------------------

    def _on_text(self, fragment: TextFragment, out: list[Event]) -> None:
        key, text = fragment.key, fragment.text
        part = self._by_key.get(("text", key)) if key is not None else self.parts[-1] if self.parts else None
        if type(part) is not OpenText or part.kind != "text" or part.key != key:
            if not (text or fragment.opaque):
                return
            part = self._text_part("text", key)
        if fragment.whole or part.half or not text.isascii():
            text = part.take(text, fragment.whole)
        elif text:
            part.pieces.append(text)
        if fragment.opaque is not None:
            part.merge(fragment.opaque)
        if text:
            self._size += len(text)
            self.committed = True
            out.append(TextDelta(part.index, text))

    def _on_reasoning(self, fragment: ReasoningFragment, out: list[Event]) -> None:
        key = fragment.key
        part = self._by_key.get(("reasoning", key)) if key is not None else self.parts[-1] if self.parts else None
        if type(part) is not OpenText or part.kind != "reasoning" or part.key != key:
            if not (fragment.text or fragment.opaque or fragment.append):
                return
            part = self._text_part("reasoning", key)
        text = part.take(fragment.text, fragment.whole)
        if fragment.opaque:
            part.merge(fragment.opaque)
        for key, piece in (fragment.append or {}).items():
            part.append(key, piece)
        if text:
            self._size += len(text)
            self.committed = True
            out.append(ReasoningDelta(part.index, text))

    def _text_part(self, kind: str, key: Key) -> OpenText:
        part = OpenText(kind, len(self.parts), key)
        self.parts.append(part)
        if key is not None:
            self._by_key[kind, key] = part
        return part

    def _on_call(self, fragment: CallFragment, out: list[Event]) -> None:
        shown = len(out)
        if not fragment.arguments.isascii() or self._halves:
            fragment = self._whole_characters(fragment)
        if not self._book.feed(fragment, out):
            self._warn("orphan_delta", "a call fragment without id, name and arguments")
            return
        self._size += len(fragment.arguments)
        if len(out) > shown:
            self.committed = True
        if len(self._book.calls) > self._limits.calls:
            self.fail(limit_passed(f"more than {self._limits.calls:,} calls in one message"))
        elif fragment.name and self._book.longest_name > LONGEST_NAME:
            self.fail(limit_passed(f"a call's name is longer than {LONGEST_NAME:,} characters", can_be_raised=False))

    def _whole_characters(self, fragment: CallFragment) -> CallFragment:
        """The fragment without half a surrogate pair: a first half waits for the second, another becomes U+FFFD."""
        text = self._halves.pop(fragment.key, "") + fragment.arguments
        if "\ud800" <= text[-1:] <= "\udbff" and not fragment.whole:
            text, self._halves[fragment.key] = text[:-1], text[-1]
        joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return msgspec.structs.replace(fragment, arguments=mend_surrogates(joined))

    def _on_opaque(self, fragment: OpaqueFragment, out: list[Event]) -> None:
        key = fragment.key
        known = None if key is None else self._by_key.get(("opaque", key)) or self._by_key.get(("reasoning", key))
        if known is None and key is not None:
            known = self._by_key.get(("text", key))
        if known is None:
            known = OpenOpaque(mend_surrogates(fragment.kind))
            self.parts.append(known)
            if key is not None:
                self._by_key["opaque", key] = known
        known.merge(fragment.opaque)

    # ---- facts ---------------------------------------------------------------------------------

    def _on_usage(self, fragment: UsageFragment, out: list[Event]) -> None:
        for name in fragment.__struct_fields__:
            value = getattr(fragment, name)
            if value is not None:
                self.usage[name] = value

    def _on_origin(self, fragment: OriginFragment, out: list[Event]) -> None:
        self.response_id = self.response_id or mend_surrogates(fragment.response_id) or None
        self.model = self.model or mend_surrogates(fragment.model) or ""

    def _on_warning(self, fragment: WarningFragment, out: list[Event]) -> None:
        self.damaged = self.damaged or fragment.damage
        out.append(self._warn(fragment.kind, fragment.detail))

    def _warn(self, kind: str, detail: str) -> StreamWarning:
        warning = StreamWarning(kind, mend_surrogates(detail), self.position)
        self.warnings.append(warning)
        return warning

    # ---- endings -------------------------------------------------------------------------------

    def _on_finish(self, fragment: FinishFragment, out: list[Event]) -> None:
        if self.stop is None or not is_milder(fragment.stop_reason, self.stop):
            self.stop, self.raw_stop = fragment.stop_reason, mend_surrogates(fragment.raw)

    def _on_done(self, fragment: DoneFragment, out: list[Event]) -> None:
        self._done = True
        self._end(out)

    def _on_failure(self, fragment: FailureFragment, out: list[Event]) -> None:
        self.fail(fragment.error)

    def _on_restart(self, fragment: RestartFragment, out: list[Event]) -> None:
        warnings, self._restarts = self.warnings, self._restarts + 1
        self._begin()
        self.warnings = warnings
        out.append(StreamReset(self._restarts + 1, fragment.reason))
        out.append(self._warn("restarted", fragment.reason))

    def _end(self, out: list[Event]) -> None:
        before = len(self.warnings)
        for part in self.parts:
            if isinstance(part, OpenText) and (text := part.flush()):
                out.append(TextDelta(part.index, text) if part.kind == "text" else ReasoningDelta(part.index, text))
        for key in self._halves:
            self._book.feed(CallFragment(key, arguments="\ufffd"), out)  # a half that stayed alone
        self._book.finish(out)
        stop = self._stop_reason()
        is_told = self.stop is not None or self._done_completes
        message = self._message(stop, refusal_of(stop, raw=self.raw_stop, damaged=self.damaged, told=is_told))
        self._check(message)
        out.extend(self.warnings[before:])
        message = msgspec.structs.replace(message, warnings=tuple(self.warnings))
        out.append(MessageEnd(message))
        self.committed = self.ended = True

    def _stop_reason(self) -> StopReason:
        stop = self.stop
        if stop is None:
            if not self._done_completes:
                self._warn("finish_reason_missing", "the end mark came without any reason to stop")
            stop = "end_turn"
        if stop in ("end_turn", "tool_use"):
            if stop == "tool_use" and not self._book.calls:
                self._warn("tool_calls_missing", "the service said that it calls a tool, but sent no call")
            return "tool_use" if self._book.calls else "end_turn"
        return stop

    def _check(self, message: AssistantMessage) -> None:
        """Warn of oddities that only the whole message shows."""
        for part in self.parts:
            if isinstance(part, OpenCall):
                self._check_call(part)
            if isinstance(part, OpenText) and part.differs:
                self._warn("text_differs", f"the final text of part {part.index} differs from the pieces shown")
        if not message.parts:
            self._warn("empty", "the answer has no content")
        elif all(isinstance(part, ReasoningPart) for part in message.parts):
            self._warn("no_output", "the answer is reasoning only")
        if not message.calls and (markup := tool_markup_in(message.text)):
            self._warn("tool_markup_in_text", f"the text holds {markup}: a call that its server did not recognise")

    def _check_call(self, call: OpenCall) -> None:
        named = call.name or call.id
        if call.replaced:
            self._warn("arguments_replaced", f"the final arguments of {named} differ from the pieces")
        if call.dropped:
            self._warn("arguments_repaired", f"{call.dropped[:60]!r} besides the arguments of {named} was dropped")
        if call.shown_name != call.name:
            self._warn("name_changed", f"the call announced as {call.shown_name!r} turned out to be {call.name!r}")
        if not call.name and not call.wire_id:
            self._warn("orphan_delta", "arguments came for a call that has neither a name nor an id")

    def _message(self, stop: StopReason, refusal: str | None) -> AssistantMessage:
        return AssistantMessage(
            parts=tuple(self._part(part, refusal) for part in self.parts),
            stop_reason=stop,
            raw_stop_reason=self.raw_stop,
            usage=Usage(**self.usage),
            model=self.model,
            provider=self._provider,
            protocol=self._protocol,
            response_id=self.response_id,
            warnings=tuple(self.warnings),
        )

    def _part(self, part: OpenText | OpenCall | OpenOpaque, refusal: str | None) -> Part:
        if isinstance(part, OpenText):
            kind = TextPart if part.kind == "text" else ReasoningPart
            return kind(part.text, _frozen(part.opaque))
        if isinstance(part, OpenCall):
            arguments, error, raw = part.arguments()
            refusal = refusal or refusal_of_call(part.name, error)
            return ToolCall(
                id=part.id or part.wire_id,
                name=part.name,
                arguments=arguments,
                arguments_error=error,
                raw_arguments=raw,
                executable=refusal is None,
                refusal=refusal,
                free_text=part.free_text,
                opaque=_frozen(part.opaque),
            )
        return OpaquePart(part.kind, _frozen(part.opaque))


def _frozen(opaque: dict[str, Any]) -> Mapping[str, Any] | None:
    return dict(mend_surrogates(opaque)) or None
