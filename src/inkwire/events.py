"""What happens while one answer arrives: small values that a screen can show at once.

tool_call_start, *_delta …      shown, never acted on
retrying, stream_reset          the transport's: no answer had begun; an answer had begun and is void
warning                         an oddity that is no error
message_end                     the complete message; always last
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from inkwire.messages import AssistantMessage, StreamWarning

__all__ = [
    "Event",
    "MessageEnd",
    "RawEvent",
    "ReasoningDelta",
    "Retrying",
    "StreamReset",
    "StreamWarning",
    "TextDelta",
    "ToolCallDelta",
    "ToolCallStart",
    "to_json",
]


class TextDelta(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="text_delta"):
    """New visible text of part `index`."""

    index: int
    text: str


class ReasoningDelta(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="reasoning_delta"):
    """New thinking text of part `index`."""

    index: int
    text: str


class ToolCallStart(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="tool_call_start"):
    """A call is being received; nothing runs."""

    index: int
    id: str
    name: str


class ToolCallDelta(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="tool_call_delta"):
    """A piece of a call's argument text."""

    index: int
    id: str
    json_delta: str


class MessageEnd(msgspec.Struct, frozen=True, tag_field="type", tag="message_end"):
    """The complete message; always the last event of a stream."""

    message: AssistantMessage


class Retrying(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="retrying"):
    """No answer had begun; it is asked again after the delay."""

    attempt: int
    """The number of the attempt that comes, from 2."""
    delay_seconds: float
    reason: str


class StreamReset(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="stream_reset"):
    """An answer had begun and is void: forget what this call showed."""

    attempt: int
    reason: str


class RawEvent(msgspec.Struct, frozen=True, tag_field="type", tag="raw"):
    """A payload as the wire had it, before our own events that come of it; only on request."""

    event: str
    data: str


Event: TypeAlias = (
    TextDelta
    | ReasoningDelta
    | ToolCallStart
    | ToolCallDelta
    | MessageEnd
    | Retrying
    | StreamReset
    | StreamWarning
    | RawEvent
)


def to_json(value: Any) -> bytes:
    """An event or message as JSON, one line, names in snake_case."""
    return msgspec.json.encode(value)
