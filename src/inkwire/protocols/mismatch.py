"""A payload that its decoder cannot take, in; the error that says what it is instead, out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inkwire.errors import ProtocolError
from inkwire.fragments import Fragment
from inkwire.protocols.payload import damage, excerpt

__all__ = ["odd_field", "wrong_protocol"]

_ANTHROPIC = ("message_start", "content_block_start", "content_block_delta", "message_delta")


def wrong_protocol(payload: Mapping[str, Any], expected: str, data: bytes) -> ProtocolError | None:
    """The error for a payload that another protocol speaks; None when it is just unknown."""
    spoken = _spoken(payload)
    if spoken in (None, expected):
        return None
    return ProtocolError(
        f"expected events of the {expected} protocol, but the service speaks {spoken}: "
        f"set the protocol to {spoken!r}, or check the base URL",
        excerpt=excerpt(data),
        retryable=False,
    )


def _spoken(payload: Mapping[str, Any]) -> str | None:
    kind, is_of = payload.get("type"), payload.get("object")
    if isinstance(payload.get("choices"), list) or (isinstance(is_of, str) and is_of.startswith("chat.completion")):
        return "chat"
    if is_of == "response" or (isinstance(kind, str) and kind.startswith("response.")):
        return "responses"
    if kind in _ANTHROPIC:
        return "anthropic"
    if isinstance(payload.get("candidates"), list):
        return "gemini"
    if isinstance(payload.get("message"), dict) and isinstance(payload.get("done"), bool):
        return "ollama"
    return None


def odd_field(what: str, data: bytes, tolerant: bool) -> Fragment:
    """Damage: a known event whose content has a type that cannot be read, so a piece of the answer is lost (law 5)."""
    return damage(what, data, tolerant)
