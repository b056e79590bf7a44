"""Recordings in, a page on loopback that steps through them out.

It listens on 127.0.0.1, answers only under this run's token and only who calls it by that address. The page may load
and ask nothing but this server: its policy forbids the rest.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from inkwire.inspector.document import STATIC, Look, static_bytes, written_page
from inkwire.inspector.source import Source
from inkwire.loopback import is_own_host, listen

__all__ = ["InspectorServer"]

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_NUMBER = re.compile(r"[0-9]{1,9}")
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class InspectorServer:
    """Serves the page for its recordings; an async context manager."""

    def __init__(
        self,
        sources: Sequence[Source],
        *,
        port: int = 0,
        look: Look = Look(),  # noqa: B008 - a frozen value
    ) -> None:
        self._sources = sources
        self._port = port
        self._look = look
        self._token = secrets.token_urlsafe(18)
        self._runner: web.AppRunner | None = None
        self.url = ""
        """The page's address, token included."""

    async def __aenter__(self) -> Self:
        app = web.Application(middlewares=[self._guard])
        app.router.add_get("/{token}/", self._page)
        app.router.add_get("/{token}/static/{name}", self._static)
        app.router.add_get("/{token}/chunk/{source}/{number}", self._chunk)
        self._runner, self._port = await listen(app, self._port, handler_cancellation=True)
        self.url = f"http://127.0.0.1:{self._port}/{self._token}/"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    @web.middleware
    async def _guard(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if not is_own_host(request, self._port):
            return _refused(403, "this page answers only to its own address on this machine")
        token = request.path.split("/")[1]
        if not secrets.compare_digest(token.encode(), self._token.encode()):
            return _refused(403, "open the address that inkwire printed: it carries this run's token")
        try:
            answer: web.StreamResponse = await handler(request)
        except web.HTTPException as refusal:  # no such path, or a method that it does not have
            return _refused(refusal.status, refusal.reason)
        answer.headers.update(_HEADERS)
        return answer

    async def _page(self, request: web.Request) -> web.Response:
        page = written_page([source.name for source in self._sources], self._look)
        return web.Response(text=page, content_type="text/html")

    async def _static(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in STATIC:
            return _refused(404, "there is no such file")
        return web.Response(body=static_bytes(name), content_type=STATIC[name], charset="utf-8")

    async def _chunk(self, request: web.Request) -> web.Response:
        source, number = request.match_info["source"], request.match_info["number"]
        if not (_NUMBER.fullmatch(source) and _NUMBER.fullmatch(number) and int(source) < len(self._sources)):
            return _refused(404, "there is no such recording")
        chunk = await self._sources[int(source)].chunk(int(number))
        return web.Response(body=chunk, content_type="application/json")


def _refused(status: int, message: str) -> web.Response:
    return web.Response(status=status, text=message + "\n", headers=_HEADERS)
