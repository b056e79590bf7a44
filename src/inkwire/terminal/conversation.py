"""What a face needs of an agent, whatever is behind it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol

from inkwire.agent.events import AgentEvent

__all__ = ["Conversation"]


class Conversation(Protocol):
    """A conversation that takes prompts one after the other."""

    @property
    def model(self) -> str:
        """`provider/model`, as the user would write it."""

    @property
    def permission_mode(self) -> str:
        """`ask`, `read-only`, `auto` or `yolo`."""

    def run(self, prompt: str) -> AsyncGenerator[AgentEvent, None]:
        """The events of one run; `run_end` comes last, whatever happens."""

    def cancel(self) -> None:
        """End the run that goes on, if one does: its `run_end` follows."""

    async def use_model(self, model: str) -> None:
        """Ask another model from now on; raises `ConfigurationError` and changes nothing when it cannot be used."""

    async def start_over(self) -> None:
        """Forget the conversation so far; a new session begins."""
