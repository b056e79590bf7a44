"""Whatever a model answers and whenever it is stopped: one end, one result a call, a history that goes on."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from inkwire.agent.events import AgentEvent, RunEnd, ToolEnd, ToolStart
from inkwire.errors import ContextOverflowError, IncompleteStreamError, RateLimitError, TransportError
from inkwire.events import StreamReset
from inkwire.messages import ReasoningPart, StopReason, ToolCall
from tests.agent.running import agent, check_history, ending, of, results, run
from tests.agent.test_cancel import steps
from tests.agent.test_loop import echo, fails
from tests.scripted_model import ScriptedModel, Step, call, message, tick

STOPS: tuple[StopReason, ...] = (
    "end_turn",
    "tool_use",
    "max_tokens",
    "context_window",
    "content_filter",
    "refusal",
    "pause_turn",
    "unknown",
)
IDS = st.sampled_from(["c1", "c2", "read:0", "call_1"])


@st.composite
def some_call(draw: st.DrawFn, stop: StopReason) -> ToolCall:
    name = draw(st.sampled_from(["echo", "fails", "steps", "ecoh", "no such tool", "x" * 300]))
    arguments: Any = draw(
        st.sampled_from(
            [{}, {"text": "a"}, {"text": 1}, {"count": 2}, '{"text": "a', "not json", "[]", '{"text": "b"}']
        )
    )
    return call(name, arguments, draw(IDS), stop=stop)


@st.composite
def some_answer(draw: st.DrawFn) -> list[Step]:
    stop = draw(st.sampled_from(STOPS))
    count = draw(st.integers(0, 3))
    calls = [draw(some_call(stop)) for _ in range(count)]
    unique = list({each.id: each for each in calls}.values())
    text = draw(st.sampled_from(["", " ", "words"]))
    parts: list[Any] = [ReasoningPart("hm")] * draw(st.integers(0, 1)) + ([text] if text else []) + unique
    noise: list[Step] = draw(st.lists(st.sampled_from([tick, "t", StreamReset(2, "lost")]), max_size=3))
    if draw(st.integers(0, 5)) == 0:
        errors = [
            TransportError("gone"),
            RateLimitError("busy"),
            ContextOverflowError("long"),
            IncompleteStreamError("cut"),
        ]
        return [*noise, draw(st.sampled_from(errors))]
    return [*noise, message(*parts, stop=stop), tick]


async def played(answers: list[list[Step]], stop_at: int, how: str, limits: dict[str, Any]) -> None:
    model = ScriptedModel(*answers, *[message("end")] * 20)
    subject = agent(model, echo, fails, steps, **limits)
    events: list[AgentEvent] = []

    async def read() -> None:
        async for event in subject.run("go"):
            events.append(event)
            if len(events) == stop_at:
                if how == "cancel":
                    subject.cancel()
                elif how == "leave":
                    break
                elif how == "task":
                    task = asyncio.current_task()
                    assert task is not None
                    task.cancel()
                elif how == "steer":
                    subject.steer("s")
                    subject.follow_up("f")

    try:
        await asyncio.create_task(read())
    except asyncio.CancelledError:
        assert how == "task"
    await asyncio.sleep(0)
    subject.client = ScriptedModel(*[message("Continued.")] * 3)
    assert ending(await run(subject, "and now")).text == "Continued."
    ends = of(RunEnd, events)
    assert len(ends) <= 1
    assert len(ends) == 1 or how in ("leave", "task")
    ended = [each.call_id for each in of(ToolEnd, events)]
    assert len(ended) == len(set(ended))
    started = {each.call_id for each in of(ToolStart, events)}
    assert len(started) == len(of(ToolStart, events))
    assert started <= {each.call_id for each in results(subject.history)}
    check_history(subject.history)


@settings(max_examples=120, deadline=None)
@given(
    answers=st.lists(some_answer(), max_size=6),
    stop_at=st.integers(1, 40),
    how=st.sampled_from(["nothing", "cancel", "leave", "task", "steer"]),
    limits=st.sampled_from([{}, {"max_turns": 2}, {"continuations": 2}, {"max_total_tokens": 40}]),
)
def test_any_run_ends_once_and_leaves_a_history_that_goes_on(
    answers: list[list[Step]], stop_at: int, how: str, limits: dict[str, Any]
) -> None:
    asyncio.run(played(answers, stop_at, how, limits))
