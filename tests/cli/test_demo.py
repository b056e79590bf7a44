"""`inkwire demo`: a list, a walk, a recording; in a terminal one key a step."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

from inkwire.demo.scenarios import SCENARIOS
from inkwire.recording import read_recording
from tests.cli.command import COMMAND, environment, inkwire


def test_alone_it_lists_the_scenarios(tmp_path: Path) -> None:
    done = inkwire("demo", home=tmp_path, LANG="C.UTF-8")
    assert done.code == 0
    assert all(name in done.out for name in SCENARIOS)


def test_without_a_terminal_it_shows_all_steps_and_says_what_it_is(tmp_path: Path) -> None:
    done = inkwire("demo", "read-readme", home=tmp_path, LANG="C.UTF-8")
    assert done.code == 0
    assert "nothing is executed" in done.out
    assert "8/8" in done.out
    assert "may run" in done.out
    assert "\x1b" not in done.out


def test_the_language_is_the_environments_or_the_flags(tmp_path: Path) -> None:
    assert "循环得到" in inkwire("demo", "user-cancel", home=tmp_path, LANG="zh_CN.UTF-8").out
    assert "循环得到" in inkwire("demo", "user-cancel", "--lang", "zh", home=tmp_path, LANG="C.UTF-8").out
    assert "the loop" in inkwire("demo", "user-cancel", "--lang", "en", home=tmp_path, LANG="zh_CN.UTF-8").out
    assert "the loop" in inkwire("demo", "user-cancel", home=tmp_path, LANG="zh_CN.UTF-8", LC_ALL="C.UTF-8").out


def test_its_recording_can_be_decoded(tmp_path: Path) -> None:
    recording = inkwire("demo", "cut-at-limit", "--recording", home=tmp_path).out
    assert len(read_recording(recording.encode())) == 1
    done = inkwire("decode", "-", home=tmp_path, stdin=recording)
    assert done.code == 0
    assert '"max_tokens"' in done.out.splitlines()[-1]


def test_an_unknown_scenario_is_told_with_those_there_are(tmp_path: Path) -> None:
    done = inkwire("demo", "nonsense", home=tmp_path)
    assert done.code == 2
    assert "read-readme" in done.err


def walk(home: Path, *keys: str) -> tuple[int, str]:
    """What the terminal got, when these keys are pressed one after the other as each is asked for."""
    ours, theirs = pty.openpty()
    variables = {**environment(home, LANG="C.UTF-8"), "TERM": "xterm"}
    process = subprocess.Popen(
        [*COMMAND, "demo", "user-cancel"], stdin=theirs, stdout=theirs, stderr=theirs, env=variables
    )
    os.close(theirs)
    said, left = b"", list(keys)
    try:
        while data := _read(ours):  # ends when the command does: its side of the terminal is closed
            said += data
            if left and said.count(b"q quit") > len(keys) - len(left):
                os.write(ours, left.pop(0).encode())
        return process.wait(30), said.decode()
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other side is closed
        return b""


def test_in_a_terminal_enter_is_the_next_step_and_q_the_end(tmp_path: Path) -> None:
    code, said = walk(tmp_path, "\r", "q")
    assert code == 0
    assert "2/5" in said
    assert "3/5" not in said


def test_in_a_terminal_a_shows_the_rest(tmp_path: Path) -> None:
    code, said = walk(tmp_path, "a")
    assert code == 0
    assert "5/5" in said
    assert "\x1b[" in said


def test_a_wrong_name_is_asked_about_in_lines_that_can_be_read(tmp_path: Path) -> None:
    done = inkwire("demo", "read_readme", home=tmp_path)
    assert done.code == 2
    assert "there is no 'read_readme'; did you mean read-readme?\n" in done.err
    assert all(name in done.err for name in SCENARIOS)
    assert max(map(len, done.err.splitlines())) <= 100
    assert "did you mean" not in inkwire("demo", "nope", home=tmp_path).err
