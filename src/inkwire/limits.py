"""What one model call may bring, and the error when it brings more (law 7)."""

from __future__ import annotations

from typing import Final

import msgspec

from inkwire.errors import LimitExceededError

__all__ = ["LONGEST_NAME", "Limits", "limit_passed"]

LONGEST_NAME: Final = 64 * 1024
"""Of a call, in characters: services allow 128; one that grows without end would cost a square."""


class Limits(msgspec.Struct, frozen=True):
    """What one model call may bring at most (law 7); passing a limit is a `LimitExceededError`."""

    event_bytes: int = 32 * 1024 * 1024
    message_bytes: int = 256 * 1024 * 1024
    """Text, reasoning and arguments of one message, in characters."""
    calls: int = 1_000
    error_body_bytes: int = 64 * 1024


def limit_passed(what: str, *, can_be_raised: bool = True) -> LimitExceededError:
    """The error for what came beyond a limit."""
    advice = "; raise the limit if this is meant to be" if can_be_raised else ""
    return LimitExceededError(what + advice, retryable=False, phase="body")
