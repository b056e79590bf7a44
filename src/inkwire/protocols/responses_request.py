"""A request in; the body that `POST /responses` takes, out.

Nothing is stored at the service (`store: false`), so the whole conversation goes out as input items, and reasoning
goes back encrypted. Messages and calls go back without their item ids: there is nothing to look up under them, and an
id whose reasoning item is missing makes the service refuse the whole request.

Source: the OpenAI API reference, "Create a model response"; the guides on reasoning and on function calling.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
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
from inkwire.protocols.requests import compact_json, data_url, merge, object_arguments, object_schema, refuse_options

__all__ = ["encode"]

_LACKING = ("stop", "seed", "reasoning_budget_tokens")  # prompt caching needs no marks here: it is automatic
_CHOICES = ("auto", "none", "required")
_NO_REASONING = re.compile(r"(^|/)(gpt-3|gpt-4|chatgpt-|gpt-5(\.\d+)?-chat)")
"""Models that refuse a request which asks for encrypted reasoning."""
_REASONING_FIELDS = ("type", "id", "summary", "content", "encrypted_content")


def encode(request: Request, model: str, quirks: Quirks) -> EncodedRequest:
    """The request for a streamed answer.

    A reasoning effort other than `none` asks for a summary of the thinking, too. Raises `ConfigurationError` for
    options that the protocol does not have.
    """
    refuse_options(request, "responses", _LACKING, quirks)
    instructions, messages = _instructions(request.messages)
    stored = bool(request.extra_body.get("store"))
    body: dict[str, Any] = {
        "model": model,
        "input": _input(messages, quirks, stored),
        "stream": True,
        "store": False,
    }
    effort = request.reasoning_effort
    options: dict[str, Any] = {
        "instructions": instructions or None,
        "include": None if _NO_REASONING.search(model) else ["reasoning.encrypted_content"],
        "max_output_tokens": request.max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "reasoning": _reasoning_options(effort) if effort is not None else None,
        "text": _text_format(request),
    }
    body.update({name: value for name, value in options.items() if value is not None})
    body.update(_tools(request))
    return EncodedRequest("/responses", merge(body, request.extra_body), dict(request.extra_headers))


def _reasoning_options(effort: str) -> dict[str, Any]:
    return {"effort": effort} if effort == "none" else {"effort": effort, "summary": "auto"}


def _text_format(request: Request) -> dict[str, Any] | None:
    if request.output_schema is None:
        return None
    schema = dict(request.output_schema)
    return {"format": {"type": "json_schema", "name": request.output_schema_name, "schema": schema, "strict": True}}


def _tools(request: Request) -> dict[str, Any]:
    if not request.tools:
        return {}
    out: dict[str, Any] = {"tools": [_tool(tool) for tool in request.tools]}
    choice = request.tool_choice
    if choice not in _CHOICES:
        named = next((tool for tool in request.tools if tool.name == choice), None)
        if named is None:
            raise ConfigurationError(f"tool_choice={choice!r} is set, but the request offers no such tool")
        out["tool_choice"] = {"type": "custom" if named.free_text else "function", "name": choice}
    elif choice != "auto":
        out["tool_choice"] = choice
    if request.parallel_tool_calls is not None:
        out["parallel_tool_calls"] = request.parallel_tool_calls
    return out


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    if tool.free_text:
        return {"type": "custom", "name": tool.name, "description": tool.description}
    # Unlike chat, this protocol takes a schema as strict unless it is told otherwise.
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": object_schema(tool),
        "strict": False,
    }


def _instructions(messages: tuple[Message, ...]) -> tuple[str, tuple[Message, ...]]:
    """The system messages at the start, joined, and the rest."""
    count = next((at for at, item in enumerate(messages) if not isinstance(item, SystemMessage)), len(messages))
    texts = [item.text for item in messages[:count] if isinstance(item, SystemMessage)]
    return "\n\n".join(texts), messages[count:]


def _input(messages: Iterable[Message], quirks: Quirks, stored: bool) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    free_text: set[str] = set()
    for message in messages:
        match message:
            case SystemMessage():
                role = "developer" if quirks.developer_role else "system"
                items.append({"type": "message", "role": role, "content": message.text})
            case UserMessage():
                items.append({"type": "message", "role": "user", "content": _content(message.parts)})
            case AssistantMessage():
                items.extend(_answer(message.parts, stored))
                free_text.update(call.id for call in message.calls if isinstance(call.arguments, str))
            case ToolResultMessage():
                kind = "custom_tool_call_output" if message.call_id in free_text else "function_call_output"
                items.append({"type": kind, "call_id": message.call_id, "output": _output(message)})
    return items


def _content(parts: Iterable[UserPart]) -> list[dict[str, Any]]:
    return [
        {"type": "input_text", "text": part.text}
        if isinstance(part, TextPart)
        else {"type": "input_image", "detail": "auto", "image_url": data_url(part)}
        for part in parts
    ]


def _output(message: ToolResultMessage) -> str | list[dict[str, Any]]:
    text = message.text
    if message.is_error and not text.lower().startswith("error"):
        text = f"Error: {text}"
    images = [part for part in message.parts if isinstance(part, ImagePart)]
    if not images:
        return text
    return _content([*([TextPart(text)] if text else []), *images])


def _answer(parts: Iterable[Part], stored: bool) -> Iterator[dict[str, Any]]:
    for part in parts:
        match part:
            case TextPart():
                phase = {"phase": part.opaque["phase"]} if part.opaque and "phase" in part.opaque else {}
                yield {"type": "message", "role": "assistant", "content": part.text, **phase}
            case ReasoningPart():
                yield from _reasoning(part, stored)
            case OpaquePart():
                yield dict(part.opaque or {})
            case ToolCall():
                yield _call(part)


def _call(call: ToolCall) -> dict[str, Any]:
    said = {**(call.opaque or {}), "call_id": call.id, "name": call.name}
    if isinstance(call.arguments, str):
        return {**said, "type": "custom_tool_call", "input": call.arguments}
    return {**said, "type": "function_call", "arguments": compact_json(object_arguments(call))}


def _reasoning(part: ReasoningPart, stored: bool) -> Iterator[dict[str, Any]]:
    """The item as it came, if the service can read it back: encrypted, in the open, or from its own store."""
    opaque = part.opaque or {}
    if opaque.get("type") == "reasoning" and (opaque.get("encrypted_content") or opaque.get("content") or stored):
        yield {"summary": [], **{name: opaque[name] for name in _REASONING_FIELDS if name in opaque}}
