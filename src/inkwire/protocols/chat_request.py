"""A request in; the body that Chat Completions and its relatives take, out.

Source: the OpenAI API reference, "Create chat completion"; what other services want is named in `Quirks`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from inkwire.messages import (
    AssistantMessage,
    ImagePart,
    Message,
    ReasoningPart,
    Request,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolDefinition,
    ToolResultMessage,
    UserMessage,
    UserPart,
)
from inkwire.protocols.base import EncodedRequest, Quirks
from inkwire.protocols.requests import compact_json, data_url, object_arguments, object_schema, refuse_options

__all__ = ["encode"]

_LACKING = ("reasoning_budget_tokens",)  # prompt caching needs no marks here: it is automatic
_WORDS = ("auto", "none", "required")


def encode(request: Request, model: str, quirks: Quirks) -> EncodedRequest:
    """The request as `POST /chat/completions` takes it. Raises `ConfigurationError` for an option that it has not."""
    refuse_options(request, "chat", _LACKING, quirks)
    body: dict[str, Any] = {
        "model": model,
        "messages": _messages(request.messages, quirks),
        "stream": True,
    }
    if quirks.stream_usage:
        body["stream_options"] = {"include_usage": True}
    body.update(_tools(request, quirks))
    options = {
        quirks.max_tokens_field: request.max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "stop": list(request.stop) or None,
        quirks.seed_field: request.seed,
        "reasoning_effort": request.reasoning_effort,
    }
    body.update({name: value for name, value in options.items() if value is not None})
    if request.output_schema is not None:
        schema = {"name": request.output_schema_name, "schema": dict(request.output_schema), "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return EncodedRequest("/chat/completions", body)


def _tools(request: Request, quirks: Quirks) -> dict[str, Any]:
    if not request.tools:
        return {}
    out: dict[str, Any] = {"tools": [_tool(tool) for tool in request.tools]}
    choice = request.tool_choice
    if choice not in _WORDS:
        out["tool_choice"] = {"type": "function", "function": {"name": choice}}
    elif choice != "auto":
        out["tool_choice"] = quirks.required_word if choice == "required" else choice
    if request.parallel_tool_calls is not None:
        out["parallel_tool_calls"] = request.parallel_tool_calls
    return out


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": object_schema(tool)}
    return {"type": "function", "function": function}


def _messages(messages: Sequence[Message], quirks: Quirks) -> list[dict[str, Any]]:
    """Images of tool results follow, as a user message, the last of the results that stand together."""
    out: list[dict[str, Any]] = []
    images: list[UserPart] = []
    for message in messages:
        if not isinstance(message, ToolResultMessage) and images:
            out.append(_user(images))
            images = []
        match message:
            case SystemMessage():
                out.append({"role": "developer" if quirks.developer_role else "system", "content": message.text})
            case UserMessage():
                out.append(_user(message.parts))
            case AssistantMessage():
                out.append(_assistant(message, quirks))
            case ToolResultMessage():
                out.append(_result(message, quirks))
                images.extend(part for part in message.parts if isinstance(part, ImagePart))
    return [*out, _user(images)] if images else out


def _user(parts: Sequence[UserPart]) -> dict[str, Any]:
    if all(isinstance(part, TextPart) for part in parts):
        return {"role": "user", "content": "".join(part.text for part in parts if isinstance(part, TextPart))}
    content: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, TextPart):
            content.append({"type": "text", "text": part.text})
        else:
            content.append({"type": "image_url", "image_url": {"url": data_url(part)}})
    return {"role": "user", "content": content}


def _assistant(message: AssistantMessage, quirks: Quirks) -> dict[str, Any]:
    out: dict[str, Any] = {"role": "assistant", "content": message.text or (None if message.calls else "")}
    out.update(_reasoning(message, quirks))
    if message.calls:
        out["tool_calls"] = [_call(call) for call in message.calls]
    return out


def _reasoning(message: AssistantMessage, quirks: Quirks) -> dict[str, Any]:
    """Own reasoning under the field in which it came; foreign reasoning has no field and was dropped before."""
    out: dict[str, Any] = {}
    for part in message.parts:
        if not isinstance(part, ReasoningPart) or not part.opaque:
            continue
        if isinstance(field := part.opaque.get("field"), str):
            out[field] = out.get(field, "") + part.text
        if details := part.opaque.get("reasoning_details"):
            out["reasoning_details"] = details
    if quirks.reasoning_field and message.calls:
        # An empty string is wanted back too, once there are calls (DeepSeek, Kimi).
        out.setdefault(quirks.reasoning_field, "")
    return out


def _call(call: ToolCall) -> dict[str, Any]:
    # Arguments go back as text that parses, whatever came: one server answers cut arguments with status 500.
    raw = call.raw_arguments if isinstance(call.arguments, dict) and _is_plain(call) else ""
    arguments = raw or compact_json(object_arguments(call))
    extra: Mapping[str, Any] = call.opaque or {}
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}, **extra}


def _is_plain(call: ToolCall) -> bool:
    """Whether the raw text is the object and nothing else, so that it can go back byte for byte (prompt caches)."""
    text = call.raw_arguments
    return text.startswith("{") and text.endswith("}") and _loads(text) == call.arguments


def _loads(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None


def _result(message: ToolResultMessage, quirks: Quirks) -> dict[str, Any]:
    text = message.text
    if not text and any(isinstance(part, ImagePart) for part in message.parts):
        text = "(the image follows)"
    if message.is_error and not text.lower().startswith("error"):
        text = f"Error: {text}"
    out = {"role": "tool", "tool_call_id": message.call_id, "content": text}
    return {**out, "name": message.name} if quirks.tool_result_name else out
