"""Gemini (`streamGenerateContent`): chunks of candidates in, fragments out; the request is in `gemini_request`.

A chunk carries whole parts: text to be appended, thoughts (`thought: true`), calls with an object of arguments. Parts
have no index and calls often no id, so keys are running numbers. A thought signature belongs to the part it came on,
also to an empty text, and goes back on the same part; on a text it does not make the text a thought. A second call
with equal arguments is a second call unless its id repeats. Only the first candidate is read.

Source: ai.google.dev/api/generate-content, /gemini-api/docs/thought-signatures, /gemini-api/docs/thinking.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from inkwire.errors import ModelError, ServiceError
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
from inkwire.messages import StopReason
from inkwire.protocols import service_errors
from inkwire.protocols.base import DecodeOptions, HistoryRules, WireProtocol
from inkwire.protocols.gemini_arguments import GrowingCall
from inkwire.protocols.gemini_request import encode
from inkwire.protocols.payload import read_object
from inkwire.protocols.values import argument_text, string

__all__ = ["PROTOCOL", "GeminiDecoder"]

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


class GeminiDecoder:
    """Chunks in, fragments out; keeps the running numbers of parts and the parts of the output count."""

    def __init__(self, options: DecodeOptions) -> None:
        self._tolerant = options.tolerant
        self._origin_told = False
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
        if frame.data[:1] != b"{" and frame.data.lstrip()[:1] == b"[":
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
        is_chunk = "candidates" in payload and "error" not in payload
        if not is_chunk and (error := service_errors.in_payload(payload, frame.event)):
            return (FailureFragment(error),)
        return self._chunk(payload)

    def finish(self) -> Sequence[Fragment]:
        """Nothing: a call that still grows stays cut."""
        return self._cut_call()

    def _chunk(self, payload: dict[str, Any]) -> list[Fragment]:
        found: list[Fragment] = []
        if not self._origin_told and ("responseId" in payload or "modelVersion" in payload):
            self._origin_told = True
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
        get = usage.get
        if type(candidates := get("candidatesTokenCount")) is int:
            self._candidate_tokens = candidates
        if type(thoughts := get("thoughtsTokenCount")) is int:
            self._thought_tokens = thoughts
        prompt, cached, tools = get("promptTokenCount"), get("cachedContentTokenCount"), get("toolUsePromptTokenCount")
        counted = self._candidate_tokens is not None or self._thought_tokens is not None
        return UsageFragment(
            input_tokens=prompt + (tools if type(tools) is int else 0) if type(prompt) is int else None,
            output_tokens=(self._candidate_tokens or 0) + (self._thought_tokens or 0) if counted else None,
            cache_read_tokens=cached if type(cached) is int else None,
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
