"""Whole jobs over real HTTP, in a directory of their own."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from aiohttp import web

from inkwire.agent.agent import Agent
from inkwire.agent.events import AgentEvent, RunEnd, ToolEnd, ToolOutput, ToolStart
from inkwire.agent.policy import Policy
from inkwire.agent.session import SessionStore
from inkwire.client import Client
from inkwire.events import Retrying, StreamReset, TextDelta
from inkwire.messages import AssistantMessage
from inkwire.tools.builtin import BUILTIN
from tests.agent.chat_server import DROP, MODEL, Answer, calls, serving, text
from tests.agent.running import check_history, ending, of, results, run

TEST_LINE = f"{sys.executable} -B test_sums.py"


def worker(client: Client, workspace: Path, **options: Any) -> Agent:
    """An agent with every tool and a free hand."""
    options.setdefault("policy", Policy("yolo"))
    return Agent(client=client, model=MODEL, tools=BUILTIN, workspace=workspace, **options)


def repository(directory: Path) -> Path:
    """A project whose test fails."""
    (directory / "sums.py").write_text("def add(a, b):\n    return a - b\n")
    (directory / "test_sums.py").write_text("from sums import add\nassert add(2, 2) == 4, add(2, 2)\nprint('passed')\n")
    return directory


def tool_messages(request: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in request["messages"] if each["role"] == "tool"]


async def test_fix_a_failing_test(tmp_path: Path) -> None:
    work = repository(tmp_path)
    fix = {"path": "sums.py", "edits": [{"old_text": "a - b", "new_text": "a + b"}]}
    answers: list[Answer] = [
        calls(("bash", {"command": TEST_LINE}), ids="a"),
        calls(("grep", {"pattern": "def add"}), ("read", {"path": "sums.py"}), ids="b"),
        calls(("edit", fix), ids="c"),
        calls(("bash", {"command": TEST_LINE}), ids="d"),
        text("The test passes: add subtracted."),
    ]
    async with serving(*answers) as (server, client):
        events = await run(worker(client, work), "Fix the failing test")
    end = ending(events)
    assert (end.outcome, end.turns, end.tool_calls, end.usage.input_tokens) == ("completed", 5, 5, 500)
    first, grepped, shown, edited, last = tool_messages(server.requests[-1])
    assert "AssertionError: 0" in first["content"]
    assert grepped["content"] == "sums.py:1:def add(a, b):"
    assert "2\t    return a - b" in shown["content"]
    assert "Edited sums.py" in edited["content"]
    assert last["content"] == "passed"
    assert "+    return a + b" in next(each.display for each in of(ToolEnd, events) if each.name == "edit")
    assert sorted(each.name for each in work.iterdir() if each.name != "__pycache__") == ["sums.py", "test_sums.py"]


async def test_two_parallel_edits_of_one_file_lose_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    pair = [("edit", {"path": "a.txt", "edits": [{"old_text": w, "new_text": w.upper()}]}) for w in ("one", "two")]
    async with serving(calls(*pair), text("Done.")) as (_, client):
        await run(worker(client, tmp_path))
    assert (tmp_path / "a.txt").read_text() == "ONE\nTWO\n"


async def test_a_cut_call_that_happens_to_parse_does_not_run(tmp_path: Path) -> None:
    whole = calls(("bash", {"command": "touch ran"}), ("write", {"path": "b", "content": "x"}), finish="length")
    async with serving(whole, text("Smaller.")) as (server, client):
        events = await run(worker(client, tmp_path, options={"max_tokens": 77}))
    assert of(ToolStart, events) == []
    assert list(tmp_path.iterdir()) == []
    for result in tool_messages(server.requests[1]):
        assert "output limit (77 tokens)" in result["content"]
        assert "smaller pieces" in result["content"]
        assert "required" not in result["content"]


async def test_malformed_arguments_never_run_and_never_go_back_as_they_came(tmp_path: Path) -> None:
    bad = '{"path": "a.txt", "content": "x", oops}'
    async with serving(calls(("write", bad)), calls(("write", bad), ids="again"), text("Sorry.")) as (server, client):
        subject = worker(client, tmp_path)
        assert ending(await run(subject)).outcome == "completed"
    assert list(tmp_path.iterdir()) == []
    for request in server.requests[1:]:
        for message in request["messages"]:
            for call in message.get("tool_calls", ()):
                assert json.loads(call["function"]["arguments"]) == {}
        assert "Fix the JSON" in tool_messages(request)[0]["content"]
        assert bad in tool_messages(request)[0]["content"]


async def test_what_ran_is_what_is_replayed(tmp_path: Path) -> None:
    wanted = {"path": "a.txt", "content": "é\n\u2028 \\ \" ' {}"}
    async with serving(calls(("write", wanted), size=1), text("ok")) as (server, client):
        subject = worker(client, tmp_path)
        await run(subject)
    (sent,) = [each for each in server.requests[1]["messages"] if each.get("tool_calls")]
    assert json.loads(sent["tool_calls"][0]["function"]["arguments"]) == wanted
    assert (tmp_path / "a.txt").read_text() == wanted["content"]


async def test_a_lost_answer_is_reset_and_asked_for_again(tmp_path: Path) -> None:
    half: Answer = [*calls(("bash", {"command": "touch ran"}))[:3], {"delta": {"content": "old"}}, DROP]
    async with serving(half, half, text("New.")) as (server, client):
        events = await run(worker(client, tmp_path))
    assert [each.attempt for each in of(StreamReset, events)] == [2, 3]
    assert all(each.reason for each in of(StreamReset, events))
    assert (ending(events).text, len(server.requests)) == ("New.", 3)
    assert list(tmp_path.iterdir()) == []


async def test_a_third_loss_ends_the_run_and_keeps_the_text(tmp_path: Path) -> None:
    half: Answer = [{"delta": {"content": "so far"}}, DROP]
    async with serving(half, half, half, text("After all.")) as (_, client):
        subject = worker(client, tmp_path)
        end = ending(await run(subject))
        assert end.outcome == "failed"
        assert end.error is not None
        assert end.error.kind in ("transport", "incomplete")
        kept = subject.history[-1]
        assert isinstance(kept, AssistantMessage)
        assert (kept.text, kept.interrupted) == ("so far", True)
        assert ending(await run(subject, "again")).text == "After all."


async def test_a_busy_service_is_asked_again_and_the_screen_is_told(tmp_path: Path) -> None:
    busy = web.Response(status=529, text='{"error": {"message": "overloaded"}}')
    async with serving(busy, text("Here.")) as (_, client):
        events = await run(worker(client, tmp_path))
    assert len(of(Retrying, events)) == 1
    assert ending(events).text == "Here."


async def test_an_unknown_tool_does_not_end_the_job(tmp_path: Path) -> None:
    async with serving(calls(("raed", {"path": "a"})), text("I see.")) as (server, client):
        assert ending(await run(worker(client, tmp_path))).outcome == "completed"
    assert "Did you mean read?" in tool_messages(server.requests[1])[0]["content"]


async def test_an_allowed_prefix_allows_no_second_command(tmp_path: Path) -> None:
    lines = ["git status;touch ran", "git status $(touch ran)", "git status && touch ran", "git status > ran"]
    policy = Policy("ask", allow=["bash(git status *)"])
    async with serving(calls(*[("bash", {"command": line}) for line in lines]), text("ok")) as (server, client):
        events = await run(worker(client, tmp_path, policy=policy))
    assert of(ToolStart, events) == []
    assert all("denied" in each["content"] for each in tool_messages(server.requests[1]))
    assert list(tmp_path.iterdir()) == []


async def test_hostile_arguments_change_nothing_outside(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "out").symlink_to(tmp_path)
    (tmp_path / "secret").write_text("s3cr3t")
    paths = ["../../etc/passwd", "../secret", "out/secret", "a\0b", "x" * 100_000, "$(touch ../ran)", "out/new/file"]
    wanted: list[tuple[str, dict[str, Any] | str]] = []
    for path in paths:
        wanted += [("read", {"path": path}), ("edit", {"path": path, "edits": [{"old_text": "s", "new_text": "t"}]})]
    wanted += [("write", {"path": path, "content": "x"}) for path in paths if path.startswith((".", "out", "a", "x"))]
    wanted += [("bash", {"command": "x" * 5_000_000}), ("bash", {"command": "echo a\0; touch ../ran"})]
    async with serving(calls(*wanted, size=65_536), text("ok")) as (server, client):
        events = await run(worker(client, work))
    assert ending(events).outcome == "completed"
    for result in tool_messages(server.requests[1]):
        assert "s3cr3t" not in result["content"]
        assert len(result["content"]) < 5_000
    assert all(each.is_error for each in of(ToolEnd, events))
    assert (tmp_path / "secret").read_text() == "s3cr3t"
    assert sorted(each.name for each in tmp_path.rglob("*")) == ["out", "secret", "work"]


async def test_cancel_in_a_command_then_go_on_with_the_session(tmp_path: Path) -> None:
    work, store = tmp_path / "work", SessionStore(tmp_path / "sessions")
    work.mkdir()
    session = store.new(work, MODEL)
    events: list[AgentEvent] = []
    async with serving(calls(("bash", {"command": "echo $$; sleep 600"})), text("Gone on.")) as (server, client):
        subject = worker(client, work, session=session)
        async for event in subject.run("go"):
            events.append(event)
            if isinstance(event, ToolOutput):
                subject.cancel()
        assert ending(events).outcome == "cancelled"
        assert not Path(f"/proc/{int(of(ToolOutput, events)[0].text)}").exists()
        session.close()
        again = store.latest(work)
        resumed = worker(client, work, session=again)
        assert ending(await run(resumed, "and now")).text == "Gone on."
        again.close()
    (result,) = tool_messages(server.requests[1])
    assert "the user interrupted" in result["content"]
    check_history(resumed.history)


async def test_cancel_while_the_answer_comes(tmp_path: Path) -> None:
    async with serving(text("word " * 50), text("Next.")) as (_, client):
        subject = worker(client, tmp_path)
        events: list[AgentEvent] = []
        async for event in subject.run("go"):
            events.append(event)
            if len(of(TextDelta, events)) == 3:
                subject.cancel()
        assert ending(events).outcome == "cancelled"
        kept = subject.history[-1]
        assert isinstance(kept, AssistantMessage)
        assert kept.interrupted
        assert kept.text.startswith("word word ")
        assert ending(await run(subject, "and now")).text == "Next."


async def test_two_hundred_turns_over_http(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\n")
    # The same ids in each answer, as some services send them.
    answers: list[Answer] = [calls(("read", {"path": "a.txt", "offset": 1}))] * 200
    async with serving(*answers, text("Enough.")) as (server, client):
        subject = worker(client, tmp_path)
        end = ending(await run(subject))
    assert (end.outcome, end.turns, end.tool_calls) == ("completed", 201, 200)
    sent = [call["id"] for each in server.requests[-1]["messages"] for call in each.get("tool_calls", ())]
    assert len(set(sent)) == 200
    assert len(results(subject.history)) == 200


async def test_a_server_that_only_knows_errors_ends_the_run_in_its_own_words(tmp_path: Path) -> None:
    refused = web.Response(status=401, text='{"error": {"message": "bad key", "code": "invalid_api_key"}}')
    async with serving(refused) as (_, client):
        end = ending(await run(worker(client, tmp_path)))
    assert isinstance(end, RunEnd)
    assert end.error is not None
    assert (end.outcome, end.error.status) == ("failed", 401)
    assert "bad key" in end.error.detail


async def test_cancel_in_the_wait_before_a_retry(tmp_path: Path) -> None:
    busy = web.Response(status=503, headers={"retry-after": "100"}, text="{}")
    async with serving(busy, text("Next."), sleep=asyncio.sleep) as (_, client):
        subject = worker(client, tmp_path)
        events: list[AgentEvent] = []
        async with asyncio.timeout(60):
            async for event in subject.run("go"):
                events.append(event)
                if isinstance(event, Retrying):
                    asyncio.get_running_loop().call_later(0.02, subject.cancel)
        assert ending(events).outcome == "cancelled"
        assert ending(await run(subject, "and now")).text == "Next."
