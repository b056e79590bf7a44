"""What a person is asked before a call runs, and what they answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import msgspec

__all__ = ["Approval", "ApprovalRequest", "Approve"]


class ApprovalRequest(msgspec.Struct, frozen=True):
    """One call that needs a yes."""

    call_id: str
    name: str
    arguments: dict[str, Any] | str
    """As they passed the tool's schema."""
    reason: str
    """Why it is asked, in one sentence."""
    rules: tuple[str, ...] = ()
    """The allow rules that "always" would add for this session; empty: "always" must not be offered."""


class Approval(msgspec.Struct, frozen=True):
    """The answer."""

    allowed: bool
    always: bool = False
    """Add the request's rules, for this agent; ignored when the request has none."""
    reason: str = ""
    """Why not, in the user's words; the model reads it."""
    by: str = "the user"
    """Who decided, as the model is told when it is a no."""


Approve: TypeAlias = Callable[[ApprovalRequest], Awaitable[Approval]]
"""Asked one at a time; the wait may be cancelled."""
