"""A first payload in, the name of the protocol that it speaks out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inkwire.framing.frame import Frame
from inkwire.protocols.payload import read_value

__all__ = ["detect"]

_ANTHROPIC = ("message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta")
_BEDROCK = ("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata")


def detect(frame: Frame) -> str | None:
    """The protocol's name; None when this payload does not tell (empty, a ping, an error that all have)."""
    if frame.event in _BEDROCK or frame.event.endswith("Exception"):
        return "bedrock"
    try:
        value = read_value(frame.data)
    except Exception:
        return None
    if isinstance(value, list) and value:
        value = value[0]
    return _of_object(value) if isinstance(value, dict) else None


def _of_object(value: Mapping[str, Any]) -> str | None:
    kind = value.get("type")
    if isinstance(kind, str):
        if kind.startswith("response."):
            return "responses"
        if kind in _ANTHROPIC or (kind == "message" and isinstance(value.get("content"), list)):
            return "anthropic"
    if value.get("object") == "response":
        return "responses"
    if "choices" in value or str(value.get("object", "")).startswith("chat.completion"):
        return "chat"
    if "candidates" in value or "promptFeedback" in value or "usageMetadata" in value:
        return "gemini"
    if isinstance(value.get("done"), bool) and ("message" in value or "model" in value):
        return "ollama"
    return None
