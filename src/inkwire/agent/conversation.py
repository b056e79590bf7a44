"""Messages in; the history that the next request is made of, and the session on disk, out.

The one place where history grows, so what is on the screen, in memory and on disk is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

from inkwire.agent.events import Compaction, MessageRecorded, Recorded
from inkwire.call_ids import CallIds
from inkwire.messages import AssistantMessage, Message, Part, ToolCall, ToolResultMessage

__all__ = ["Conversation", "Store"]


class Store(Protocol):
    """Where recorded events go."""

    @property
    def id(self) -> str:
        """The session's name."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The history that it holds."""

    def append(self, recorded: Recorded) -> None:
        """Keep it, on disk when this returns."""


class Conversation:
    """The history of one conversation; call ids are unique in it."""

    def __init__(self, messages: Iterable[Message] = (), store: Store | None = None) -> None:
        self._messages = list(messages)
        self._store = store
        self.complaints: tuple[str, ...] = ()
        """Why the conversation is no longer kept on disk, if so."""
        self.compacted = 0
        """The length of the history right after it was last compacted; 0: never."""
        self._ids = CallIds("any")
        for message in self._messages:
            if isinstance(message, AssistantMessage):
                for call in message.calls:
                    self._ids.give(call.id, call.name)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The history as it stands."""
        return tuple(self._messages)

    @property
    def session_id(self) -> str | None:
        """The store's name for it."""
        return self._store.id if self._store is not None else None

    def with_new_ids(self, answer: AssistantMessage) -> AssistantMessage:
        """The answer with each call id that the conversation has already replaced by a new one."""
        parts: list[Part] = [
            msgspec.structs.replace(part, id=self._ids.give(part.id, part.name)) if isinstance(part, ToolCall) else part
            for part in answer.parts
        ]
        return answer if tuple(parts) == answer.parts else msgspec.structs.replace(answer, parts=tuple(parts))

    def record(self, message: Message) -> MessageRecorded:
        """Add a message: on disk first, then in memory."""
        recorded = MessageRecorded(message)
        self._keep(recorded)
        self._messages.append(message)
        return recorded

    def compact(self, compaction: Compaction) -> Compaction:
        """Let the summary stand for the messages before `kept_from`."""
        self._keep(compaction)
        self._messages[: compaction.kept_from] = [compaction.summary]
        self.compacted = len(self._messages)
        return compaction

    def _keep(self, recorded: Recorded) -> None:
        """On disk, as long as the disk takes it: a full one does not end the work, but it is said."""
        if self._store is None:
            return
        try:
            self._store.append(recorded)
        except OSError as error:
            self.complaints = (f"The session is no longer recorded: {error.strerror or error}",)
            self._store = None

    def open_calls(self) -> Sequence[ToolCall]:
        """The calls of the last answer that have no result yet."""
        answered: set[str] = set()
        for message in reversed(self._messages):
            if isinstance(message, ToolResultMessage):
                answered.add(message.call_id)
            elif isinstance(message, AssistantMessage):
                return [] if message.interrupted else [call for call in message.calls if call.id not in answered]
            else:
                break
        return []
