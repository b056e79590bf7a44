"""Calls of one message: side by side, in order, and only conflicting ones one after the other."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

from inkwire.agent.events import ToolEnd, ToolOutput, ToolStart
from inkwire.tools.base import Access, Tool, ToolContext, conflicts, tool
from inkwire.tools.edit import edit
from inkwire.tools.files import read
from tests.agent.running import agent, of, results, run
from tests.scripted_model import ScriptedModel, call, message


def edits(path: str, old: str, new: str, id: str) -> object:
    return call("edit", {"path": path, "edits": [{"old_text": old, "new_text": new}]}, id)


async def test_parallel_edits_of_one_file_lose_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"line {n};\n" for n in range(20)))
    calls = [edits("a.txt" if n % 2 else "./a.txt", f"line {n};", f"LINE {n};", f"c{n}") for n in range(20)]
    await run(agent(ScriptedModel(message(*calls), message("ok")), edit, workspace=tmp_path))  # type: ignore[arg-type]
    assert (tmp_path / "a.txt").read_text() == "".join(f"LINE {n};\n" for n in range(20))


async def test_calls_run_side_by_side_and_results_keep_their_order(tmp_path: Path) -> None:
    gate = asyncio.Event()

    @tool(writes=False)
    async def first() -> str:
        """Waits for the second."""
        await gate.wait()
        return "first"

    @tool(writes=False)
    async def second() -> str:
        """Lets the first go."""
        gate.set()
        return "second"

    model = ScriptedModel(message(call("first", {}, "c1"), call("second", {}, "c2")), message("ok"))
    events = await run(agent(model, first, second, workspace=tmp_path))
    assert [each.call_id for each in of(ToolEnd, events)] == ["c2", "c1"]
    assert [each.text for each in results(model.requests[1].messages)] == ["first", "second"]


async def test_a_writing_tool_without_accesses_runs_alone(tmp_path: Path) -> None:
    running: list[str] = []
    seen: list[int] = []

    @tool(writes=True)
    async def alone(name: str) -> str:
        """Counts who runs."""
        running.append(name)
        for _ in range(5):
            await asyncio.sleep(0)
        seen.append(len(running))
        running.remove(name)
        return name

    calls = [call("alone", {"name": str(n)}, f"c{n}") for n in range(4)]
    await run(agent(ScriptedModel(message(*calls), message("ok")), alone, workspace=tmp_path))
    assert seen == [1, 1, 1, 1]


def test_only_a_write_conflicts_and_only_with_what_it_touches() -> None:
    def access(mode: str, path: str | None) -> tuple[Access, ...]:
        return (Access("write" if mode == "w" else "read", path),)

    assert conflicts(access("w", "/a/b"), access("r", "/a/b"))
    assert conflicts(access("w", "/a/b"), access("r", "/a"))
    assert conflicts(access("w", "/a"), access("w", "/a/b"))
    assert conflicts(access("w", None), access("r", "/a"))
    assert not conflicts(access("r", "/a"), access("r", "/a"))
    assert not conflicts(access("w", "/a/b"), access("w", "/a/bc"))
    assert not conflicts(access("w", None), ())


async def test_a_tool_has_its_own_time_limit(tmp_path: Path) -> None:
    @tool(writes=False, time_limit_seconds=0.02)
    async def slow() -> str:
        """Never ends."""
        await asyncio.Event().wait()
        return ""

    model = ScriptedModel(message(call("slow", {})), message("ok"))
    await run(agent(model, slow, workspace=tmp_path))
    assert "did not end within 0.02 seconds" in results(model.requests[1].messages)[0].text


async def test_a_plain_function_runs_in_a_thread_and_may_show_output(tmp_path: Path) -> None:
    @tool(writes=False)
    def plain(context: ToolContext, number: int) -> dict[str, int]:
        """Doubles it."""
        context.emit("working")
        return {"double": number * 2}

    model = ScriptedModel(message(call("plain", {"number": 4})), message("ok"))
    events = await run(agent(model, plain, workspace=tmp_path))
    assert results(model.requests[1].messages)[0].text == '{"double":8}'
    assert [each.text for each in of(ToolOutput, events)] == ["working"]
    assert of(ToolStart, events)[0].arguments == {"number": 4}


async def test_what_a_thread_finished_is_told_though_it_was_to_stop(tmp_path: Path) -> None:
    began = threading.Event()

    @tool(writes=True)
    def slow() -> str:
        """Cannot be stopped."""
        began.set()
        time.sleep(0.1)
        return "written"

    of_agent = agent(ScriptedModel(message(call("slow", {}))), slow, workspace=tmp_path)
    async for event in of_agent.run("go"):
        if isinstance(event, ToolStart):
            await asyncio.to_thread(began.wait)
            of_agent.cancel()
    assert [each.text for each in results(of_agent.history)] == ["written"]


async def test_output_that_is_too_long_is_kept_whole_elsewhere(tmp_path: Path) -> None:
    @tool(writes=False)
    async def long() -> str:
        """Says much."""
        return "x" * 200_000

    model = ScriptedModel(message(call("long", {})), message("ok"))
    kept = tmp_path / "kept"
    await run(agent(model, long, workspace=tmp_path, overflow_directory=kept))
    text = results(model.requests[1].messages)[0].text
    assert len(text) < 51_000
    (path,) = kept.iterdir()
    assert str(path) in text
    assert path.read_text() == "x" * 200_000


async def test_an_empty_result_says_so(tmp_path: Path) -> None:
    @tool(writes=False)
    async def silent() -> None:
        """Says nothing."""

    model = ScriptedModel(message(call("silent", {})), message("ok"))
    await run(agent(model, silent, workspace=tmp_path))
    assert results(model.requests[1].messages)[0].text == "(no output)"


async def test_hostile_arguments_do_no_harm(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "secret").write_text("s3cr3t")
    (work / "out").symlink_to(tmp_path)
    paths = ["../secret", "out/secret", "/etc/passwd", "a\0b", "x" * 5_000_000, "$(touch ../pwned)", "`touch ../pwned`"]
    tools: list[Tool] = [read, edit]
    calls = [call("read", {"path": path}, f"r{n}") for n, path in enumerate(paths)]
    calls += [edits(path, "s3cr3t", "x", f"e{n}") for n, path in enumerate(paths)]  # type: ignore[misc]
    model = ScriptedModel(message(*calls), message("ok"))
    await run(agent(model, *tools, workspace=work))
    for result in results(model.requests[1].messages):
        assert result.is_error
        assert "s3cr3t" not in result.text
        assert len(result.text) < 2_000
    assert (tmp_path / "secret").read_text() == "s3cr3t"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["secret", "work"]
