"""The page that `inkwire --help` prints."""

from __future__ import annotations

import re
from collections.abc import Mapping

import click

__all__ = ["write_help"]

_EXAMPLES = (
    ("inkwire", "talk, in this directory"),
    ('inkwire "fix the failing test"', "talk, with a first prompt"),
    ('inkwire -p "what does this project do?"', "one answer on standard output"),
    ('git diff | inkwire -p "review this"', "what is piped in joins the prompt"),
    ("inkwire -m ollama/qwen3:8b", "provider/model; a local server needs no key"),
    ("inkwire -m builtin/reader", "without any model: fixed rules, real tools"),
    ("inkwire demo --web", "see in the browser how streaming works"),
    ("inkwire inspect call.jsonl", "step through what --record FILE kept"),
)
_ENVIRONMENT = (
    ("OPENAI_API_KEY, ANTHROPIC_API_KEY, ...", "each provider's own key name"),
    ("OPENAI_BASE_URL, OLLAMA_HOST, ...", "each provider's own address"),
    ("INKWIRE_MODEL", "the model when -m is not given"),
    ("HTTPS_PROXY, NO_PROXY, NO_COLOR", "as everywhere"),
)
_EXIT_CODES = (
    ("0", "done"),
    ("1", "failed, or the answer was cut"),
    ("2", "wrong usage or configuration, or no model"),
    ("75", "failed for now: try again later"),
    ("130", "interrupted"),
)


def write_help(
    formatter: click.HelpFormatter, agent: click.Command, ctx: click.Context, commands: Mapping[str, str]
) -> None:
    """Writes the page: what it is, examples, commands, the agent's options, environment, exit codes."""
    formatter.write_text("Inkwire: a coding agent in a terminal. No tool runs on half a call.")
    formatter.write_paragraph()
    formatter.write_usage("inkwire", "[OPTIONS] [PROMPT...]  or  inkwire COMMAND [ARGS...]")
    _section(formatter, "Examples", _EXAMPLES)
    _section(formatter, "Commands (COMMAND --help says more)", tuple(commands.items()))
    options = [parameter for parameter in agent.get_params(ctx) if isinstance(parameter, click.Option)]
    records = [record for option in options if (record := option.get_help_record(ctx)) is not None]
    # click adds the range of numbers, which says nothing that is not plain.
    rows = [(flags, re.sub(r"\s*\[x[<>=\d.]+\]", "", words)) for flags, words in records]
    _section(formatter, "Options", (*rows, ("-V, --version", "Show the version and exit.")))
    _section(formatter, "Environment", _ENVIRONMENT)
    _section(formatter, "Exit codes", _EXIT_CODES)


def _section(formatter: click.HelpFormatter, name: str, rows: tuple[tuple[str, str], ...]) -> None:
    with formatter.section(name):
        formatter.write_dl(list(rows), col_max=42)
