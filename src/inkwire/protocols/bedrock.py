"""Bedrock (`ConverseStream`): a request out, events of the binary event stream in.

Every delta names its content block by index; a text block has no start, a call has one with id and name. Redacted
reasoning comes as base64 in pieces whose bytes, not whose texts, are joined. `messageStop` completes the message and
`metadata` with the usage comes after it, so reading goes on to the end.

Source: docs.aws.amazon.com/bedrock/latest/APIReference, ConverseStream.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from urllib.parse import quote

from inkwire.errors import ConfigurationError, ModelError, ServiceError
from inkwire.fragments import (
    CallFragment,
    FailureFragment,
    FinishFragment,
    Fragment,
    OpaqueFragment,
    ReasoningFragment,
    TextFragment,
    UsageFragment,
    WarningFragment,
)
from inkwire.framing.frame import Frame
from inkwire.messages import (
    AssistantMessage,
    ImagePart,
    Message,
    OpaquePart,
    Part,
    ReasoningPart,
    Request,
    StopReason,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    UserPart,
)
from inkwire.protocols import service_errors
from inkwire.protocols.base import DecodeOptions, EncodedRequest, HistoryRules, Quirks, WireProtocol
from inkwire.protocols.payload import read_object
from inkwire.protocols.requests import (
    base64_text,
    compact_json,
    merge,
    object_arguments,
    object_schema,
    refuse_options,
)
from inkwire.protocols.values import argument_text, count, string

__all__ = ["PROTOCOL", "BedrockDecoder", "encode"]

_STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "stop_sequence": "stop_sequence",
    "guardrail_intervened": "content_filter",
    "content_filtered": "content_filter",
    "refusal": "refusal",
    "model_context_window_exceeded": "context_window",
}
_MALFORMED = ("malformed_tool_use", "malformed_model_output")
"""Reasons after which nothing of the answer may be used; the model may do better when asked again."""
_LACKING = ("parallel_tool_calls", "seed")
_CACHE_POINT = {"cachePoint": {"type": "default"}}
_IMAGE_FORMATS = {
    "image/png": "png",
    "image/jpeg": "jpeg",
    "image/jpg": "jpeg",
    "image/gif": "gif",
    "image/webp": "webp",
}


def encode(request: Request, model: str, quirks: Quirks) -> EncodedRequest:
    """The request for a streamed answer.

    Raises `ConfigurationError` for options that Converse does not have.
    """
    refuse_options(request, "bedrock", _LACKING, quirks)
    body: dict[str, Any] = {"messages": _messages(request.messages)}
    system = [{"text": item.text} for item in request.messages if isinstance(item, SystemMessage) and item.text.strip()]
    if system:
        body["system"] = system
    if tools := _tool_config(request):
        body["toolConfig"] = tools
    inference = {
        "maxTokens": request.max_tokens,
        "temperature": request.temperature,
        "topP": request.top_p,
        "stopSequences": list(request.stop) or None,
    }
    if inference := {name: value for name, value in inference.items() if value is not None}:
        body["inferenceConfig"] = inference
    if request.output_schema is not None:
        schema = {"schema": compact_json(request.output_schema), "name": request.output_schema_name}
        body["outputConfig"] = {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": schema}}}
    body = merge(body, _reasoning(request, model))
    if request.prompt_caching:
        _mark_for_cache(body)
    headers = {"accept": "application/vnd.amazon.eventstream", **request.extra_headers}
    path = f"/model/{quote(model, safe='')}/converse-stream"
    return EncodedRequest(path, merge(body, request.extra_body), headers)


def _tool_config(request: Request) -> dict[str, Any]:
    specs = [_tool_spec(tool.name, tool.description, object_schema(tool)) for tool in request.tools]
    if not specs:
        # A history with calls needs tools declared, even when none are offered any more.
        names = dict.fromkeys(
            call.name for item in request.messages if isinstance(item, AssistantMessage) for call in item.calls
        )
        return (
            {"tools": [_tool_spec(name, "No longer available.", {"type": "object"}) for name in names]} if names else {}
        )
    config: dict[str, Any] = {"tools": specs}
    match request.tool_choice:
        case "auto":
            pass
        case "none":
            raise ConfigurationError("tool_choice='none': the bedrock protocol has no such choice; leave out the tools")
        case "required":
            config["toolChoice"] = {"any": {}}
        case name:
            config["toolChoice"] = {"tool": {"name": name}}
    return config


def _tool_spec(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    # An empty description is refused.
    described = {"description": description} if description else {}
    return {"toolSpec": {"name": name, **described, "inputSchema": {"json": schema}}}


def _reasoning(request: Request, model: str) -> dict[str, Any]:
    """Reasoning options; each family of models has its own fields."""
    effort, budget = request.reasoning_effort, request.reasoning_budget_tokens
    if effort is None and budget is None:
        return {}
    if "anthropic" in model or "claude" in model:
        fields: dict[str, Any] = {}
        if effort == "none":
            fields["additionalModelRequestFields"] = {"thinking": {"type": "disabled"}}
        elif effort is not None:
            fields["outputConfig"] = {"effort": "low" if effort == "minimal" else effort}
        if budget is not None and effort != "none":
            fields["additionalModelRequestFields"] = {"thinking": {"type": "enabled", "budget_tokens": budget}}
        return fields
    if budget is not None:
        raise ConfigurationError(f"reasoning_budget_tokens={budget}: {model} takes only reasoning_effort")
    if "nova" in model:
        setting = {"type": "disabled"} if effort == "none" else {"type": "enabled", "maxReasoningEffort": effort}
        return {"additionalModelRequestFields": {"reasoningConfig": setting}}
    return {"additionalModelRequestFields": {"reasoning_effort": effort}}


def _mark_for_cache(body: dict[str, Any]) -> None:
    """Cache points behind the tools, the system prompt and the last turn of the user."""
    if "toolConfig" in body:
        body["toolConfig"]["tools"].append(_CACHE_POINT)
    if "system" in body:
        body["system"].append(_CACHE_POINT)
    turns = [message for message in body["messages"] if message["role"] == "user"]
    if turns:
        turns[-1]["content"].append(_CACHE_POINT)


def _messages(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """The turns, neighbours of one role in one message: all results of one answer must come together."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        match message:
            case UserMessage():
                role, content = "user", _user_content(message.parts)
            case ToolResultMessage():
                role, content = "user", [_result(message)]
            case AssistantMessage():
                role, content = "assistant", _assistant_content(message.parts)
            case SystemMessage():
                continue
        if content and turns and turns[-1]["role"] == role:
            turns[-1]["content"] += content
        elif content:
            turns.append({"role": role, "content": content})
    return turns


