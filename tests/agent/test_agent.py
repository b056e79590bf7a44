"""The face of the library: the documented names, and one question from start to end."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pytest

import inkwire.agent
import inkwire.tools
from inkwire.agent import Agent, AgentEvent, Approval, ApprovalRequest, Policy, RunEnd, SessionStore, ToolStart
from inkwire.errors import ConfigurationError, RunError
from inkwire.tools import BUILTIN, tool
from tests.scripted_model import ScriptedModel, call, message


@tool(writes=False)
async def weather(city: Annotated[str, "A town's name"]) -> str:
    """The weather of today."""
    return f"Rain in {city}."


async def test_one_question_from_start_to_end(tmp_path: Path) -> None:
    model = ScriptedModel(message(call("weather", {"city": "Ulm"})), message("It rains."))
    seen: list[AgentEvent] = []
    session = SessionStore(tmp_path / "sessions").new(tmp_path, "test/scripted")
    agent = Agent(
        client=model,
        model="test/scripted",
        tools=[weather, *BUILTIN],
        workspace=tmp_path,
        policy=Policy("read-only"),
        session=session,
        system_prompt="Be brief.",
        options={"max_tokens": 100, "temperature": 0.0},
    )
    end = await agent.run_to_end("Weather in Ulm?", seen.append)
    session.close()
    assert end.check().text == "It rains."
    assert [each.arguments for each in seen if isinstance(each, ToolStart)] == [{"city": "Ulm"}]
    request = model.requests[0]
    assert (request.max_tokens, request.temperature, request.messages[0].text) == (100, 0.0, "Be brief.")
    assert {each.name for each in request.tools} == {"weather", "read", "list", "glob", "grep", "edit", "write", "bash"}
    assert not agent.running


def test_an_end_that_is_no_completion_is_raised_when_asked() -> None:
    with pytest.raises(RunError, match="max_turns after 3 turns"):
        RunEnd("max_turns", turns=3).check()
    assert RunEnd("completed").ok
    assert not RunEnd("completed", truncated=True).ok


def test_the_packages_give_what_they_name() -> None:
    for package in (inkwire.agent, inkwire.tools):
        for name in package.__all__:
            assert getattr(package, name) is not None
        with pytest.raises(AttributeError):
            _ = package.nothing


def test_a_workspace_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no directory"):
        Agent(client=ScriptedModel(), model="x/y", policy=Policy(), workspace=tmp_path / "nowhere")


async def test_the_model_can_be_changed_between_runs(tmp_path: Path) -> None:
    model = ScriptedModel(message("a"), message("b"))
    agent = Agent(client=model, model="one/a", policy=Policy(), workspace=tmp_path)
    await agent.run_to_end("x")
    agent.model = "two/b"
    await agent.run_to_end("y")
    assert [each.model for each in model.requests] == ["one/a", "two/b"]


def test_what_is_asked_says_what_always_would_mean() -> None:
    request = ApprovalRequest("c", "bash", {"command": "git log"}, "bash would run git", ("bash(git log *)",))
    assert Approval(allowed=True, always=True).by == "the user"
    assert request.rules == ("bash(git log *)",)
