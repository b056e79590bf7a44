"""Sessions: private, append-only, and valid after any crash."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from inkwire.agent.agent import Agent
from inkwire.agent.events import Compaction, MessageRecorded
from inkwire.agent.session import Session, SessionStore
from inkwire.errors import ConfigurationError
from inkwire.messages import ImagePart, Message, OpaquePart, ReasoningPart, TextPart, ToolResultMessage, UserMessage
from tests.agent.running import agent, check_history, ending, results, run
from tests.agent.test_loop import echo
from tests.scripted_model import ScriptedModel, call, message


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / "sessions")


def resumed(session: Session, *answers: object) -> Agent:
    """An agent that goes on with a session."""
    return agent(ScriptedModel(*answers), echo, session=session)  # type: ignore[arg-type]


async def test_a_session_holds_what_was_recorded(store: SessionStore, tmp_path: Path) -> None:
    session = store.new(tmp_path, "test/scripted")
    assert list(store.root.glob("**/*")) == []
    subject = resumed(session, message(call("echo", {"text": "a"})), message("done"))
    await run(subject, "do it")
    session.close()
    again = store.latest(tmp_path)
    assert again.messages == subject.history
    assert (again.id, again.model, again.damaged_lines) == (session.id, "test/scripted", 0)
    assert stat.S_IMODE(session.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(session.path.parent.stat().st_mode) == 0o700
    assert [info.title for info in store.infos(tmp_path)] == ["do it"]


def test_every_kind_of_part_comes_back_equal(store: SessionStore, tmp_path: Path) -> None:
    messages: list[Message] = [
        UserMessage((TextPart("look"), ImagePart("image/png", b"\x89PNG\xff"))),
        message(
            ReasoningPart("hm", {"signature": "x"}), OpaquePart("search", {"a": [1, None]}), call("echo", '{"a": ')
        ),
        ToolResultMessage("call_1", "echo", (TextPart("é漢\u2028"), ImagePart(url="http://x/y")), True),
    ]
    session = store.new(tmp_path)
    for each in messages:
        session.append(MessageRecorded(each))
    session.close()
    assert list(store.open(session.id).messages) == messages


def test_half_a_surrogate_is_kept_out_of_the_file(store: SessionStore, tmp_path: Path) -> None:
    session = store.new(tmp_path)
    session.append(MessageRecorded(UserMessage.of("a\ud800b")))
    session.close()
    assert store.open(session.id).messages == (UserMessage.of("a\ufffdb"),)


async def test_cut_anywhere_the_file_resumes_valid(store: SessionStore, tmp_path: Path) -> None:
    session = store.new(tmp_path)
    two = message("t", call("echo", {"text": "a"}, "c1"), call("echo", {"text": "b"}, "c2"))
    await run(resumed(session, two, message("done")), "do it")
    session.close()
    whole = session.path.read_bytes()
    first_line = whole.index(b"\n") + 1
    for cut in range(first_line, len(whole), 7):
        session.path.write_bytes(whole[:cut])
        again = store.open(session.id)
        subject = resumed(again, message("Continued."))
        assert ending(await run(subject, "and now")).outcome == "completed"
        again.close()
        assert store.open(session.id).messages == subject.history
        assert len([line for line in whole[:cut].splitlines() if line.endswith(b"}}")]) <= len(subject.history)


def test_a_damaged_line_costs_itself_alone(store: SessionStore, tmp_path: Path) -> None:
    session = store.new(tmp_path)
    for text in ("a", "b", "c"):
        session.append(MessageRecorded(UserMessage.of(text)))
    session.close()
    lines = session.path.read_bytes().split(b"\n")
    lines[2] = b"\xff\x00 not json"
    session.path.write_bytes(b"\n".join(lines))
    again = store.open(session.id)
    assert ([each.text for each in again.messages if isinstance(each, UserMessage)], again.damaged_lines) == (
        ["a", "c"],
        1,
    )


def test_a_compaction_is_replayed(store: SessionStore, tmp_path: Path) -> None:
    session = store.new(tmp_path)
    for text in ("a", "b", "c"):
        session.append(MessageRecorded(UserMessage.of(text)))
    session.append(Compaction(UserMessage.of("s"), 2, 100, 10))
    session.close()
    assert store.open(session.id).messages == (UserMessage.of("s"), UserMessage.of("c"))


@pytest.mark.parametrize(
    ("damage", "kept"),
    [
        (
            lambda line: line.replace(b'"message"', b'"massage"'),
            ["s", "m2", "m3"],
        ),  # it was a message when it was written
        (lambda line: b"\x00" * len(line), ["s", "m2", "m3"]),
        (lambda line: line[:-9], ["s", "m3"]),  # torn: nobody ever had it, so the place counts without it
    ],
    ids=["changed", "zeroed", "torn"],
)
def test_a_damaged_line_before_a_compaction_moves_no_other(
    store: SessionStore, tmp_path: Path, damage: Callable[[bytes], bytes], kept: list[str]
) -> None:
    session = store.new(tmp_path)
    for text in ("m0", "m1", "m2", "m3"):
        session.append(MessageRecorded(UserMessage.of(text)))
    session.append(Compaction(UserMessage.of("s"), 2, 100, 10))
    session.close()
    lines = session.path.read_bytes().split(b"\n")
    lines[2] = damage(lines[2])
    session.path.write_bytes(b"\n".join(lines))
    again = store.open(session.id)
    assert [each.text for each in again.messages if isinstance(each, UserMessage)] == kept
    assert again.damaged_lines == 1


def test_sessions_are_found_by_directory_and_id(store: SessionStore, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    made: list[Session] = []
    for name in ("a", "b", "a"):
        session = store.new(tmp_path / name)
        session.append(MessageRecorded(UserMessage.of(name)))
        session.close()
        os.utime(session.path, (1_000 + len(made), 1_000 + len(made)))
        made.append(session)
    assert store.latest(tmp_path / "a").id == made[2].id
    assert store.open(made[1].id[-6:]).id == made[1].id
    assert [info.id for info in store.infos()] == [each.id for each in reversed(made)]
    with pytest.raises(ConfigurationError, match="not unique"):
        store.open("20")
    with pytest.raises(ConfigurationError, match="no session"):
        store.open("zz")
    with pytest.raises(ConfigurationError, match="no session"):
        store.latest(tmp_path)


def test_a_fork_goes_its_own_way(store: SessionStore, tmp_path: Path) -> None:
    session = store.new(tmp_path)
    session.append(MessageRecorded(UserMessage.of("a")))
    forked = store.fork(store.open(session.id))
    forked.append(MessageRecorded(UserMessage.of("b")))
    session.append(MessageRecorded(UserMessage.of("c")))
    for each in (session, forked):
        each.close()
    assert store.open(forked.id).messages == (UserMessage.of("a"), UserMessage.of("b"))
    assert store.open(session.id).messages == (UserMessage.of("a"), UserMessage.of("c"))


def test_a_session_has_one_writer(store: SessionStore, tmp_path: Path) -> None:
    session = store.new(tmp_path)
    session.append(MessageRecorded(UserMessage.of("a")))
    with pytest.raises(ConfigurationError, match="in use"):
        store.open(session.id).append(MessageRecorded(UserMessage.of("b")))
    session.close()


def test_what_is_no_session_is_named(store: SessionStore, tmp_path: Path) -> None:
    path = store.root / "x" / "20.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("{}\n")
    with pytest.raises(ConfigurationError, match="first line"):
        store.open("20")
    path.write_text('{"type":"session","version":9,"id":"20","created":0,"workspace":"/"}\n')
    with pytest.raises(ConfigurationError, match="newer version"):
        store.open("20")


_VICTIM = """
import asyncio, sys
from pathlib import Path
from inkwire.agent.session import SessionStore
from tests.agent.running import agent
from tests.scripted_model import ScriptedModel, call, message
from inkwire.tools.builtin import BUILTIN

