"""What all protocols' request encoders share: options refused by name, images as text, JSON as text, extra fields."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from inkwire.errors import ConfigurationError
from inkwire.messages import ImagePart, Request, ToolCall, ToolDefinition
from inkwire.protocols.base import Quirks

__all__ = ["base64_text", "compact_json", "data_url", "merge", "object_arguments", "object_schema", "refuse_options"]

_OPTIONS = (
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "max_tokens",
    "temperature",
    "top_p",
    "stop",
    "seed",
    "reasoning_effort",
    "reasoning_budget_tokens",
    "output_schema",
    "prompt_caching",
)
_DEFAULTS = {field.name: field.default for field in msgspec.structs.fields(Request)}


def refuse_options(request: Request, protocol: str, lacking: Sequence[str], quirks: Quirks) -> None:
    """Raise `ConfigurationError` for an option that is set and that the protocol or this endpoint does not have."""
    for name in _OPTIONS:
        if name not in lacking and name not in quirks.unsupported:
            continue
        if getattr(request, name) != _DEFAULTS[name]:
            where = f"the {protocol} protocol has no such option" if name in lacking else "this endpoint refuses it"
            raise ConfigurationError(f"{name}={getattr(request, name)!r} is set for {request.model}, but {where}")


def base64_text(image: ImagePart) -> str:
    """The image's bytes as base64."""
    return base64.b64encode(image.data).decode("ascii")


def data_url(image: ImagePart) -> str:
    """The image's address, or its bytes as a `data:` URL."""
    return image.url or f"data:{image.media_type};base64,{base64_text(image)}"


def compact_json(value: Any) -> str:
    """A value as JSON without spaces, every character kept as it is."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def merge(body: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """`body` with `extra` laid over it: objects are merged field by field, everything else is replaced."""
    merged = dict(body)
    for name, value in extra.items():
        mine = merged.get(name)
        merged[name] = merge(mine, value) if isinstance(mine, Mapping) and isinstance(value, Mapping) else value
    return merged


def object_arguments(call: ToolCall) -> dict[str, Any]:
    """The call's arguments as an object: a free text as `{"input": text}`, invalid ones as `{}`."""
    if isinstance(call.arguments, str):
        return {"input": call.arguments}
    return call.arguments or {}


def object_schema(tool: ToolDefinition) -> dict[str, Any]:
    """The tool's parameters as a JSON Schema of type object; a free-text tool takes one string, `input`."""
    if tool.free_text:
        return {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
    return {"type": "object", "properties": {}, **tool.parameters}
