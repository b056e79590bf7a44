"""A person's lines in, runs of a conversation on the screen out: the interactive terminal.

Everything is appended to the scrollback; only the line that is being typed is ever redrawn. While an answer comes,
Ctrl-C interrupts it; at the prompt it clears the line, and a second one leaves.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import termios
import threading
import time
from collections.abc import Coroutine, Iterator
from contextlib import aclosing, contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from inkwire.agent.approval import Approval, ApprovalRequest
from inkwire.errors import ConfigurationError
from inkwire.terminal.approve import meaning_of, question, unclear
from inkwire.terminal.commands import COMMANDS, HELP, Command, parse_command
from inkwire.terminal.conversation import Conversation
from inkwire.terminal.render import Renderer
from inkwire.terminal.sanitize import sanitize_line
from inkwire.terminal.style import Style, style_for
from inkwire.terminal.wrap import columns_of, wrap
from inkwire.transport.http import preload

__all__ = ["App", "warm_up"]


class App:
    """The loop of prompt and answer. `approve` goes to whoever makes the conversation, before `run`."""

    def __init__(self, *, out: TextIO = sys.stdout, history_file: Path | None = None) -> None:
        self._out = out
        self._style: Style = style_for(out)
        self._columns = columns_of(out)
        self._renderer = Renderer(self._style, columns=self._columns)
        self._history = history_file
        self._conversation: Conversation | None = None
        self._interrupted = False

    async def run(
        self, conversation: Conversation, *, first_prompt: str = "", origin: str = "", notice: str = ""
    ) -> None:
        """Talks until the person leaves. `origin` says where the model came from, `notice` what must be known."""
        self._conversation = conversation
        self._opening(conversation, origin, notice)
        warm_up()
        session = self._session()
        if first_prompt.strip():
            self._print(f"{self._style.paint('> ', 'call')}{sanitize_line(first_prompt, 2000)}\n")
            await self._answer(conversation, first_prompt)
        while (line := await self._next_line(session)) is not None:
            command = parse_command(line)
            if command is None:
                await self._answer(conversation, line)
            elif command.verb == "quit":
                break
            else:
                await self._obey(command, conversation)

    async def approve(self, request: ApprovalRequest) -> Approval:
        """Asks the person about one call; Ctrl-C and Ctrl-D are a no that ends the run."""
        self._print(question(request, self._style))
        session: PromptSession[str] = PromptSession(history=InMemoryHistory())
        try:
            answer = await self._allows(session)
            while problem := unclear(answer, request):
                self._complain(f"  {problem}")
                answer = await self._allows(session)
        except (KeyboardInterrupt, EOFError):
            if self._conversation is not None:
                self._conversation.cancel()
            return Approval(allowed=False, reason="the user interrupted")
        return meaning_of(answer, request)

    async def _allows(self, session: PromptSession[str]) -> str:
        return await session.prompt_async(FormattedText([("bold", "  allow? ")]), handle_sigint=False)

    def _opening(self, conversation: Conversation, origin: str, notice: str) -> None:
        dot = f" {self._style.mark('·')} "
        where = str(Path.cwd()).replace(str(Path.home()), "~", 1)
        model = f"{conversation.model} ({origin})" if origin else conversation.model
        parts = [model, where, conversation.permission_mode, "/help"]
        line = dot.join(sanitize_line(part, 120) for part in parts)
        self._print(f"{self._style.paint('inkwire', 'bold')} {self._style.paint(line, 'dim')}\n")
        if notice:
            self._complain(f"{self._style.mark('⚠')} {notice}")

    def _session(self) -> PromptSession[str]:
        history: History = InMemoryHistory()
        if self._history is not None:
            self._history.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Prompts may hold secrets: nobody else reads them.
            os.close(os.open(self._history, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
            history = FileHistory(str(self._history))
        return PromptSession(
            history=history,
            key_bindings=_keys(),
            completer=WordCompleter(list(COMMANDS), sentence=True),
            complete_while_typing=False,
            multiline=True,
            prompt_continuation=FormattedText([("", "  ")]),
        )

    async def _next_line(self, session: PromptSession[str]) -> str | None:
        """The next line that is not blank; None when the person leaves."""
        warned = False
        while True:
            try:
                line = await session.prompt_async(FormattedText([("ansicyan", "> ")]))
            except EOFError:
                return None
            except KeyboardInterrupt:
                if warned:
                    return None
                warned = True
                self._print(self._style.paint("Ctrl-C again, or Ctrl-D, leaves.", "dim") + "\n")
                continue
            warned = False
            if line.strip():
                return line

    async def _answer(self, conversation: Conversation, prompt: str) -> None:
        with _interrupt_cancels(conversation):
            async with aclosing(conversation.run(prompt)) as events:
                async for event in events:
                    for piece in self._renderer.feed(event, time.monotonic()):
                        self._out.write(piece.text)
                    self._out.flush()
        self._print("\n")

    async def _obey(self, command: Command, conversation: Conversation) -> None:
        match command.verb:
            case "help":
                self._print(HELP + "\n")
            case "new":
                await conversation.start_over()
                self._print(self._style.paint("A new conversation begins.", "dim") + "\n")
            case "model":
                await self._model(command.argument, conversation)
            case _:
                self._complain(sanitize_line(command.argument))

    async def _model(self, name: str, conversation: Conversation) -> None:
        if name:
            try:
                if not await _until_interrupt(conversation.use_model(name)):
                    self._complain("Interrupted; the model stays as it was.")
            except ConfigurationError as error:
                self._complain(sanitize_line(str(error), 600))
                return
        self._print(f"{sanitize_line(conversation.model)}\n")

    def _complain(self, text: str) -> None:
        self._print(self._style.paint(wrap(text, self._columns()), "warning") + "\n")

    def _print(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def warm_up() -> None:
    """Imports the HTTP client in the background: a person takes longer to type than it takes to load."""

    def load() -> None:
        # What goes wrong here goes wrong again, and is told, when it is needed.
        with suppress(Exception):
            preload()

    threading.Thread(target=load, name="inkwire-warm-up", daemon=True).start()


def _keys() -> KeyBindings:
    """Enter sends; Alt-Enter and Ctrl-J begin a new line."""
    keys = KeyBindings()

    @keys.add("enter")
    def send(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter")
    @keys.add("c-j")
    def new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys


async def _until_interrupt(work: Coroutine[Any, Any, None]) -> bool:
    """Does the work; False when Ctrl-C ended it first, and not the program."""
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, task.cancel)
    try:
        await asyncio.wait([task])
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        task.cancel()
    if task.cancelled():
        return False
    task.result()
    return True


@contextmanager
def _interrupt_cancels(conversation: Conversation) -> Iterator[None]:
    """Ctrl-C ends the run and not the program, and leaves no ^C in the middle of the answer."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, conversation.cancel)
    before = _without_control_echo()
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        if before is not None:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _without_control_echo() -> list[Any] | None:
    """Switches the echo of control characters off; returns what to restore, None where there is no terminal."""
    try:
        before = termios.tcgetattr(sys.stdin)
    except (termios.error, OSError, ValueError):
        return None
    quiet = list(before)
    quiet[3] &= ~termios.ECHOCTL
    termios.tcsetattr(sys.stdin, termios.TCSADRAIN, quiet)
    return before
