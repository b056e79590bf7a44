"""A function in, a tool out: what the model is told, what it may touch, and what comes back.

    @tool(writes=False)
    async def weather(city: Annotated[str, "A town's name"]) -> str:
        '''The weather of today.'''

The signature becomes the schema. A parameter annotated `ToolContext` is not the model's: the loop fills it in. A plain
`def` runs in a thread. What goes wrong in a way that the model can mend is raised as `ToolError`.
"""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, overload

import msgspec

from inkwire.messages import ToolDefinition, UserPart
from inkwire.tools.schema import TypedArguments

__all__ = [
    "EVERYTHING",
    "Access",
    "Accesses",
    "Arguments",
    "Runner",
    "Tool",
    "ToolContext",
    "ToolResult",
    "conflicts",
    "tool",
]


class ToolResult(msgspec.Struct, frozen=True):
    """What a call gave."""

    text: str
    """For the model."""
    parts: tuple[UserPart, ...] = ()
    """Further parts for the model, such as images."""
    is_error: bool = False
    display: str = ""
    """For a person, where that differs: a diff, say."""


class Access(msgspec.Struct, frozen=True):
    """One thing that a call reads or writes."""

    mode: Literal["read", "write"]
    path: str | None
    """Resolved and absolute, with all that is below it; None: anything at all."""


EVERYTHING = (Access("write", None),)


def _ignore(text: str) -> None:
    """Nobody watches."""


class ToolContext(msgspec.Struct, frozen=True):
    """Where a call runs."""

    workspace: Path
    """Resolved; file tools stay inside."""
    call_id: str = ""
    emit: Callable[[str], None] = _ignore
    """Shows output while the call runs."""
    overflow_directory: Path | None = None
    """Where output that is too long for the model is kept whole; file tools may read there."""
    environ: Mapping[str, str] = os.environ
    read_only: bool = False
    """Nothing may be changed: a tool that cannot promise that must refuse."""
    sandbox: bool = False
    """Child processes run in a sandbox, or not at all."""


class Arguments(Protocol):
    """How a tool's arguments are described and checked."""

    @property
    def schema(self) -> Mapping[str, Any]:
        """The JSON Schema that the model is shown."""

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as the tool takes them; raises `ToolError` with path, received and expected."""


_THREAD_SECONDS = 1.0

Runner: TypeAlias = Callable[[dict[str, Any], ToolContext], Awaitable[ToolResult]]
Accesses: TypeAlias = Callable[[Mapping[str, Any], ToolContext], tuple[Access, ...]]


class Tool(msgspec.Struct, frozen=True):
    """A tool, ready for the loop."""

    name: str
    description: str
    arguments: Arguments
    run: Runner
    writes: bool = True
    """Whether it can change anything; read-only mode refuses those that do."""
    accesses: Accesses | None = None
    """What a call touches, so that only conflicting calls wait for each other; raises `ToolError` for a path that is
    not allowed. None: everything for a tool that writes, nothing for one that reads."""
    command: str | None = None
    """The name of the argument that holds a shell line, for the rules."""
    time_limit_seconds: float | None = None
    """The loop cancels the call after that; None: the tool has its own limit, or none."""
    max_output_bytes: int = 50_000
    max_output_lines: int = 2_000
    free_text: bool = False
    """The argument is plain text; it comes as `input`."""

    @property
    def definition(self) -> ToolDefinition:
        """What the model is told."""
        return ToolDefinition(self.name, self.description, self.arguments.schema, self.free_text)

    def touches(self, arguments: Mapping[str, Any], context: ToolContext) -> tuple[Access, ...]:
        """What this call reads and writes."""
        if self.accesses is not None:
            return self.accesses(arguments, context)
        return EVERYTHING if self.writes else ()


def conflicts(first: tuple[Access, ...], second: tuple[Access, ...]) -> bool:
    """Whether two calls must not run at the same time: one writes what the other touches."""
    return any(
        "write" in (one.mode, other.mode) and _overlap(one.path, other.path) for one in first for other in second
    )


def _overlap(one: str | None, other: str | None) -> bool:
    if one is None or other is None:
        return True
    return one == other or other.startswith(one.rstrip("/") + "/") or one.startswith(other.rstrip("/") + "/")


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    writes: bool = True,
    accesses: Accesses | None = None,
    command: str | None = None,
    time_limit_seconds: float | None = None,
    max_output_bytes: int = 50_000,
    max_output_lines: int = 2_000,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a function a tool: name, description and schema come from it; `writes` unless told otherwise."""
    return _made(function) if function is not None else partial(_made, **options)


def _made(
    function: Callable[..., Any], *, name: str | None = None, description: str | None = None, **options: Any
) -> Tool:
    arguments = TypedArguments(function, of_loop=(ToolContext,))
    return Tool(
        name=name or function.__name__,
        description=description or inspect.getdoc(function) or "",
        arguments=arguments,
        run=_runner(function, arguments),
        **options,
    )


def _runner(function: Callable[..., Any], signature: TypedArguments) -> Runner:
    is_async = inspect.iscoroutinefunction(function)

    async def run(arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        given = {**arguments, **dict.fromkeys(signature.filled_in, context)}
        value = await function(**given) if is_async else await _in_thread(partial(function, **given))
        return value if isinstance(value, ToolResult) else ToolResult(_as_text(value))

    return run


async def _in_thread(function: Callable[[], Any]) -> Any:
    """The function's value. A thread cannot be stopped: when this is cancelled, it gets a moment to end by itself."""
    running = asyncio.ensure_future(asyncio.to_thread(function))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running], timeout=_THREAD_SECONDS)
        if running.done():
            return running.result()
        running.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        raise


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else msgspec.json.encode(value, enc_hook=str).decode()
