"""The loop: what a run does with answers, whole and not."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import msgspec
import pytest

from inkwire.agent.events import MessageRecorded, Notice, Recorded, RunStart, ToolEnd, ToolStart, TurnStart
from inkwire.errors import ClosedError, ServerError
from inkwire.events import StreamReset, TextDelta
from inkwire.messages import AssistantMessage, ReasoningPart, StreamWarning, ToolCall, Usage, UserMessage
from inkwire.tools.base import tool
from inkwire.tools.files import read
from tests.agent.running import agent, check_history, ending, of, results, run
from tests.scripted_model import ScriptedModel, call, message


@tool(writes=False)
async def echo(text: Annotated[str, "Anything."]) -> str:
    """Says it back."""
    return f"said {text}"


@tool(writes=False)
async def fails(text: str = "") -> str:
    """Fails."""
    raise ValueError("broken")


async def test_a_text_ends_the_run() -> None:
    subject = agent(ScriptedModel(["Hel", "lo", message("Hello")]))
    events = await run(subject)
    end = ending(events)
    assert (end.outcome, end.text, end.turns, end.ok) == ("completed", "Hello", 1, True)
    assert isinstance(events[0], RunStart)
    assert [each.text for each in of(TextDelta, events)][:2] == ["Hel", "lo"]
    assert [type(each) for each in subject.history] == [UserMessage, AssistantMessage]


async def test_a_call_runs_and_its_result_goes_back(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Title\nRun it with make.\n")
    model = ScriptedModel(message("I look.", call("read", {"path": "README.md"})), message("With make."))
    events = await run(agent(model, read, workspace=tmp_path))
    assert ending(events).tool_calls == 1
    assert [type(each).__name__ for each in events if isinstance(each, ToolStart | ToolEnd | TurnStart)] == [
        "TurnStart",
        "ToolStart",
        "ToolEnd",
        "TurnStart",
    ]
    assert results(model.requests[1].messages)[0].text == "1\t# Title\n2\tRun it with make."


async def test_no_call_of_a_cut_answer_runs() -> None:
    whole = call("echo", {"text": "a"}, "c1", stop="max_tokens")
    cut = call("echo", '{"text": "b', "c2", stop="max_tokens")
    model = ScriptedModel(message(whole, cut, stop="max_tokens", usage=Usage(10, 64)), message("ok"))
    events = await run(agent(model, echo, options={"max_tokens": 64}))
    assert of(ToolStart, events) == []
    for result in results(model.requests[1].messages):
        assert result.is_error
        assert "output limit (64 tokens)" in result.text
        assert "end smaller pieces" in result.text
    assert ending(events).outcome == "completed"
    assert ending(events).refused_calls == 2


async def test_malformed_arguments_are_told_where() -> None:
    model = ScriptedModel(message(call("echo", '{"text": "a",, }')), message("ok"))
    await run(agent(model, echo))
    result = results(model.requests[1].messages)[0]
    assert "Fix the JSON" in result.text
    assert "character 13" in result.text


async def test_an_unknown_tool_gets_the_names_and_the_nearest() -> None:
    model = ScriptedModel(message(call("ecoh", {"text": "a"})), message("ok"))
    await run(agent(model, echo, fails))
    text = results(model.requests[1].messages)[0].text
    assert "Did you mean echo?" in text
    assert "echo, fails" in text


async def test_arguments_that_do_not_fit_are_told_by_path() -> None:
    model = ScriptedModel(message(call("echo", {"text": 7, "loud": True})), message("ok"))
    await run(agent(model, echo))
    text = results(model.requests[1].messages)[0].text
    assert "- text: received integer 7; expected a valid string" in text
    assert "- loud:" in text


async def test_a_failing_tool_is_an_error_result() -> None:
    model = ScriptedModel(message(call("fails", {})), message("ok"))
    await run(agent(model, fails))
    assert results(model.requests[1].messages)[0].text == "The tool failed: ValueError: broken"


async def test_a_cut_text_is_marked_and_told() -> None:
    events = await run(agent(ScriptedModel(message("Once upon", stop="max_tokens"))))
    end = ending(events)
    assert (end.outcome, end.truncated, end.ok) == ("completed", True, False)
    assert of(Notice, events)[0].kind == "truncated"
    assert end.warnings


async def test_a_cut_text_is_continued_as_often_as_asked() -> None:
    model = ScriptedModel(*[message("part", stop="max_tokens") for _ in range(3)])
    events = await run(agent(model, continuations=2))
    assert len(model.requests) == 3
    assert ending(events).truncated
    assert isinstance(model.requests[1].messages[-1], UserMessage)


async def test_what_the_user_queued_continues_a_cut_answer() -> None:
    model = ScriptedModel(message("part", stop="max_tokens"), message("rest"))
    subject = agent(model)
    delivery = None
    async for event in subject.run("go"):
        if isinstance(event, TurnStart) and event.turn == 1:
            delivery = subject.follow_up("go on")
    assert delivery is not None
    assert await delivery == "delivered"
    assert model.requests[1].messages[-1] == UserMessage.of("go on")
    check_history(subject.history)


async def test_an_empty_answer_is_asked_again_once() -> None:
    model = ScriptedModel(message(ReasoningPart("hm")), message("yes"))
    events = await run(agent(model))
    assert ending(events).outcome == "completed"
    assert of(Notice, events)[0].kind == "empty"
    model = ScriptedModel(message(), message(ReasoningPart("hm")))
    end = ending(await run(agent(model)))
    assert end.outcome == "failed"
    assert end.error is not None
    assert end.error.kind == "empty"
    assert end.warnings


async def test_the_turn_limit_refuses_the_open_calls() -> None:
    model = ScriptedModel(*[message(call("echo", {"text": str(n)}, f"c{n}")) for n in range(5)])
    subject = agent(model, echo, max_turns=2)
    end = ending(await run(subject))
    assert (end.outcome, end.turns, end.tool_calls, end.refused_calls) == ("max_turns", 2, 1, 1)
    assert "limit of 2 turns" in results(subject.history)[-1].text


async def test_a_text_in_the_last_turn_completes_the_run() -> None:
    assert ending(await run(agent(ScriptedModel(message("x")), max_turns=1))).outcome == "completed"


async def test_token_and_cost_limits_refuse_the_open_calls() -> None:
    for options, outcome in (
        ({"max_total_tokens": 20}, "max_tokens"),
        ({"max_cost": 0.5, "price": lambda answer: 0.5}, "max_cost"),
    ):
        model = ScriptedModel(message(call("echo", {"text": "a"}), usage=Usage(15, 5)))
        end = ending(await run(agent(model, echo, **options)))
        assert (end.outcome, end.refused_calls) == (outcome, 1)


async def test_the_time_limit_stops_a_stream_and_a_tool() -> None:
    async def for_ever() -> None:
        await asyncio.Event().wait()

    @tool(writes=False)
    async def waits() -> str:
        """Waits."""
        await for_ever()
        return ""

    end = ending(await run(agent(ScriptedModel(["so far", for_ever]), max_time_seconds=0.5)))
    assert (end.outcome, end.text) == ("max_time", "so far")
    assert end.warnings == ("The run stopped: the run's time limit of 0.5 seconds is reached.",)
    subject = agent(ScriptedModel(message(call("waits", {}))), waits, max_time_seconds=0.5)
    assert ending(await run(subject)).outcome == "max_time"
    assert "time limit" in results(subject.history)[0].text


async def test_the_same_failing_call_three_times_stops_the_run() -> None:
    model = ScriptedModel(*[message(call("fails", {"text": "x"}, f"c{n}")) for n in range(5)])
    events = await run(agent(model, fails))
    end = ending(events)
    assert end.outcome == "failed"
    assert end.error is not None
    assert end.error.kind == "repeated_failure"
    assert len(model.requests) == 3
    assert of(Notice, events)[-1].kind == "repeated_failure"


async def test_a_failure_keeps_the_text_and_says_what_is_known() -> None:
    error = ServerError("overloaded", status=529, code="overloaded_error", retryable=True, retry_after=3.0)
    subject = agent(ScriptedModel(["half", error], message("again")))
    end = ending(await run(subject))
    assert end.outcome == "failed"
    assert end.error is not None
    assert (end.error.kind, end.error.status, end.error.retry_after) == ("remote", 529, 3.0)
    assert subject.error is error
    kept = subject.history[-1]
    assert isinstance(kept, AssistantMessage)
    assert (kept.text, kept.interrupted) == ("half", True)
    assert ending(await run(subject)).outcome == "completed"


async def test_a_restarted_answer_is_forwarded_with_its_reason() -> None:
    model = ScriptedModel(["old", StreamReset(2, "connection lost"), "new", message("new")])
    events = await run(agent(model))
    assert of(StreamReset, events) == [StreamReset(2, "connection lost")]
    assert model.streams[0].restarts == 2


async def test_an_id_that_the_history_has_is_replaced() -> None:
    model = ScriptedModel(
        message(call("echo", {"text": "a"}, "read:0")), message(call("echo", {"text": "b"}, "read:0")), message("ok")
    )
    subject = agent(model, echo)
    events = await run(subject)
    ids = [each.id for answer in of(AssistantMessage, subject.history) for each in answer.calls]
    assert len(set(ids)) == 2
    assert [each.call_id for each in of(ToolStart, events)] == ids


async def test_steering_is_delivered_after_the_results() -> None:
    model = ScriptedModel(message(call("echo", {"text": "a"})), message("ok"))
    subject = agent(model, echo)
    deliveries = []
    async for event in subject.run("go"):
        if isinstance(event, ToolStart):
            deliveries.append(subject.steer("use b"))
    assert [await each for each in deliveries] == ["delivered"]
    assert model.requests[1].messages[-1] == UserMessage.of("use b")
    check_history(subject.history)


async def test_what_cannot_be_delivered_is_returned() -> None:
    subject = agent(ScriptedModel(["x", ServerError("down")]))
    assert subject.steer("too early").state == "returned"
    events = []
    deliveries = []
    async for event in subject.run("go"):
        events.append(event)
        if isinstance(event, TurnStart):
            deliveries = [subject.steer("a"), subject.follow_up("b")]
    assert [each.state for each in deliveries] == ["returned", "returned"]
    assert [each.text for each in ending(events).returned] == ["a", "b"]


async def test_a_second_run_at_the_same_time_is_refused() -> None:
    subject = agent(ScriptedModel(["a", message("a")], message("b")))
    first = subject.run("go")
    await anext(first)
    with pytest.raises(ClosedError):
        await anext(subject.run("again"))
    await first.aclose()
    check_history(subject.history)
    assert ending(await run(subject)).outcome == "completed"


async def test_a_reader_that_leaves_leaves_a_valid_history() -> None:
    for stop_at in range(12):
        model = ScriptedModel(
            message("t", call("echo", {"text": "a"}, "c1"), call("echo", {"text": "b"}, "c2")),
            *[message("ok") for _ in range(2)],
        )
        subject = agent(model, echo)
        seen = 0
        async for _ in subject.run("go"):
            seen += 1
            if seen > stop_at:
                break
        end = ending(await run(subject, "and now"))
        assert end.outcome == "completed"


async def test_the_usage_of_all_answers_is_summed() -> None:
    model = ScriptedModel(message(call("echo", {"text": "a"}), usage=Usage(10, 5, 3)), message("k", usage=Usage(20, 1)))
    end = ending(await run(agent(model, echo)))
    assert end.usage == Usage(30, 6, 3)
    assert (end.cost, end.cost_complete) == (None, False)


async def test_a_paused_answer_is_asked_to_go_on() -> None:
    model = ScriptedModel(message("searching", stop="pause_turn"), message("found"))
    assert ending(await run(agent(model))).text == "found"


async def test_recorded_events_are_the_history() -> None:
    model = ScriptedModel(message(call("echo", {"text": "a"})), message("ok"))
    subject = agent(model, echo)
    events = await run(subject)
    assert tuple(each.message for each in of(MessageRecorded, events)) == subject.history


async def test_two_hundred_turns() -> None:
    answers = [message(call("echo", {"text": str(n)}, "same")) for n in range(200)]
    end = ending(await run(agent(ScriptedModel(*answers, message("done")), echo)))
    assert (end.outcome, end.turns, end.tool_calls) == ("completed", 201, 200)


async def test_a_call_without_a_name_is_refused() -> None:
    nameless = ToolCall("c", "", {}, None, "{}", False, "the call has no name")
    model = ScriptedModel(message(nameless), message("ok"))
    await run(agent(model, echo))
    assert "no name" in results(model.requests[1].messages)[0].text


async def test_answers_that_are_cut_again_and_again_stop_the_run() -> None:
    cut = [message(call("echo", {"text": str(n)}, f"c{n}", stop="max_tokens"), stop="max_tokens") for n in range(9)]
    end = ending(await run(agent(ScriptedModel(*cut), echo)))
    assert end.error is not None
    assert (end.outcome, end.error.kind, end.turns, end.tool_calls) == ("failed", "repeated_cut", 5, 0)


async def test_oddities_of_the_stream_are_in_the_end() -> None:
    odd = msgspec.structs.replace(message("x"), warnings=(StreamWarning("bad_chunk", "half a line"),))
    assert ending(await run(agent(ScriptedModel(odd)))).warnings == ("bad_chunk: half a line",)


async def test_a_full_disk_does_not_end_the_work_and_is_said(tmp_path: Path) -> None:
    class Full:
        id = "s"
        messages = ()

        def append(self, recorded: Recorded) -> None:
            raise OSError(28, "No space left on device")

    end = ending(await run(agent(ScriptedModel(message("x")), session=Full())))
    assert end.outcome == "completed"
    assert end.warnings == ("The session is no longer recorded: No space left on device",)


async def test_an_error_that_is_no_failure_of_the_model_is_raised_and_history_stays_valid() -> None:
    subject = agent(ScriptedModel(["half", ZeroDivisionError("a mistake")], message("ok")))
    with pytest.raises(ZeroDivisionError):
        await subject.run_to_end("go")
    check_history(subject.history)
    assert ending(await run(subject)).outcome == "completed"
