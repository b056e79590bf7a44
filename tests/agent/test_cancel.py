"""Cancel at every await: one result a call, no process left, a history that can be continued."""

from __future__ import annotations

import asyncio
import threading
import types
from collections.abc import Callable, Coroutine, Generator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from inkwire.agent.agent import Agent
from inkwire.agent.approval import Approval, ApprovalRequest
from inkwire.agent.events import AgentEvent, RunEnd, ToolEnd, ToolOutput, ToolStart, TurnStart
from inkwire.agent.policy import Policy
from inkwire.events import MessageEnd, Retrying, TextDelta
from inkwire.messages import AssistantMessage
from inkwire.tools.base import tool
from inkwire.tools.files import read, write
from inkwire.tools.shell import bash
from tests.agent.running import agent, check_history, ending, of, results, run
from tests.scripted_model import ScriptedModel, call, message, tick


@types.coroutine
def at_await(work: Coroutine[Any, Any, Any], number: int, act: Callable[[], None]) -> Generator[Any, Any, int]:
    """Drive a coroutine and act at its await number `number`; gives the number of awaits that there were."""
    count = 0
    value: Any = None
    error: BaseException | None = None
    while True:
        try:
            waiting = work.throw(error) if error is not None else work.send(value)
        except StopIteration:
            return count
        if count == number:
            act()
        count += 1
        error = None
        try:
            value = yield waiting
        except BaseException as thrown:
            error = thrown


@tool(writes=False)
async def steps(count: int = 3) -> str:
    """Takes some steps."""
    for _ in range(count):
        await tick()
    return "done"


def script() -> ScriptedModel:
    """A run with waits in every phase."""
    both = message("I look.", call("steps", {}, "c1"), call("write", {"path": "a.txt", "content": "x"}, "c2"))
    return ScriptedModel(
        [tick, "I ", tick, "look.", Retrying(2, 0.0, "busy"), tick, both, tick],
        [tick, message(call("steps", {"count": 1}, "c3")), tick],
        [tick, message("Done."), tick],
        message("Continued."),
    )


async def approve(request: ApprovalRequest) -> Approval:
    await tick()
    await tick()
    return Approval(allowed=True)


def subject(workspace: Path, model: ScriptedModel | None = None) -> Agent:
    """An agent that asks before it writes."""
    return agent(model or script(), steps, write, workspace=workspace, policy=Policy("ask"), approve=approve)


async def collect(of_agent: Agent, into: list[AgentEvent]) -> None:
    async with aclosing(of_agent.run("go")) as events:
        async for event in events:
            into.append(event)


async def others() -> None:
    """Let tasks that were told to stop do so."""
    for _ in range(5):
        await asyncio.sleep(0)


def check_results(events: list[AgentEvent], of_agent: Agent) -> None:
    """Every started call has one result, here and in history."""
    started = [each.call_id for each in of(ToolStart, events)]
    assert len(set(started)) == len(started)
    answered = [each.call_id for each in results(of_agent.history)]
    assert len(set(answered)) == len(answered)
    assert set(started) <= set(answered)


async def continued(of_agent: Agent) -> None:
    """The conversation can go on."""
    of_agent.client = ScriptedModel(message("Continued."))
    assert ending(await run(of_agent, "and now")).text == "Continued."
    assert [each for each in asyncio.all_tasks() if each.get_name().startswith("tool ")] == []


async def driven(of_agent: Agent, events: list[AgentEvent], number: int, act: Callable[[], None]) -> int:
    return await at_await(collect(of_agent, events), number, act)


async def count_awaits(workspace: Path) -> int:
    return await at_await(collect(subject(workspace), []), -1, lambda: None)


async def test_cancel_at_every_await_point(tmp_path: Path) -> None:
    number_of_awaits = await count_awaits(tmp_path)
    assert number_of_awaits >= 12
    for number in range(number_of_awaits):
        of_agent = subject(tmp_path)
        events: list[AgentEvent] = []
        await at_await(collect(of_agent, events), number, of_agent.cancel)
        end = ending(events)
        assert end.outcome in ("cancelled", "completed"), number
        assert end.outcome == "cancelled" or number == number_of_awaits - 1, number
        check_history(of_agent.history)
        check_results(events, of_agent)
        await continued(of_agent)


def cancel_this_task() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()


async def test_a_cancelled_task_at_every_await_point(tmp_path: Path) -> None:
    for number in range(await count_awaits(tmp_path)):
        of_agent = subject(tmp_path)
        events: list[AgentEvent] = []
        with pytest.raises(asyncio.CancelledError):
            await asyncio.create_task(driven(of_agent, events, number, cancel_this_task))
        assert of(RunEnd, events) == []
        check_history(of_agent.history)
        check_results(events, of_agent)
        await continued(of_agent)


async def test_both_at_once_and_twice(tmp_path: Path) -> None:
    for number in range(await count_awaits(tmp_path)):
        of_agent = subject(tmp_path)
        events: list[AgentEvent] = []

        def act(of_agent: Agent = of_agent) -> None:
            of_agent.cancel()
            cancel_this_task()
            task = asyncio.current_task()
            assert task is not None
            asyncio.get_running_loop().call_soon(task.cancel)

        with pytest.raises(asyncio.CancelledError):
            await asyncio.create_task(driven(of_agent, events, number, act))
        check_history(of_agent.history)
        check_results(events, of_agent)
        await others()
        await continued(of_agent)