def _user_content(parts: Iterable[UserPart]) -> list[dict[str, Any]]:
    # A text without a visible character is refused.
    return [
        {"text": part.text} if isinstance(part, TextPart) else _image(part)
        for part in parts
        if isinstance(part, ImagePart) or part.text.strip()
    ]


def _image(part: ImagePart) -> dict[str, Any]:
    if part.media_type not in _IMAGE_FORMATS:
        known = ", ".join(_IMAGE_FORMATS)
        raise ConfigurationError(f"an image of type {part.media_type!r}; the bedrock protocol takes {known}")
    if part.url and not part.url.startswith("s3://"):
        raise ConfigurationError(
            "an image is given by its address; the bedrock protocol takes its bytes or an s3:// address"
        )
    source = {"s3Location": {"uri": part.url}} if part.url else {"bytes": base64_text(part)}
    return {"image": {"format": _IMAGE_FORMATS[part.media_type], "source": source}}


def _result(message: ToolResultMessage) -> dict[str, Any]:
    content = _user_content(message.parts) or [{"text": "(no output)"}]
    status = "error" if message.is_error else "success"
    return {"toolResult": {"toolUseId": message.call_id, "content": content, "status": status}}


def _assistant_content(parts: Iterable[Part]) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = []
    for part in parts:
        match part:
            case TextPart():
                if part.text.strip():
                    content.append({"text": part.text})
            case ReasoningPart():
                content += _reasoning_content(part)
            case OpaquePart():
                content.append(dict(part.opaque or {}))
            case ToolCall():
                use = {"toolUseId": part.id, "name": part.name, "input": object_arguments(part)}
                content.append({"toolUse": use})
    return content


def _reasoning_content(part: ReasoningPart) -> list[dict[str, Any]]:
    opaque = part.opaque or {}
    content: list[dict[str, Any]] = []
    if "signature" in opaque:
        signed = {"text": part.text, "signature": opaque["signature"]}
        content.append({"reasoningContent": {"reasoningText": signed}})
    if "redactedContent" in opaque:
        content.append({"reasoningContent": {"redactedContent": opaque["redactedContent"]}})
    # Unsigned reasoning is refused by the models that sign, and not wanted by the others.
    return content


