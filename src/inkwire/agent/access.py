"""What the loop needs of others: a model to ask, and someone to shorten a history that does not fit."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from types import TracebackType
from typing import Protocol, Self

from inkwire.agent.conversation import Conversation
from inkwire.agent.events import AgentEvent
from inkwire.agent.interrupt import Interrupt
from inkwire.events import Event
from inkwire.messages import AssistantMessage, Request

__all__ = ["AnswerStream", "ModelAccess", "Shortener"]


class AnswerStream(Protocol):
    """One answer while it arrives; `inkwire.client.ModelStream` is one."""

    @property
    def partial(self) -> AssistantMessage:
        """What has arrived."""

    def cancel(self) -> None:
        """End the iteration quietly; any task, any thread."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def __aiter__(self) -> AsyncIterator[Event]: ...


class ModelAccess(Protocol):
    """What the loop needs of a client; `inkwire.client.Client` fits."""

    def stream(self, request: Request, *, restarts: int | None = None) -> AnswerStream:
        """Ask; a failure before the end is a `ModelError`, a lost answer is restarted so many times."""


class Shortener(Protocol):
    """Makes the history fit into the model's window."""

    def wants(self, conversation: Conversation) -> bool:
        """Whether the next request would be too long."""

    def shorten(
        self, conversation: Conversation, interrupt: Interrupt, spent: Callable[[AssistantMessage], None]
    ) -> AsyncGenerator[AgentEvent, None]:
        """Compact the history; `spent` gets the answers it took. Raises `ContextOverflowError` when it is no use."""
