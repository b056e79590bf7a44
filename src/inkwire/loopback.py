"""An application in, a server that only this machine reaches out.

It listens on 127.0.0.1, and `is_own_host` tells whether who calls it does so by that address: a page in a browser that
reaches it by a rebound name does not.
"""

from __future__ import annotations

from typing import Any

from aiohttp import web

__all__ = ["is_own_host", "listen"]


async def listen(app: web.Application, port: int = 0, **options: Any) -> tuple[web.AppRunner, int]:
    """Start listening on 127.0.0.1; gives what to clean up, and the port (of 0 the one the system chose).

    `options` are the runner's. Raises `OSError` when the port is not free.
    """
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, **options)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
    except OSError:
        await runner.cleanup()
        raise
    return runner, runner.addresses[0][1]


def is_own_host(request: web.Request, port: int) -> bool:
    """Whether the request names this machine as its host."""
    return request.headers.get("Host") in (f"127.0.0.1:{port}", f"localhost:{port}")