class BedrockDecoder:
    """Events in, fragments out; keeps only the bytes of redacted reasoning until their block ends."""

    def __init__(self, options: DecodeOptions) -> None:
        self._tolerant = options.tolerant
        self._redacted: dict[int, list[bytes]] = {}
        self._server_tools: dict[int, dict[str, Any]] = {}
        self._unknown = 0
        self._handlers: dict[str, Callable[[dict[str, Any]], Sequence[Fragment]]] = {
            "messageStart": lambda payload: (),
            "contentBlockStart": self._start,
            "contentBlockDelta": self._delta,
            "contentBlockStop": self._stop,
            "messageStop": self._message_stop,
            "metadata": _metadata,
        }

    @property
    def unknown_events(self) -> int:
        """How many events of a type we do not know were skipped."""
        return self._unknown

    def feed(self, frame: Frame) -> Sequence[Fragment]:
        """What an event said; exceptions are errors of the service."""
        payload = read_object(frame, self._tolerant)
        if payload is None and not frame.event.endswith("Exception"):
            return ()
        if payload is not None and not isinstance(payload, dict):
            return (payload,)
        if error := service_errors.in_payload(payload or {}, frame.event):
            return (FailureFragment(error),)
        handler = self._handlers.get(frame.event)
        if handler is None:
            self._unknown += 1
            return ()
        return handler(payload or {})

    def finish(self) -> Sequence[Fragment]:
        """Nothing that counts is held back at the end."""
        return ()

    def _start(self, payload: dict[str, Any]) -> Sequence[Fragment]:
        key, start = _index(payload), payload.get("start")
        use = start.get("toolUse") if isinstance(start, dict) else None
        if isinstance(use, dict) and use.get("type") != "server_tool_use":
            return (CallFragment(key, id=string(use.get("toolUseId")), name=string(use.get("name")), opens=True),)
        if isinstance(start, dict) and start:
            kind = next(iter(start))
            self._server_tools[key] = start
            return (OpaqueFragment(kind, start, ("opaque", key)),)
        return ()

    def _delta(self, payload: dict[str, Any]) -> Sequence[Fragment]:
        key, delta = _index(payload), payload.get("delta")
        if not isinstance(delta, dict):
            return ()
        found: list[Fragment] = []
        if piece := string(delta.get("text")):
            found.append(TextFragment(piece, key))
        use = delta.get("toolUse")
        if isinstance(use, dict) and key not in self._server_tools:
            value = use.get("input")
            found.append(CallFragment(key, arguments=argument_text(value), whole=isinstance(value, dict)))
        reasoning = delta.get("reasoningContent")
        if isinstance(reasoning, dict):
            found += self._reasoning(key, reasoning)
        return found

    def _reasoning(self, key: int, piece: dict[str, Any]) -> Iterable[Fragment]:
        words, signature = string(piece.get("text")), string(piece.get("signature"))
        if words or signature:
            yield ReasoningFragment(words or "", key, append={"signature": signature} if signature else None)
        if redacted := string(piece.get("redactedContent")):
            try:
                data = base64.b64decode(redacted, validate=True)
            except (binascii.Error, ValueError):
                yield WarningFragment("bad_redacted_content", f"block {key}: a piece is no base64")
                return
            if key not in self._redacted:
                # The first piece takes the part's place in the order; the whole follows when the block ends.
                yield ReasoningFragment("", key, {"redactedContent": redacted})
            self._redacted.setdefault(key, []).append(data)

    def _stop(self, payload: dict[str, Any]) -> Sequence[Fragment]:
        return self._close_redacted(_index(payload))

    def _close_redacted(self, key: int) -> Sequence[Fragment]:
        self._server_tools.pop(key, None)
        pieces = self._redacted.pop(key, None)
        if pieces is None:
            return ()
        whole = base64.b64encode(b"".join(pieces)).decode("ascii")
        return (ReasoningFragment("", key, {"redactedContent": whole}),)

    def _message_stop(self, payload: dict[str, Any]) -> Sequence[Fragment]:
        found = [item for key in tuple(self._redacted) for item in self._close_redacted(key)]
        reason = string(payload.get("stopReason"))
        if reason is None:
            return [*found, FinishFragment("unknown", None)]
        if reason.lower() in _MALFORMED:
            error: ModelError = ServiceError(
                f"{reason}: the model's call was malformed", code="malformed_tool_call", retryable=True, phase="body"
            )
            return [*found, FailureFragment(error)]
        return [*found, FinishFragment(_STOP_REASONS.get(reason.lower(), "unknown"), reason)]


def _metadata(payload: dict[str, Any]) -> Sequence[Fragment]:
    usage = payload.get("usage")
    if not isinstance(usage, dict):
        return ()
    fresh = count(usage, "inputTokens")
    read, written = count(usage, "cacheReadInputTokens"), count(usage, "cacheWriteInputTokens")
    # What was read from or written to the cache is counted beside the input here.
    whole = None if fresh is None else fresh + (read or 0) + (written or 0)
    return (UsageFragment(whole, count(usage, "outputTokens"), read, written),)


def _index(payload: dict[str, Any]) -> int:
    return count(payload, "contentBlockIndex", 0) or 0


PROTOCOL = WireProtocol(
    name="bedrock",
    encode=encode,
    decoder=BedrockDecoder,
    history=HistoryRules(tool_call_ids="word_64", alternate_roles=True),
)
