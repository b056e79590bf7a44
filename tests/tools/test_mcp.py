"""MCP servers: over standard input and HTTP, under the same gate, and gone when they are closed."""

from __future__ import annotations

import asyncio
import socket
import sys
from pathlib import Path

import pytest

from inkwire.agent.policy import Policy
from inkwire.errors import ConfigurationError
from inkwire.messages import ImagePart
from inkwire.tools.mcp import MCPServer, MCPServers
from tests.agent.running import agent, results, run
from tests.scripted_model import ScriptedModel, call, message
from tests.tools.calling import refusal, use

SERVER = '''
import os, sys
from mcp.server import MCPServer
from mcp.server.mcpserver import Image
from mcp.types import ToolAnnotations

server = MCPServer("test")

@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(first: int, second: int) -> int:
    """Adds two numbers."""
    return first + second

@server.tool()
def environment() -> str:
    return " ".join(sorted(os.environ))

@server.tool()
def fails() -> str:
    raise ValueError("no luck")

@server.tool()
def dies() -> str:
    os._exit(3)

@server.tool()
async def waits() -> str:
    import anyio
    await anyio.sleep(600)
    return ""

@server.tool()
def picture() -> Image:
    return Image(data=b"\\x89PNG", format="png")

if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run("stdio")
'''


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "server.py"
    path.write_text(SERVER)
    return str(path)


async def test_tools_of_a_command(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "s3cr3t")
    async with MCPServers([MCPServer("my server", (sys.executable, program))]) as servers:
        tools = {each.name: each for each in servers.tools}
        assert servers.failures == {}
        assert "mcp__my_server__add" in tools
        add = tools["mcp__my_server__add"]
        assert add.description == "Adds two numbers."
        assert add.writes
        assert (await use(add, tmp_path, first="2", second=3)).text == "5"
        assert "first: received string" in await refusal(add, tmp_path, first="two", second=3)
        assert "OPENAI_API_KEY" not in (await use(tools["mcp__my_server__environment"], tmp_path)).text
        failed = await use(tools["mcp__my_server__fails"], tmp_path)
        assert failed.is_error
        assert failed.text
        picture = await use(tools["mcp__my_server__picture"], tmp_path)
        assert picture.parts == (ImagePart("image/png", b"\x89PNG"),)


async def test_the_gate_is_the_same_for_all(program: str, tmp_path: Path) -> None:
    for trusts, words in ((False, "nobody is there"), (True, "5")):
        server = MCPServer("m", (sys.executable, program), tools=("add",), trust_annotations=trusts)
        async with MCPServers([server]) as servers:
            assert [each.name for each in servers.tools] == ["mcp__m__add"]
            model = ScriptedModel(message(call("mcp__m__add", {"first": 2, "second": 3})), message("ok"))
            await run(agent(model, *servers.tools, workspace=tmp_path, policy=Policy("ask")))
            assert words in results(model.requests[1].messages)[0].text


async def test_a_server_that_dies_is_an_error_result(program: str, tmp_path: Path) -> None:
    async with MCPServers([MCPServer("m", (sys.executable, program), call_seconds=20)]) as servers:
        dies = next(each for each in servers.tools if each.name.endswith("dies"))
        async with asyncio.timeout(60):
            assert "MCP server m failed" in await refusal(dies, tmp_path)


async def test_a_call_can_be_cancelled_and_the_server_goes_on(program: str, tmp_path: Path) -> None:
    async with MCPServers([MCPServer("m", (sys.executable, program))]) as servers:
        tools = {each.name: each for each in servers.tools}
        task = asyncio.create_task(use(tools["mcp__m__waits"], tmp_path))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await use(tools["mcp__m__add"], tmp_path, first=1, second=1)).text == "2"


async def test_a_server_that_is_not_there_costs_its_own_tools_alone(program: str) -> None:
    entries = [
        MCPServer("gone", ("/nonexistent/program",)),
        MCPServer("silent", (sys.executable, "-c", "input()"), start_seconds=1),
        MCPServer("closed", url="http://127.0.0.1:1/mcp"),
        MCPServer("good", (sys.executable, program)),
    ]
    async with MCPServers(entries) as servers:
        assert {each.name.split("__")[1] for each in servers.tools} == {"good"}
        assert servers.failures.keys() == {"gone", "silent", "closed"}
        assert all(servers.failures.values())


async def test_tools_of_an_address(program: str, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    quiet = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(sys.executable, program, str(port), stdout=quiet, stderr=quiet)
    try:
        for _ in range(300):
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                await writer.wait_closed()
                break
            except OSError:
                await asyncio.sleep(0.05)
        async with MCPServers([MCPServer("web", url=f"http://127.0.0.1:{port}/mcp")]) as servers:
            assert servers.failures == {}
            add = next(each for each in servers.tools if each.name == "mcp__web__add")
            assert (await use(add, tmp_path, first=2, second=2)).text == "4"
    finally:
        process.kill()
        await process.wait()


def test_an_entry_without_a_way_to_the_server_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="either a command or a url"):
        MCPServers([MCPServer("x")])
