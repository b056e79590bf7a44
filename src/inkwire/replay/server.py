"""Exchanges in, a server on loopback that answers with them out.

It listens on 127.0.0.1 and answers only who calls it by that address, so that no page in a browser reaches it by a
rebound name. Any client on this machine may ask; keys are not looked at.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

import msgspec
from aiohttp import web

from inkwire.loopback import is_own_host, listen
from inkwire.recording import Exchange
from inkwire.replay.choice import Choice
from inkwire.replay.faults import Fault, broken, error_body, refusal
from inkwire.replay.plan import Answer, answer_of

__all__ = ["ReplayServer", "Served"]

_MOST_BYTES = 256 * 1024 * 1024
_RESET_SECONDS = 0.05
"""A reset throws away what the other side has not read yet: a moment for it to read."""
_ANY_MODEL = "replay"


class Served(msgspec.Struct, frozen=True):
    """One request that was answered, for a log."""

    method: str
    path: str
    status: int
    exchange: int | None = None
    """The number of the exchange it got; None for a refusal."""
    note: str = ""


class ReplayServer:
    """A stand-in provider; an async context manager.

    `speed` 1 is the recorded pace, 2 twice as fast, 0 as fast as it goes. Of `faults`, refusals hit the first
    requests, one each, the others the first answer; with `every` they hit all. `served` is told of each request.
    """

    def __init__(
        self,
        exchanges: Sequence[Exchange],
        *,
        port: int = 0,
        speed: float = 1.0,
        faults: Sequence[Fault] = (),
        every: bool = False,
        loop: bool = False,
        served: Callable[[Served], None] = lambda served: None,
    ) -> None:
        self._exchanges = exchanges
        self._choice = Choice(exchanges, loop=loop)
        self._port = port
        self._speed = speed
        self._refusals = [fault for fault in faults if fault.refuses]
        self._faults = [fault for fault in faults if not fault.refuses]
        self._every = every
        self._served = served
        self._runner: web.AppRunner | None = None
        self.url = ""
        """Where it listens, without a path."""

    async def __aenter__(self) -> Self:
        app = web.Application(middlewares=[self._guard], client_max_size=_MOST_BYTES)
        app.router.add_route("*", "/{path:.*}", self._answer)
        # A client that leaves ends its answer, also one that stalls.
        self._runner, self._port = await listen(app, self._port, handler_cancellation=True)
        self.url = f"http://127.0.0.1:{self._port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    @web.middleware
    async def _guard(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if not is_own_host(request, self._port):
            return _refused(403, "permission_error", "this server answers only to its own address on this machine")
        answer: web.StreamResponse = await handler(request)
        return answer

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if request.method in ("GET", "HEAD"):
            return self._about(request)
        if self._refusals:
            fault = self._refusals[0] if self._every else self._refusals.pop(0)
            answer = refusal(fault)
            self._tell(request, answer.status, note=fault.kind)
            return await self._send(request, answer)
        body = await request.read()
        chosen = self._choice.choose(request.path, body)
        if isinstance(chosen, str):
            self._tell(request, 404, note=chosen)
            return _refused(404, "not_found_error", f"replay: {chosen}")
        answer, faults = answer_of(self._exchanges[chosen]), self._faults
        if faults:
            answer = broken(answer, faults)
            self._choice.was_broken(body)
            self._faults = faults if self._every else []
        note = ", ".join(fault.kind for fault in faults)
        self._tell(request, answer.status, self._exchanges[chosen].number, note)
        return await self._send(request, answer)

    def _about(self, request: web.Request) -> web.Response:
        """The models of the recording, as every protocol's clients ask for them."""
        names = sorted({_model_of(each) for each in self._exchanges})
        if request.path.rstrip("/").endswith(("/models", "/api/tags")):
            self._tell(request, 200)
            entries = [{"id": name, "object": "model", "type": "model", "owned_by": "replay"} for name in names]
            tags = [{"name": name, "model": name} for name in names]
            return web.json_response({"object": "list", "data": entries, "models": tags, "has_more": False})
        self._tell(request, 404)
        return _refused(404, "not_found_error", f"replay: nothing at {request.path}; POST what the recording holds")

    async def _send(self, request: web.Request, answer: Answer) -> web.StreamResponse:
        clock = asyncio.get_running_loop().time
        started = clock()

        async def wait_until(seconds: float) -> None:
            if self._speed and (left := started + seconds / self._speed - clock()) > 0:
                await asyncio.sleep(left)

        await wait_until(answer.head_seconds)
        response = web.StreamResponse(status=answer.status, headers=list(answer.headers))
        if answer.end != "reset" or answer.pieces:
            await response.prepare(request)
        for piece in answer.pieces:
            await wait_until(piece.seconds)
            await response.write(piece.data)
        if answer.end == "stall":
            await asyncio.Event().wait()  # until the client leaves
        if answer.end == "reset":
            await asyncio.sleep(_RESET_SECONDS)
            _reset(request)
            return response
        await response.write_eof()
        return response

    def _tell(self, request: web.Request, status: int, exchange: int | None = None, note: str = "") -> None:
        self._served(Served(request.method, request.path, status, exchange, note))


def _reset(request: web.Request) -> None:
    transport = request.transport
    if transport is None:
        return
    connection = transport.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


def _model_of(exchange: Exchange) -> str:
    name = exchange.request.get("model")
    return name if isinstance(name, str) and name else _ANY_MODEL


def _refused(status: int, kind: str, message: str) -> web.Response:
    return web.Response(status=status, body=error_body(kind, message), content_type="application/json")
