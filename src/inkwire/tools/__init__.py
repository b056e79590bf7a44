"""What an agent can do: tools, their schemas and their limits.

    from inkwire.tools import BUILTIN, tool

    @tool(writes=False)
    async def weather(city: Annotated[str, "A town's name"]) -> str:
        '''The weather of today.'''

Each name is loaded with its first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inkwire.tools.base import Access, Tool, ToolContext, ToolResult, tool
    from inkwire.tools.builtin import BUILTIN
    from inkwire.tools.mcp import MCPServer, MCPServers

__all__ = ["BUILTIN", "Access", "MCPServer", "MCPServers", "Tool", "ToolContext", "ToolResult", "tool"]

_HOMES = {"BUILTIN": "builtin", "MCPServer": "mcp", "MCPServers": "mcp"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'base')}"), name)
