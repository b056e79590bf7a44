"""What a conversation is made of: messages and their parts, tools, and the request for the next answer.

All values are frozen; JSON carries `role` on messages and `type` on parts. `AssistantMessage` is what the
assembler gives and what the loop acts on: `message.executable_calls` is the fourth law as a property.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

__all__ = [
    "ArgumentsError",
    "AssistantMessage",
    "ImagePart",
    "Message",
    "Opaque",
    "OpaquePart",
    "Part",
    "ReasoningPart",
    "Request",
    "StopReason",
    "StreamWarning",
    "SystemMessage",
    "TextPart",
    "Timeouts",
    "ToolCall",
    "ToolDefinition",
    "ToolResultMessage",
    "Usage",
    "UserMessage",
    "UserPart",
]

StopReason: TypeAlias = Literal[
    "end_turn",
    "tool_use",
    "max_tokens",
    "context_window",
    "stop_sequence",
    "content_filter",
    "refusal",
    "pause_turn",
    "unknown",
]

Opaque: TypeAlias = Mapping[str, Any]
"""What must go back to the same provider verbatim: signatures, encrypted reasoning, extra fields of a call."""


class TextPart(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    """Visible text."""

    text: str
    opaque: Opaque | None = None


class ReasoningPart(msgspec.Struct, frozen=True, tag_field="type", tag="reasoning"):
    """The model's thinking; `text` is empty when the provider redacted it."""

    text: str
    opaque: Opaque | None = None


class ArgumentsError(msgspec.Struct, frozen=True):
    """Why a call's arguments are not one JSON object."""

    kind: Literal["incomplete", "malformed"]
    """`incomplete`: the text was cut. `malformed`: it is no JSON object."""
    detail: str
    position: int
    """Where in `raw_arguments`, in characters."""


class ToolCall(msgspec.Struct, frozen=True, tag_field="type", tag="tool_call"):
    """A call that the model asked for, and whether it may run."""

    id: str
    name: str
    arguments: dict[str, Any] | str | None = None
    """One JSON object; a string for a free-text tool; None when `arguments_error` says why."""
    arguments_error: ArgumentsError | None = None
    raw_arguments: str = ""
    executable: bool = False
    refusal: str | None = None
    """Why it may not run, in words for the model; None exactly when `executable`."""
    free_text: bool = False
    """The tool takes plain text, not JSON."""
    opaque: Opaque | None = None


class OpaquePart(msgspec.Struct, frozen=True, tag_field="type", tag="opaque"):
    """A block that only its provider understands (server tools and the like); goes back as it came."""

    kind: str
    """The provider's own name of the block's type."""
    opaque: Opaque | None = None


class ImagePart(msgspec.Struct, frozen=True, tag_field="type", tag="image"):
    """An image: bytes with their media type, or an address."""

    media_type: str = "image/png"
    data: bytes = b""
    url: str | None = None


Part: TypeAlias = TextPart | ReasoningPart | ToolCall | OpaquePart
UserPart: TypeAlias = TextPart | ImagePart


class Usage(msgspec.Struct, frozen=True):
    """Token counts of one answer, as totals; None where the service did not say."""

    input_tokens: int | None = None
    """The whole input, cached parts included, on every provider."""
    output_tokens: int | None = None
    """Reasoning included."""
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


class StreamWarning(msgspec.Struct, frozen=True, tag_field="type", tag="warning"):
    """An oddity of a stream that is no error (law 5)."""

    kind: str
    detail: str = ""
    position: int | None = None
    """The number of the payload in its stream, from 0."""


class SystemMessage(msgspec.Struct, frozen=True, tag_field="role", tag="system"):
    """Instructions from the application."""

    text: str


class UserMessage(msgspec.Struct, frozen=True, tag_field="role", tag="user"):
    """What the user said."""

    parts: tuple[UserPart, ...]

    @classmethod
    def of(cls, text: str) -> UserMessage:
        """A message of one text."""
        return cls((TextPart(text),))

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))


class AssistantMessage(msgspec.Struct, frozen=True, tag_field="role", tag="assistant"):
    """One answer of a model, complete or (`interrupted`, or on an error's `partial`) as far as it came."""

    parts: tuple[Part, ...]
    stop_reason: StopReason = "unknown"
    raw_stop_reason: str | None = None
    usage: Usage = Usage()
    model: str = ""
    provider: str = ""
    protocol: str = ""
    response_id: str | None = None
    warnings: tuple[StreamWarning, ...] = ()
    interrupted: bool = False
    """Kept in history after a cancel or a failure: its text counts, its calls do not."""

    @property
    def text(self) -> str:
        """The visible text, joined over all parts."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def reasoning(self) -> str:
        """The thinking text, joined over all parts."""
        return "".join(part.text for part in self.parts if isinstance(part, ReasoningPart))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Every call, executable or not, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def executable_calls(self) -> tuple[ToolCall, ...]:
        """The calls that may run (law 4); the tool, its schema and the permission are checked after this."""
        return tuple(call for call in self.calls if call.executable)


class ToolResultMessage(msgspec.Struct, frozen=True, tag_field="role", tag="tool"):
    """The result of exactly one call."""

    call_id: str
    name: str
    parts: tuple[UserPart, ...]
    is_error: bool = False

    @classmethod
    def of(cls, call: ToolCall, text: str, *, is_error: bool = False) -> ToolResultMessage:
        """A result of one text for `call`."""
        return cls(call.id, call.name, (TextPart(text),), is_error)

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))


Message: TypeAlias = SystemMessage | UserMessage | AssistantMessage | ToolResultMessage


class ToolDefinition(msgspec.Struct, frozen=True):
    """What the model is told about a tool."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = {}
    """A JSON Schema of type object; empty means no parameters."""
    free_text: bool = False
    """The tool takes plain text instead of JSON, where the protocol has such tools."""


class Timeouts(msgspec.Struct, frozen=True):
    """The timers of one call, in seconds; None switches one off. All stand still while the consumer is busy."""

    connect_seconds: float | None = 10.0
    head_seconds: float | None = 300.0
    """Until the whole response head is there."""
    idle_seconds: float | None = 120.0
    """Between two reads; any byte counts."""
    progress_seconds: float | None = 600.0
    """Between two real events; comments and pings do not count."""
    total_seconds: float | None = None


class Request(msgspec.Struct, frozen=True):
    """What is asked of a model; options that a protocol does not have raise `ConfigurationError` there."""

    model: str
    """`provider/model`; the first slash cuts."""
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...] = ()
    tool_choice: str = "auto"
    """`auto`, `none`, `required`, or the name of a tool."""
    parallel_tool_calls: bool | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    reasoning_effort: str | None = None
    """`none`, `minimal`, `low`, `medium`, `high`, or a provider's own word."""
    reasoning_budget_tokens: int | None = None
    output_schema: Mapping[str, Any] | None = None
    """A JSON Schema that the answer's text must follow (structured output)."""
    output_schema_name: str = "output"
    prompt_caching: bool = False
    """Mark the stable start of the prompt for the provider's cache, where it wants marks."""
    extra_headers: Mapping[str, str] = {}
    extra_body: Mapping[str, Any] = {}
    timeouts: Timeouts = Timeouts()
