"""OpenAI Chat Completions and its many relatives: a chunk in, fragments out. The request is in `chat_request`.

Most chunks of a stream have one of two shapes: a piece of text, or a piece of one call's arguments. Those are decoded
straight into structs whose rare fields admit only null, so that anything else fails the typed decode and goes
the general way, which knows every oddity. Both ways give the same fragments; a test holds them together.

Source: the OpenAI API reference, "Chat Completions: streaming"; the deviations are golden streams in the tests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from inkwire.errors import ModelError, ServerError, ServiceError
from inkwire.fragments import (
    CallFragment,
    DoneFragment,
    FailureFragment,
    FinishFragment,
    Fragment,
    OriginFragment,
    ReasoningFragment,
    TextFragment,
    WarningFragment,
)
from inkwire.framing.frame import Frame
from inkwire.messages import StopReason
from inkwire.protocols.base import DecodeOptions, Decoder, WireProtocol
from inkwire.protocols.chat_request import encode
from inkwire.protocols.chat_usage import find_usage
from inkwire.protocols.payload import is_sentinel, read_object
from inkwire.protocols.service_errors import in_payload
from inkwire.protocols.text_quirks import with_text_quirks
from inkwire.protocols.values import argument_text

__all__ = ["PROTOCOL", "ChatDecoder"]

_STOP_REASONS: dict[str, StopReason] = {
    "stop": "end_turn",
    "end": "end_turn",
    "end_turn": "end_turn",
    "eos": "end_turn",  # Together
    "eos_token": "end_turn",  # TGI
    "complete": "end_turn",
    "completed": "end_turn",
    "finished": "end_turn",
    "stop_sequence": "stop_sequence",
    "tool_calls": "tool_use",
    "tool_call": "tool_use",
    "tool_use": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "model_length": "context_window",  # Mistral
    "model_context_window_exceeded": "context_window",  # Z.ai
    "context_window": "context_window",
    "content_filter": "content_filter",
    "content_filtered": "content_filter",
    "guardrail_intervened": "content_filter",
    "sensitive": "content_filter",  # GLM
    "safety": "content_filter",  # Gemini's words through proxies
    "recitation": "content_filter",
    "blocklist": "content_filter",
    "prohibited_content": "content_filter",
    "spii": "content_filter",
    "refusal": "refusal",
    "pause_turn": "pause_turn",
}
_FAILED = {
    "error": "the service ended the answer with finish reason 'error'",
    "failed": "the service ended the answer with finish reason 'failed'",
    "cancelled": "the service cancelled the answer",
    "network_error": "the service's inference failed (finish reason 'network_error')",  # GLM
    "insufficient_system_resource": "the service ran out of resources in mid-answer",  # DeepSeek
}
_MALFORMED = ("malformed_function_call", "unexpected_tool_call", "too_many_tool_calls", "malformed_tool_call")

_REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
_FIELDS = {field: {"field": field} for field in _REASONING_FIELDS}
_CALL_FIELDS = frozenset({"index", "id", "type", "function", "custom"})


class _Function(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    arguments: str
    name: Literal[""] | None = None


class _CallPiece(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    index: int
    function: _Function
    id: Literal[""] | None = None
    type: str | None = None


class _Delta(msgspec.Struct, gc=False):
    content: str | None = None
    tool_calls: tuple[_CallPiece] | None = None
    reasoning_content: str | None = None
    reasoning: None = None
    reasoning_text: None = None
    reasoning_details: None = None
    refusal: None = None
    function_call: None = None


class _Choice(msgspec.Struct, gc=False):
    delta: _Delta
    index: Literal[0] = 0
    finish_reason: None = None
    error: None = None
    usage: None = None


class _Chunk(msgspec.Struct, gc=False):
    choices: tuple[_Choice]
    usage: None = None
    error: None = None
    x_groq: None = None
    type: None = None


_decode = msgspec.json.Decoder(_Chunk).decode
_ODD = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class ChatDecoder:
    """Decodes the payloads of one chat stream; call pieces are keyed by the wire's index."""

    def __init__(self, options: DecodeOptions = DecodeOptions()) -> None:  # noqa: B008 - a frozen value
        self._tolerant = options.tolerant
        self._reasoning_field: str | None = None
        self._details = _Details()
        self._quick = False
        self._refused = False
        self._extra_choices = False
        self.fast = True
        """Off in tests that compare both ways."""

    def feed(self, frame: Frame) -> Sequence[Fragment]:
        """What one chunk said: reasoning, text, calls, usage, finish reason, in this order."""
        if not self._quick or frame.event:
            return self._feed_any(frame)
        try:
            delta = _decode(frame.data).choices[0].delta
        except _ODD:
            return self._feed_any(frame)
        if delta.reasoning_content is None:
            content, calls = delta.content, delta.tool_calls
            if calls is None:
                return (TextFragment(content),) if content else ()
            if not content:
                piece = calls[0]
                return (CallFragment(piece.index, None, None, piece.function.arguments),)
        return self._several(delta)

    def finish(self) -> Sequence[Fragment]:
        """Nothing is held back."""
        self._details.settle()
        return ()

    def _several(self, delta: _Delta) -> list[Fragment]:
        out: list[Fragment] = []
        if delta.reasoning_content and self._reasoning_field in (None, "reasoning_content"):
            self._reasoning_field = "reasoning_content"
            out.append(ReasoningFragment(delta.reasoning_content, opaque=_FIELDS["reasoning_content"]))
        if delta.content:
            out.append(TextFragment(delta.content))
        for piece in delta.tool_calls or ():
            out.append(CallFragment(piece.index, arguments=piece.function.arguments))
        return out

    # ---- the general way -----------------------------------------------------------------------

    def _feed_any(self, frame: Frame) -> Sequence[Fragment]:
        if is_sentinel(frame.data):
            self._details.settle()
            refusal = [FinishFragment("refusal", None)] if self._refused else []
            return [*refusal, DoneFragment("[DONE]")]
        chunk = read_object(frame, self._tolerant)
        if chunk is None:
            return ()
        if not isinstance(chunk, dict):
            return (chunk,)
        self._quick = self.fast
        out: list[Fragment] = [OriginFragment(_text(chunk.get("id")), _text(chunk.get("model")))]
        choice = self._choice(chunk.get("choices"), out)
        failure = in_payload(chunk, frame.event) or (in_payload(choice) if "error" in choice else None)
        self._delta(choice, out)
        usage = find_usage(chunk, choice)
        if usage is not None:
            out.append(usage)
        if failure is not None:
            out.append(FailureFragment(failure))
        else:
            out.extend(self._finish_reason(choice))
        return out

    def _choice(self, choices: Any, out: list[Fragment]) -> Mapping[str, Any]:
        """The choice of index 0, by its index and not by its place in the list."""
        found = [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []
        ours = [choice for choice in found if choice.get("index") in (0, None, "0")]
        if len(ours) < len(found) and not self._extra_choices:
            self._extra_choices = True
            out.append(WarningFragment("extra_choices", "the service sent more than one choice; only the first counts"))
        return ours[0] if ours else {}

    def _delta(self, choice: Mapping[str, Any], out: list[Fragment]) -> None:
        # A whole completion has `message` in place of `delta`; some services send a running total beside the delta.
        is_whole = "delta" not in choice
        delta = choice.get("message") if is_whole else choice.get("delta")
        if not isinstance(delta, dict):
            return
        out.extend(self._reasoning(delta))
        out.extend(self._content(delta.get("content")))
        if isinstance(refusal := delta.get("refusal"), str) and refusal:
            self._refused = True
            out.append(TextFragment(refusal))
        calls = delta.get("tool_calls")
        for position, entry in enumerate(calls if isinstance(calls, list) else ()):
            if isinstance(entry, dict):
                out.append(_call(entry, f"whole {position}" if is_whole else _key(entry.get("index"))))
        if isinstance(legacy := delta.get("function_call"), dict):
            out.append(_call({"function": legacy}, "function_call"))

    def _reasoning(self, delta: Mapping[str, Any]) -> list[Fragment]:
        """Thinking text under the first field that had any, and OpenRouter's details."""
        out: list[Fragment] = []
        for field in _REASONING_FIELDS if self._reasoning_field is None else (self._reasoning_field,):
            if isinstance(text := delta.get(field), str) and text:
                self._reasoning_field = field
                out.append(ReasoningFragment(text, opaque=_FIELDS[field]))
                break
        details = delta.get("reasoning_details")
        if isinstance(details, list) and details:
            text = "" if out or self._reasoning_field in _REASONING_FIELDS else _details_text(details)
            if text:
                self._reasoning_field = "reasoning_details"
            self._details.merge(details)
            out.append(ReasoningFragment(text, opaque={"reasoning_details": self._details.entries}))
        return out

    def _content(self, content: Any) -> list[Fragment]:
        if isinstance(content, str):
            return [TextFragment(content)] if content else []
        out: list[Fragment] = []
        for part in content if isinstance(content, list) else ():
            if isinstance(part, str):
                out.append(TextFragment(part))
            elif isinstance(part, dict) and part.get("type") == "thinking":  # Mistral
                out.append(ReasoningFragment(_joined(part.get("thinking")), opaque={"field": "content"}))
            elif isinstance(part, dict) and isinstance(text := part.get("text"), str):
                out.append(TextFragment(text))
        return out

    def _finish_reason(self, choice: Mapping[str, Any]) -> list[Fragment]:
        raw = choice.get("finish_reason")
        if not isinstance(raw, str) or not raw.strip():
            return []
        self._details.settle()
        word = raw.strip().lower()
        if (error := _failed(word, raw)) is not None:
            return [FailureFragment(error)]
        stop = _STOP_REASONS.get(word, "unknown")
        if self._refused and stop in ("end_turn", "tool_use"):
            stop = "refusal"
        return [FinishFragment(stop, raw)]


class _Details:
    """OpenRouter's `reasoning_details`: entries by their index, whose strings come in pieces.

    Pieces are joined when they outgrow what was joined before, and at the end, so that n of them cost no square.
    """

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        """In order of first appearance; the same list all the time."""
        self._known: dict[int | str, dict[str, Any]] = {}
        self._pieces: dict[tuple[int, str], list[str]] = {}
        self._waiting = self._settled = 0

    def merge(self, details: list[Any]) -> None:
        """Take what one chunk says of them."""
        for position, said in enumerate(details):
            if not isinstance(said, dict):
                continue
            index = said.get("index")
            key = index if isinstance(index, (int, str)) else f"at {position}"
            if key not in self._known:
                self._known[key] = {}
                self.entries.append(self._known[key])
            self._entry(self._known[key], said)
        if self._waiting > self._settled:
            self.settle()

    def _entry(self, known: dict[str, Any], said: dict[str, Any]) -> None:
        for name, value in said.items():
            if name in ("text", "summary", "data") and isinstance(known.get(name), str) and isinstance(value, str):
                self._pieces.setdefault((id(known), name), [known[name]]).append(value)
                self._waiting += len(value)
            elif value is not None or name not in known:
                known[name] = value

    def settle(self) -> None:
        """Join what waits."""
        for known in self.entries if self._pieces else ():
            for name in ("text", "summary", "data"):
                if pieces := self._pieces.pop((id(known), name), None):
                    known[name] = "".join(pieces)
        self._settled, self._waiting = self._settled + self._waiting, 0


def _failed(word: str, raw: str) -> ModelError | None:
    if any(mark in word for mark in _MALFORMED):
        said = f"the model's own call was malformed (finish reason {raw!r})"
        return ServiceError(said, code="malformed_tool_call", retryable=True, phase="body")
    if word in _FAILED:
        return ServerError(_FAILED[word], code=word, retryable=True, phase="body")
    return None


_LONGEST_INDEX: Final = 18
"""A longer one is no number, whatever its digits say."""


def _key(index: Any) -> int | str | None:
    if isinstance(index, str):
        return int(index) if index.isdecimal() and len(index) < _LONGEST_INDEX else index or None
    return index if isinstance(index, int) else None


def _call(entry: Mapping[str, Any], key: int | str | None) -> CallFragment:
    function = entry.get("function")
    custom = entry.get("custom")
    free_text = isinstance(custom, dict)
    said: Any = custom if free_text else function if isinstance(function, dict) else {}
    arguments = said.get("input" if free_text else "arguments")
    is_text = isinstance(arguments, str)
    extra = {name: value for name, value in entry.items() if name not in _CALL_FIELDS and value is not None}
    return CallFragment(
        key,
        id=_text(entry.get("id")),
        name=_text(said.get("name")),
        # An object is never a piece: it is the whole.
        arguments=argument_text(arguments),
        whole=not is_text and arguments is not None,
        free_text=free_text,
        opaque=extra or None,
    )


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _joined(parts: Any) -> str:
    if isinstance(parts, str):
        return parts
    found = parts if isinstance(parts, list) else ()
    return "".join(part["text"] for part in found if isinstance(part, dict) and isinstance(part.get("text"), str))


def _details_text(details: list[Any]) -> str:
    texts = (entry.get("text") or entry.get("summary") for entry in details if isinstance(entry, dict))
    return "".join(text for text in texts if isinstance(text, str))


def _decoder(options: DecodeOptions) -> Decoder:
    return with_text_quirks(ChatDecoder(options), options.quirks)


PROTOCOL = WireProtocol(name="chat", encode=encode, decoder=_decoder)
