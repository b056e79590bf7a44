"""Local servers are found by the shape of their answer; whatever else listens on a port is not."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from inkwire.errors import AuthenticationError, ConfigurationError, TransportError
from inkwire.local.probe import find_local_servers, models_at
from inkwire.providers import CATALOG
from inkwire.providers.base import Target
from inkwire.providers.detect import LocalServer

Handler = Callable[[web.Request], Awaitable[web.Response]]


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_get("/{rest:.*}", handler)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.01)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def openai_list(request: web.Request) -> web.Response:
    return web.json_response({"object": "list", "data": [{"id": "big"}, {"id": "small"}, {"odd": 1}]})


async def ollama_list(request: web.Request) -> web.Response:
    return web.json_response({"models": [{"name": "qwen3:8b", "model": "qwen3:8b"}]} if "tags" in request.path else {})


async def website(request: web.Request) -> web.Response:
    return web.Response(text="<html>hello</html>", content_type="text/html")


async def refusal(request: web.Request) -> web.Response:
    right = request.headers.get("x-api-key") == "right"
    return await openai_list(request) if right else web.json_response({"error": {"message": "bad key"}}, status=401)


def closed_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def elsewhere(**addresses: str) -> dict[str, str]:
    """An environment in which the local servers that are not named are not there."""
    nowhere = closed_port()
    names = {entry.name: str(entry.base_url_env) for entry in CATALOG.values() if entry.local}
    return {variable: addresses.get(name, nowhere) for name, variable in names.items()}


async def test_servers_that_answer_are_found_together() -> None:
    async with serving(ollama_list) as ollama, serving(openai_list) as vllm, serving(website) as other:
        environ = elsewhere(ollama=ollama, vllm=vllm + "/v1", llamacpp=other + "/v1")
        found = await find_local_servers(CATALOG.values(), environ, timeout_seconds=5)
    assert found == (LocalServer("ollama", ("qwen3:8b",)), LocalServer("vllm", ("big", "small")))


async def test_nothing_listens_nothing_is_found() -> None:
    assert await find_local_servers(CATALOG.values(), elsewhere()) == ()


async def test_a_port_that_never_answers_does_not_hold_it_up() -> None:
    released = asyncio.Event()

    async def silent(request: web.Request) -> web.Response:
        await released.wait()
        return web.Response()

    async with serving(silent) as url:
        assert await find_local_servers(CATALOG.values(), elsewhere(vllm=url), timeout_seconds=0.1) == ()
        released.set()


async def test_the_key_is_sent_the_providers_way_and_refusals_are_typed() -> None:
    async with serving(refusal) as url:
        target = Target("anthropic", "x", url, "anthropic", auth="x-api-key", key="right")
        assert await models_at(target) == ("big", "small")
        with pytest.raises(AuthenticationError, match="bad key"):
            await models_at(Target("anthropic", "x", url, "anthropic", auth="x-api-key", key="wrong"))


async def test_an_unreachable_or_foreign_endpoint_says_so() -> None:
    with pytest.raises(TransportError):
        await models_at(Target("custom", "x", closed_port(), "chat"))
    async with serving(website) as url:
        with pytest.raises(ConfigurationError, match="not with a list of models"):
            await models_at(Target("custom", "x", url, "chat"))
