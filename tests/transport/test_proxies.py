"""Which proxy stands in front of an address, from the environment alone; and speaking through one."""

from __future__ import annotations

import asyncio
import sys

import pytest

from inkwire.client import Client
from inkwire.errors import ConfigurationError, TransportError
from inkwire.providers.base import Target
from inkwire.transport.http import HTTPTransport
from inkwire.transport.proxies import is_socks, proxy_for
from tests.scripted_server import ScriptedServer
from tests.test_client import WHOLE, request

URL = "https://api.example/v1"
NAMES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_the_scheme_s_own_proxy_comes_before_the_one_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    assert proxy_for(URL) is None
    monkeypatch.setenv("ALL_PROXY", "socks5://all:1080")
    assert proxy_for(URL) == "socks5://all:1080"
    monkeypatch.setenv("HTTPS_PROXY", "http://secure:1")
    assert proxy_for(URL) == "http://secure:1"
    assert proxy_for("http://api.example/v1") == "socks5://all:1080"


def test_a_proxy_without_a_scheme_speaks_http(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "corp:3128")
    assert proxy_for(URL) == "http://corp:3128"


@pytest.mark.parametrize("exception", ["api.example", ".example", "*", "other, api.example:443"])
def test_exceptions_are_asked_directly(monkeypatch: pytest.MonkeyPatch, exception: str) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://corp:3128")
    monkeypatch.setenv("NO_PROXY", exception)
    assert proxy_for("https://api.example:443/v1") is None


@pytest.mark.parametrize("host", ["localhost:11434", "127.0.0.1:8080", "127.9.9.9", "[::1]:80", "me.localhost"])
def test_this_machine_is_never_asked_through_a_proxy(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://corp:3128")
    assert proxy_for(f"http://{host}/v1") is None


def test_an_address_that_is_none_has_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://corp:3128")
    assert proxy_for("http://h:port/") is None
    assert proxy_for("http://[::1/") is None


def test_socks_is_told_by_its_scheme() -> None:
    assert all(is_socks(f"{name}://h:1") for name in ("socks4", "socks4a", "socks5", "socks5h", "SOCKS5"))
    assert not any(is_socks(proxy) for proxy in (None, "http://h:1", "https://h:1"))


def client_at(url: str, transport: HTTPTransport | None = None) -> Client:
    target = Target("t", "m", url, "chat", key="sk-secret-key")
    return Client(resolve=lambda model: target, retries=0, transport=transport)


async def test_a_request_goes_through_the_environment_s_http_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async with ScriptedServer([WHOLE]) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://joe:pass@127.0.0.1:{proxy.port}")
        async with client_at("http://model.example/v1") as client:
            assert (await client.complete(request())).text == "Hello"
    assert proxy.seen[0].path == "http://model.example/v1/chat/completions"
    assert proxy.seen[0].headers["proxy-authorization"].startswith("Basic ")


async def test_a_proxy_that_refuses_says_so_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    async with ScriptedServer([{"status": 407, "headers": {}, "body": ""}]) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://joe:pass-word@127.0.0.1:{proxy.port}")
        async with client_at("https://model.example/v1") as client:
            with pytest.raises(TransportError, match=r"proxy .*407") as caught:
                await client.complete(request())
    assert caught.value.retryable is False
    assert "pass-word" not in str(caught.value)


class SocksServer:
    """A SOCKS5 proxy that sends every request to one port on loopback."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._tasks: set[asyncio.Task[None]] = set()
        self.asked: list[str] = []

    async def __aenter__(self) -> SocksServer:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *error: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._tasks.add(asyncio.get_running_loop().create_task(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, methods = await reader.readexactly(2)
        await reader.readexactly(methods)
        writer.write(b"\x05\x00")
        *_, kind, length = await reader.readexactly(5)
        assert kind == 3, "a name, which the proxy looks up"
        self.asked.append((await reader.readexactly(length)).decode())
        await reader.readexactly(2)
        writer.write(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00")
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            await asyncio.gather(_pump(reader, inner_writer), _pump(inner_reader, writer))
        finally:
            inner_writer.close()
            writer.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
    writer.close()


async def test_a_request_goes_through_a_socks_proxy_and_local_ones_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("aiohttp_socks")
    async with ScriptedServer([WHOLE]) as server, SocksServer(server.port) as proxy:
        monkeypatch.setenv("ALL_PROXY", f"socks5h://127.0.0.1:{proxy.port}")
        transport = HTTPTransport()
        async with client_at("http://model.example/v1", transport) as client:
            assert (await client.complete(request())).text == "Hello"
            assert (await client_at(server.url, transport).complete(request())).text == "Hello"
        assert proxy.asked == ["model.example"]
        await server.disconnected()


async def test_a_socks_proxy_without_the_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiohttp_socks", None)
    transport = HTTPTransport(proxy="socks5://joe:pass-word@127.0.0.1:9")
    async with client_at("http://model.example/v1", transport) as client:
        with pytest.raises(ConfigurationError, match=r"inkwire\[socks\]") as caught:
            await client.complete(request())
    assert "pass-word" not in str(caught.value)


async def test_a_socks_proxy_that_is_not_there_is_a_connection_error() -> None:
    pytest.importorskip("aiohttp_socks")
    async with client_at("http://model.example/v1", HTTPTransport(proxy="socks5://127.0.0.1:9")) as client:
        with pytest.raises(TransportError, match="cannot connect to model") as caught:
            await client.complete(request())
    assert caught.value.retryable
