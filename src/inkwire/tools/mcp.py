"""MCP servers by their configuration in, their tools, under the same gate as all others, out (extra `mcp`).

    async with MCPServers([MCPServer("github", url="https://…/mcp")]) as servers:
        agent = Agent(tools=[*BUILTIN, *servers.tools], …)

Tools are named `mcp__{server}__{tool}`. What a server says about itself is not believed: each of its tools counts as
one that writes, unless the configuration trusts its annotations. A server that cannot be reached costs its own tools
alone. Each connection lives in a task of its own, so nothing of it reaches into the tasks that call.
"""

from __future__ import annotations

import asyncio
import base64
import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from inkwire.errors import ConfigurationError, ToolError
from inkwire.messages import ImagePart, UserPart
from inkwire.tools.base import Tool, ToolContext, ToolResult
from inkwire.tools.schema import ForeignArguments

__all__ = ["MCPServer", "MCPServers"]

_MAX_NAME = 64
_MAX_DESCRIPTION = 4_000


class MCPServer(msgspec.Struct, frozen=True):
    """One entry of the configuration: a command to start, or an address."""

    name: str
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    """Added to a small standard environment; nothing else of ours is passed on."""
    url: str = ""
    headers: Mapping[str, str] = {}
    tools: tuple[str, ...] = ()
    """Only these, by the server's own names; empty: all."""
    trust_annotations: bool = False
    """Believe `readOnlyHint`: such tools then run without a question and in read-only mode."""
    start_seconds: float = 30.0
    call_seconds: float = 120.0


class MCPServers:
    """The servers, connected between enter and exit."""

    def __init__(self, servers: Iterable[MCPServer]) -> None:
        """Raises `ConfigurationError` for an entry that has not exactly one of command and address."""
        self._servers = tuple(servers)
        for server in self._servers:
            if bool(server.command) == bool(server.url):
                raise ConfigurationError(f"MCP server {server.name}: give either a command or a url")
        self._tasks: list[asyncio.Task[None]] = []
        self._stop = asyncio.Event()
        self.tools: tuple[Tool, ...] = ()
        """The tools of all servers that answered, in the order of the configuration."""
        self.failures: dict[str, str] = {}
        """Why a server is not there, by its name."""

    async def __aenter__(self) -> Self:
        ready: list[asyncio.Future[list[Tool]]] = []
        for server in self._servers:
            future: asyncio.Future[list[Tool]] = asyncio.get_running_loop().create_future()
            ready.append(future)
            self._tasks.append(asyncio.create_task(self._serve(server, future), name=f"mcp {server.name}"))
        try:
            found = [await future for future in ready]
        except BaseException:
            await self._close()
            raise
        names: set[str] = set()
        self.tools = tuple(_unique(tool, names) for tools in found for tool in tools)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close()

    async def _close(self) -> None:
        self._stop.set()
        for task in self._tasks:
            await asyncio.wait([task], timeout=5)
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, server: MCPServer, ready: asyncio.Future[list[Tool]]) -> None:
        """Hold one connection from its start to its end, all in this task."""
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(server.start_seconds):
                    client = await stack.enter_async_context(await _client(server, stack))
                    tools = await _list(server, client)
                ready.set_result(tools)
                await self._stop.wait()
        except Exception as error:
            self.failures[server.name] = _words(error) or f"no answer within {server.start_seconds:g} seconds"
        finally:
            if not ready.done():
                ready.set_result([])


async def _client(server: MCPServer, stack: AsyncExitStack) -> Any:
    try:
        from mcp import Client
    except ImportError as error:
        raise ConfigurationError("MCP servers need the package mcp: pip install 'inkwire[mcp]'") from error
    if server.command:
        return Client(_started(server, stack))
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    timeout = httpx2.Timeout(server.start_seconds, read=server.call_seconds)
    http = await stack.enter_async_context(httpx2.AsyncClient(headers=dict(server.headers), timeout=timeout))
    return Client(streamable_http_client(server.url, http_client=http))


def _started(server: MCPServer, stack: AsyncExitStack) -> Any:
    """The connection to a command that will be started."""
    from mcp.client.stdio import StdioServerParameters, get_default_environment, stdio_client

    environment = {**get_default_environment(), **server.env}
    parameters = StdioServerParameters(command=server.command[0], args=list(server.command[1:]), env=environment)
    # What a server says on its error output is for its own log, not for our terminal.
    return stdio_client(parameters, errlog=stack.enter_context(Path(os.devnull).open("w")))


async def _list(server: MCPServer, client: Any) -> list[Tool]:
    found: list[Tool] = []
    cursor: str | None = None
    while True:
        page = await client.list_tools(cursor=cursor)
        found += [_tool(server, client, each) for each in page.tools if not server.tools or each.name in server.tools]
        cursor = page.next_cursor
        if not cursor:
            return found


def _tool(server: MCPServer, client: Any, described: Any) -> Tool:
    hinted = described.annotations is not None and bool(described.annotations.read_only_hint)
    return Tool(
        name=_name(server.name, described.name),
        description=(described.description or described.title or "")[:_MAX_DESCRIPTION],
        arguments=ForeignArguments(described.input_schema),
        run=_runner(server, client, described.name),
        writes=not (server.trust_annotations and hinted),
        accesses=lambda arguments, context: (),  # what it touches is the server's: calls run side by side
        time_limit_seconds=server.call_seconds,
    )


def _runner(server: MCPServer, client: Any, name: str) -> Callable[[dict[str, Any], ToolContext], Any]:
    async def run(arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        try:
            result = await client.call_tool(name, arguments)
        except Exception as error:
            raise ToolError(f"the MCP server {server.name} failed: {_words(error)}") from error
        return _result(result)

    return run


def _result(result: Any) -> ToolResult:
    texts: list[str] = []
    parts: list[UserPart] = []
    for block in result.content:
        match block.type:
            case "text":
                texts.append(block.text)
            case "image":
                parts.append(ImagePart(block.mime_type, base64.b64decode(block.data)))
            case "resource" if hasattr(block.resource, "text"):
                texts.append(f"{block.resource.uri}:\n{block.resource.text}")
            case "resource_link":
                texts.append(f"{block.name}: {block.uri}")
            case other:
                texts.append(f"({other} content, which cannot be shown)")
    if not texts and not parts and result.structured_content is not None:
        texts.append(msgspec.json.encode(result.structured_content, enc_hook=str).decode())
    return ToolResult("\n".join(texts), tuple(parts), is_error=bool(result.is_error))


def _name(server: str, tool: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]", "_", f"mcp__{server}__{tool}")[:_MAX_NAME]


def _unique(tool: Tool, names: set[str]) -> Tool:
    name, number = tool.name, 1
    while name in names:
        number += 1
        name = f"{tool.name[: _MAX_NAME - 4]}_{number}"
    names.add(name)
    return tool if name == tool.name else msgspec.structs.replace(tool, name=name)


def _words(error: BaseException) -> str:
    """The innermost cause's words: what fails in a task group comes wrapped."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return str(error)
    return str(error) or type(error).__name__
