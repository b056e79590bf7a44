"""A prompt in; one run's events out: ask the model, run the calls, tell it the results, until it is done.

    run            one prompt, until the model is done or something ends it
      turn         one model call
        tool call  each call of the answer, refused or run (`dispatch`)

What the loop promises, whatever happens in between:

1. Every call of a recorded answer gets exactly one result, in the order of the calls, before anything else is recorded.
   That holds for a limit, a failure, `cancel`, a cancelled task, and a reader that walks away.
2. No call of an answer that is not whole runs (law 4). The refusal names the reason, and the model is asked again.
3. An answer that was cut short keeps its text in the history, marked `interrupted`, without its calls.
4. Messages of the user are recorded between turns alone, never between a call and its result.
5. `run_end` is the last event, once; only a cancellation of the reading task, or a reader that leaves, comes without.
6. Nothing is recorded that a service would refuse: no answer without content, no id twice.
7. The loop keeps no state of its own between runs: history is the conversation's, and each run gets a new loop.

It never cancels the task that reads it (see `interrupt`), so a foreign cancellation always wins.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing

import msgspec

from inkwire.agent import refusals
from inkwire.agent.access import Shortener
from inkwire.agent.conversation import Conversation
from inkwire.agent.events import (
    AgentEvent,
    Failure,
    MessageRecorded,
    Notice,
    Outcome,
    RunEnd,
    RunStart,
    ToolEnd,
    TurnStart,
)
from inkwire.agent.failures import failure_of
from inkwire.agent.inbox import Inbox
from inkwire.agent.interrupt import Interrupt
from inkwire.agent.plan import Plan
from inkwire.agent.tally import Tally
from inkwire.errors import ContextOverflowError, InkwireError
from inkwire.events import Event, MessageEnd
from inkwire.messages import (
    AssistantMessage,
    Message,
    OpaquePart,
    Request,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)

__all__ = ["Loop"]

_CONTINUE = "Your last answer was cut off by the output limit. Continue exactly where it stopped, repeat nothing."
_SAME_FAILURES = 3
_CUT_ANSWERS = 5
_MAX_WARNINGS = 50
_ODD_STOPS = {
    "content_filter": "The service's content filter stopped the answer.",
    "refusal": "The model refused to answer.",
    "unknown": "The answer stopped for a reason that is not known",
}


class Loop:
    """One run."""

    def __init__(self, plan: Plan, conversation: Conversation, inbox: Inbox, interrupt: Interrupt) -> None:
        self._plan = plan
        self._conversation = conversation
        self._inbox = inbox
        self._interrupt = interrupt
        self._tally = Tally(plan.limits, plan.price)
        self._began = time.monotonic()
        self._outcome: Outcome | None = None
        self._answer: AssistantMessage | None = None
        self._text = ""
        self._truncated = False
        self._continuations = plan.continuations
        self._asked_again = False
        self._cut_answers = 0
        self._last_failure: tuple[str, int] = ("", 0)
        self._warnings: list[str] = []
        self.error: InkwireError | None = None
        self._failure: Failure | None = None

    async def run(self, prompt: UserMessage) -> AsyncGenerator[AgentEvent, None]:
        """The run's events; read once."""
        self._inbox.open()
        self._interrupt.after(self._plan.limits.max_time_seconds)
        returned: tuple[UserMessage, ...] = ()
        try:
            yield RunStart(uuid.uuid4().hex, self._plan.template.model, self._conversation.session_id)
            for call in self._conversation.open_calls():  # of a run that a crash ended
                yield self._record_result(call, refusals.ENDED_BY_CRASH)
            yield self._conversation.record(prompt)
            async with aclosing(self._turns()) as events:
                async for event in events:
                    yield event
        finally:
            self._interrupt.close()
            returned = self._inbox.close()
            self._close_open_calls()
        yield self._end(returned)

    # The turns

    async def _turns(self) -> AsyncGenerator[AgentEvent, None]:
        while not self._is_over():
            for message in self._inbox.take_steering():
                yield self._conversation.record(message)
            self._tally.turns += 1
            yield TurnStart(self._tally.turns)
            for step in (self._fit, self._ask, self._act):
                async with aclosing(step()) as events:
                    async for event in events:
                        yield event

    def _is_over(self) -> bool:
        if self._outcome is None and self._interrupt.reason is not None:
            self._outcome = self._interrupt.reason
            if self._outcome == "max_time":
                self._warnings.append(f"The run stopped: {self._why_interrupted()}.")
        if self._outcome is None and (reached := self._tally.reached()) is not None:
            self._outcome = reached[0]
            self._warnings.append(f"The run stopped: {reached[1]}.")
        return self._outcome is not None

    async def _fit(self) -> AsyncGenerator[AgentEvent, None]:
        """Shorten the history before the request, if it is too long."""
        shortener = self._plan.shortener
        if shortener is not None and shortener.wants(self._conversation):
            async with aclosing(self._shorten(shortener)) as events:
                async for event in events:
                    yield event

    async def _shorten(self, shortener: Shortener) -> AsyncGenerator[AgentEvent, None]:
        try:
            async with aclosing(shortener.shorten(self._conversation, self._interrupt, self._tally.add)) as events:
                async for event in events:
                    yield event
        except InkwireError as error:
            self._fail(error)

    def _request(self) -> Request:
        template = self._plan.template
        return msgspec.structs.replace(template, messages=(*template.messages, *self._conversation.messages))

    async def _ask(self) -> AsyncGenerator[AgentEvent, None]:
        """One answer's events; the answer is kept for `_act` when it is whole."""
        self._answer = None
        shortener = self._plan.shortener
        while self._outcome is None and self._interrupt.reason is None:
            try:
                async with aclosing(self._stream(self._request())) as answer:
                    async for event in answer:
                        yield event
                return
            except ContextOverflowError as error:
                if shortener is None:
                    self._fail(error)
                    return
            except InkwireError as error:
                self._fail(error)
                return
            yield Notice("overflow", "The history does not fit into the model's context window; it is being shortened.")
            async with aclosing(self._shorten(shortener)) as events:
                async for each in events:
                    yield each
            shortener = None

    async def _stream(self, request: Request) -> AsyncGenerator[Event, None]:
        """The stream's events; whatever ends it early, what arrived is recorded."""
        stream = self._plan.access.stream(request, restarts=self._plan.restarts)
        answer: AssistantMessage | None = None
        is_read = False
        self._interrupt.attach(stream.cancel)
        try:
            async with stream:
                async for event in stream:
                    if isinstance(event, MessageEnd):
                        answer = event.message
                    yield event
            is_read = True
        finally:
            self._interrupt.detach()
            if is_read and answer is not None:
                self._answer = answer
            else:
                self._keep(answer or stream.partial)

    def _keep(self, partial: AssistantMessage) -> None:
        """Record an answer that nobody will act on: its text, marked, without its calls."""
        self._tally.add(partial)
        parts = tuple(part for part in partial.parts if not isinstance(part, ToolCall))
        kept = msgspec.structs.replace(partial, parts=parts, interrupted=True)
        if kept.text.strip():
            self._conversation.record(kept)
            self._text = kept.text

    # The answer

    async def _act(self) -> AsyncGenerator[AgentEvent, None]:
        """Do what the answer asks for: run its calls, go on, or end the run."""
        if self._answer is None:
            return
        answer = self._conversation.with_new_ids(self._answer)
        self._tally.add(answer)
        if not _has_content(answer):
            for event in self._on_empty(answer):
                yield event
            return
        self._asked_again = False
        self._note(answer)
        self._text, self._truncated = answer.text, refusals.is_cut(answer.stop_reason) and not answer.calls
        yield self._conversation.record(answer)
        if answer.calls:
            async with aclosing(self._call_tools(answer)) as events:
                async for event in events:
                    yield event
        else:
            for event in self._after_text(answer):
                yield event

    def _note(self, answer: AssistantMessage) -> None:
        """Keep the answer's warnings, and count cut answers in a row."""
        for warning in answer.warnings:
            words = f"{warning.kind}: {warning.detail}" if warning.detail else warning.kind
            if words not in self._warnings and len(self._warnings) < _MAX_WARNINGS:
                self._warnings.append(words)
        is_cut = refusals.is_cut(answer.stop_reason) and bool(answer.calls)
        self._cut_answers = self._cut_answers + 1 if is_cut else 0

    def _on_empty(self, answer: AssistantMessage) -> Iterator[AgentEvent]:
        if self._asked_again:
            words = "The model gave an empty answer twice."
            self._stop("empty", words)
            yield Notice("empty", words)
        else:
            self._asked_again = True
            words = f"The model's answer was empty (it stopped with {answer.stop_reason}); it is asked again."
            self._warnings.append(words)
            yield Notice("empty", words)

    def _after_text(self, answer: AssistantMessage) -> Iterator[AgentEvent]:
        """A text without calls: what the user queued goes on, else the run is done."""
        continues = self._truncated and self._continuations > 0
        if self._interrupt.reason is not None:
            return
        if self._tally.reached() is not None:
            if not (self._inbox.waits or continues or answer.stop_reason == "pause_turn"):
                yield from self._complete(answer)
        elif self._inbox.waits:
            for message in self._inbox.take_steering() or self._inbox.take_follow_up():
                yield self._conversation.record(message)
        elif continues:
            self._continuations -= 1
            yield Notice("continued", "The answer reached the output limit; the model is asked to continue.")
            yield self._conversation.record(UserMessage.of(_CONTINUE))
        elif answer.stop_reason != "pause_turn":
            yield from self._complete(answer)

    def _complete(self, answer: AssistantMessage) -> Iterator[AgentEvent]:
        self._outcome = "completed"
        if self._truncated:
            words = "The answer is cut: it reached the output limit. Send another message to go on."
        else:
            words = _ODD_STOPS.get(answer.stop_reason, "")
        if words:
            words = f"{words}: {answer.raw_stop_reason}" if answer.stop_reason == "unknown" else words
            self._warnings.append(words)
            yield Notice("truncated" if self._truncated else answer.stop_reason, words)

    # The calls

    async def _call_tools(self, answer: AssistantMessage) -> AsyncGenerator[AgentEvent, None]:
        if self._is_over():
            for refused in self._refuse(answer.calls, self._why_over()):
                yield refused
            return
        batch = self._plan.dispatcher.start(answer, self._plan.template.max_tokens)
        self._interrupt.attach(lambda: batch.interrupt(self._why_interrupted()))
        calls = {call.id: call for call in answer.calls}
        try:
            while (event := await batch.next()) is not None:
                yield event
                for result in batch.take():
                    yield self._conversation.record(result)
                    self._watch(calls[result.call_id], result)
        finally:
            self._interrupt.detach()
            try:
                await batch.close(self._why_interrupted())
            finally:
                self._tally.ran += batch.ran
                self._tally.refused += len(answer.calls) - batch.ran
                for result in batch.take():
                    self._conversation.record(result)
        if self._cut_answers >= _CUT_ANSWERS and self._failure is None and self._interrupt.reason is None:
            words = f"{self._cut_answers} answers in a row were cut by the output limit before their calls were whole."
            self._stop("repeated_cut", words)
        if self._failure is not None:
            yield Notice(self._failure.kind, self._failure.detail)

    def _watch(self, call: ToolCall, result: ToolResultMessage) -> None:
        """Count how often in a row the same call failed."""
        if not result.is_error:
            self._last_failure = ("", 0)
            return
        arguments = call.raw_arguments if call.arguments is None else json.dumps(call.arguments, sort_keys=True)
        this = f"{call.name} {arguments}"
        count = self._last_failure[1] + 1 if self._last_failure[0] == this else 1
        self._last_failure = (this, count)
        if count == _SAME_FAILURES and self._interrupt.reason is None:
            words = f"The same call of {call.name} failed {count} times in a row; the last time: {result.text[:300]}"
            self._stop("repeated_failure", words)

    def _refuse(self, calls: tuple[ToolCall, ...], words: str) -> Iterator[AgentEvent]:
        self._tally.refused += len(calls)
        for call in calls:
            yield ToolEnd(call.id, call.name, words, is_error=True, started=False)
            yield self._record_result(call, words)

    def _close_open_calls(self) -> None:
        """The last line of defence for promise 1: a reader that left right after an answer was recorded."""
        for call in self._conversation.open_calls():
            self._tally.refused += 1
            self._record_result(call, refusals.of_interruption(self._why_interrupted(), started=False))

    def _record_result(self, call: ToolCall, words: str) -> MessageRecorded:
        message: Message = ToolResultMessage.of(call, words, is_error=True)
        return self._conversation.record(message)

    # The end

    def _why_interrupted(self) -> str:
        if self._interrupt.reason == "max_time":
            return f"the run's time limit of {self._plan.limits.max_time_seconds:g} seconds is reached"
        return refusals.STOPPED_BY_USER

    def _why_over(self) -> str:
        reached = self._tally.reached()
        if self._interrupt.reason is None and reached is not None:
            return refusals.of_limit(reached[1])
        return refusals.of_interruption(self._why_interrupted(), started=False)

    def _stop(self, kind: str, words: str) -> None:
        self._outcome = "failed"
        self._failure = Failure(kind, words)
        self._warnings.append(words)

    def _fail(self, error: InkwireError) -> None:
        if self._interrupt.reason is not None:
            return  # an error that came of stopping is none
        self._outcome = "failed"
        self.error = error
        self._failure = failure_of(error)

    def _end(self, returned: tuple[UserMessage, ...]) -> RunEnd:
        tally = self._tally
        return RunEnd(
            outcome=self._outcome or "completed",
            text=self._text,
            truncated=self._truncated,
            turns=tally.turns,
            usage=tally.usage,
            cost=tally.cost,
            cost_complete=tally.cost_complete,
            tool_calls=tally.ran,
            refused_calls=tally.refused,
            duration_seconds=time.monotonic() - self._began,
            warnings=(*self._warnings, *self._conversation.complaints),
            error=self._failure,
            returned=returned,
        )


def _has_content(answer: AssistantMessage) -> bool:
    return bool(answer.calls or answer.text.strip() or any(isinstance(part, OpaquePart) for part in answer.parts))
