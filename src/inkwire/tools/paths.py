"""A path as the model wrote it in, a resolved path inside the workspace out.

Links are followed first, so a link that leads out is outside. Files are opened without following a link in the last
place and without waiting, so a path swapped in between, a pipe or a device is an error and not a hang.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from inkwire.errors import ToolError
from inkwire.tools.base import Access, ToolContext

__all__ = ["MAX_FILE_BYTES", "read_bytes", "reading", "relative", "resolve", "writing"]

MAX_FILE_BYTES = 64 * 1024 * 1024
_MAX_PATH = 4096


def resolve(path: str, context: ToolContext, *, write: bool = False) -> Path:
    """The absolute path with all links followed; raises `ToolError` when it is not in the workspace."""
    if write and context.read_only:
        raise ToolError("nothing may be changed: the agent is in read-only mode")
    if "\0" in path:
        raise ToolError("the path contains a NUL character")
    if len(path) > _MAX_PATH:
        raise ToolError(f"the path has {len(path)} characters; at most {_MAX_PATH} are a path")
    shown = path if len(path) <= 200 else f"{path[:200]}…"
    try:
        resolved = (context.workspace / path).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise ToolError(f"{shown} cannot be resolved: {error}") from error
    roots = [context.workspace]
    if context.overflow_directory is not None and not write:
        roots.append(context.overflow_directory.resolve())
    if not any(resolved.is_relative_to(root) for root in roots):
        via = "" if Path(os.path.normpath(context.workspace / path)) == resolved else f" (it leads to {resolved})"
        raise ToolError(f"{shown} is outside the workspace{via}; file tools stay inside {context.workspace}")
    return resolved


def relative(path: Path, context: ToolContext) -> str:
    """The path as the model should see it."""
    return str(path.relative_to(context.workspace)) if path.is_relative_to(context.workspace) else str(path)


def reading(path: str, context: ToolContext) -> tuple[Access, ...]:
    """The access of a call that reads `path`."""
    return (Access("read", str(resolve(path, context))),)


def writing(path: str, context: ToolContext) -> tuple[Access, ...]:
    """The access of a call that writes `path`."""
    return (Access("write", str(resolve(path, context, write=True))),)


def read_bytes(path: Path, shown: str) -> bytes:
    """A regular file's content; raises `ToolError` in words for the model."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise ToolError(f"{shown} does not exist{_nearby(path)}") from None
    except OSError as error:
        raise ToolError(f"{shown} cannot be read: {error.strerror}") from error
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise ToolError(f"{shown} is a directory; list it instead")
        if not stat.S_ISREG(status.st_mode):
            raise ToolError(f"{shown} is no regular file (a pipe, socket or device)")
        if status.st_size > MAX_FILE_BYTES:
            raise ToolError(f"{shown} has {status.st_size} bytes, more than {MAX_FILE_BYTES}; search it with grep")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(MAX_FILE_BYTES + 1)
    finally:
        os.close(descriptor)


def _nearby(path: Path) -> str:
    """Names in the same directory that the model may have meant."""
    import difflib

    try:
        names = sorted(os.listdir(path.parent))[:5000]
    except OSError:
        return ""
    close = difflib.get_close_matches(path.name[:200], names, n=3)
    return f"; did you mean {' or '.join(close)}?" if close else ""
