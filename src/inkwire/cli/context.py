"""The process's environment, files and flags in, what every command needs of them out."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from inkwire.errors import ConfigurationError
from inkwire.providers.config import find_project_file, load, providers_of, user_file
from inkwire.providers.detect import Choice, Facts, choose, needs_probe

__all__ = ["EXIT_CUT", "EXIT_INTERRUPTED", "EXIT_LATER", "EXIT_USAGE", "choose_model", "complain", "gather", "run"]

EXIT_CUT = 1
"""It failed, or the answer was cut."""
EXIT_USAGE = 2
EXIT_LATER = 75
"""Try again later (sysexits: EX_TEMPFAIL)."""
EXIT_INTERRUPTED = 130

_Result = TypeVar("_Result")


def gather(*, flag: str | None = None, interactive: bool = False, environ: Mapping[str, str] | None = None) -> Facts:
    """The facts of this process, without asking any server.

    Raises `ConfigurationError` when a configuration file is wrong.
    """
    environ = dict(os.environ) if environ is None else environ
    own = user_file(environ)
    project = find_project_file(Path.cwd())
    return Facts(
        environ=environ,
        flag=flag,
        project=load(project, trusted=False) if project else Facts(environ).project,
        project_file=project,
        user=load(own, trusted=True),
        user_file=own,
        interactive=interactive,
    )


async def choose_model(facts: Facts) -> Choice:
    """The model to use; asks the servers of this machine only when nothing else decides.

    Raises `ConfigurationError` when there is none.
    """
    if needs_probe(facts):
        from msgspec.structs import replace

        from inkwire.local.probe import find_local_servers

        facts = replace(facts, servers=await find_local_servers(providers_of(facts.user).values(), facts.environ))
    return choose(facts)


def complain(message: str) -> None:
    """An error in plain words on standard error, safe to print."""
    from inkwire.terminal.sanitize import sanitize

    mark = click.style("error:", fg="red", bold=True) if _colours() else "error:"
    click.echo(f"{mark} {sanitize(message)}", err=True)


def run(coroutine: Coroutine[Any, Any, _Result]) -> _Result:
    """Runs a command's coroutine; a wrong configuration ends with exit code 2, Ctrl-C with 130."""
    try:
        return asyncio.run(coroutine)
    except ConfigurationError as error:
        complain(str(error))
        sys.exit(EXIT_USAGE)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


def _colours() -> bool:
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR")
