"""What happens while an agent works: a run's own events, between and around those of the model's answers.

    run_start
      turn_start                          one model call
        text_delta, tool_call_delta …     the answer's events pass through unchanged, `message_end` last
        message                           the answer, recorded
        tool_start, tool_output*, tool_end    once a call; calls that run side by side interleave
        message                           the result of each call, recorded, in the order of the calls
      turn_start …
    run_end                               always last, exactly once

Two kinds. *Recorded* events (`message`, `compaction`) are what history is made of: a session file holds these alone.
All others are *live*: a screen shows them, and nobody needs them again.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from inkwire.errors import RunError
from inkwire.events import Event
from inkwire.messages import Message, Usage, UserMessage

__all__ = [
    "AgentEvent",
    "Compaction",
    "Failure",
    "MessageRecorded",
    "Notice",
    "Outcome",
    "Recorded",
    "RunEnd",
    "RunStart",
    "ToolEnd",
    "ToolOutput",
    "ToolStart",
    "TurnStart",
]

Outcome: TypeAlias = Literal["completed", "max_turns", "max_tokens", "max_cost", "max_time", "cancelled", "failed"]
"""How a run ended; the `max_` ones are limits of the run, not of one answer (that is `truncated`)."""


class RunStart(msgspec.Struct, frozen=True, tag_field="type", tag="run_start"):
    """A prompt was taken; the run begins."""

    run_id: str
    model: str
    session_id: str | None = None


class TurnStart(msgspec.Struct, frozen=True, tag_field="type", tag="turn_start"):
    """The model is about to be asked."""

    turn: int
    """From 1, within the run."""


class MessageRecorded(msgspec.Struct, frozen=True, tag_field="type", tag="message"):
    """Recorded: a message was added to the history, and to the session if there is one."""

    message: Message


class Compaction(msgspec.Struct, frozen=True, tag_field="type", tag="compaction"):
    """Recorded: the history before `kept_from` was replaced by a summary."""

    summary: UserMessage
    kept_from: int
    """The number of messages that the summary stands for, from the start of the history as it was."""
    tokens_before: int
    tokens_after: int
    """Both estimated."""


class ToolStart(msgspec.Struct, frozen=True, tag_field="type", tag="tool_start"):
    """A call passed every check and begins to run. Refused calls have no start, only an end."""

    call_id: str
    name: str
    arguments: dict[str, Any] | str | None


class ToolOutput(msgspec.Struct, frozen=True, tag_field="type", tag="tool_output"):
    """New output of a call that runs; for the screen alone, the model gets the result."""

    call_id: str
    text: str


class ToolEnd(msgspec.Struct, frozen=True, tag_field="type", tag="tool_end"):
    """A call has its result, whether it ran or was refused."""

    call_id: str
    name: str
    result: str
    """The text that the model gets."""
    is_error: bool = False
    display: str = ""
    """What a person may rather see, such as a unified diff; empty: the result."""
    started: bool = True
    """Whether it ran, that is, whether a `tool_start` came before."""


class Notice(msgspec.Struct, frozen=True, tag_field="type", tag="notice"):
    """Something that the user should know, in one sentence."""

    kind: str
    """`truncated`, `continued`, `empty`, `repeated_failure`, `limit`, `compacted`, `overflow`, `stopped`, …"""
    text: str


class Failure(msgspec.Struct, frozen=True):
    """Why a run failed, as data; the exception itself is at `agent.error`."""

    kind: str
    """`ModelError.kind` (`transport`, `timeout`, `remote`, …), else `empty`, `repeated_failure`, `repeated_cut`,
    `overflow` or `configuration`."""
    detail: str
    status: int | None = None
    code: str | None = None
    request_id: str | None = None
    retryable: bool | None = None
    """True: the same run may work later."""
    retry_after: float | None = None


class RunEnd(msgspec.Struct, frozen=True, tag_field="type", tag="run_end"):
    """The run is over, and the history is valid: every call has its result."""

    outcome: Outcome
    text: str = ""
    """The last answer's visible text."""
    truncated: bool = False
    """The last answer was cut by the output limit and nothing continued it."""
    turns: int = 0
    usage: Usage = Usage()
    """Summed over all answers of the run; None where no answer said."""
    cost: float | None = None
    """US dollars, over the answers whose price is known; None when none is."""
    cost_complete: bool = False
    """Whether `cost` covers every answer of the run."""
    tool_calls: int = 0
    """Calls that ran."""
    refused_calls: int = 0
    duration_seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    """Sentences for the user: oddities of the answers and what the loop did about them."""
    error: Failure | None = None
    returned: tuple[UserMessage, ...] = ()
    """Steering and follow-up messages that were not delivered."""

    @property
    def ok(self) -> bool:
        """Completed, and the last answer is whole: what an exit code of 0 stands for."""
        return self.outcome == "completed" and not self.truncated

    def check(self) -> RunEnd:
        """Itself if the run completed; raises `RunError` saying how it ended instead."""
        if self.outcome == "completed":
            return self
        detail = f": {self.error.detail}" if self.error else ""
        turns = "turn" if self.turns == 1 else "turns"
        raise RunError(f"the run ended as {self.outcome} after {self.turns} {turns}{detail}")


AgentEvent: TypeAlias = (
    RunStart | TurnStart | Event | MessageRecorded | Compaction | ToolStart | ToolOutput | ToolEnd | Notice | RunEnd
)
Recorded: TypeAlias = MessageRecorded | Compaction
