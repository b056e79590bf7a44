"""What every protocol file gives: a request going out, a decoder for what comes in, and its rules as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from inkwire.fragments import Fragment
from inkwire.framing.frame import Frame
from inkwire.messages import Request

__all__ = ["DecodeOptions", "Decoder", "Encode", "EncodedRequest", "HistoryRules", "Quirks", "WireProtocol"]


class Quirks(msgspec.Struct, frozen=True):
    """How an endpoint deviates from its protocol; each field is one named deviation."""

    think_tags: bool = False
    """Reasoning comes as `<think>…</think>` at the very start of the text (local chat templates)."""
    think_open: bool = False
    """The template opens the think tag in the prompt, so the text starts inside it (DeepSeek-R1 templates)."""
    cumulative_text: bool = False
    """Each text delta repeats all text so far (DashScope without `incremental_output`, MiniMax)."""
    start_text_repeated: bool = False
    """A block's start carries text that the first delta repeats (Anthropic-compatible proxies)."""
    done_completes: bool = False
    """The sentinel `[DONE]` is this endpoint's only finish reason, so its calls may run."""
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """The name of chat's output limit; OpenAI's reasoning models refuse `max_tokens`."""
    stream_usage: bool = True
    """Chat's `stream_options.include_usage` is accepted."""
    developer_role: bool = False
    """System messages go as role `developer` (OpenAI's reasoning models)."""
    images: bool = True
    """The endpoint takes images; otherwise a note stands in for each."""
    reasoning_field: str = ""
    """The chat field under which own reasoning must go back (`reasoning_content`), even when none was recorded."""
    tool_call_ids: Literal["any", "alphanumeric_9", "openai_40", "openai_64", "word_64"] = "any"
    """The form of call ids this endpoint accepts; others are rewritten, for call and result alike."""
    tool_result_name: bool = False
    """Tool results need the tool's name beside the call's id (Mistral)."""
    omit_call_ids: bool = False
    """Calls and results go without ids (Gemini on Vertex)."""
    seed_field: str = "seed"
    """The name of chat's seed (Mistral: `random_seed`)."""
    required_word: str = "required"
    """The word for a forced tool choice (Mistral: `any`)."""
    unsupported: tuple[str, ...] = ()
    """Names of `Request` options this endpoint refuses; asking for one is a `ConfigurationError`."""


class DecodeOptions(msgspec.Struct, frozen=True):
    """What a decoder needs to know beside the bytes."""

    quirks: Quirks = Quirks()
    tolerant: bool = False
    """Damage becomes a warning; then no call of the message is executable."""


class EncodedRequest(msgspec.Struct, frozen=True):
    """A request as its protocol wants it, before address and key are added."""

    path: str
    """Below the provider's base URL, with a leading slash."""
    body: dict[str, Any]
    headers: Mapping[str, str] = {}


class Decoder(Protocol):
    """Frames in, fragments out; keeps only what the wire's own meaning needs."""

    def feed(self, frame: Frame) -> Sequence[Fragment]:
        """What the payload said, in order. An error of the service or damage comes as a `FailureFragment`."""

    def finish(self) -> Sequence[Fragment]:
        """What was held back, at the end of the body."""


Encode: TypeAlias = Callable[[Request, str, Quirks], EncodedRequest]
"""(request, model name without its provider, quirks) -> the request; raises `ConfigurationError`."""


class HistoryRules(msgspec.Struct, frozen=True):
    """What a protocol demands of a history, for `projection`."""

    tool_call_ids: Literal["any", "alphanumeric_9", "openai_40", "openai_64", "word_64"] = "any"
    """`word_64`: 1 to 64 of `[a-zA-Z0-9_-]` (Anthropic, Bedrock)."""
    object_arguments: bool = True
    """Arguments must be one JSON object; invalid text goes back as `{}`."""
    alternate_roles: bool = False
    """Neighbours of one role must be merged (Anthropic, Bedrock, Gemini)."""
    free_text_tools: bool = False
    """Free-text calls can be sent back as such (Responses)."""


class WireProtocol(msgspec.Struct, frozen=True):
    """A protocol: both directions and its rules, as one value."""

    name: str
    encode: Encode
    decoder: Callable[[DecodeOptions], Decoder]
    ndjson: bool = False
    """Payloads are lines of JSON, not server-sent events."""
    history: HistoryRules = HistoryRules()
