"""The calls of one message in; tool events as they happen, and one result a call, out.

Each call: is it whole (law 4), does the tool exist, do the arguments fit, may it. All that is asked in the order of the
calls, one question at a time. What passed runs side by side, except that a call waits for earlier ones whose accesses
conflict with its own. Every call ends with exactly one result, whatever happens, and results are in the order of the
calls. `interrupt` ends all that is open; a tool that does not let go within the grace is left behind, with its result
written for it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from inkwire.agent import refusals
from inkwire.agent.approval import Approval, ApprovalRequest, Approve
from inkwire.agent.events import ToolEnd, ToolOutput, ToolStart
from inkwire.errors import ToolError
from inkwire.messages import AssistantMessage, TextPart, ToolCall, ToolResultMessage
from inkwire.tools.base import Access, Tool, ToolContext, ToolResult, conflicts
from inkwire.tools.output import clip

__all__ = ["Batch", "Decision", "Dispatcher", "Gate", "ToolEvent"]

ToolEvent = ToolStart | ToolOutput | ToolEnd
_GRACE_SECONDS = 2.0
_MAX_UNREAD = 1_000_000
"""Characters of live output that wait for the reader; the result is made of all of it."""


class Decision(msgspec.Struct, frozen=True):
    """What the policy says about one call."""

    verdict: str
    """`allow`, `ask` or `deny`."""
    by: str = ""
    reason: str = ""
    rules: tuple[str, ...] = ()
    """What "always" would add; empty when it must not be offered."""


class Gate(Protocol):
    """Whether a checked call may run."""

    @property
    def read_only(self) -> bool:
        """Whether nothing may be changed; tools are told."""

    def decide(
        self, tool: Tool, arguments: Mapping[str, Any], accesses: tuple[Access, ...], context: ToolContext
    ) -> Decision:
        """The verdict; asked again right before the call runs."""

    def remember(self, rules: Sequence[str]) -> None:
        """Allow these from now on."""


class _Refused(Exception):
    """The call does not run; the words are its result."""


class Dispatcher(msgspec.Struct, frozen=True):
    """What is the same for every message of a run."""

    tools: Mapping[str, Tool]
    gate: Gate
    approve: Approve | None
    context: Callable[[str, Callable[[str], None]], ToolContext]
    """(call id, emit) -> where the call runs."""
    overflow_directory: Path | None = None

    def start(self, message: AssistantMessage, max_tokens: int | None) -> Batch:
        """Begin with the calls of a message; needs a running event loop."""
        return Batch(self, message, max_tokens)


class Batch:
    """The calls of one message while they run."""

    def __init__(self, dispatcher: Dispatcher, message: AssistantMessage, max_tokens: int | None) -> None:
        self._dispatcher = dispatcher
        self._message = message
        self._max_tokens = max_tokens
        self._calls = message.calls
        self._results: list[ToolResultMessage | None] = [None] * len(self._calls)
        self._taken = 0
        self._started: set[int] = set()
        self._accesses: list[tuple[Access, ...] | None] = [None] * len(self._calls)
        self._done = [asyncio.Event() for _ in self._calls]
        self._checked = [asyncio.Event() for _ in self._calls]
        self._events: asyncio.Queue[ToolEvent] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._unread = 0
        self._words: str | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._tasks = [self._task(place, call) for place, call in enumerate(self._calls)]
        self.ran = 0

    async def next(self) -> ToolEvent | None:
        """The next event; None when every call has its result and all events were handed out."""
        if all(result is not None for result in self._results) and self._events.empty():
            return None
        event = await self._events.get()
        if isinstance(event, ToolOutput):
            self._unread -= len(event.text)
        return event

    def take(self) -> list[ToolResultMessage]:
        """The results that became complete in the order of the calls since the last time."""
        ready: list[ToolResultMessage] = []
        for result in self._results[self._taken :]:
            if result is None:
                break
            ready.append(result)
        self._taken += len(ready)
        return ready

    def interrupt(self, words: str) -> None:
        """End every open call; its result says why. Those that do not let go get theirs after a grace."""
        if self._words is not None:
            return
        self._words = words
        for task in self._tasks:
            task.cancel()
        self._deadline = self._loop.call_later(_GRACE_SECONDS, self._give_up)

    async def close(self, words: str) -> None:
        """End what is still open and wait for it, at most for the grace; afterwards every result is there."""
        if self._deadline is not None:
            self._deadline.cancel()
        running = [task for task in self._tasks if not task.done()]
        try:
            if running:
                self._words = self._words or words
                for task in running:
                    task.cancel()
                await asyncio.wait(running, timeout=_GRACE_SECONDS)
        finally:
            self._words = self._words or words
            self._give_up()

    def _give_up(self) -> None:
        for place, call in enumerate(self._calls):
            if self._results[place] is None:
                words = refusals.of_interruption(self._words or "", started=place in self._started)
                still = " It has not ended yet." if place in self._started else ""
                self._finish(place, call, ToolResult(words + still, is_error=True))

    def _task(self, place: int, call: ToolCall) -> asyncio.Task[None]:
        task = asyncio.create_task(self._one(place, call), name=f"tool {call.name}")
        # A task that is cancelled before its first step never gets to write its result.
        task.add_done_callback(lambda _: self._finish(place, call, ToolResult(self._interrupted(place), is_error=True)))
        return task

    async def _one(self, place: int, call: ToolCall) -> None:
        try:
            result = await self._outcome(place, call)
        except asyncio.CancelledError:
            result = ToolResult(self._interrupted(place), is_error=True)
        self._finish(place, call, result)

    async def _outcome(self, place: int, call: ToolCall) -> ToolResult:
        try:
            tool, arguments, context = await self._admitted(place, call)
        except _Refused as refused:
            return ToolResult(str(refused), is_error=True)
        finally:
            self._checked[place].set()
        await self._clear(place)
        decision = self._dispatcher.gate.decide(tool, arguments, self._accesses[place] or (), context)
        if decision.verdict == "deny":  # the mode may have changed while it waited
            return ToolResult(refusals.of_policy(decision.by, decision.reason), is_error=True)
        self._started.add(place)
        self.ran += 1
        self._events.put_nowait(ToolStart(call.id, call.name, call.arguments))
        return await _run(tool, arguments, context)

    async def _admitted(self, place: int, call: ToolCall) -> tuple[Tool, dict[str, Any], ToolContext]:
        """The call with its tool and checked arguments; raises `_Refused`."""
        if place:
            await self._checked[place - 1].wait()
        words = refusals.of_message(call, self._message, self._max_tokens)
        if words is not None:
            raise _Refused(words)
        tool = self._dispatcher.tools.get(call.name)
        if tool is None:
            raise _Refused(refusals.unknown_tool(call.name, self._dispatcher.tools))
        context = self._dispatcher.context(call.id, lambda text: self._emit(call.id, text))
        given = {"input": call.arguments} if isinstance(call.arguments, str) else (call.arguments or {})
        try:
            arguments = tool.arguments.validate(given)
            accesses = self._accesses[place] = tool.touches(arguments, context)
        except ToolError as error:
            raise _Refused(str(error)) from None
        await self._permit(tool, call, arguments, accesses, context)
        return tool, arguments, context

    async def _permit(
        self,
        tool: Tool,
        call: ToolCall,
        arguments: dict[str, Any],
        accesses: tuple[Access, ...],
        context: ToolContext,
    ) -> None:
        gate = self._dispatcher.gate
        decision = gate.decide(tool, arguments, accesses, context)
        if decision.verdict == "ask":
            shown = call.arguments if call.arguments is not None else {}
            answer = await self._ask(ApprovalRequest(call.id, call.name, shown, decision.reason, decision.rules))
            if not answer.allowed:
                raise _Refused(refusals.of_policy(answer.by, answer.reason))
            if answer.always and decision.rules:
                gate.remember(decision.rules)
        elif decision.verdict != "allow":
            raise _Refused(refusals.of_policy(decision.by, decision.reason))

    async def _ask(self, request: ApprovalRequest) -> Approval:
        if self._dispatcher.approve is None:
            return Approval(
                allowed=False, by="the permission mode", reason=f"{request.reason}, and nobody is there to be asked"
            )
        try:
            return await self._dispatcher.approve(request)
        except Exception as error:
            return Approval(allowed=False, by="an error", reason=f"the question could not be asked: {error}")

    async def _clear(self, place: int) -> None:
        """Wait for the earlier calls that touch the same."""
        mine = self._accesses[place] or ()
        for earlier in range(place):
            await self._checked[earlier].wait()
            theirs = self._accesses[earlier]
            if theirs and conflicts(theirs, mine):
                await self._done[earlier].wait()

    def _emit(self, call_id: str, text: str) -> None:
        if threading.get_ident() != self._thread:
            self._loop.call_soon_threadsafe(self._emit, call_id, text)
        elif self._unread < _MAX_UNREAD:  # output that nobody keeps up with is not kept for the screen
            self._unread += len(text)
            self._events.put_nowait(ToolOutput(call_id, text))

    def _interrupted(self, place: int) -> str:
        if self._words is None:
            return "Stopped: the call was cancelled from within, not by the user."
        return refusals.of_interruption(self._words, started=place in self._started)

    def _finish(self, place: int, call: ToolCall, result: ToolResult) -> None:
        """Write the result, unless it is written already."""
        if self._results[place] is not None:
            return
        tool = self._dispatcher.tools.get(call.name)
        text = result.text
        if tool is not None:
            text = clip(text, tool.max_output_bytes, tool.max_output_lines, self._dispatcher.overflow_directory)
        text = text if text.strip() or result.parts else "(no output)"
        self._results[place] = ToolResultMessage(call.id, call.name, (TextPart(text), *result.parts), result.is_error)
        started = place in self._started
        self._events.put_nowait(ToolEnd(call.id, call.name, text, result.is_error, result.display, started))
        self._done[place].set()
        self._checked[place].set()


async def _run(tool: Tool, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
    limit = asyncio.timeout(tool.time_limit_seconds)
    try:
        async with limit:
            return await tool.run(arguments, context)
    except ToolError as error:
        return ToolResult(str(error), is_error=True)
    except TimeoutError as error:
        if limit.expired():
            return ToolResult(f"Stopped: it did not end within {tool.time_limit_seconds:g} seconds.", is_error=True)
        return ToolResult(f"The tool failed: {str(error) or 'a time-out'}", is_error=True)
    except Exception as error:
        return ToolResult(f"The tool failed: {type(error).__name__}: {error}", is_error=True)
