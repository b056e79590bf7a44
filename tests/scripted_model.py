"""A script in, a model that follows it out: `ModelAccess` without a service.

An answer is a list of steps: an event is handed out, an exception is raised, an awaitable factory is awaited, and a
string is a text delta. What is missing at the end (the message) is made of the steps.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Self, TypeAlias

import msgspec

from inkwire.arguments import parse_arguments
from inkwire.errors import ModelError
from inkwire.events import Event, MessageEnd, TextDelta, ToolCallDelta, ToolCallStart
from inkwire.messages import AssistantMessage, Part, Request, StopReason, TextPart, ToolCall, Usage

Step: TypeAlias = Event | Exception | str | Callable[[], Awaitable[Any]] | AssistantMessage
Answer: TypeAlias = Sequence[Step]

NORMAL = ("tool_use", "end_turn", "stop_sequence")


def call(name: str, arguments: dict[str, Any] | str, id: str = "call_1", *, stop: StopReason = "tool_use") -> ToolCall:
    """A call as the assembler gives it; a string is raw argument text."""
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
    value, error, _ = parse_arguments(raw)
    refusal = None if stop in NORMAL else f"the answer stopped with {stop}"
    if refusal is None and error is not None:
        refusal = error.detail
    return ToolCall(id, name, value, error, raw, refusal is None, refusal)


def message(*parts: Part | str, stop: StopReason | None = None, usage: Usage | None = None) -> AssistantMessage:
    """A whole message; strings are text."""
    made = tuple(TextPart(part) if isinstance(part, str) else part for part in parts)
    calls = any(isinstance(part, ToolCall) for part in made)
    chosen: StopReason = stop or ("tool_use" if calls else "end_turn")
    return AssistantMessage(
        made, chosen, chosen, usage or Usage(10, 5), model="scripted", provider="test", protocol="chat"
    )


def events(whole: AssistantMessage) -> list[Event]:
    """The events that such a message comes with."""
    found: list[Event] = []
    for index, part in enumerate(whole.parts):
        if isinstance(part, TextPart):
            found.append(TextDelta(index, part.text))
        elif isinstance(part, ToolCall):
            found += [ToolCallStart(index, part.id, part.name), ToolCallDelta(index, part.id, part.raw_arguments)]
    return [*found, MessageEnd(whole)]


async def tick() -> None:
    """One await point."""
    await asyncio.sleep(0)


class ScriptedStream:
    """One answer."""

    def __init__(self, steps: Iterable[Step], restarts: int | None) -> None:
        self._steps = list(steps)
        self._texts: list[str] = []
        self._cancelled = False
        self._waiting: asyncio.Future[Any] | None = None
        self.restarts = restarts
        self.closed = False

    @property
    def partial(self) -> AssistantMessage:
        parts = (TextPart("".join(self._texts)),) if self._texts else ()
        return AssistantMessage(parts, model="scripted", provider="test", protocol="chat")

    def cancel(self) -> None:
        self._cancelled = True
        if self._waiting is not None:
            self._waiting.cancel()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closed = True

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        while self._steps and not self._cancelled:
            step = self._steps.pop(0)
            if isinstance(step, AssistantMessage):
                self._steps[:0] = events(step)
            elif isinstance(step, str):
                self._texts.append(step)
                return TextDelta(0, step)
            elif isinstance(step, ModelError):
                step.partial = step.partial or self.partial
                raise step
            elif isinstance(step, Exception):
                raise step
            elif isinstance(step, msgspec.Struct):
                if isinstance(step, TextDelta):
                    self._texts.append(step.text)
                return step
            else:
                await self._wait(step)
        raise StopAsyncIteration

    async def _wait(self, step: Callable[[], Awaitable[Any]]) -> None:
        self._waiting = asyncio.ensure_future(step())
        try:
            await self._waiting
        except asyncio.CancelledError:
            if not self._cancelled or (task := asyncio.current_task()) is None or task.cancelling():
                raise
        finally:
            self._waiting.cancel()
            self._waiting = None


class ScriptedModel:
    """Gives the answers in order; the requests are kept."""

    def __init__(self, *answers: Answer | AssistantMessage | Callable[[Request], Answer | AssistantMessage]) -> None:
        self._answers = list(answers)
        self.requests: list[Request] = []
        self.streams: list[ScriptedStream] = []

    def stream(self, request: Request, *, restarts: int | None = None) -> ScriptedStream:
        self.requests.append(request)
        answer = self._answers.pop(0)
        if callable(answer):
            answer = answer(request)
        made = ScriptedStream([answer] if isinstance(answer, AssistantMessage) else answer, restarts)
        self.streams.append(made)
        return made
