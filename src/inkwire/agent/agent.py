"""A client, a model and tools in; an agent that can be asked, steered and stopped, out.

agent = Agent(client=client, model="openai/gpt-5", tools=TOOLS, workspace=Path("."), policy=Policy("ask"))
async with aclosing(agent.run("Why does the test fail?")) as events:
    async for event in events:
        ...
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec

from inkwire.agent.access import ModelAccess
from inkwire.agent.approval import Approve
from inkwire.agent.compaction import Compactor
from inkwire.agent.conversation import Conversation, Store
from inkwire.agent.dispatch import Dispatcher, Gate
from inkwire.agent.events import AgentEvent, RunEnd
from inkwire.agent.inbox import Delivery, Inbox
from inkwire.agent.interrupt import Interrupt
from inkwire.agent.loop import Loop
from inkwire.agent.plan import Plan
from inkwire.agent.prices import price_of
from inkwire.agent.tally import Limits, Price
from inkwire.agent.telemetry import spans_if_wanted
from inkwire.errors import ClosedError, ConfigurationError, InkwireError
from inkwire.messages import Message, Request, SystemMessage, UserMessage
from inkwire.tools.base import Tool, ToolContext

__all__ = ["Agent"]


class Agent:
    """A conversation with a model that can use tools; one run at a time, the history stays valid in between."""

    def __init__(
        self,
        *,
        client: ModelAccess,
        model: str,
        policy: Gate,
        tools: Iterable[Tool] = (),
        workspace: Path | str = ".",
        approve: Approve | None = None,
        history: Iterable[Message] = (),
        session: Store | None = None,
        system_prompt: str = "",
        max_turns: int | None = 1_000,
        max_total_tokens: int | None = None,
        max_cost: float | None = None,
        max_time_seconds: float | None = None,
        continuations: int = 0,
        restarts: int = 2,
        options: Mapping[str, Any] | None = None,
        context_window: int | None = None,
        price: Price = price_of,
        telemetry: bool | None = None,
        overflow_directory: Path | None = None,
        environ: Mapping[str, str] = os.environ,
        sandbox: bool = False,
    ) -> None:
        """`options`: further fields of `Request` (max_tokens, temperature, reasoning_effort, timeouts …).

        `approve` None: nobody is at the keyboard, so what would be asked is denied. `overflow_directory`: where tool
        output that is too long for the model is kept whole, for some days; by default in the user's cache directory.
        `context_window`: in tokens; when the history fills it, a
        summary takes the place of its beginning. `telemetry`: OpenTelemetry spans; None: if the program uses it. Raises
        `ConfigurationError`.
        """
        self.client = client
        self.model = model
        self.policy = policy
        self.approve = approve
        self.workspace = Path(workspace).resolve()
        self.tools = {each.name: each for each in tools}
        self.system_prompt = system_prompt
        self.limits = Limits(max_turns, max_total_tokens, max_cost, max_time_seconds)
        self.error: InkwireError | None = None
        """What made the last run fail, as an exception."""
        self._options = dict(options or {})
        self._continuations = continuations
        self._restarts = restarts
        self._price = price
        self._context_window = context_window
        self._telemetry = telemetry
        self._overflow_directory = overflow_directory or _cache_directory()
        self._environ = environ
        self._sandbox = sandbox
        self._conversation = Conversation(history or (session.messages if session is not None else ()), session)
        self._inbox = Inbox()
        self._active: _Active | None = None
        if not self.workspace.is_dir():
            raise ConfigurationError(f"the workspace {self.workspace} is no directory")

    @property
    def history(self) -> tuple[Message, ...]:
        """The conversation so far, without the system prompt."""
        return self._conversation.messages

    @property
    def running(self) -> bool:
        """Whether a run is under way."""
        return self._active is not None

    async def run(self, prompt: str | UserMessage) -> AsyncGenerator[AgentEvent, None]:
        """One prompt, until the model is done: events, `RunEnd` last.

        Raises `ClosedError` while another run is under way; failures of the model are in `RunEnd`, not raised.
        """
        await self._wait_for_the_last()
        active = self._active = _Active()
        loop = Loop(self._plan(), self._conversation, self._inbox, active.interrupt)
        message = UserMessage.of(prompt) if isinstance(prompt, str) else prompt
        spans = spans_if_wanted(self._telemetry)
        try:
            async with aclosing(loop.run(message)) as events:
                try:
                    async for event in events:
                        if spans is not None:
                            spans.feed(event)
                        yield event
                except GeneratorExit:
                    active.closing = True
                    raise
        finally:
            if spans is not None:
                spans.finish()
            self.error = loop.error
            self._active = None
            active.over.set()

    async def run_to_end(
        self, prompt: str | UserMessage, on_event: Callable[[AgentEvent], None] | None = None
    ) -> RunEnd:
        """One prompt, until the model is done; gives the run's end."""
        async with aclosing(self.run(prompt)) as events:
            async for event in events:
                if on_event is not None:
                    on_event(event)
                if isinstance(event, RunEnd):
                    return event
        raise ClosedError("the run ended without its end")

    def cancel(self) -> None:
        """Stop the run that is under way, if any; it ends as `cancelled`. Any task, any thread."""
        if (active := self._active) is not None:
            active.interrupt.trigger("cancelled")

    def steer(self, message: str | UserMessage) -> Delivery:
        """Say something before the next model call; the `Delivery` tells what became of it."""
        return self._inbox.steer(UserMessage.of(message) if isinstance(message, str) else message)

    def follow_up(self, message: str | UserMessage) -> Delivery:
        """Say something when the run would stop; the `Delivery` tells what became of it."""
        return self._inbox.follow_up(UserMessage.of(message) if isinstance(message, str) else message)

    def take_back(self) -> tuple[UserMessage, ...]:
        """The messages that wait, out of the queues; their deliveries end as `returned`."""
        return self._inbox.take_back()

    async def compact(self) -> AsyncGenerator[AgentEvent, None]:
        """Replace the beginning of the history by a summary now; events like those of a run.

        Raises `ClosedError` during a run, `ContextOverflowError` when that would free nothing, else `ModelError`.
        """
        await self._wait_for_the_last()
        active = self._active = _Active()
        shortener = Compactor(self.client, self._template(), window=self._context_window)
        try:
            async with aclosing(shortener.shorten(self._conversation, active.interrupt, lambda answer: None)) as events:
                async for event in events:
                    yield event
        finally:
            self._active = None
            active.over.set()

    def _template(self) -> Request:
        system = (SystemMessage(self.system_prompt),) if self.system_prompt.strip() else ()
        definitions = tuple(each.definition for each in self.tools.values())
        return msgspec.structs.replace(Request(self.model, system, tools=definitions), **self._options)

    def _plan(self) -> Plan:
        template = self._template()
        return Plan(
            access=self.client,
            template=template,
            shortener=Compactor(self.client, template, window=self._context_window),
            dispatcher=Dispatcher(self.tools, self.policy, self.approve, self._context, self._overflow_directory),
            price=self._price,
            limits=self.limits,
            continuations=self._continuations,
            restarts=self._restarts,
        )

    def _context(self, call_id: str, emit: Callable[[str], None]) -> ToolContext:
        return ToolContext(
            workspace=self.workspace,
            call_id=call_id,
            emit=emit,
            overflow_directory=self._overflow_directory,
            environ=self._environ,
            read_only=self.policy.read_only,
            sandbox=self._sandbox,
        )

    async def _wait_for_the_last(self) -> None:
        """A run whose reader left is closed by asyncio in a task of its own: let that happen first."""
        for _ in range(3):
            if self._active is None:
                return
            await asyncio.sleep(0)
        if self._active is not None and self._active.closing:
            await self._active.over.wait()
        if self._active is not None:
            raise ClosedError("a run is under way: read it to its end, close it, or steer it")


def _cache_directory() -> Path:
    import platformdirs

    return Path(platformdirs.user_cache_dir("inkwire", appauthor=False)) / "output"


class _Active:
    """The run that is under way."""

    def __init__(self) -> None:
        self.interrupt = Interrupt()
        self.closing = False
        self.over = asyncio.Event()
