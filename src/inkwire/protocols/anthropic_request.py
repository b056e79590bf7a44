"""A request in; the body that `POST /v1/messages` takes, out.

Results of tools are blocks of a user message and come first in it; system messages stand apart; reasoning goes back
only signed, and blocks of the service's own tools go back as they came.

Source: docs.claude.com, "Create a Message", "Extended thinking", "Prompt caching", "Structured outputs".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from inkwire.errors import ConfigurationError
from inkwire.messages import (
    AssistantMessage,
    ImagePart,
    Message,
    OpaquePart,
    Part,
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
from inkwire.protocols.requests import base64_text, merge, object_arguments, object_schema, refuse_options

__all__ = ["DEFAULT_MAX_TOKENS", "encode"]

DEFAULT_MAX_TOKENS = 32_000
"""The protocol demands an output limit, and thinking counts towards it; this one holds where the request sets none.
Every model since Claude Opus 4 can write that much."""
_ANSWER_TOKENS = 8_000
"""What is left for the answer beside a larger thinking budget."""
_LACKING = ("seed",)
_VERSION = "2023-06-01"
"""What all services of this protocol know; 2026-10-21 refuses `temperature` and `top_p` for every model."""
_CACHE_MARK = {"type": "ephemeral"}
_CHOICES = {"auto": "auto", "none": "none", "required": "any"}
_IMAGE_TYPES = {
    "image/png": "image/png",
    "image/jpeg": "image/jpeg",
    "image/jpg": "image/jpeg",
    "image/gif": "image/gif",
    "image/webp": "image/webp",
}


def encode(request: Request, model: str, quirks: Quirks) -> EncodedRequest:
    """The request for a streamed answer.

    Without `max_tokens` the limit is `DEFAULT_MAX_TOKENS`, or more for a thinking budget that needs it. A reasoning
    effort asks for adaptive thinking with its text shown; `none` switches thinking off. Raises `ConfigurationError` for
    options that the protocol does not have.
    """
    refuse_options(request, "anthropic", _LACKING, quirks)
    budget = request.reasoning_budget_tokens or 0
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": request.max_tokens or max(DEFAULT_MAX_TOKENS, budget + _ANSWER_TOKENS),
        "messages": _messages(request.messages, quirks),
        "stream": True,
    }
    system = [_text(item.text) for item in request.messages if isinstance(item, SystemMessage) and item.text.strip()]
    options = {
        "system": system or None,
        "tools": [_tool(tool) for tool in request.tools] or None,
        "tool_choice": _tool_choice(request),
        "temperature": request.temperature,
        "top_p": request.top_p,
        "stop_sequences": list(request.stop) or None,
        "thinking": _thinking(request),
        "output_config": _output_config(request) or None,
    }
    body.update({name: value for name, value in options.items() if value is not None})
    if request.prompt_caching:
        _mark_for_cache(body)
    headers = {"anthropic-version": _VERSION, **request.extra_headers}
    return EncodedRequest("/v1/messages", merge(body, request.extra_body), headers)


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    described = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **described, "input_schema": object_schema(tool)}


def _tool_choice(request: Request) -> dict[str, Any] | None:
    if not request.tools:
        return None
    choice = request.tool_choice
    said: dict[str, Any] = {"type": _CHOICES[choice]} if choice in _CHOICES else {"type": "tool", "name": choice}
    if request.parallel_tool_calls is False and choice != "none":
        said["disable_parallel_tool_use"] = True
    return None if said == {"type": "auto"} else said


def _thinking(request: Request) -> dict[str, Any] | None:
    if request.reasoning_effort == "none":
        return {"type": "disabled"}
    if request.reasoning_budget_tokens is not None:
        return {"type": "enabled", "budget_tokens": request.reasoning_budget_tokens}
    if request.reasoning_effort is not None:
        # Without `display`, newer models answer with a signature and no text.
        return {"type": "adaptive", "display": "summarized"}
    return None


def _output_config(request: Request) -> dict[str, Any]:
    config: dict[str, Any] = {}
    effort = request.reasoning_effort
    if effort not in (None, "none"):
        config["effort"] = "low" if effort == "minimal" else effort
    if request.output_schema is not None:
        config["format"] = {"type": "json_schema", "schema": dict(request.output_schema)}
    return config


def _mark_for_cache(body: dict[str, Any]) -> None:
    """Marks behind the tools, the system prompt and the last turn of the user: three of the four allowed."""
    turns = [message["content"] for message in body["messages"] if message["role"] == "user"]
    for blocks in (body.get("tools"), body.get("system"), turns[-1] if turns else None):
        if blocks:
            blocks[-1]["cache_control"] = dict(_CACHE_MARK)


def _messages(messages: Iterable[Message], quirks: Quirks) -> list[dict[str, Any]]:
    """The turns, neighbours of one role in one message: all results of one answer must come together."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        match message:
            case UserMessage():
                role, content = "user", _user_content(message.parts)
            case ToolResultMessage():
                role, content = "user", [_result(message)]
            case AssistantMessage():
                role, content = "assistant", _assistant_content(message.parts, quirks)
            case SystemMessage():
                continue
        if content and turns and turns[-1]["role"] == role:
            turns[-1]["content"] += content
        elif content:
            turns.append({"role": role, "content": content})
    return turns


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _user_content(parts: Iterable[UserPart]) -> list[dict[str, Any]]:
    # A text without a visible character is refused.
    return [
        _text(part.text) if isinstance(part, TextPart) else _image(part)
        for part in parts
        if isinstance(part, ImagePart) or part.text.strip()
    ]


def _image(part: ImagePart) -> dict[str, Any]:
    if part.url:
        return {"type": "image", "source": {"type": "url", "url": part.url}}
    if part.media_type not in _IMAGE_TYPES:
        known = ", ".join(_IMAGE_TYPES)
        raise ConfigurationError(f"an image of type {part.media_type!r}; the anthropic protocol takes {known}")
    source = {"type": "base64", "media_type": _IMAGE_TYPES[part.media_type], "data": base64_text(part)}
    return {"type": "image", "source": source}


def _result(message: ToolResultMessage) -> dict[str, Any]:
    content = _user_content(message.parts) or [_text("(no output)")]
    failed = {"is_error": True} if message.is_error else {}
    return {"type": "tool_result", "tool_use_id": message.call_id, "content": content, **failed}


def _assistant_content(parts: Iterable[Part], quirks: Quirks) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = []
    for part in parts:
        match part:
            case TextPart():
                if part.text.strip():
                    content.append({**_text(part.text), **(part.opaque or {})})
            case ReasoningPart():
                content += _reasoning(part, quirks)
            case OpaquePart():
                content.append(dict(part.opaque or {}))
            case ToolCall():
                use = {"type": "tool_use", "id": part.id, "name": part.name, "input": object_arguments(part)}
                content.append({**(part.opaque or {}), **use})
    return content


def _reasoning(part: ReasoningPart, quirks: Quirks) -> list[dict[str, Any]]:
    opaque = part.opaque or {}
    if "data" in opaque:
        return [{"type": "redacted_thinking", "data": opaque["data"]}]
    # Unsigned thinking is refused, but for services that want their own back however it came.
    if opaque.get("signature") or quirks.reasoning_field:
        return [{"type": "thinking", "thinking": part.text, "signature": opaque.get("signature", "")}]
    return []
