"""Gemini (`streamGenerateContent`): a request out, chunks of candidates in.

A chunk carries whole parts: text to be appended, thoughts (`thought: true`), calls with an object of arguments. Parts
have no index and calls often no id, so keys are running numbers. A thought signature belongs to the part it came on,
also to an empty text, and goes back on the same part; on a text it does not make the text a thought. A second call
with equal arguments is a second call unless its id repeats. Only the first candidate is read.

Source: ai.google.dev/api/generate-content, /gemini-api/docs/thought-signatures, /gemini-api/docs/thinking.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from inkwire.errors import ConfigurationError, ModelError, ServiceError
from inkwire.fragments import (
    CallFragment,
    FailureFragment,
    FinishFragment,
    Fragment,
    OpaqueFragment,
    OriginFragment,
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
from inkwire.protocols.gemini_arguments import GrowingCall
from inkwire.protocols.payload import read_object
from inkwire.protocols.requests import (
    base64_text,
    merge,
    object_arguments,
    object_schema,
    refuse_options,
)
from inkwire.protocols.values import argument_text, count, string

__all__ = ["PROTOCOL", "GeminiDecoder", "encode"]

_STOP_REASONS: dict[str, StopReason] = {
    "STOP": "end_turn",
    "MAX_TOKENS": "max_tokens",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "LANGUAGE": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "IMAGE_RECITATION": "content_filter",
    "IMAGE_OTHER": "content_filter",
    "MODEL_ARMOR": "content_filter",
}
_MALFORMED = ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE")
"""Reasons after which nothing of the answer may be used; the model may do better when asked again."""
_NO_SIGNATURE = "MISSING_THOUGHT_SIGNATURE"
"""The history lacks a signature; asking again with the same history does not help."""

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


class GeminiDecoder:
    """Chunks in, fragments out; keeps the running numbers of parts and the parts of the output count."""

    def __init__(self, options: DecodeOptions) -> None:
        self._tolerant = options.tolerant
        self._number = 0
        self._kind = ""
        self._growing: GrowingCall | None = None
        self._sent: dict[tuple[str, str | None, str], int] = {}
        """The key of each call with an id: the same call again, often without its signature, is no second one."""
        self._candidate_tokens: int | None = None
        self._thought_tokens: int | None = None
        self._extra_seen = False

    def feed(self, frame: Frame) -> Sequence[Fragment]:
        """What a chunk said; an array (the form without `alt=sse`) is the chunks it holds."""
        if frame.data.lstrip()[:1] == b"[":
            try:
                chunks = msgspec.json.decode(frame.data, type=list[msgspec.Raw])
            except (msgspec.DecodeError, RecursionError):
                chunks = []
            if chunks:
                return [item for chunk in chunks for item in self.feed(Frame(bytes(chunk), frame.event))]
        payload = read_object(frame, self._tolerant)
        if payload is None:
            return ()
        if not isinstance(payload, dict):
            return (payload,)
        if error := service_errors.in_payload(payload, frame.event):
            return (FailureFragment(error),)
        return self._chunk(payload)

    def finish(self) -> Sequence[Fragment]:
        """Nothing: a call that still grows stays cut."""
        return self._cut_call()

    def _chunk(self, payload: dict[str, Any]) -> list[Fragment]:
        found: list[Fragment] = []
        if payload.get("responseId") or payload.get("modelVersion"):
            found.append(OriginFragment(string(payload.get("responseId")), string(payload.get("modelVersion"))))
        usage = payload.get("usageMetadata")
        if isinstance(usage, dict):
            found.append(self._usage(usage))
        candidates = payload.get("candidates")
        for place, candidate in enumerate(candidates if isinstance(candidates, list) else ()):
            if not isinstance(candidate, dict):
                continue
            if candidate.get("index", place) in (0, None):
                found += self._candidate(candidate)
            elif not self._extra_seen:
                self._extra_seen = True
                found.append(WarningFragment("extra_choices", "only the first candidate is read"))
        feedback = payload.get("promptFeedback")
        if isinstance(feedback, dict) and feedback.get("blockReason"):
            found.append(FinishFragment("content_filter", str(feedback["blockReason"])))
        return found

    def _usage(self, usage: dict[str, Any]) -> UsageFragment:
        # The thoughts are counted beside the candidates, and either may be missing from a later chunk.
        self._candidate_tokens = count(usage, "candidatesTokenCount", self._candidate_tokens)
        self._thought_tokens = count(usage, "thoughtsTokenCount", self._thought_tokens)
        prompt = count(usage, "promptTokenCount")
        output = None
        if self._candidate_tokens is not None or self._thought_tokens is not None:
            output = (self._candidate_tokens or 0) + (self._thought_tokens or 0)
        return UsageFragment(
            input_tokens=None if prompt is None else prompt + (count(usage, "toolUsePromptTokenCount") or 0),
            output_tokens=output,
            cache_read_tokens=count(usage, "cachedContentTokenCount"),
            reasoning_tokens=self._thought_tokens,
        )

    def _candidate(self, candidate: dict[str, Any]) -> list[Fragment]:
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, dict) else None
        found: list[Fragment] = []
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict):
                found += self._part(part)
        reason = candidate.get("finishReason")
        if not isinstance(reason, str) or not reason:
            return found
        found += self._cut_call()
        words = string(candidate.get("finishMessage"))
        if reason.upper() in _MALFORMED:
            found.append(_failure(reason, words or "the model's call was malformed", "malformed_tool_call", True))
        elif reason.upper() == _NO_SIGNATURE:
            found.append(_failure(reason, words or "a call in the history lacks its signature", reason.lower(), False))
        else:
            found.append(FinishFragment(_STOP_REASONS.get(reason.upper(), "unknown"), reason))
        return found

    def _part(self, part: dict[str, Any]) -> Sequence[Fragment]:
        signature = part.get("thoughtSignature")
        opaque = {"thoughtSignature": signature} if signature else None
        call = part.get("functionCall")
        if isinstance(call, dict):
            return self._call(call, opaque)
        text = part.get("text")
        if isinstance(text, str):
            return self._text(text, part.get("thought") is True, opaque)
        kinds = [name for name in part if name not in ("thought", "thoughtSignature")]
        if not kinds and opaque is None:
            return ()
        self._kind = "opaque"
        return (OpaqueFragment(kinds[0] if kinds else "thoughtSignature", part),)

    def _text(self, text: str, thought: bool, opaque: dict[str, Any] | None) -> Sequence[Fragment]:
        kind = "reasoning" if thought else "text"
        if not text:
            return self._signature(kind, opaque) if opaque else ()
        if kind != self._kind:
            self._number += 1
            self._kind = kind
        key = self._number
        if opaque:
            # What follows a signature is another part: a signature covers its own part only.
            self._kind = "signed"
        if thought:
            return (ReasoningFragment(text, key, opaque),)
        return (TextFragment(text, key, opaque),)

    def _signature(self, kind: str, opaque: dict[str, Any]) -> Sequence[Fragment]:
        """A signature on an empty text: of the text before it, or a part of its own."""
        open_key = self._number if kind == self._kind else None
        self._kind = "signed"
        if open_key is not None:
            return (OpaqueFragment(kind, opaque, open_key),)
        own = {"text": "", **opaque} if kind == "text" else {"text": "", "thought": True, **opaque}
        return (OpaqueFragment(kind, own),)

    def _call(self, call: dict[str, Any], opaque: dict[str, Any] | None) -> Sequence[Fragment]:
        growing = self._growing
        if growing is not None and not call.get("name"):
            growing.add(call.get("partialArgs"))
            if call.get("willContinue") is True:
                return ()
            self._growing = None
            return (CallFragment(growing.key, arguments=growing.text(), whole=True, opaque=opaque),)
        found = list(self._cut_call())
        self._number += 1
        self._kind = "call"
        key, identity, name = self._number, string(call.get("id")), string(call.get("name"))
        if call.get("willContinue") is True:
            self._growing = GrowingCall(key)
            self._growing.add(call.get("partialArgs"))
            return [*found, CallFragment(key, identity, name, opens=True, opaque=opaque)]
        arguments = argument_text(call.get("args"))
        if call.get("partialArgs"):
            growing = GrowingCall(key)
            growing.add(call["partialArgs"])
            arguments = growing.text()
        known = self._sent.setdefault((identity, name, arguments), key) if identity else key
        return [*found, CallFragment(known, identity, name, arguments, whole=True, opens=known == key, opaque=opaque)]

    def _cut_call(self) -> Sequence[Fragment]:
        """A call whose arguments were announced to go on and did not: its text stays visibly cut."""
        growing, self._growing = self._growing, None
        return () if growing is None else (CallFragment(growing.key, arguments=growing.text()[:-1]),)


def _failure(reason: str, words: str, code: str, retryable: bool) -> FailureFragment:
    error: ModelError = ServiceError(f"{reason}: {words}", code=code, retryable=retryable, phase="body")
    return FailureFragment(error)


PROTOCOL = WireProtocol(name="gemini", encode=encode, decoder=GeminiDecoder, history=HistoryRules(alternate_roles=True))
