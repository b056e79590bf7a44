"""A line that begins with a slash in, the command that it means out."""

from __future__ import annotations

import difflib
from typing import Literal, TypeAlias

import msgspec

__all__ = ["COMMANDS", "HELP", "Command", "Verb", "parse_command"]

Verb: TypeAlias = Literal["help", "quit", "model", "new", "unknown"]

COMMANDS: dict[str, tuple[Verb, str]] = {
    "/help": ("help", "show this"),
    "/model": ("model", "show the model; /model PROVIDER/MODEL changes it"),
    "/new": ("new", "begin a new conversation"),
    "/clear": ("new", "the same"),
    "/quit": ("quit", "leave (Ctrl-D, or Ctrl-C twice)"),
    "/exit": ("quit", "the same"),
}
"""What can be typed -> what it does."""

HELP = "\n".join(
    [f"  {name:<8} {words}" for name, (_, words) in COMMANDS.items() if words != "the same"]
    + [
        "  Enter    send; Alt-Enter or Ctrl-J begins a new line",
        "  Ctrl-C   interrupts the answer; what had arrived stays in the conversation",
    ]
)


class Command(msgspec.Struct, frozen=True):
    """What the user asked of the terminal itself."""

    verb: Verb
    argument: str = ""


def parse_command(line: str) -> Command | None:
    """The command in a line; None when it is a prompt. A path such as `/etc/hosts` is a prompt."""
    first, _, rest = line.strip().partition(" ")
    if not first.startswith("/") or "/" in first[1:]:
        return None
    if first in COMMANDS:
        return Command(COMMANDS[first][0], rest.strip())
    close = difflib.get_close_matches(first, COMMANDS, n=1)
    return Command("unknown", f"{first}: no such command" + (f"; did you mean {close[0]}?" if close else "; see /help"))
