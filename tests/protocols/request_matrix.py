"""The conversations that every encoder is tried on: one of each kind that services are picky about."""

from __future__ import annotations

from inkwire.messages import (
    AssistantMessage,
    ImagePart,
    Message,
    Request,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolDefinition,
    ToolResultMessage,
    UserMessage,
)
from inkwire.projection import project
from inkwire.protocols.base import Quirks, WireProtocol

__all__ = ["MATRIX", "READ", "request_for"]

READ = ToolDefinition(
    "read",
    "Read a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
_USER = UserMessage.of("Read a.py and b.py")
_CALLS = (
    ToolCall("call_1", "read", {"path": "a.py"}, executable=True),
    ToolCall("call_2", "read", {"path": "b.py"}, executable=True),
)


def _answer(*parts: TextPart | ToolCall, interrupted: bool = False) -> AssistantMessage:
    return AssistantMessage(parts, provider="other", model="x", protocol="chat", interrupted=interrupted)


def _result(identity: str, *parts: TextPart | ImagePart, is_error: bool = False) -> ToolResultMessage:
    return ToolResultMessage(identity, "read", parts, is_error)


MATRIX: dict[str, tuple[Message, ...]] = {
    "text": (SystemMessage("Be brief."), UserMessage.of("hi"), _answer(TextPart("hello")), UserMessage.of("bye")),
    "image": (UserMessage((TextPart("What is it?"), ImagePart("image/png", b"\x89PNG"))),),
    "image_result": (_USER, _answer(_CALLS[0]), _result("call_1", ImagePart("image/jpeg", b"\xff\xd8"))),
    "parallel_calls": (
        _USER,
        _answer(TextPart("I look."), *_CALLS),
        _result("call_2", TextPart("b")),
        UserMessage.of("and quickly"),
        _result("call_1", TextPart("a")),
    ),
    "error_result": (_USER, _answer(_CALLS[0]), _result("call_1", TextPart("no such file"), is_error=True)),
    "empty_result": (_USER, _answer(_CALLS[0]), _result("call_1")),
    "missing_result": (_USER, _answer(*_CALLS), _result("call_1", TextPart("a"))),
    "empty_turn": (_USER, _answer(TextPart("\n")), UserMessage.of("still there?")),
    "unicode": (UserMessage.of("Grüße, 世界 😀"), _answer(ToolCall("ü:1", "read", {"path": "ä/世界.py"}))),
    "interrupted": (_USER, _answer(TextPart("I was"), _CALLS[0], interrupted=True), UserMessage.of("go on")),
    "turn_scoped_ids": (
        _USER,
        _answer(ToolCall("read:0", "read", {"path": "a.py"})),
        _result("read:0", TextPart("a")),
        _answer(ToolCall("read:0", "read", {"path": "b.py"})),
        _result("read:0", TextPart("b")),
    ),
}


def request_for(wire: WireProtocol, name: str, model: str = "m", quirks: Quirks | None = None) -> Request:
    """The request with that history, projected for `model` of provider `p`."""
    quirks = quirks or Quirks()
    messages = project(
        MATRIX[name], provider="p", model=model, protocol=wire.name, rules=wire.history, quirks=quirks
    )  # fmt: skip
    return Request(f"p/{model}", messages, (READ,))
