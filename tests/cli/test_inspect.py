"""`inkwire inspect` and its kin as a person uses them: an address is printed, the page is there, Ctrl-C ends it."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from inkwire.demo.scenarios import SCENARIOS, recording_of
from tests.cli.command import COMMAND, environment, inkwire
from tests.scripted_server import ScriptedServer

STREAMS = Path(__file__).parent.parent / "streams"


@contextmanager
def started(home: Path, *arguments: str, **variables: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and the address that it printed, on whichever output."""
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=home,
        env=environment(home, PYTHONUNBUFFERED="1", **variables),
    )
    try:
        assert process.stdout is not None
        url = ""
        while not url and (line := process.stdout.readline()):
            found = re.search(r"http://127\.0\.0\.1:\d+/\S+/", line)
            url = found[0] if found else ""
        assert url
        yield process, url
    finally:
        process.kill()
        process.communicate()


def get(url: str, path: str = "") -> str:
    address = urlsplit(url)
    assert address.port is not None
    connection = HTTPConnection("127.0.0.1", address.port, timeout=30)
    try:
        connection.request("GET", address.path + path)
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def all_steps(url: str) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = []
    number = 0
    while True:
        chunk = json.loads(get(url, f"chunk/0/{number}"))
        steps += chunk["steps"]
        number += bool(chunk["steps"] or chunk["done"])
        if chunk["done"]:
            return steps


def scenario(home: Path, name: str) -> str:
    path = home / f"{name}.jsonl"
    path.write_bytes(recording_of(name))
    return str(path)


def test_the_page_is_served_until_ctrl_c(tmp_path: Path) -> None:
    with started(tmp_path, "inspect", scenario(tmp_path, "read-readme")) as (process, url):
        assert '"names": ["read-readme.jsonl"]' in get(url)
        assert all_steps(url)[-1]["message"]["stop_reason"] == "tool_use"
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


def test_a_plain_body_is_taken_with_its_protocol_quirks_and_tolerance(tmp_path: Path) -> None:
    body = STREAMS / "chat" / "damage_tolerated" / "body.txt"
    with started(tmp_path, "inspect", str(body)) as (_, url):
        assert "error" in all_steps(url)[-1] or any("error" in step for step in all_steps(url))
    with started(tmp_path, "inspect", str(body), "--tolerant") as (_, url):
        assert all_steps(url)[-1]["message"]
    body = STREAMS / "chat" / "think_tags" / "body.txt"
    with started(tmp_path, "inspect", str(body), "--quirk", "think_tags") as (_, url):
        parts = all_steps(url)[-1]["message"]["parts"]
        assert parts[0]["type"] == "reasoning"


def test_one_file_for_a_bug_report(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = inkwire("inspect", scenario(tmp_path, "cut-at-limit"), "--export", str(page), home=tmp_path)
    assert done.code == 0
    assert "without a network" in done.out
    assert page.read_text().startswith("<!doctype html>")


def test_a_file_that_is_being_written_is_followed(tmp_path: Path) -> None:
    path = Path(scenario(tmp_path, "read-readme"))
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:4]))
    with started(tmp_path, "inspect", str(path), "--follow") as (_, url):
        first = json.loads(get(url, "chunk/0/0"))
        assert not first["done"]
        path.write_text("".join(lines))
        second = json.loads(get(url, "chunk/0/1"))
        assert second["steps"][-1]["message"]["stop_reason"] == "tool_use"


