"""`inkwire [PROMPT]`: the options in; a conversation at a terminal, or one answer for a script, out."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import Any

import click

from inkwire.cli.context import EXIT_USAGE, complain, run
from inkwire.cli.options import AgentOptions

__all__ = ["agent"]

_NAMES = ("chat", "responses", "anthropic", "gemini", "ollama", "bedrock")


def _list(ctx: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """`a,b` -> ("a", "b"); `none` and the empty string are the empty tuple."""
    if value is None:
        return None
    return tuple(part for part in (part.strip() for part in value.split(",")) if part and part != "none")


class _Context(click.Context):
    @property
    def command_path(self) -> str:
        """The group's: the command has no word of its own."""
        return self.parent.command_path if self.parent is not None else super().command_path


class _Agent(click.Command):
    context_class = _Context

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The one page that shows everything."""
        outer = ctx.parent or ctx
        outer.command.format_help(outer, formatter)


@click.command("agent", cls=_Agent)
@click.argument("words", nargs=-1, metavar="[PROMPT...]")
@click.option(
    "-p", "--print", "print_mode", is_flag=True, help="One answer on standard output, the rest on error output."
)
@click.option("-m", "--model", metavar="PROVIDER/MODEL", help="The model; the first slash cuts.")
@click.option("--base-url", metavar="URL", help="Another address for the provider, or that of a custom one.")
@click.option("--protocol", type=click.Choice(_NAMES), metavar="NAME", help=f"The wire protocol: {', '.join(_NAMES)}.")
@click.option("-c", "--continue", "resume_last", is_flag=True, help="Go on with this directory's last conversation.")
@click.option("-r", "--resume", metavar="ID", help="Go on with the conversation of that id (`inkwire sessions`).")
@click.option("--no-session", is_flag=True, help="Keep no record of this conversation.")
@click.option(
    "--permission-mode",
    type=click.Choice(["ask", "read-only", "auto", "yolo"]),
    metavar="MODE",
    help="ask before changing things (default; without a terminal that is a no), read-only, auto (inside this "
    "directory), or yolo (everything).",
)
@click.option("--tools", metavar="A,B", callback=_list, help="Offer only these tools; none for none.")
@click.option("--allowed-tools", metavar="A,B", callback=_list, help="Run these without asking.")
@click.option("--max-turns", type=click.IntRange(1), metavar="N", help="Stop after N answers of the model.")
@click.option("--max-cost", type=click.FloatRange(0), metavar="USD", help="Stop when the known cost passes this.")
@click.option("--system-prompt", metavar="TEXT", help="Instead of the built-in instructions.")
@click.option("--append-system-prompt", metavar="TEXT", help="After the instructions.")
@click.option(
    "--output-format",
    type=click.Choice(["text", "json", "stream-json"]),
    default="text",
    metavar="FORMAT",
    help="With -p: text, json (one object at the end) or stream-json (every event, one a line).",
)
@click.option("--record", type=click.Path(dir_okay=False), metavar="FILE", help="Keep the raw streams in FILE.")
@click.option("--inspect", is_flag=True, help="Show what arrives, step by step, in the browser.")
def agent(words: tuple[str, ...], **chosen: Any) -> None:
    """Work on what PROMPT asks, in this directory."""
    options = AgentOptions.of(words, chosen)
    if options.print_mode or not (sys.stdin.isatty() and sys.stdout.isatty()):
        from inkwire.cli.print_mode import read_prompt, run_print

        prompt = read_prompt(options.prompt, sys.stdin)
        if not prompt.strip():
            complain('nothing to do: give a prompt, as in inkwire -p "what does this project do?", or pipe one in')
            sys.exit(EXIT_USAGE)
        sys.exit(run(_run(options, lambda options: run_print(options, prompt), stays=True)))
    from inkwire.cli.interactive import run_interactive

    sys.exit(run(_run(options, run_interactive, stays=False)))


async def _run(options: AgentOptions, work: Callable[[AgentOptions], Awaitable[int]], *, stays: bool) -> int:
    """The work, with the inspector's page beside it when that was asked for."""
    if not options.inspect:
        return await work(options)
    from inkwire.cli.inspect import inspected

    return await inspected(options, work, until_interrupted=stays)