async def main(root, work):
    def answer(n):
        calls = [call("bash", {"command": "sleep 0.01"}, f"a{n}"), call("list", {}, f"b{n}")]
        return [lambda: asyncio.sleep(0.003), message(*calls)]

    answers = [answer(n) for n in range(1000)]
    session = SessionStore(Path(root)).new(Path(work))
    print(session.id, flush=True)
    await agent(ScriptedModel(*answers), *BUILTIN, workspace=work, session=session).run_to_end("go")

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.05, 0.11])
async def test_kill_9_in_mid_run_resumes_valid(store: SessionStore, tmp_path: Path, delay: float) -> None:
    root = Path(__file__).parent.parent.parent
    victim = subprocess.Popen(  # noqa: ASYNC220
        [sys.executable, "-c", _VICTIM, str(store.root), str(tmp_path)],
        cwd=root,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert victim.stdout is not None
    name = victim.stdout.readline().strip()
    while not list(store.root.glob("*/*.jsonl")):
        time.sleep(0.005)  # noqa: ASYNC251 - nothing else runs here
    time.sleep(delay)  # noqa: ASYNC251
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    victim.stdout.close()
    session = store.open(name)
    subject = resumed(session, message("Continued."))
    assert ending(await run(subject, "and now")).outcome == "completed"
    check_history(subject.history)
    session.close()
    assert all(each.text for each in results(subject.history))
