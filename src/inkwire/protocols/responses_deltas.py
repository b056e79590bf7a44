"""The events that most of a Responses stream consists of: bytes in, one of five small structs out.

Rare fields admit only null, so whatever differs fails the typed decode and goes the decoder's general way.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

__all__ = ["DELTA", "ODD", "ArgumentsDelta", "InputDelta", "ReasoningDelta", "SummaryDelta", "TextDelta"]


class _Delta(msgspec.Struct, tag_field="type"):
    kind: ClassVar[str]
    """The kind of its item."""
    delta: str
    item_id: str | None = None
    output_index: int | None = None
    error: None = None


class TextDelta(_Delta, tag="response.output_text.delta"):
    """A piece of visible text."""

    kind: ClassVar[str] = "message"
    content_index: int | None = None


class ArgumentsDelta(_Delta, tag="response.function_call_arguments.delta"):
    """A piece of a call's arguments."""

    kind: ClassVar[str] = "function_call"
    name: None = None


class InputDelta(_Delta, tag="response.custom_tool_call_input.delta"):
    """A piece of a free-text call's input."""

    kind: ClassVar[str] = "custom_tool_call"
    name: None = None


class ReasoningDelta(_Delta, tag="response.reasoning_text.delta"):
    """A piece of reasoning in the open."""

    kind: ClassVar[str] = "reasoning"
    content_index: int | None = None


class SummaryDelta(_Delta, tag="response.reasoning_summary_text.delta"):
    """A piece of a summary of the reasoning."""

    kind: ClassVar[str] = "reasoning"
    summary_index: int | None = None


DELTA = msgspec.json.Decoder(TextDelta | ArgumentsDelta | InputDelta | ReasoningDelta | SummaryDelta)
ODD = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
