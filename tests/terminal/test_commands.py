"""A slash at the start of a line is for the terminal, never silently for the model."""

from __future__ import annotations

import pytest

from inkwire.terminal.commands import COMMANDS, HELP, Command, parse_command


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("hello", None),
        ("/etc/hosts says what?", None),
        ("what does /help do?", None),
        ("/help", Command("help")),
        ("  /quit ", Command("quit")),
        ("/clear", Command("new")),
        ("/model", Command("model")),
        ("/model ollama/qwen3:8b", Command("model", "ollama/qwen3:8b")),
        ("/modle x", Command("unknown", "/modle: no such command; did you mean /model?")),
        ("/xyz", Command("unknown", "/xyz: no such command; see /help")),
    ],
)
def test_lines_and_their_commands(line: str, command: Command | None) -> None:
    assert parse_command(line) == command


def test_help_names_every_command_once() -> None:
    assert all(name in HELP for name, (_, words) in COMMANDS.items() if words != "the same")
