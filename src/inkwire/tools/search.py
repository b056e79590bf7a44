"""A place and a pattern in; names or lines out: the tools `list`, `glob` and `grep`.

`glob` and `grep` honour .gitignore and never look into .git; `list` shows one directory as it is.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Annotated

from inkwire.errors import ToolError
from inkwire.tools import python_grep
from inkwire.tools.base import ToolContext, ToolResult, tool
from inkwire.tools.globs import Glob, walk
from inkwire.tools.paths import reading, relative, resolve
from inkwire.tools.process import child_environment, run_process

__all__ = ["glob", "grep", "list_directory"]

_MAX_ENTRIES = 1_000
_MAX_WALKED = 500_000
_MAX_MATCHES = 1_000
_MAX_COLUMNS = 500
_MAX_COLLECTED_BYTES = 2_000_000
_SECONDS = 60


@tool(name="list", writes=False, accesses=lambda arguments, context: reading(arguments.get("path", "."), context))
def list_directory(
    context: ToolContext, path: Annotated[str, "The directory, relative to the workspace."] = "."
) -> ToolResult:
    """List a directory: one name a line, directories with a slash."""
    target = resolve(path, context)
    try:
        with os.scandir(target) as entries:
            names = sorted(f"{each.name}/" if each.is_dir() else each.name for each in entries)
    except FileNotFoundError:
        raise ToolError(f"{path} does not exist") from None
    except NotADirectoryError:
        raise ToolError(f"{path} is a file, no directory; read it instead") from None
    except OSError as error:
        raise ToolError(f"{path} cannot be listed: {error.strerror}") from error
    if not names:
        return ToolResult("(the directory is empty)")
    return ToolResult("\n".join(_at_most(names, _MAX_ENTRIES, "entries")))


@tool(writes=False, accesses=lambda arguments, context: reading(arguments.get("path", "."), context))
def glob(
    context: ToolContext,
    pattern: Annotated[str, "Such as `*.py` or `src/**/test_*.py`; without a slash it looks in all directories."],
    path: Annotated[str, "Where to look, relative to the workspace."] = ".",
) -> ToolResult:
    """Find files by name. What .gitignore leaves out is not found."""
    top = _directory(path, context)
    wanted = Glob(pattern if "/" in pattern else f"**/{pattern}")
    prefix = "" if top == context.workspace else f"{relative(top, context)}/"
    found = (each for each in islice(walk(top, above=context.workspace), _MAX_WALKED) if not each.is_directory)
    names = list(islice((f"{prefix}{each.path}" for each in found if wanted.matches(each.path)), _MAX_ENTRIES + 1))
    if not names:
        return ToolResult(f"(no file below {path} fits {pattern})")
    return ToolResult("\n".join(_at_most(names, _MAX_ENTRIES, "files")))


@tool(
    writes=False,
    accesses=lambda arguments, context: reading(arguments.get("path", "."), context),
    time_limit_seconds=_SECONDS + 10,
)
async def grep(
    context: ToolContext,
    pattern: Annotated[str, "A regular expression, looked for in each line."],
    path: Annotated[str, "A file or directory, relative to the workspace."] = ".",
    glob: Annotated[str | None, "Only files of such names: `*.py`, `src/**/*.ts`."] = None,
    ignore_case: bool = False,
    literal: Annotated[bool, "The pattern is plain text."] = False,
    context_lines: Annotated[int, "Lines to show around each match."] = 0,
    limit: Annotated[int, "At most so many lines of output."] = 200,
) -> ToolResult:
    """Search file contents: `path:line:text` for each match. What .gitignore leaves out is not searched."""
    if "\0" in pattern or "\0" in (glob or ""):
        raise ToolError("the pattern contains a NUL character")
    if not 0 <= context_lines <= 50 or not 1 <= limit <= _MAX_MATCHES:
        raise ToolError(f"context_lines is between 0 and 50, limit between 1 and {_MAX_MATCHES}")
    if len(pattern) > 10_000:
        raise ToolError(f"the pattern has {len(pattern)} characters; at most 10000 are taken")
    target = resolve(path, context)
    if not target.exists():
        raise ToolError(f"{path} does not exist")
    options = {
        "pattern": pattern,
        "top": str(target),
        "workspace": str(context.workspace),
        "shown": relative(target, context),
        "glob": glob,
        "ignore_case": ignore_case,
        "literal": literal,
        "context": context_lines,
        "limit": limit,
    }
    program = shutil.which("rg", path=context.environ.get("PATH"))
    command = _ripgrep(program, options) if program else _own(options)
    return await _searched(command, context, limit, pattern)


def _ripgrep(program: str, options: Mapping[str, object]) -> list[str]:
    command = [
        program,
        *("--no-config", "--no-require-git", "--hidden", "--glob=!.git", "--color=never", "--no-heading"),
        *("--with-filename", "--line-number", "--no-messages", "--sort=path", f"--max-columns={_MAX_COLUMNS}"),
        *("--max-columns-preview", f"--context={options['context']}"),
    ]
    if options["ignore_case"]:
        command.append("--ignore-case")
    if options["literal"]:
        command.append("--fixed-strings")
    if options["glob"]:
        command.append(f"--glob={options['glob']}")
    return [*command, "--regexp", str(options["pattern"]), "--", str(options["shown"])]


def _own(options: Mapping[str, object]) -> list[str]:
    # -P: nothing in the workspace is imported, whatever it is called.
    return [sys.executable, "-P", str(python_grep.__file__), json.dumps(options)]


async def _searched(command: list[str], context: ToolContext, limit: int, pattern: str) -> ToolResult:
    collected = bytearray()

    def take(data: bytes) -> None:
        if len(collected) < _MAX_COLLECTED_BYTES:
            collected.extend(data)

    environment = {**child_environment(context.environ), "PYTHONIOENCODING": "utf-8:replace"}
    try:
        ended = await run_process(
            command,
            directory=context.workspace,
            environment=environment,
            timeout_seconds=_SECONDS,
            on_output=take,
        )
    except OSError as error:
        raise ToolError(f"the search cannot be started: {error.strerror}") from error
    lines = bytes(collected).decode("utf-8", "replace").removesuffix("\n").split("\n")
    if ended.timed_out:
        raise ToolError(f"the search took longer than {_SECONDS} seconds; make the pattern or the place narrower")
    if ended.code == 1 and not collected:
        return ToolResult(f"(no line fits {pattern[:200]})")
    if ended.code != 0:
        raise ToolError("\n".join(lines[:20])[:2_000] or f"the search failed with exit code {ended.code}")
    return ToolResult("\n".join(_at_most([line.removeprefix("./") for line in lines], limit, "lines")))


def _directory(path: str, context: ToolContext) -> Path:
    top = resolve(path, context)
    if not top.is_dir():
        raise ToolError(f"{path} is no directory" if top.exists() else f"{path} does not exist")
    return top


def _at_most(found: list[str], limit: int, what: str) -> list[str]:
    if len(found) <= limit:
        return found
    return [*found[:limit], f"(more than {limit} {what}; make it narrower)"]
