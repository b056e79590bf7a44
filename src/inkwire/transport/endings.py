"""A body that nobody wants the events of: an error's words, read as far as they come, or the rest after completion."""

from __future__ import annotations

import asyncio

from inkwire.errors import ModelError
from inkwire.transport.base import Body

__all__ = ["drain", "read_error"]

_DRAIN_SECONDS = 0.1
_ERROR_BODY_SECONDS = 2.0


async def read_error(body: Body, limit: int) -> bytes:
    """An error's body, as far as it comes in time and fits into `limit` bytes."""
    kept = bytearray()
    try:
        async with asyncio.timeout(_ERROR_BODY_SECONDS):
            while len(kept) < limit and (data := await body.read()):
                kept += data
    except (TimeoutError, ModelError):
        pass
    return bytes(kept[:limit])


async def drain(body: Body) -> None:
    """Read to the end for a moment, so that the connection can be used again; a loss is no error any more."""
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            while await body.read():
                pass
    except (TimeoutError, ModelError):
        pass
