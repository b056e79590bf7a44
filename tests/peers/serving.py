"""A body in, a loopback service that answers every request with it, and keeps what it was asked, out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

__all__ = ["Service", "serving"]


@dataclass
class Service:
    """Where it is, and the paths and JSON bodies that came."""

    url: str = ""
    asked: list[tuple[str, Any]] = field(default_factory=list)


@asynccontextmanager
async def serving(body: bytes, content_type: str, *, piece: int = 7) -> AsyncIterator[Service]:
    """A service that sends `body` in small pieces."""
    service = Service()

    async def answer(request: web.Request) -> web.StreamResponse:
        service.asked.append((request.path_qs, await request.json()))
        response = web.StreamResponse(headers={"content-type": content_type})
        await response.prepare(request)
        for at in range(0, len(body), piece):
            await response.write(body[at : at + piece])
        await response.write_eof()
        return response

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    try:
        service.url = f"http://{host}:{port}"
        yield service
    finally:
        await runner.cleanup()
