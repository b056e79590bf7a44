"""Options in; an open conversation, with its client, tools, permissions and session, out."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from inkwire.agent import Agent, Policy
from inkwire.agent.approval import Approve
from inkwire.agent.context import system_prompt
from inkwire.agent.events import AgentEvent
from inkwire.agent.session import Session, SessionStore
from inkwire.cli.context import complain, gather
from inkwire.cli.options import AgentOptions
from inkwire.cli.targets import Targets
from inkwire.client import Client
from inkwire.errors import ConfigurationError
from inkwire.providers.config import DEFAULT_MAX_TURNS
from inkwire.providers.detect import Choice, Facts
from inkwire.tools.base import Tool
from inkwire.tools.builtin import BUILTIN
from inkwire.tools.mcp import MCPServer, MCPServers

__all__ = ["OpenConversation", "open_conversation"]


class OpenConversation:
    """An agent in this directory; fits `inkwire.terminal.conversation.Conversation`."""

    def __init__(
        self,
        options: AgentOptions,
        facts: Facts,
        targets: Targets,
        client: Client,
        choice: Choice,
        approve: Approve | None,
        servers: MCPServers | None = None,
    ) -> None:
        self._options = options
        self._facts = facts
        self._targets = targets
        self._client = client
        self._approve = approve
        self._foreign = servers.tools if servers is not None else ()
        self._workspace = Path.cwd()
        self.choice = choice
        """The model, and why this one."""
        mode = options.permission_mode or facts.user.permission_mode or "ask"
        allowed = facts.user.allowed_tools if options.allowed_tools is None else options.allowed_tools
        self._policy = Policy(mode, allow=allowed, deny=facts.user.denied_tools)
        self._agent = self._new_agent(choice.model, self._first_session(choice.model))

    @property
    def model(self) -> str:
        """`provider/model`."""
        return self._agent.model

    @property
    def permission_mode(self) -> str:
        """`ask`, `read-only`, `auto` or `yolo`."""
        return self._policy.mode

    def run(self, prompt: str) -> AsyncGenerator[AgentEvent, None]:
        """The events of one run, `run_end` last."""
        return self._agent.run(prompt)

    def cancel(self) -> None:
        """End the run that goes on."""
        self._agent.cancel()

    async def use_model(self, model: str) -> None:
        """Ask another model from now on; raises `ConfigurationError` and changes nothing when it cannot be used."""
        self._agent.model = await self._targets.prepare(model)

    async def start_over(self) -> None:
        """Forget the conversation so far; a new session begins."""
        self._agent = self._new_agent(self._agent.model, self._new_session(self._agent.model))

    def _new_agent(self, model: str, session: Session | None) -> Agent:
        options, settings = self._options, self._facts.user
        limit = options.max_turns or self._facts.project.max_turns or settings.max_turns
        return Agent(
            client=self._client,
            model=model,
            policy=self._policy,
            tools=_tools(options.tools, self._foreign),
            workspace=self._workspace,
            approve=self._approve,
            session=session,
            system_prompt=self._instructions(),
            max_turns=limit or DEFAULT_MAX_TURNS,
            max_cost=options.max_cost if options.max_cost is not None else settings.max_cost,
            max_time_seconds=settings.max_time_seconds,
            continuations=settings.continuations,
            context_window=settings.context_window,
            sandbox=settings.sandbox,
        )

    def _instructions(self) -> str:
        extra = self._options.append_system_prompt or ""
        if self._options.system_prompt is not None:
            return f"{self._options.system_prompt}\n\n{extra}".strip()
        own = self._facts.user_file.parent if self._facts.user_file is not None else None
        return system_prompt(self._workspace, user_directory=own, extra=extra)

    def _first_session(self, model: str) -> Session | None:
        if self._options.no_session:
            return None
        store = SessionStore()
        if self._options.resume is not None:
            return store.open(self._options.resume)
        if self._options.resume_last:
            return store.latest(self._workspace)
        return self._new_session(model)

    def _new_session(self, model: str) -> Session | None:
        return None if self._options.no_session else SessionStore().new(self._workspace, model)


@asynccontextmanager
async def open_conversation(
    options: AgentOptions, *, approve: Approve | None, interactive: bool
) -> AsyncIterator[OpenConversation]:
    """A conversation that is closed with everything it started.

    Raises `ConfigurationError` when there is no model, or a setting is wrong.
    """
    if options.record is not None:
        _check_record(options.record)
    facts = gather(flag=options.model, interactive=interactive)
    targets = Targets(options, facts)
    try:
        choice = await targets.first()
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(Client(resolve=targets, record=options.record))
            servers = await stack.enter_async_context(_servers(facts)) if facts.user.mcp else None
            for name, words in (servers.failures if servers is not None else {}).items():
                complain(f"MCP server {name} is not there: {words}")
            yield OpenConversation(options, facts, targets, client, choice, approve, servers)
    finally:
        await targets.aclose()


def _check_record(path: str) -> None:
    """Nobody should learn after the run that it was not recorded."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600))
    except OSError as error:
        raise ConfigurationError(f"--record {path}: it cannot be written: {error.strerror}") from error


def _servers(facts: Facts) -> MCPServers:
    entries = facts.user.mcp.items()
    return MCPServers(
        MCPServer(
            name,
            command=entry.command,
            env=entry.env,
            url=entry.url,
            headers=entry.headers,
            tools=entry.tools,
            trust_annotations=entry.trust_annotations,
        )
        for name, entry in entries
    )


def _tools(names: tuple[str, ...] | None, foreign: tuple[Tool, ...]) -> tuple[Tool, ...]:
    """The tools of these names, our own and those of MCP servers; all of them for None."""
    known = {tool.name: tool for tool in (*BUILTIN, *foreign)}
    if names is None:
        return tuple(known.values())
    for name in names:
        if name not in known:
            raise ConfigurationError(f"--tools: unknown tool {name!r}; there are {', '.join(known)}")
    return tuple(known[name] for name in names)
