"""Helpers for tests that call a tool as the loop does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from inkwire.errors import ToolError
from inkwire.tools.base import Tool, ToolContext, ToolResult


def context(workspace: Path, **options: Any) -> ToolContext:
    """A context in that workspace."""
    return ToolContext(workspace.resolve(), **options)


async def use(tool: Tool, where: Path | ToolContext, **arguments: Any) -> ToolResult:
    """Check the arguments, look at the accesses, run."""
    place = where if isinstance(where, ToolContext) else context(where)
    checked = tool.arguments.validate(arguments)
    tool.touches(checked, place)
    return await tool.run(checked, place)


async def refusal(tool: Tool, where: Path | ToolContext, **arguments: Any) -> str:
    """What the model is told instead of a result."""
    with pytest.raises(ToolError) as caught:
        await use(tool, where, **arguments)
    return str(caught.value)
