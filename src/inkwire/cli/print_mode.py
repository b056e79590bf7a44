"""A prompt in; the answer on standard output, everything else on standard error, and an exit code out.

Into a pipe the answer is written when it is known to be the answer: text that a later attempt makes void must not
reach a script. On a terminal it streams. Either way a partial answer is followed by words on standard error and an
exit code that is not 0.
"""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import TextIO

import msgspec

from inkwire.agent.events import AgentEvent, RunEnd, TurnStart
from inkwire.cli.context import EXIT_USAGE, complain
from inkwire.cli.options import AgentOptions, OutputFormat
from inkwire.events import StreamReset, TextDelta
from inkwire.terminal.render import Renderer
from inkwire.terminal.sanitize import sanitize
from inkwire.terminal.style import style_for
from inkwire.terminal.summary import exit_code
from inkwire.terminal.wrap import columns_of

__all__ = ["Printer", "read_prompt", "run_print"]

_MOST_STDIN = 16 * 1024 * 1024
_PATIENCE_SECONDS = 3.0


def read_prompt(words: str, stream: TextIO) -> str:
    """The prompt from the words of the command line and whatever is piped in, one after the other."""
    if stream.isatty():
        return words
    _say_what_is_waited_for(stream)
    piped = stream.buffer.read(_MOST_STDIN + 1)
    if len(piped) > _MOST_STDIN:
        complain(f"more than {_MOST_STDIN // 2**20} MiB on standard input; give a file's name instead")
        sys.exit(EXIT_USAGE)
    text = piped.decode("utf-8", "replace").strip("\n")
    return f"{words}\n\n{text}" if words and text else words or text


def _say_what_is_waited_for(stream: TextIO) -> None:
    """A pipe that nobody closes would otherwise look like a service that does not answer."""
    try:
        ready, _, _ = select.select([stream], [], [], _PATIENCE_SECONDS)
    except (OSError, ValueError):
        return
    if not ready:
        print("inkwire: waiting for standard input (close it with < /dev/null)", file=sys.stderr)  # noqa: T201


async def run_print(options: AgentOptions, prompt: str) -> int:
    """Runs the prompt once and returns the exit code.

    Raises `ConfigurationError` when there is no model to ask or a setting is wrong.
    """
    from inkwire.cli.build import open_conversation

    async with open_conversation(options, approve=None, interactive=False) as conversation:
        printer = Printer(options.output_format, sys.stdout, sys.stderr)
        with _interrupts(conversation.cancel):
            async with aclosing(conversation.run(prompt)) as events:
                async for event in events:
                    printer.feed(event, time.monotonic())
        return printer.exit_code


class Printer:
    """Writes the events of one run in one of the output formats."""

    def __init__(self, output_format: OutputFormat, out: TextIO, err: TextIO) -> None:
        self._format = output_format
        self._out = out
        self._err = err
        self._last = err
        self._streams = output_format == "text" and out.isatty()
        columns = columns_of(out if self._streams else err)
        self._renderer = Renderer(style_for(err), text=self._streams, reasoning=self._streams, columns=columns)
        self._attempt: list[str] = []
        """The text of the answer that is arriving."""
        self.exit_code = 1
        """Of the run that ended; 1 until one did."""

    def feed(self, event: AgentEvent, now: float) -> None:
        """Writes what the event adds; `now` is a clock's reading in seconds."""
        if isinstance(event, TurnStart | StreamReset):
            self._attempt.clear()
        elif isinstance(event, TextDelta):
            self._attempt.append(event.text)
        elif isinstance(event, RunEnd):
            self.exit_code = exit_code(event)
        if self._format == "stream-json" or (self._format == "json" and isinstance(event, RunEnd)):
            self._out.write(msgspec.json.encode(event).decode() + "\n")
        elif isinstance(event, RunEnd) and not self._streams and self._format == "text":
            self._answer(event.text or "".join(self._attempt))
        self._out.flush()
        for piece in self._renderer.feed(event, now):
            # The end of a line goes where the line went.
            if piece.text != "\n":
                self._last = self._out if piece.kind == "answer" else self._err
            self._last.write(piece.text)
        self._out.flush()
        self._err.flush()

    def _answer(self, text: str) -> None:
        safe = sanitize(text)
        if safe:
            self._out.write(safe if safe.endswith("\n") else safe + "\n")


@contextmanager
def _interrupts(cancel: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl-C ends the run cleanly, the second the process."""
    loop = asyncio.get_running_loop()
    seen = False

    def interrupt() -> None:
        nonlocal seen
        if seen:
            os._exit(130)
        seen = True
        cancel()

    loop.add_signal_handler(signal.SIGINT, interrupt)
    loop.add_signal_handler(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        loop.remove_signal_handler(signal.SIGTERM)
