"""The reader as a server: loopback only, the run's token, its own address, Chat Completions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from inkwire.local.reader_server import ReaderServer


@pytest.fixture
async def server() -> AsyncIterator[ReaderServer]:
    async with ReaderServer(pause_seconds=0) as running:
        yield running


async def post(server: ReaderServer, body: Any, **headers: str) -> tuple[int, str]:
    target = server.target
    sent = {"Authorization": f"Bearer {target.key}", **headers}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{target.base_url}/chat/completions", json=body, headers=sent) as response,
    ):
        return response.status, await response.text()


ASK = {"messages": [{"role": "user", "content": "hello"}], "stream": True}


async def test_it_streams_an_answer(server: ReaderServer) -> None:
    status, body = await post(server, ASK)
    assert status == 200
    assert body.endswith("data: [DONE]\n\n")


async def test_it_answers_whole_without_streaming(server: ReaderServer) -> None:
    status, body = await post(server, {**ASK, "stream": False})
    assert status == 200
    assert '"finish_reason": "stop"' in body


async def test_a_wrong_token_is_refused(server: ReaderServer) -> None:
    assert (await post(server, ASK, Authorization="Bearer guess"))[0] == 401


async def test_another_host_name_is_refused(server: ReaderServer) -> None:
    assert (await post(server, ASK, Host="evil.example"))[0] == 403


async def test_what_is_no_chat_request_is_a_bad_request(server: ReaderServer) -> None:
    status, body = await post(server, {"messages": "hello"})
    assert status == 400
    assert "no chat completion" in body


async def test_it_listens_on_loopback_and_hides_its_token(server: ReaderServer) -> None:
    assert server.target.base_url.startswith("http://127.0.0.1:")
    assert str(server.target.key) not in repr(server.target)


async def test_starting_twice_and_closing_twice_are_fine() -> None:
    server = ReaderServer()
    assert await server.start() == await server.start()
    await server.aclose()
    await server.aclose()
