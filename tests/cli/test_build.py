"""The user's configuration reaches the agent: rules, limits, and the tools of MCP servers under the same gate."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from inkwire.cli.build import open_conversation
from inkwire.cli.options import AgentOptions
from inkwire.errors import ConfigurationError

SERVER = '''
from mcp.server import MCPServer
server = MCPServer("words")
@server.tool()
def shout(text: str) -> str:
    """Say it loudly."""
    return text.upper()
server.run("stdio")
'''
OPTIONS = AgentOptions(model="builtin/reader", no_session=True)


@pytest.fixture
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config.toml"
    monkeypatch.setenv("INKWIRE_CONFIG", str(path))
    monkeypatch.chdir(tmp_path)
    return path


async def test_limits_and_rules_of_the_file_reach_the_agent(configured: Path) -> None:
    configured.write_text(
        'permission_mode = "auto"\nmax_turns = 7\nmax_time_seconds = 60\ncontext_window = 9000\n'
        'allowed_tools = ["bash(git status)"]\ndenied_tools = ["bash(git push *)"]\n'
    )
    async with open_conversation(OPTIONS, approve=None, interactive=False) as conversation:
        agent = conversation._agent
        assert conversation.permission_mode == "auto"
        assert (agent.limits.max_turns, agent.limits.max_time_seconds) == (7, 60)
        assert [rule.text for rule in conversation._policy._deny] == ["bash(git push *)"]


async def test_tools_of_an_mcp_server_are_offered(configured: Path) -> None:
    pytest.importorskip("mcp")
    program = configured.parent / "server.py"
    program.write_text(SERVER)
    configured.write_text(f'[mcp.words]\ncommand = ["{sys.executable}", "{program}"]\n')
    async with open_conversation(OPTIONS, approve=None, interactive=False) as conversation:
        assert "mcp__words__shout" in conversation._agent.tools


async def test_a_server_that_is_not_there_costs_its_own_tools_alone(
    configured: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("mcp")
    configured.write_text('[mcp.gone]\ncommand = ["/no/such/program"]\n')
    async with open_conversation(OPTIONS, approve=None, interactive=False) as conversation:
        assert "read" in conversation._agent.tools
    assert "MCP server gone is not there" in capsys.readouterr().err


async def test_a_tool_that_is_not_there_is_told(configured: Path) -> None:
    options = AgentOptions(model="builtin/reader", no_session=True, tools=("reed",))
    with pytest.raises(ConfigurationError, match="unknown tool 'reed'"):
        async with open_conversation(options, approve=None, interactive=False):
            pass
