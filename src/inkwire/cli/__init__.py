"""A command line in, the command that it means out: each command's module is loaded when it is called.

`inkwire WORDS...` is a prompt unless the first word is a command, so that nobody has to know a word before asking.
"""

from __future__ import annotations

import errno
import os
import sys
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NoReturn

import click

__all__ = ["AGENT", "COMMANDS", "PromptGroup", "main"]

COMMANDS: dict[str, tuple[str, str]] = {
    "decode": ("inkwire.cli.decode", "Turn a captured stream into events, one JSON a line."),
    "demo": ("inkwire.cli.demo", "See step by step how a stream becomes a message."),
    "inspect": ("inkwire.cli.inspect", "Step through a recording in the browser."),
    "replay": ("inkwire.cli.replay", "Serve a recording as a stand-in for its provider."),
    "models": ("inkwire.cli.models", "List the models that can be reached from here."),
    "sessions": ("inkwire.cli.sessions", "List the conversations of this directory."),
    "config": ("inkwire.cli.config", "Show which setting came from where."),
}
"""Name -> its module and what it does; the function in the module has the command's name."""

AGENT = "(agent)"
"""The command that takes a prompt; it has no word of its own."""

_OUTPUT_FAULTS = (errno.ENOSPC, errno.EIO, errno.EBADF, errno.EFBIG, errno.EDQUOT)
_OWN_FLAGS = ("--help", "-h", "--version", "-V")


class PromptGroup(click.Group):
    """A group that hands whatever names no command to the agent."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """As click's; output that cannot be written ends with one line and exit code 1."""
        _replace_closed_streams()
        if sys.stdout is None:
            _cannot_write("it is closed")
        try:
            try:
                return super().main(*args, **kwargs)
            finally:
                sys.stdout.flush()
        except OSError as error:
            if error.filename is not None or error.errno not in _OUTPUT_FAULTS:
                raise
            _cannot_write(error.strerror or str(error))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Puts the agent's name before a command line that does not begin with a command."""
        if len(args) == 1 and args[0] not in COMMANDS and (near := get_close_matches(args[0], COMMANDS, 1, 0.75)):
            click.echo(f"inkwire: {args[0]!r} is taken as a prompt; did you mean `inkwire {near[0]}`?", err=True)
        if not args or (args[0] not in COMMANDS and args[0] not in _OWN_FLAGS):
            args = [AGENT, *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands that have a word of their own, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Loads the command; None when there is none of that name."""
        if cmd_name == AGENT:
            return _load("inkwire.cli.agent", "agent")
        return _load(COMMANDS[cmd_name][0], cmd_name) if cmd_name in COMMANDS else None

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One page that shows everything: examples first."""
        from inkwire.cli.help import write_help

        agent = self.get_command(ctx, AGENT)
        assert agent is not None
        write_help(formatter, agent, ctx, {name: words for name, (_, words) in COMMANDS.items()})


def _replace_closed_streams() -> None:
    """Nothing comes from a closed input, and what is said on a closed error output is lost."""
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115 - for as long as the process lives
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _cannot_write(why: str) -> NoReturn:
    print(f"error: standard output cannot be written: {why}", file=sys.stderr)  # noqa: T201
    os._exit(1)  # what is still in a buffer cannot be written, either


def _load(module: str, name: str) -> click.Command:
    command: Any = getattr(import_module(module), name)
    assert isinstance(command, click.Command)
    return command


@click.group(
    cls=PromptGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    subcommand_metavar="[COMMAND | PROMPT]",
)
@click.version_option(None, "-V", "--version", package_name="inkwire", message="inkwire %(version)s")
def main() -> None:
    """A coding agent in a terminal that never runs a tool on half a call."""
