"""Chat Completions requests in over loopback HTTP, the built-in reader's replies out in fragments.

It listens on 127.0.0.1 at a port of the system's choice, and answers only who knows this run's token and calls it by
its own address, so that no page in a browser can reach it by a rebound name.
"""

from __future__ import annotations

import asyncio
import secrets
from types import TracebackType
from typing import Any

import msgspec
from aiohttp import web

from inkwire.local.reader import reply_to
from inkwire.local.reader_wire import completion, stream_chunks
from inkwire.loopback import listen
from inkwire.providers.base import Target

__all__ = ["ReaderServer"]

_MODEL = "reader"
_PROVIDER = "builtin"
_MOST_BYTES = 64 * 1024 * 1024


class _ChatRequest(msgspec.Struct):
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] = []
    stream: bool = False


class ReaderServer:
    """The built-in reader as a server on loopback; an async context manager.

    `seed` decides how replies are cut; `pause_seconds` is slept between writes (0 for none).
    """

    def __init__(self, *, seed: int = 0, pause_seconds: float = 0.002) -> None:
        self._seed = seed
        self._pause_seconds = pause_seconds
        self._token = secrets.token_urlsafe(24)
        self._runner: web.AppRunner | None = None
        self._host = ""
        self._answers = 0

    @property
    def target(self) -> Target:
        """Where requests for `builtin/reader` go while the server runs."""
        return Target(
            provider=_PROVIDER, model=_MODEL, base_url=f"http://{self._host}/v1", protocol="chat", key=self._token
        )

    async def start(self) -> Target:
        """Listen; does nothing when it already does."""
        if self._runner is None:
            app = web.Application(middlewares=[self._guard], client_max_size=_MOST_BYTES)
            app.router.add_post("/v1/chat/completions", self._complete)
            app.router.add_get("/v1/models", self._models)
            self._runner, port = await listen(app)
            self._host = f"127.0.0.1:{port}"
        return self.target

    async def aclose(self) -> None:
        """Stop listening; open answers are dropped."""
        if self._runner is not None:
            runner, self._runner = self._runner, None
            await runner.cleanup()

    async def __aenter__(self) -> ReaderServer:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    @web.middleware
    async def _guard(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if request.headers.get("Host") != self._host:
            return _refusal(403, "forbidden", "this server answers only to its own address")
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if not secrets.compare_digest(given.encode(), self._token.encode()):
            return _refusal(401, "invalid_api_key", "this server answers only to the process that started it")
        answer: web.StreamResponse = await handler(request)
        return answer

    async def _models(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": _MODEL, "object": "model", "owned_by": "inkwire"}]})

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        try:
            asked = msgspec.json.decode(body, type=_ChatRequest)
        except msgspec.DecodeError as error:
            return _refusal(400, "invalid_request_error", f"the request is no chat completion: {error}")
        reply = reply_to(asked.messages, asked.tools)
        self._answers += 1
        response_id = f"chatcmpl-reader-{self._seed}x{self._answers}"
        about: dict[str, Any] = {"response_id": response_id, "model": _MODEL, "input_characters": len(body)}
        if not asked.stream:
            return web.json_response(completion(reply, **about))
        return await self._stream(request, stream_chunks(reply, **about, seed=self._seed + self._answers))

    async def _stream(self, request: web.Request, chunks: list[bytes]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
            if self._pause_seconds:
                await asyncio.sleep(self._pause_seconds)
        await response.write_eof()
        return response


def _refusal(status: int, code: str, message: str) -> web.Response:
    return web.json_response({"error": {"message": message, "type": code, "code": code}}, status=status)
