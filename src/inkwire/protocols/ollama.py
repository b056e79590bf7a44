"""Ollama (`/api/chat`): a request out, lines of JSON in.

Text and thinking come in pieces without an index, calls whole and with an object of arguments; `function.index` is 0 on
each of parallel calls and means nothing. `done: true` ends the answer, and its reason is "stop" with calls, too.

Source: docs.ollama.com/api/chat, /capabilities/thinking, /capabilities/tool-calling.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from inkwire.errors import ConfigurationError
from inkwire.fragments import (
    CallFragment,
    DoneFragment,
    FailureFragment,
    FinishFragment,
    Fragment,
    OriginFragment,
    ReasoningFragment,
    TextFragment,
    UsageFragment,
)
from inkwire.framing.frame import Frame
from inkwire.messages import (
    AssistantMessage,
    ImagePart,
    Message,
    Request,
    StopReason,
    SystemMessage,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    UserPart,
)
from inkwire.protocols import service_errors
from inkwire.protocols.base import DecodeOptions, Decoder, EncodedRequest, HistoryRules, Quirks, WireProtocol
from inkwire.protocols.payload import read_object
from inkwire.protocols.requests import (
    base64_text,
    merge,
    object_arguments,
    object_schema,
    refuse_options,
)
from inkwire.protocols.text_quirks import with_text_quirks
from inkwire.protocols.values import argument_text, count, string

__all__ = ["PROTOCOL", "OllamaDecoder", "encode"]

_STOP_REASONS: dict[str, StopReason] = {"stop": "end_turn", "length": "max_tokens"}
"""Other words (`load`, `unload`) mean that no answer was made."""
_LACKING = ("parallel_tool_calls", "reasoning_budget_tokens")
_LEVEL_WORDS = ("minimal", "low", "medium", "high")
_LEVEL_MODELS = "gpt-oss"
"""Only these take a level of thinking; releases of 2025 refuse a level for all others (HTTP 400)."""


def encode(request: Request, model: str, quirks: Quirks) -> EncodedRequest:
    """The request for a streamed answer.

    Raises `ConfigurationError` for options that Ollama does not have: a forced tool, a budget, an image's address.
    """
    refuse_options(request, "ollama", _LACKING, quirks)
    messages = [message for item in request.messages if len(message := _message(item)) > 1]
    body: dict[str, Any] = {"model": model, "stream": True, "messages": messages}
    if request.tool_choice not in ("auto", "none"):
        raise ConfigurationError(f"tool_choice={request.tool_choice!r}: the ollama protocol cannot force a tool")
    if request.tools and request.tool_choice == "auto":
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": object_schema(tool)},
            }
            for tool in request.tools
        ]
    if request.reasoning_effort is not None:
        body["think"] = _think(request.reasoning_effort, model)
    if request.output_schema is not None:
        body["format"] = dict(request.output_schema)
    options = {
        "temperature": request.temperature,
        "num_predict": request.max_tokens,
        "stop": list(request.stop) or None,
        "seed": request.seed,
        "top_p": request.top_p,
    }
    if options := {name: value for name, value in options.items() if value is not None}:
        body["options"] = options
    return EncodedRequest("/api/chat", merge(body, request.extra_body), dict(request.extra_headers))


def _think(effort: str, model: str) -> bool | str:
    if effort not in ("none", *_LEVEL_WORDS):
        return effort
    if _LEVEL_MODELS in model and effort != "none":
        return "low" if effort == "minimal" else effort
    return effort != "none"


def _message(message: Message) -> dict[str, Any]:
    match message:
        case SystemMessage():
            return {"role": "system", "content": message.text}
        case UserMessage():
            return {"role": "user", "content": message.text, **_images(message.parts)}
        case ToolResultMessage():
            # The name is for releases that know no ids; an error can only be told in words.
            content = f"Error: {message.text}" if message.is_error else message.text
            names = {"tool_name": message.name, "tool_call_id": message.call_id}
            return {"role": "tool", "content": content, **names, **_images(message.parts)}
        case AssistantMessage():
            return _answer(message)


def _answer(message: AssistantMessage) -> dict[str, Any]:
    """One answer; only its role when nothing of it can be said in this protocol."""
    encoded: dict[str, Any] = {"role": "assistant"}
    if message.text or message.calls:
        encoded["content"] = message.text
        if message.reasoning:
            encoded["thinking"] = message.reasoning
    if message.calls:
        encoded["tool_calls"] = [_call(call) for call in message.calls]
    return encoded


def _images(parts: Sequence[UserPart]) -> dict[str, Any]:
    images = [part for part in parts if isinstance(part, ImagePart)]
    for image in images:
        if image.url:
            raise ConfigurationError("an image is given by its address; the ollama protocol takes only its bytes")
    return {"images": [base64_text(image) for image in images]} if images else {}


def _call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "function": {"name": call.name, "arguments": object_arguments(call)}}


class OllamaDecoder:
    """Lines in, fragments out; keeps only the running number of calls."""

    def __init__(self, options: DecodeOptions) -> None:
        self._tolerant = options.tolerant
        self._calls = 0
        self._named = False

    def feed(self, frame: Frame) -> Sequence[Fragment]:
        """What a line said."""
        payload = read_object(frame, self._tolerant)
        if payload is None:
            return ()
        if not isinstance(payload, dict):
            return (payload,)
        if error := service_errors.in_payload(payload, frame.event):
            return (FailureFragment(error),)
        found: list[Fragment] = []
        if not self._named and isinstance(payload.get("model"), str):
            self._named = True
            found.append(OriginFragment(model=payload["model"]))
        message = payload.get("message")
        if isinstance(message, dict):
            self._message(message, found)
        if payload.get("done") is True:
            _end(payload, found)
        return found

    def finish(self) -> Sequence[Fragment]:
        """Nothing is ever held back."""
        return ()

    def _message(self, message: dict[str, Any], found: list[Fragment]) -> None:
        thinking, text = message.get("thinking"), message.get("content")
        if isinstance(thinking, str) and thinking:
            found.append(ReasoningFragment(thinking))
        if isinstance(text, str) and text:
            found.append(TextFragment(text))
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            function = call.get("function") if isinstance(call, dict) else None
            if not isinstance(function, dict):
                continue
            self._calls += 1
            found.append(
                CallFragment(
                    self._calls,
                    id=string(call.get("id")),
                    name=string(function.get("name")),
                    arguments=argument_text(function.get("arguments")),
                    whole=True,
                    opens=True,
                )
            )


def _end(payload: dict[str, Any], found: list[Fragment]) -> None:
    # A prompt that came from the cache is not counted by old releases: unknown, not 0.
    found.append(UsageFragment(count(payload, "prompt_eval_count"), count(payload, "eval_count")))
    reason = string(payload.get("done_reason"))
    if reason is not None:
        found.append(FinishFragment(_STOP_REASONS.get(reason.lower(), "unknown"), reason))
    found.append(DoneFragment("done"))


def _decoder(options: DecodeOptions) -> Decoder:
    return with_text_quirks(OllamaDecoder(options), options.quirks)


PROTOCOL = WireProtocol(name="ollama", encode=encode, decoder=_decoder, ndjson=True, history=HistoryRules())
