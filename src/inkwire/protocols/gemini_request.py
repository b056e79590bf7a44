"""A request in; the body that Gemini's `streamGenerateContent` takes, out.

Results of tools are parts of a user content and come first in it; system messages stand apart. A thought signature goes
back on the part it came on; a call that another model made has none, and newer models want a stand-in then.

Source: ai.google.dev/api/generate-content, /gemini-api/docs/thought-signatures, /gemini-api/docs/thinking.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

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
    ToolResultMessage,
    UserMessage,
    UserPart,
)
from inkwire.protocols.base import EncodedRequest, Quirks
from inkwire.protocols.requests import base64_text, merge, object_arguments, object_schema, refuse_options

__all__ = ["encode"]

_EFFORT_TOKENS = {"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24576}
"""Budgets for models before Gemini 3, as Google's own OpenAI-compatible endpoint maps them."""
_LEVEL_MODELS = re.compile(r"gemini-([3-9]|\d\d)\b")
"""Models that take a thinking level instead of a budget and insist on signatures of calls."""
_NO_VALIDATION = "skip_thought_signature_validator"
"""Stands for the signature of a call that another model made (thought-signatures page, FAQ)."""
_LACKING = ("parallel_tool_calls",)


def encode(request: Request, model: str, quirks: Quirks) -> EncodedRequest:
    """The request for a streamed answer.

    Raises `ConfigurationError` for options that Gemini does not have.
    """
    refuse_options(request, "gemini", _LACKING, quirks)
    body: dict[str, Any] = {"contents": _contents(request.messages, model, quirks)}
    system = [{"text": message.text} for message in request.messages if isinstance(message, SystemMessage)]
    if system:
        body["systemInstruction"] = {"parts": system}
    if request.tools:
        declarations = [
            {"name": tool.name, "description": tool.description, "parametersJsonSchema": object_schema(tool)}
            for tool in request.tools
        ]
        body["tools"] = [{"functionDeclarations": declarations}]
    if request.tool_choice != "auto":
        body["toolConfig"] = {"functionCallingConfig": _calling_config(request.tool_choice)}
    if config := _generation_config(request, model):
        body["generationConfig"] = config
    name = model if "/" in model else f"models/{model}"
    path = f"/{quote(name, safe='/')}:streamGenerateContent?alt=sse"
    return EncodedRequest(path, merge(body, request.extra_body), dict(request.extra_headers))


def _calling_config(choice: str) -> dict[str, Any]:
    match choice:
        case "none":
            return {"mode": "NONE"}
        case "required":
            return {"mode": "ANY"}
        case name:
            return {"mode": "ANY", "allowedFunctionNames": [name]}


def _generation_config(request: Request, model: str) -> dict[str, Any]:
    config: dict[str, Any] = {
        "maxOutputTokens": request.max_tokens,
        "temperature": request.temperature,
        "topP": request.top_p,
        "stopSequences": list(request.stop) or None,
        "seed": request.seed,
        "thinkingConfig": _thinking_config(request, model),
    }
    if request.output_schema is not None:
        config["responseMimeType"] = "application/json"
        config["responseJsonSchema"] = dict(request.output_schema)
    return {name: value for name, value in config.items() if value is not None}


def _thinking_config(request: Request, model: str) -> dict[str, Any] | None:
    effort, budget = request.reasoning_effort, request.reasoning_budget_tokens
    if effort is not None and budget is not None:
        raise ConfigurationError(
            "reasoning_effort and reasoning_budget_tokens exclude each other in the gemini protocol"
        )
    if budget is not None:
        return {"thinkingBudget": budget, "includeThoughts": budget != 0}
    if effort is None:
        return None
    if _LEVEL_MODELS.search(model):
        if effort == "none":
            raise ConfigurationError(f"reasoning_effort='none': {model} cannot stop thinking; the least is 'minimal'")
        return {"thinkingLevel": effort, "includeThoughts": True}
    if effort not in _EFFORT_TOKENS:
        known = ", ".join(_EFFORT_TOKENS)
        raise ConfigurationError(f"reasoning_effort={effort!r}: {model} has none such; known are {known}")
    return {"thinkingBudget": _EFFORT_TOKENS[effort], "includeThoughts": effort != "none"}


def _contents(messages: Iterable[Message], model: str, quirks: Quirks) -> list[dict[str, Any]]:
    """The turns, neighbours of one role in one content: all results of one answer must come together."""
    contents: list[dict[str, Any]] = []
    for message in messages:
        match message:
            case UserMessage():
                role, parts = "user", [_user_part(part) for part in message.parts]
            case ToolResultMessage():
                role, parts = "user", _result_parts(message, model, quirks)
            case AssistantMessage():
                role, parts = "model", _model_parts(message.parts, model, quirks)
            case SystemMessage():
                continue
        if parts and contents and contents[-1]["role"] == role:
            contents[-1]["parts"] += parts
        elif parts:
            contents.append({"role": role, "parts": parts})
    for content in contents:
        # The count of results is checked against the calls as they stand together; images come after.
        content["parts"].sort(key=lambda part: content["role"] == "user" and "functionResponse" not in part)
    return contents


def _user_part(part: UserPart) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"text": part.text}
    if part.url:
        return {"fileData": {"mimeType": part.media_type, "fileUri": part.url}}
    return {"inlineData": {"mimeType": part.media_type, "data": base64_text(part)}}


def _result_parts(message: ToolResultMessage, model: str, quirks: Quirks) -> list[dict[str, Any]]:
    result: dict[str, Any] = {} if quirks.omit_call_ids else {"id": message.call_id}
    result["name"] = message.name
    result["response"] = {"error" if message.is_error else "output": message.text}
    images = [_user_part(part) for part in message.parts if isinstance(part, ImagePart)]
    if images and _LEVEL_MODELS.search(model):
        result["parts"], images = images, []
    return [{"functionResponse": result}, *images]


def _model_parts(parts: Iterable[Part], model: str, quirks: Quirks) -> list[dict[str, Any]]:
    encoded: list[dict[str, Any]] = []
    unsigned_first_call = bool(_LEVEL_MODELS.search(model))
    for part in parts:
        opaque = dict(part.opaque or {})
        match part:
            case TextPart():
                if part.text or opaque:
                    encoded.append({"text": part.text, **opaque})
            case ReasoningPart():
                if part.text or opaque:
                    encoded.append({"text": part.text, "thought": True, **opaque})
            case OpaquePart():
                encoded.append(opaque)
            case ToolCall():
                if unsigned_first_call:
                    opaque.setdefault("thoughtSignature", _NO_VALIDATION)
                # Of parallel calls only the first is signed.
                unsigned_first_call = False
                encoded.append({"functionCall": _call(part, quirks), **opaque})
    return encoded


def _call(call: ToolCall, quirks: Quirks) -> dict[str, Any]:
    named: dict[str, Any] = {} if quirks.omit_call_ids else {"id": call.id}
    return {**named, "name": call.name, "args": object_arguments(call)}
