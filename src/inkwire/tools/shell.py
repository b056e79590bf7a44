"""A shell line in; its output, and how it ended, out: the tool `bash`."""

from __future__ import annotations

import codecs
import shutil
import signal
from typing import Annotated

from inkwire.errors import ToolError
from inkwire.tools.base import ToolContext, ToolResult, tool
from inkwire.tools.output import HeadAndTail
from inkwire.tools.process import Ended, child_environment, run_process
from inkwire.tools.sandbox import sandboxed

__all__ = ["bash"]

_DEFAULT_SECONDS = 120
_MAX_SECONDS = 3_600
_MAX_BYTES = 50_000
_MAX_LINES = 2_000
_MAX_COMMAND_BYTES = 100_000


@tool(writes=True, command="command", max_output_bytes=_MAX_BYTES + 2_000, max_output_lines=_MAX_LINES + 20)
async def bash(
    context: ToolContext,
    command: Annotated[str, "The line to run, in the workspace."],
    timeout_seconds: Annotated[int, "Stop it after so long; at most 3600."] = _DEFAULT_SECONDS,
) -> ToolResult:
    """Run a shell line in the workspace and get its output and exit code.

    There is no terminal and no standard input: nothing can ask back. What still runs when the line ends is stopped.
    """
    if not 1 <= timeout_seconds <= _MAX_SECONDS:
        raise ToolError(f"timeout_seconds is between 1 and {_MAX_SECONDS}; received {timeout_seconds}")
    if "\0" in command:
        raise ToolError("the command contains a NUL character")
    if len(command.encode("utf-8", "replace")) > _MAX_COMMAND_BYTES:
        raise ToolError(f"the command is longer than {_MAX_COMMAND_BYTES} bytes; write a script file and run that")
    environment = child_environment(context.environ)
    output = HeadAndTail(_MAX_BYTES, _MAX_LINES, context.overflow_directory)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def take(data: bytes) -> None:
        output.feed(data)
        if text := decoder.decode(data):
            context.emit(text)

    line = [*_shell(environment.get("PATH")), command]
    if context.sandbox:
        line = sandboxed(line, context.workspace, environment, read_only=context.read_only)
    elif context.read_only:
        raise ToolError("nothing may be changed: the agent is in read-only mode, and there is no sandbox")
    try:
        ended = await run_process(
            line,
            directory=context.workspace,
            environment=environment,
            timeout_seconds=timeout_seconds,
            on_output=take,
        )
    except OSError as error:
        raise ToolError(f"the command cannot be started: {error.strerror}") from error
    finally:
        text = output.finish()
    return _result(text, ended, timeout_seconds)


def _shell(path: str | None) -> list[str]:
    shell = shutil.which("bash", path=path)
    return [shell, "--noprofile", "--norc", "-c"] if shell else ["/bin/sh", "-c"]


def _result(text: str, ended: Ended, timeout_seconds: int) -> ToolResult:
    notes: list[str] = []
    if ended.timed_out:
        notes.append(f"Stopped: it did not end within {timeout_seconds} seconds. It and its children are gone.")
    elif ended.signal is not None:
        notes.append(f"Ended by signal {_name(ended.signal)} (exit code {128 + ended.signal}).")
    elif ended.code:
        notes.append(f"Exit code {ended.code}.")
    if ended.left_behind:
        notes.append("Processes that it left in the background were stopped.")
    body = text.rstrip("\n")
    if not notes:
        return ToolResult(body or "(no output; exit code 0)")
    failed = ended.timed_out or ended.signal is not None or bool(ended.code)
    return ToolResult("\n".join(filter(None, [body, *notes])), is_error=failed)


def _name(number: int) -> str:
    try:
        return f"{number} ({signal.Signals(number).name})"
    except ValueError:
        return str(number)
