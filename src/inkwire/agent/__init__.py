"""The loop: run, turn, tool call; what it may do, what it remembers.

    from inkwire import Client
    from inkwire.agent import Agent, Policy
    from inkwire.tools import BUILTIN

    async with Client() as client:
        agent = Agent(client=client, model="openai/gpt-5", tools=BUILTIN, workspace=".", policy=Policy("read-only"))
        end = await agent.run_to_end("What does this project do?")
        print(end.text)

Each name is loaded with its first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inkwire.agent.access import ModelAccess
    from inkwire.agent.agent import Agent
    from inkwire.agent.approval import Approval, ApprovalRequest
    from inkwire.agent.context import system_prompt
    from inkwire.agent.events import (
        AgentEvent,
        Compaction,
        Failure,
        MessageRecorded,
        Notice,
        RunEnd,
        RunStart,
        ToolEnd,
        ToolOutput,
        ToolStart,
        TurnStart,
    )
    from inkwire.agent.inbox import Delivery
    from inkwire.agent.policy import Policy
    from inkwire.agent.session import Session, SessionStore

__all__ = [
    "Agent",
    "AgentEvent",
    "Approval",
    "ApprovalRequest",
    "Compaction",
    "Delivery",
    "Failure",
    "MessageRecorded",
    "ModelAccess",
    "Notice",
    "Policy",
    "RunEnd",
    "RunStart",
    "Session",
    "SessionStore",
    "ToolEnd",
    "ToolOutput",
    "ToolStart",
    "TurnStart",
    "system_prompt",
]

_HOMES = {
    "Agent": "agent",
    "Approval": "approval",
    "ApprovalRequest": "approval",
    "Delivery": "inbox",
    "ModelAccess": "access",
    "Policy": "policy",
    "Session": "session",
    "SessionStore": "session",
    "system_prompt": "context",
}
"""Where a name lives; those that are not here are events."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'events')}"), name)
