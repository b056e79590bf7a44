"""Anthropic Messages and its relatives: an event in, fragments out. The request is in `anthropic_request`.

Blocks are numbered by the wire, and some proxies use a number twice, so every block that starts gets a key of its own.
Text, thinking and calls go out as they come; a block that only the service understands (its own tools and their
results) is kept whole, with the pieces of its input joined when it stops. Counts are running totals that some proxies
set back to zero, so the largest of each counts.

Almost all events of a stream are `content_block_delta`: those are decoded straight into structs; whatever differs goes
the general way, with the same fragments.

Source: docs.claude.com, "Streaming Messages" and "Handling stop reasons".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from inkwire.errors import ServerError
from inkwire.fragments import (
    CallFragment,
    DoneFragment,
    FailureFragment,
    FinishFragment,
    Fragment,
    OpaqueFragment,
    OriginFragment,
    ReasoningFragment,
    RestartFragment,
    TextFragment,
    UsageFragment,
)
from inkwire.framing.frame import Frame
from inkwire.messages import StopReason
from inkwire.protocols.anthropic_blocks import Block
from inkwire.protocols.anthropic_request import encode
from inkwire.protocols.base import DecodeOptions, Decoder, HistoryRules, WireProtocol
from inkwire.protocols.mismatch import odd_field, wrong_protocol
from inkwire.protocols.payload import read_object
from inkwire.protocols.service_errors import in_payload
from inkwire.protocols.text_quirks import with_text_quirks
from inkwire.protocols.values import argument_text, count, string

__all__ = ["PROTOCOL", "AnthropicDecoder"]

_STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "context_window",
    "stop_sequence": "stop_sequence",
    "pause_turn": "pause_turn",
    "refusal": "refusal",
    # Words that proxies in front of other services let through.
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "content_filter",
}
_FAILED = ("error", "failed")
_COUNTS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "thinking_tokens")
_CALL_FIELDS = frozenset({"type", "id", "name", "input"})
_DELTA_OF_FIELD = {
    # For proxies that leave the delta's type out.
    "text": "text_delta",
    "partial_json": "input_json_delta",
    "thinking": "thinking_delta",
    "signature": "signature_delta",
}


class _TextDelta(msgspec.Struct, tag_field="type", tag="text_delta"):
    text: str


class _InputDelta(msgspec.Struct, tag_field="type", tag="input_json_delta"):
    partial_json: str


class _ThinkingDelta(msgspec.Struct, tag_field="type", tag="thinking_delta"):
    thinking: str


class _BlockDelta(msgspec.Struct, tag_field="type", tag="content_block_delta"):
    index: int
    delta: _TextDelta | _InputDelta | _ThinkingDelta
    error: None = None


class _Ping(msgspec.Struct, tag_field="type", tag="ping"):
    """Here so that there are two: of one struct alone, msgspec takes a payload without a type."""


_HOT = msgspec.json.Decoder(_BlockDelta | _Ping)
_ODD = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class AnthropicDecoder:
    """Decodes the payloads of one Messages stream; parts are keyed by the running number of their block."""

    def __init__(self, options: DecodeOptions = DecodeOptions()) -> None:  # noqa: B008 - a frozen value
        self._tolerant = options.tolerant
        self._start_repeated = options.quirks.start_text_repeated
        self.unknown_events = 0
        """How many events or deltas of a type that we do not know were skipped."""
        self.fast = True
        """Off in tests that compare both ways."""
        self._next_key = 0
        self._handlers: dict[str, Callable[[dict[str, Any], bytes], Sequence[Fragment]]] = {
            "message_start": self._on_message_start,
            "content_block_start": self._on_start,
            "content_block_delta": self._on_delta,
            "content_block_stop": self._on_stop,
            "message_delta": self._on_message_delta,
            "message_stop": lambda payload, data: [*self._close_all(), DoneFragment("message_stop")],
            "message": self._on_whole_message,
            "ping": lambda payload, data: (),
        }
        self._begin()

    def _begin(self) -> None:
        self._blocks: dict[int, Block] = {}
        self._plain: dict[int, int] = {}
        self._last_index = 0
        self._counts: dict[str, int] = {}
        self._stopped = False

    def feed(self, frame: Frame) -> Sequence[Fragment]:
        """What one event said."""
        if not self.fast:
            return self._feed_any(frame)
        try:
            event = _HOT.decode(frame.data)
        except _ODD:
            return self._feed_any(frame)
        if not isinstance(event, _BlockDelta) or (key := self._plain.get(event.index)) is None:
            return self._feed_any(frame)
        delta = event.delta
        if type(delta) is _TextDelta:
            return (TextFragment(delta.text, key),) if delta.text else ()
        if type(delta) is _InputDelta:
            return (CallFragment(key, arguments=delta.partial_json),) if delta.partial_json else ()
        return (ReasoningFragment(delta.thinking, key),) if delta.thinking else ()  # type: ignore[union-attr]

    def finish(self) -> Sequence[Fragment]:
        """What blocks that were never stopped had kept."""
        return self._close_all()

    def _feed_any(self, frame: Frame) -> Sequence[Fragment]:
        payload = read_object(frame, self._tolerant)
        if payload is None:
            return ()
        if not isinstance(payload, dict):
            return (payload,)
        if (failure := in_payload(payload, frame.event)) is not None:
            return (FailureFragment(failure),)
        handler = self._handlers.get(string(payload.get("type")) or frame.event or _untyped(payload))
        if handler is not None:
            return handler(payload, frame.data)
        if (mismatch := wrong_protocol(payload, "anthropic", frame.data)) is not None:
            return (FailureFragment(mismatch),)
        self.unknown_events += 1
        return ()

    # ---- the message ---------------------------------------------------------------------------

    def _on_message_start(self, payload: dict[str, Any], data: bytes) -> Sequence[Fragment]:
        message = payload.get("message")
        out: list[Fragment] = []
        if self._blocks or self._stopped:
            self._begin()
            out.append(RestartFragment("the service began its answer anew (a second message_start)"))
        if isinstance(message, dict):
            out.append(OriginFragment(string(message.get("id")), string(message.get("model"))))
            out.extend(self._usage(message.get("usage")))
            out.extend(self._whole_blocks(message.get("content")))
        return out

    def _on_message_delta(self, payload: dict[str, Any], data: bytes) -> Sequence[Fragment]:
        delta = payload.get("delta")
        delta = delta if isinstance(delta, dict) else {}
        # Some proxies put the usage into the delta.
        return [*self._usage(payload.get("usage")), *self._usage(delta.get("usage")), *self._stop_reason(delta)]

    def _on_whole_message(self, payload: dict[str, Any], data: bytes) -> Sequence[Fragment]:
        """The answer as one document, of a service that does not stream."""
        return [
            OriginFragment(string(payload.get("id")), string(payload.get("model"))),
            *self._whole_blocks(payload.get("content")),
            *self._usage(payload.get("usage")),
            *self._stop_reason(payload),
            DoneFragment("message"),
        ]

    def _whole_blocks(self, content: Any) -> list[Fragment]:
        out: list[Fragment] = []
        for index, block in enumerate(content if isinstance(content, list) else ()):
            if isinstance(block, dict):
                out.extend(self._open(index, block))
        return out

    def _stop_reason(self, said: Mapping[str, Any]) -> Sequence[Fragment]:
        raw = string(said.get("stop_reason"))
        if raw is None or not (word := raw.strip().lower()):
            return ()
        self._stopped = True
        if word in _FAILED:
            error = ServerError(f"the service ended the answer with stop reason {raw!r}", code=word, retryable=True)
            return (FailureFragment(error),)
        return (FinishFragment(_STOP_REASONS.get(word, "unknown"), raw),)

    def _usage(self, usage: Any) -> Sequence[Fragment]:
        if not isinstance(usage, dict):
            return ()
        details = usage.get("output_tokens_details")
        said = {**usage, **(details if isinstance(details, dict) else {})}
        for name in _COUNTS:
            if (value := count(said, name)) is not None:
                self._counts[name] = max(value, self._counts.get(name, 0))
        if not self._counts:
            return ()
        fresh, output, read, written, thinking = (self._counts.get(name) for name in _COUNTS)
        # What was read from or written to the cache is counted beside the input here.
        whole = None if fresh is None else fresh + (read or 0) + (written or 0)
        return (UsageFragment(whole, output, read, written, thinking),)

    # ---- its blocks ----------------------------------------------------------------------------

    def _on_start(self, payload: dict[str, Any], data: bytes) -> Sequence[Fragment]:
        block = payload.get("content_block")
        if not isinstance(block, dict):
            return (odd_field("a content block starts without its block", data, self._tolerant),)
        return self._open(self._index(payload), block)

    def _open(self, index: int, said: dict[str, Any]) -> list[Fragment]:
        before = self._blocks.get(index)
        out = before.close() if before is not None else []
        block = self._new_block(index, string(said.get("type")) or "unknown")
        match block.kind:
            case "text":
                text = string(said.get("text")) or ""
                block.citations += said["citations"] if isinstance(said.get("citations"), list) else ()
                if self._start_repeated and text:
                    block.held = text
                    del self._plain[index]
                elif text:
                    out.append(TextFragment(text, block.key))
            case "thinking":
                text, signature = string(said.get("thinking")) or "", string(said.get("signature"))
                if text or signature:
                    signed = {"signature": signature} if signature else None
                    out.append(ReasoningFragment(text, block.key, append=signed))
            case "redacted_thinking":
                out.append(ReasoningFragment("", block.key, {"data": said.get("data")}))
            case "tool_use":
                out.append(_call(block.key, said))
            case kind:
                out.append(OpaqueFragment(kind, said, block.key))
        return out

    def _new_block(self, index: int, kind: str) -> Block:
        block = self._blocks[index] = Block(self._next_key, kind)
        self._next_key += 1
        self._last_index = index
        if block.kept_whole:
            self._plain.pop(index, None)
        else:
            self._plain[index] = block.key
        return block

    def _on_delta(self, payload: dict[str, Any], data: bytes) -> Sequence[Fragment]:
        delta = payload.get("delta")
        if not isinstance(delta, dict):
            return (odd_field("a content block delta without its delta", data, self._tolerant),)
        index = self._index(payload)
        block = self._blocks.get(index) or self._new_block(index, "")
        kind = string(delta.get("type")) or next(
            (_DELTA_OF_FIELD[name] for name in delta if name in _DELTA_OF_FIELD), ""
        )
        match kind:
            case "text_delta":
                return self._text(index, block, delta, data)
            case "input_json_delta":
                return self._input(block, delta)
            case "thinking_delta":
                text = delta.get("thinking")
                if text is not None and not isinstance(text, str):
                    return (odd_field("a piece of thinking is no string", data, self._tolerant),)
                return (ReasoningFragment(text, block.key),) if text else ()
            case "signature_delta":
                signature = string(delta.get("signature"))
                return (ReasoningFragment("", block.key, append={"signature": signature}),) if signature else ()
            case "citations_delta":
                block.citations.append(delta.get("citation"))
            case _ if block.kept_whole:
                block.absorb(delta)
            case _:
                self.unknown_events += 1
        return ()

    def _text(self, index: int, block: Block, delta: dict[str, Any], data: bytes) -> Sequence[Fragment]:
        text = delta.get("text")
        if text is not None and not isinstance(text, str):
            return (odd_field("a piece of text is no string", data, self._tolerant),)
        if not text:
            return ()
        if block.held:
            text = text if text.startswith(block.held) else block.held + text
            block.held, self._plain[index] = "", block.key
        return (TextFragment(text, block.key),)

    def _input(self, block: Block, delta: dict[str, Any]) -> Sequence[Fragment]:
        value = delta.get("partial_json")
        piece = argument_text(value)
        if block.kept_whole:
            block.absorb({"partial_json": piece})
            return ()
        # An object is never a piece: it is the whole.
        return (CallFragment(block.key, arguments=piece, whole=isinstance(value, dict)),) if piece else ()

    def _on_stop(self, payload: dict[str, Any], data: bytes) -> Sequence[Fragment]:
        block = self._blocks.get(self._index(payload))
        return block.close() if block is not None else ()

    def _close_all(self) -> list[Fragment]:
        return [fragment for block in self._blocks.values() for fragment in block.close()]

    def _index(self, payload: dict[str, Any]) -> int:
        index = count(payload, "index")
        return self._last_index if index is None else index


def _untyped(payload: dict[str, Any]) -> str:
    """What a payload is that neither says its type nor has an event's name: a lost delta would be lost in silence."""
    is_delta = "index" in payload and isinstance(payload.get("delta"), dict)
    return "content_block_delta" if is_delta else ""


def _call(key: int, said: dict[str, Any]) -> CallFragment:
    value = said.get("input")
    arguments = "" if value == {} else argument_text(value)
    extra = {name: value for name, value in said.items() if name not in _CALL_FIELDS and value is not None}
    return CallFragment(
        key,
        id=string(said.get("id")),
        name=string(said.get("name")),
        arguments=arguments,
        whole=bool(arguments),
        opens=True,
        opaque=extra or None,
    )


def _decoder(options: DecodeOptions) -> Decoder:
    return with_text_quirks(AnthropicDecoder(options), options.quirks)


PROTOCOL = WireProtocol(
    name="anthropic",
    encode=encode,
    decoder=_decoder,
    history=HistoryRules(tool_call_ids="word_64", alternate_roles=True),
)