def test_what_cannot_be_shown_is_told(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    for arguments, words in [
        (("inspect", str(empty)), "no answer to look at"),
        (("inspect", str(tmp_path / "missing")), "does not exist"),
        (("inspect", str(empty), str(empty), str(empty)), "or two to compare"),
        (("inspect", scenario(tmp_path, "user-cancel"), "--export", str(tmp_path / "no" / "x.html")), "cannot write"),
        (("inspect", scenario(tmp_path, "user-cancel"), "--export", "x", "--follow"), "cannot --follow"),
        (("inspect", scenario(tmp_path, "user-cancel"), "--quirk", "nope"), "unknown quirk"),
    ]:
        done = inkwire(*arguments, home=tmp_path)
        assert done.code == 2
        assert words in done.err


def test_an_export_never_replaces_the_recording(tmp_path: Path) -> None:
    path = Path(scenario(tmp_path, "user-cancel"))
    before = path.read_bytes()
    link = tmp_path / "link"
    link.symlink_to(path)
    for page in (path, link):
        done = inkwire("inspect", str(path), "--export", str(page), home=tmp_path)
        assert done.code == 2
        assert "is the recording itself" in done.err
    assert path.read_bytes() == before


def test_two_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    body = STREAMS / "chat" / "read_readme" / "body.txt"
    for run in ("first", "second"):
        (tmp_path / run).mkdir()
        (tmp_path / run / "body.txt").write_bytes(body.read_bytes())
    page = tmp_path / "page.html"
    inkwire("inspect", "first/body.txt", "second/body.txt", "--export", str(page), home=tmp_path)
    assert "first/body.txt" in page.read_text("utf-8")
    assert "second/body.txt" in page.read_text("utf-8")


def test_a_port_in_use_is_told(tmp_path: Path) -> None:
    name = scenario(tmp_path, "user-cancel")
    with started(tmp_path, "inspect", name) as (_, url):
        done = inkwire("inspect", name, "--port", str(urlsplit(url).port), home=tmp_path)
    assert done.code == 1
    assert "cannot listen" in done.err


def test_the_demo_shows_all_scenarios_the_named_one_first(tmp_path: Path) -> None:
    with started(tmp_path, "demo", "cut-at-limit", "--web") as (process, url):
        page = get(url)
        assert all(f'"{name}"' in page for name in SCENARIOS)
        assert f'"first": {list(SCENARIOS).index("cut-at-limit")}' in page
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def test_the_page_is_there_while_the_agent_runs_and_stays_after_it(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Demo\n\nStart it with `make run`.\n")
    prompt = ("--inspect", "-p", "-m", "builtin/reader", "--no-session", "Read README.md: how does it start?")
    with started(tmp_path, *prompt) as (process, url):
        steps = all_steps(url)
        assert {step["call"] for step in steps} == {1, 2}
        assert [step["message"]["stop_reason"] for step in steps if "message" in step] == ["tool_use", "end_turn"]
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
        assert process.returncode == 0
    assert "make run" in out


def test_a_named_recording_is_kept(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Demo\n")
    record = tmp_path / "kept.jsonl"
    prompt = ("--inspect", "--record", str(record), "-p", "-m", "builtin/reader", "--no-session", "Read README.md")
    with started(tmp_path, *prompt) as (process, url):
        all_steps(url)
        process.send_signal(signal.SIGINT)
        process.wait(30)
    assert record.stat().st_size > 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_during_the_work_ends_all_of_it_and_leaves_nothing_behind(
    tmp_path: Path, number: signal.Signals
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    endless = {"status": 200, "headers": {"content-type": "text/event-stream"}, "after": "events_100ms_forever"}
    async with ScriptedServer([{**endless, "reads": [], "end": "hold"}], pace=1.0) as server:
        arguments = ("--inspect", "-p", "-m", "custom/x", "--base-url", server.url, "--no-session", "hello")

        def interrupted() -> str:
            with started(tmp_path, *arguments, TMPDIR=str(temporary)) as (process, url):
                assert list(temporary.iterdir())
                while not json.loads(get(url, "chunk/0/0"))["steps"]:
                    pass
                process.send_signal(number)
                out, _ = process.communicate(timeout=60)
                assert process.returncode == 130
                return out

        out = await asyncio.to_thread(interrupted)
    assert "Traceback" not in out
    assert "until Ctrl-C" not in out
    assert not list(temporary.iterdir())
