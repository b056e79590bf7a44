"""A script in, a chat service on loopback that follows it out: for whole jobs over real HTTP.

An answer is a list of pieces: a dict is a chunk's `choices[0]`, `bytes` go out as they are, `DROP` cuts the connection.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, TypeAlias

from aiohttp import web

from inkwire.client import Client
from inkwire.providers.base import Target

DROP: Final = "drop"
Piece: TypeAlias = dict[str, Any] | bytes | str
Answer: TypeAlias = Sequence[Piece] | web.Response | Callable[[dict[str, Any]], Sequence[Piece]]
MODEL = "test/scripted"


def text(words: str, finish: str = "stop") -> list[Piece]:
    """A text in small pieces."""
    pieces: list[Piece] = [{"delta": {"content": words[at : at + 5]}} for at in range(0, len(words), 5)]
    return [*pieces, {"delta": {}, "finish_reason": finish}]


def calls(
    *wanted: tuple[str, dict[str, Any] | str], finish: str = "tool_calls", size: int = 7, ids: str = "call"
) -> list[Piece]:
    """Calls whose arguments come in interleaved fragments."""
    raws = [each if isinstance(each, str) else json.dumps(each) for _, each in wanted]
    pieces: list[Piece] = [
        _call(index, {"id": f"{ids}_{index}", "type": "function", "function": {"name": name, "arguments": ""}})
        for index, (name, _) in enumerate(wanted)
    ]
    for at in range(0, max(map(len, raws)), size):
        for index, raw in enumerate(raws):
            if fragment := raw[at : at + size]:
                pieces.append(_call(index, {"function": {"arguments": fragment}}))
    return [*pieces, {"delta": {}, "finish_reason": finish}]


def _call(index: int, fields: dict[str, Any]) -> dict[str, Any]:
    return {"delta": {"tool_calls": [{"index": index, **fields}]}}


class ChatServer:
    """Gives the answers in order; the requests are kept."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self._answers = list(answers)
        self.requests: list[dict[str, Any]] = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        self.requests.append(asked)
        answer = self._answers.pop(0)
        if isinstance(answer, web.Response):
            return answer
        pieces = answer(asked) if callable(answer) else answer
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for piece in pieces:
            if piece == DROP:
                assert request.transport is not None
                request.transport.abort()
                return response
            if isinstance(piece, dict):
                piece = b"data: " + json.dumps({"choices": [{"index": 0, **piece}]}).encode() + b"\n\n"
            assert isinstance(piece, bytes)
            await response.write(piece)
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        await response.write(b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\n")
        await response.write(b"data: [DONE]\n\n")
        return response


async def no_sleep(seconds: float) -> None:
    """Retries need no waiting here."""


@asynccontextmanager
async def serving(
    *answers: Answer, sleep: Callable[[float], Awaitable[None]] = no_sleep
) -> AsyncIterator[tuple[ChatServer, Client]]:
    """The server, and a client that knows no other."""
    server = ChatServer(answers)
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_post("/v1/chat/completions", server.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    target = Target("test", "scripted", f"http://127.0.0.1:{port}/v1", "chat", "none")
    try:
        async with Client(resolve=lambda model: target, sleep=sleep) as client:
            yield server, client
    finally:
        await runner.cleanup()
