"""A command in; its output as it comes, and how it ended, out. Nothing of it survives.

The command leads a process group of its own, in a session of its own: it has no terminal to ask for a password on, and
stopping it stops all its children. It is over when the command itself ends, not when its output does: a child left in
the background holds the pipe open, so the group is killed and the pipe drained for a moment only. A guard in the group
waits on a pipe from us: when we die, whatever killed us, it kills the group.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import uuid
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

__all__ = ["Ended", "child_environment", "run_process"]

_DRAIN_SECONDS = 0.5
_TERM_GRACE_SECONDS = 0.3
_READ_BYTES = 65536
_PF_EXITING = 0x4
"""Linux: the process is shutting down (include/linux/sched.h)."""
_PASSES = 5
_GUARD_NAME = "inkwire-guard"
_GUARD = (
    "/bin/sh",
    "-c",
    'exec 3<&0 </dev/null; { read -r _ <&3; kill -KILL 0; } & exec "$@" 3<&-',
    _GUARD_NAME,
)
"""Becomes the command; what stays of it is the guard, which reads until our end of the pipe is closed."""
_SECRET = re.compile(
    r"API_?KEY|ACCESS_KEY|PRIVATE_KEY|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|TOKEN(_|$)|(^|_)(KEY|PAT|PWD_FILE)$",
    re.IGNORECASE,
)
_MARK = "INKWIRE_CALL"
"""A variable that every descendant inherits, so that those which left the group are found, too."""
# Nothing waits for a keyboard or shows one screen at a time.
_QUIET = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "false",
    "EDITOR": "false",
    "VISUAL": "false",
    "GIT_ASKPASS": "false",
    "SSH_ASKPASS": "false",
    "GCM_INTERACTIVE": "never",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
    "NO_COLOR": "1",
    "TERM": "dumb",
    "AI_AGENT": "inkwire",
}


class Ended(msgspec.Struct, frozen=True):
    """How a process ended."""

    code: int | None
    """The exit code; None when a signal ended it."""
    signal: int | None = None
    timed_out: bool = False
    left_behind: bool = False
    """Children of it were still running and were killed."""


def child_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a child: no keys or tokens, no pager, no prompt."""
    kept = {name: value for name, value in environ.items() if not _SECRET.search(name)}
    return {**kept, **_QUIET}


async def run_process(
    command: Sequence[str],
    *,
    directory: Path,
    environment: Mapping[str, str],
    timeout_seconds: float,
    on_output: Callable[[bytes], None],
) -> Ended:
    """Run to the end, the time limit, or a cancellation; afterwards the whole group is dead. Raises `OSError`."""
    mark = uuid.uuid4().hex
    reading, writing = os.pipe()
    guarded, alive = os.pipe()
    output = _Output(reading, on_output)
    process: asyncio.subprocess.Process | None = None
    is_killed = False
    try:
        try:
            process = await _start(command, directory, {**environment, _MARK: mark}, guarded, writing)
        finally:
            os.close(writing)
            os.close(guarded)
        timed_out = await _wait(process, timeout_seconds)
        is_killed, left_behind = True, _kill_all(process.pid, mark)
        await output.drain(_DRAIN_SECONDS)
        code = process.returncode or 0
        return Ended(code if code >= 0 else None, -code if code < 0 else None, timed_out, left_behind and not timed_out)
    finally:
        os.close(alive)
        output.close()
        if process is not None and not is_killed:
            _kill_all(process.pid, mark)
            await _whatever_comes(process.wait())


async def _start(
    command: Sequence[str], directory: Path, environment: Mapping[str, str], guarded: int, output: int
) -> asyncio.subprocess.Process:
    starting = asyncio.create_subprocess_exec(
        *_GUARD,
        *command,
        cwd=directory,
        env=dict(environment),
        stdin=guarded,
        stdout=output,
        stderr=output,
        start_new_session=True,
    )
    process: asyncio.subprocess.Process | None = None

    async def started() -> None:
        nonlocal process
        process = await starting

    try:
        # A cancellation in the middle would lose the process without its number: let it start, then end it.
        await _whatever_comes(started())
    except asyncio.CancelledError:
        if process is not None:
            _kill_all(process.pid, environment[_MARK])
            await _whatever_comes(process.wait())
        raise
    assert process is not None
    return process


async def _whatever_comes(waiting: Coroutine[Any, Any, Any]) -> None:
    """Wait to the end, however often this is cancelled; the cancellation is raised afterwards."""
    task = asyncio.ensure_future(waiting)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        task.cancelled() or task.exception()
        raise cancelled
    task.result()


async def _wait(process: asyncio.subprocess.Process, timeout_seconds: float) -> bool:
    """Until it ends or its time is up; True for the latter, and then it is dead."""
    try:
        async with asyncio.timeout(timeout_seconds):
            await process.wait()
        return False
    except TimeoutError:
        _signal_group(process.pid, signal.SIGTERM)
    try:
        async with asyncio.timeout(_TERM_GRACE_SECONDS):
            await process.wait()
    except TimeoutError:
        _signal_group(process.pid, signal.SIGKILL)
        await process.wait()
    return True


def _kill_all(leader: int, mark: str) -> bool:
    """Kill the group, and whoever left it but bears the mark; whether there was anybody but the guard."""
    marked = _marked(mark, leader)
    found = any(_is_at_work(each) for each in marked)
    _signal_group(leader, signal.SIGKILL)
    for _ in range(_PASSES):
        for each in marked:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(each, signal.SIGKILL)
        marked = _marked(mark, leader)
        if not marked:
            break
    return found


def _marked(mark: str, leader: int) -> set[int]:
    """The other processes with the mark in their environment, where the system shows it (Linux), zombies left out.

    A process that is about to become another program shows no environment: then its group tells.
    """
    entry = f"{_MARK}={mark}".encode()
    found: set[int] = set()
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            process, environment = int(path.parent.name), path.read_bytes()
            if entry in environment or (not environment and _group_if_alive(process) == leader):
                found.add(process)
    return found - {leader}


def _is_at_work(process: int) -> bool:
    """Whether it is a process that still runs, and not the guard."""
    try:
        command = Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False
    return _group_if_alive(process) is not None and _GUARD_NAME.encode() not in command


def _group_if_alive(process: int) -> int | None:
    """Its process group; None when it has ended or is on its way out (proc(5), /proc/PID/stat)."""
    try:
        fields = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    state, group, flags = fields[0], int(fields[2]), int(fields[6])
    return None if state in (b"Z", b"X") or flags & _PF_EXITING else group


def _signal_group(leader: int, number: signal.Signals) -> bool:
    try:
        os.killpg(leader, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


class _Output:
    """Reads a pipe as it fills, without a task."""

    def __init__(self, descriptor: int, on_output: Callable[[bytes], None]) -> None:
        self._descriptor = descriptor
        self._on_output = on_output
        self._ended = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._read)

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, _READ_BYTES)
        except BlockingIOError:
            return
        if data:
            self._on_output(data)
        else:
            self._loop.remove_reader(self._descriptor)
            self._ended.set()

    async def drain(self, seconds: float) -> None:
        """Until the pipe ends; not for ever, for somebody may have taken it out of the group."""
        try:
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        except TimeoutError:
            pass

    def close(self) -> None:
        """Read no more."""
        self._loop.remove_reader(self._descriptor)
        os.close(self._descriptor)
