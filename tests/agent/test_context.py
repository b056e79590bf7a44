"""The system prompt, the size of a history, and what happens when it does not fit."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from inkwire.agent.agent import Agent
from inkwire.agent.compaction import cut_place
from inkwire.agent.context import estimate_tokens, find_instructions, system_prompt
from inkwire.agent.events import AgentEvent, Compaction, Notice
from inkwire.errors import ContextOverflowError
from inkwire.messages import ImagePart, Message, ToolResultMessage, Usage, UserMessage
from tests.agent.running import agent, check_history, ending, of, run
from tests.agent.test_loop import echo
from tests.scripted_model import ScriptedModel, call, message

SUMMARY = message("What was done: a lot.")


def overflow() -> list[Exception]:
    return [ContextOverflowError("prompt is too long", status=400)]


def test_instructions_are_read_from_the_repository_down(tmp_path: Path) -> None:
    work = tmp_path / "repo" / "pkg" / "deep"
    work.mkdir(parents=True)
    (tmp_path / "repo" / ".git").mkdir()
    (tmp_path / "AGENTS.md").write_text("above the repository")
    (tmp_path / "repo" / "AGENTS.md").write_text("of the repository")
    (tmp_path / "repo" / "CLAUDE.md").write_text("the alias")
    (tmp_path / "repo" / "pkg" / "CLAUDE.md").write_text("of the package")
    user = tmp_path / "user"
    user.mkdir()
    (user / "AGENTS.md").write_text("of the user")
    prompt = system_prompt(work, today=date(2026, 1, 2), user_directory=user, extra="Be brief.")
    places = [prompt.index(text) for text in ("of the user", "of the repository", "of the package", "Be brief.")]
    assert places == sorted(places)
    assert "above the repository" not in prompt
    assert "the alias" not in prompt
    assert "2026-01-02" in prompt
    assert len(find_instructions(work, user)) == 3


def test_without_a_repository_only_the_directory_counts(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("x" * 100_000)
    inside = tmp_path / "a"
    inside.mkdir()
    assert find_instructions(inside) == []
    assert len(system_prompt(tmp_path)) < 40_000


def test_the_services_own_count_is_taken_as_far_as_it_goes() -> None:
    history: list[Message] = [
        UserMessage.of("x" * 4_000),
        message("y", usage=Usage(500, 20)),
        UserMessage.of("z" * 400),
    ]
    assert 600 < estimate_tokens(history) < 640
    assert estimate_tokens(history, since=2) > 1_000
    assert estimate_tokens([UserMessage((ImagePart(),))]) > 1_000


def test_a_cut_never_parts_a_call_from_its_result() -> None:
    history: list[Message] = []
    for n in range(6):
        answer = message(call("echo", {"text": "x" * 100}, f"c{n}"))
        history += [UserMessage.of("u" * 100), answer, ToolResultMessage.of(answer.calls[0], "r" * 400)]
    for keep in range(0, 2_000, 50):
        place = cut_place(history, keep)
        assert place > 0
        assert not isinstance(history[place], ToolResultMessage)
    assert cut_place([UserMessage.of("x")], 0) == 0


async def grown(model: ScriptedModel, **options: Any) -> Agent:
    """An agent with a history of some length."""
    subject = agent(model, echo, **options)
    for _ in range(4):
        await run(subject, "word " * 400)
    return subject


def answers(count: int = 4) -> list[Any]:
    return [message("reply " * 300, usage=Usage(None, None)) for _ in range(count)]


async def test_an_overflow_is_answered_by_a_summary(tmp_path: Path) -> None:
    model = ScriptedModel(*answers(), overflow(), SUMMARY, message("after"))
    subject = await grown(model)
    events = await run(subject, "and now")
    assert ending(events).outcome == "completed"
    assert [each.kind for each in of(Notice, events)] == ["overflow", "compacted"]
    (compaction,) = of(Compaction, events)
    assert compaction.tokens_after < compaction.tokens_before
    first = subject.history[0]
    assert isinstance(first, UserMessage)
    assert "What was done" in first.text
    assert subject.history[-2] == UserMessage.of("and now")
    assert model.requests[-2].tools == ()


async def test_a_history_that_fills_the_window_is_summarised_before_the_request() -> None:
    model = ScriptedModel(*answers(), SUMMARY, message("after"))
    subject = await grown(model, context_window=4_500)
    events = await run(subject, "and now " * 200)
    assert ending(events).outcome == "completed"
    assert len(of(Compaction, events)) == 1


@pytest.mark.parametrize(
    "summary",
    [message("cut", stop="max_tokens"), message(), message("long " * 20_000)],
    ids=["cut", "empty", "frees nothing"],
)
async def test_a_summary_that_is_no_use_is_not_taken(summary: Any) -> None:
    model = ScriptedModel(*answers(), overflow(), summary)
    subject = await grown(model)
    before = subject.history
    end = ending(await run(subject, "and now"))
    assert end.outcome == "failed"
    assert end.error is not None
    assert end.error.kind == "overflow"
    assert subject.history[: len(before)] == before


async def test_an_overflow_after_a_summary_ends_the_run() -> None:
    model = ScriptedModel(*answers(), overflow(), SUMMARY, overflow())
    subject = await grown(model)
    end = ending(await run(subject, "and now"))
    assert end.outcome == "failed"
    assert end.error is not None
    assert end.error.status == 400


async def test_a_history_that_cannot_be_shortened_ends_the_run() -> None:
    end = ending(await run(agent(ScriptedModel(overflow())), "x"))
    assert end.outcome == "failed"
    assert end.error is not None
    assert "cannot be shortened" in end.error.detail


async def test_a_summary_on_demand() -> None:
    subject = await grown(ScriptedModel(*answers(), SUMMARY, message("after")))
    length = len(subject.history)
    events: list[AgentEvent] = [event async for event in subject.compact()]
    assert len(of(Compaction, events)) == 1
    assert len(subject.history) < length
    check_history(subject.history)
    assert ending(await run(subject, "go on")).outcome == "completed"


def test_instructions_that_link_out_of_the_project_are_not_told(tmp_path: Path) -> None:
    secret = tmp_path / "id_ed25519"
    secret.write_text("PRIVATE KEY")
    project = tmp_path / "project"
    (project / "docs").mkdir(parents=True)
    (project / "AGENTS.md").symlink_to(secret)
    assert "PRIVATE KEY" not in system_prompt(project)
    (project / "docs" / "agents.md").write_text("Use tabs.")
    (project / "AGENTS.md").unlink()
    (project / "AGENTS.md").symlink_to(project / "docs" / "agents.md")
    assert "Use tabs." in system_prompt(project)