async def test_cancel_at_every_event(tmp_path: Path) -> None:
    for number in range(30):
        of_agent = subject(tmp_path)
        events: list[AgentEvent] = []
        async with aclosing(of_agent.run("go")) as stream:
            async for event in stream:
                events.append(event)
                if len(events) == number + 1:
                    of_agent.cancel()
        assert ending(events).outcome in ("cancelled", "completed")
        check_history(of_agent.history)
        check_results(events, of_agent)
        await continued(of_agent)


async def test_the_words_say_that_it_was_the_user(tmp_path: Path) -> None:
    of_agent = agent(
        ScriptedModel(
            message(call("bash", {"command": "echo $$; sleep 600"}, "c1"), call("bash", {"command": "ls"}, "c2"))
        ),
        bash,
        workspace=tmp_path,
    )
    events: list[AgentEvent] = []
    async for event in of_agent.run("go"):
        events.append(event)
        if isinstance(event, ToolOutput):
            of_agent.cancel()
    first, second = results(of_agent.history)
    assert "user" in first.text
    assert "no fault of the tool" in first.text
    assert "before this call began" in second.text
    pid = int(of(ToolOutput, events)[0].text)
    assert not Path(f"/proc/{pid}").exists()


async def test_cancel_from_another_thread(tmp_path: Path) -> None:
    async def for_ever() -> None:
        await asyncio.Event().wait()

    of_agent = subject(tmp_path, ScriptedModel(["half", for_ever]))
    events: list[AgentEvent] = []
    async for event in of_agent.run("go"):
        events.append(event)
        if isinstance(event, TextDelta):
            thread = threading.Thread(target=of_agent.cancel)
            thread.start()
            thread.join()
    assert ending(events).outcome == "cancelled"
    kept = of_agent.history[-1]
    assert isinstance(kept, AssistantMessage)
    assert (kept.text, kept.interrupted) == ("half", True)


async def test_a_time_out_around_the_run_is_the_callers(tmp_path: Path) -> None:
    async def for_ever() -> None:
        await asyncio.Event().wait()

    of_agent = subject(tmp_path, ScriptedModel(["half", for_ever]))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await of_agent.run_to_end("go")
    check_history(of_agent.history)
    await continued(of_agent)


async def test_a_tool_that_does_not_let_go_gets_its_result_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inkwire.agent.dispatch._GRACE_SECONDS", 0.05)
    release = asyncio.Event()

    @tool(writes=False)
    async def stubborn() -> str:
        """Ignores the wish to stop."""
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                pass
        return "late"

    of_agent = agent(ScriptedModel(message(call("stubborn", {}))), stubborn, workspace=tmp_path)
    async for event in of_agent.run("go"):
        if isinstance(event, ToolStart):
            of_agent.cancel()
    assert "has not ended yet" in results(of_agent.history)[0].text
    check_history(of_agent.history)
    release.set()
    await others()
    assert len(results(of_agent.history)) == 1


async def test_a_call_cancelled_from_within_is_not_the_users_doing(tmp_path: Path) -> None:
    @tool(writes=False)
    async def cancels_itself() -> str:
        """Cancels itself."""
        raise asyncio.CancelledError

    model = ScriptedModel(message(call("cancels_itself", {})), message("ok"))
    assert ending(await run(agent(model, cancels_itself, workspace=tmp_path))).outcome == "completed"
    assert "not by the user" in results(model.requests[1].messages)[0].text


async def test_a_cancel_after_the_message_refuses_its_calls(tmp_path: Path) -> None:
    of_agent = subject(tmp_path)
    events: list[AgentEvent] = []
    async for event in of_agent.run("go"):
        events.append(event)
        if isinstance(event, MessageEnd):
            of_agent.cancel()
    assert of(ToolStart, events) == []
    assert [each.started for each in of(ToolEnd, events)] == [False, False]
    assert len(of(TurnStart, events)) == 1
    check_history(of_agent.history)


async def test_cancelling_nothing_is_nothing(tmp_path: Path) -> None:
    of_agent = agent(ScriptedModel(message("x")), read, workspace=tmp_path)
    of_agent.cancel()
    assert ending(await run(of_agent)).outcome == "completed"
    of_agent.cancel()


async def test_a_run_whose_reader_left_in_mid_command_is_over_before_the_next(tmp_path: Path) -> None:
    model = ScriptedModel(message(call("bash", {"command": "echo $$; sleep 600"})), message("Next."))
    of_agent = agent(model, bash, workspace=tmp_path)
    pid = 0
    async for event in of_agent.run("go"):
        if isinstance(event, ToolOutput):
            pid = int(event.text)
            break
    assert ending(await run(of_agent, "and now")).text == "Next."
    assert not Path(f"/proc/{pid}").exists()
    assert "the user interrupted" in results(of_agent.history)[0].text
