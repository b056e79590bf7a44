"""bash: what the model is told, and that nothing of a command survives."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from inkwire.tools.process import child_environment
from inkwire.tools.shell import bash
from tests.tools.calling import context, refusal, use


def is_alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def gone(pid: int) -> bool:
    """Whether it is gone, at the latest soon."""
    for _ in range(200):
        if not is_alive(pid):
            return True
        await asyncio.sleep(0.01)
    return False


async def test_output_and_exit_code(tmp_path: Path) -> None:
    result = await use(bash, tmp_path, command="echo out; echo err >&2; exit 3")
    assert result.text == "out\nerr\nExit code 3."
    assert result.is_error
    assert (await use(bash, tmp_path, command="true")).text == "(no output; exit code 0)"
    assert (await use(bash, tmp_path, command="pwd")).text == str(tmp_path.resolve())


async def test_a_signal_is_told(tmp_path: Path) -> None:
    result = await use(bash, tmp_path, command="kill -9 $$")
    assert "signal 9 (SIGKILL)" in result.text
    assert "137" in result.text


async def test_there_is_no_input_and_no_terminal(tmp_path: Path) -> None:
    result = await use(bash, tmp_path, command="cat; tty; (: </dev/tty) 2>&1; echo $PAGER $GIT_TERMINAL_PROMPT")
    assert "not a tty" in result.text
    assert result.text.endswith("cat 0")


async def test_keys_do_not_reach_the_child(tmp_path: Path) -> None:
    secret = dict.fromkeys(
        ["OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "my_secret", "DB_PASSWORD", "AWS_ACCESS_KEY_ID"],
        "s3cr3t",
    )
    result = await use(bash, context(tmp_path, environ={**os.environ, **secret, "PLAIN": "seen"}), command="env")
    assert "s3cr3t" not in result.text
    assert "PLAIN=seen" in result.text
    assert "HOME" in child_environment({"HOME": "/", "KEYBOARD": "de", "TOKENIZERS_PARALLELISM": "1"})


async def test_the_time_limit_kills_the_children(tmp_path: Path) -> None:
    result = await use(bash, tmp_path, command="sleep 600 & echo $!; trap '' TERM; wait; sleep 600", timeout_seconds=1)
    assert "did not end within 1 seconds" in result.text
    assert await gone(int(result.text.splitlines()[0]))


async def test_a_background_child_does_not_hold_the_call(tmp_path: Path) -> None:
    async with asyncio.timeout(60):
        result = await use(bash, tmp_path, command="sleep 600 & echo $!")
    assert "background were stopped" in result.text
    assert not result.is_error
    assert await gone(int(result.text.splitlines()[0]))


async def test_a_child_that_leaves_the_group_is_found(tmp_path: Path) -> None:
    result = await use(bash, tmp_path, command="setsid -f sh -c 'echo $$ > pid; exec sleep 600'; sleep 0.2; cat pid")
    assert await gone(int(result.text.splitlines()[0]))


async def test_a_cancelled_call_leaves_no_process(tmp_path: Path) -> None:
    task = asyncio.create_task(use(bash, tmp_path, command="sleep 600 & echo $! > pid; sleep 601"))
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await gone(int((tmp_path / "pid").read_text()))


async def test_a_call_cancelled_while_it_starts_leaves_no_process(tmp_path: Path) -> None:
    for steps in range(12):
        task = asyncio.create_task(use(bash, tmp_path, command=f"echo $$ > pid{steps}; sleep 600"))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    for file in tmp_path.glob("pid*"):
        if text := file.read_text():
            assert await gone(int(text))


async def test_a_command_dies_with_the_program_that_ran_it(tmp_path: Path) -> None:
    code = (
        "import asyncio, pathlib, sys\n"
        "from inkwire.tools.shell import bash\n"
        "from inkwire.tools.base import ToolContext\n"
        "line = 'sleep 600 & echo $! > pid; sleep 601'\n"
        "asyncio.run(bash.run({'command': line}, ToolContext(pathlib.Path(sys.argv[1]))))\n"
    )
    program = await asyncio.create_subprocess_exec(sys.executable, "-c", code, str(tmp_path))
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        await asyncio.sleep(0.01)
    program.kill()
    await program.wait()
    assert await gone(int((tmp_path / "pid").read_text()))


async def test_long_output_keeps_head_and_tail_and_the_whole_in_a_file(tmp_path: Path) -> None:
    place = context(tmp_path, overflow_directory=tmp_path / "kept")
    result = await use(bash, place, command="seq 1 200000")
    assert result.text.startswith("1\n2\n")
    assert result.text.endswith("199999\n200000")
    assert len(result.text) < 52_000
    (kept,) = (tmp_path / "kept").iterdir()
    assert str(kept) in result.text
    assert kept.read_text() == "".join(f"{n}\n" for n in range(1, 200_001))
    assert kept.stat().st_mode & 0o777 == 0o600


async def test_output_is_shown_while_it_comes(tmp_path: Path) -> None:
    shown: list[str] = []
    await use(bash, context(tmp_path, emit=shown.append), command="printf 'h\\303'; sleep 0.1; printf '\\251llo'")
    assert "".join(shown) == "héllo"


async def test_bytes_that_are_no_text_are_replaced(tmp_path: Path) -> None:
    assert (await use(bash, tmp_path, command="printf 'a\\377b'")).text == "a\ufffdb"


async def test_hostile_arguments_are_refused_in_words(tmp_path: Path) -> None:
    assert "NUL" in await refusal(bash, tmp_path, command="echo a\0b")
    assert "longer" in await refusal(bash, tmp_path, command="echo " + "x" * 5_000_000)
    assert "between 1 and 3600" in await refusal(bash, tmp_path, command="true", timeout_seconds=0)
    assert "read-only" in await refusal(bash, context(tmp_path, read_only=True), command="true")


async def test_without_bubblewrap_the_sandbox_refuses(tmp_path: Path) -> None:
    place = context(tmp_path, sandbox=True, environ={"PATH": "/nonexistent"})
    assert "bwrap" in await refusal(bash, place, command="true")


def _sandbox_works() -> bool:
    if shutil.which("bwrap") is None:
        return False
    probe = ["bwrap", "--ro-bind", "/", "/", "--unshare-all", "true"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not _sandbox_works(), reason="no working bubblewrap here")
async def test_the_sandbox_keeps_writes_in_the_workspace_and_has_no_network(tmp_path: Path) -> None:
    work, home = tmp_path / "work", tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id").write_text("private")
    work.mkdir()
    place = context(work, sandbox=True, environ={**os.environ, "HOME": str(home)})
    result = await use(
        bash, place, command=f"echo in > inside; echo out > {tmp_path}/outside; ls {home}/.ssh; ls /proc | wc -l"
    )
    assert (work / "inside").read_text() == "in\n"
    assert not (tmp_path / "outside").exists()
    assert "id" not in result.text.splitlines()
    offline = await use(bash, place, command="exec 3<>/dev/tcp/127.0.0.1/1 2>/dev/null; cat /proc/net/dev | wc -l")
    assert offline.text.splitlines()[-1] == "3"
    read_only = context(work, sandbox=True, read_only=True)
    assert (await use(bash, read_only, command="echo x > inside")).is_error
    assert (work / "inside").read_text() == "in\n"
