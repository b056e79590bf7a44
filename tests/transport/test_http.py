"""The one real HTTP client over real sockets: bytes as they come, faults in our words, no key where none belongs."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
import zlib
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from inkwire.client import Client
from inkwire.errors import ConfigurationError, ModelError, ModelTimeoutError, ProtocolError, TransportError
from inkwire.events import MessageEnd, TextDelta
from inkwire.messages import Timeouts
from inkwire.providers.base import Target
from inkwire.transport.base import HTTPRequest
from inkwire.transport.http import HTTPTransport
from tests.scripted_server import ScriptedServer
from tests.test_client import DONE, STOP, WHOLE, chunk, entry, request

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
HEAD = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n"


def in_chunks(*pieces: bytes | str) -> bytes:
    raw = [piece.encode() if isinstance(piece, str) else piece for piece in pieces]
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in raw)


class RawServer:
    """Reads one request a connection and leaves the answer to the test."""

    def __init__(self, serve: Serve) -> None:
        self._serve = serve
        self._tasks: set[asyncio.Task[None]] = set()
        self.heads: list[str] = []

    async def __aenter__(self) -> RawServer:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *error: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def client(self) -> Client:
        target = Target("t", "m", f"http://127.0.0.1:{self.port}/v1", "chat", key="sk-secret-key")
        return Client(resolve=lambda model: target, retries=0)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._tasks.add(asyncio.get_running_loop().create_task(self._one(reader, writer)))

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        length = next(line for line in head.split("\r\n") if line.lower().startswith("content-length:"))
        await reader.readexactly(int(length.partition(":")[2]))
        try:
            await self._serve(reader, writer)
        finally:
            writer.close()


@pytest.mark.parametrize("how", ["reset", "close"])
async def test_what_came_before_a_loss_counts_though_the_consumer_was_busy(how: str) -> None:
    gone, go = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"{HEAD}\r\n".encode() + in_chunks(chunk("one")))
        await go.wait()
        writer.write(in_chunks(chunk(" two"), STOP + DONE))
        await writer.drain()
        await asyncio.sleep(0.05)  # a reset overtakes what the client's kernel has not taken yet
        if how == "reset":
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()
        gone.set()

    async with RawServer(serve) as server, server.client as client:
        stream = client.stream(request())
        assert await anext(stream) == TextDelta(0, "one")
        go.set()
        await gone.wait()
        await asyncio.sleep(0.05)  # busy, while the loss is noticed
        events = [event async for event in stream]
        assert isinstance(events[-1], MessageEnd)
        assert events[-1].message.text == "one two"


async def test_compressed_events_come_one_by_one() -> None:
    seen = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        packer = zlib.compressobj(wbits=31)
        writer.write(f"{HEAD}content-encoding: gzip\r\n\r\n".encode())
        writer.write(in_chunks(packer.compress(chunk("one").encode()) + packer.flush(zlib.Z_SYNC_FLUSH)))
        await seen.wait()
        rest = packer.compress((STOP + DONE).encode()) + packer.flush()
        writer.write(in_chunks(rest) + b"0\r\n\r\n")
        await writer.drain()

    async with RawServer(serve) as server, server.client as client, asyncio.timeout(60):
        stream = client.stream(request())
        assert await anext(stream) == TextDelta(0, "one")
        seen.set()
        assert (await stream.result()).text == "one"


async def test_a_body_that_is_not_compressed_as_it_says_is_damage() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"{HEAD}content-encoding: gzip\r\n\r\n".encode() + in_chunks("no gzip") + b"0\r\n\r\n")
        await writer.drain()

    async with RawServer(serve) as server, server.client as client:
        with pytest.raises(ProtocolError, match="not compressed") as caught:
            await client.complete(request())
    assert caught.value.retryable is False


async def test_a_server_that_speaks_no_http_is_told() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
        await writer.drain()
        await reader.read()

    async with RawServer(serve) as server, server.client as client:
        with pytest.raises(TransportError, match="does not answer in HTTP") as caught:
            await client.complete(request())
    assert (caught.value.retryable, caught.value.phase) == (False, "head")


async def test_long_headers_are_no_fault() -> None:
    whole = entry(chunk("x"), STOP, DONE)
    whole["headers"] = {**whole["headers"], "content-security-policy": "x" * 30_000}
    async with ScriptedServer([whole]) as server:
        target = Target("t", "m", server.url, "chat")
        async with Client(resolve=lambda model: target, retries=0) as client:
            assert (await client.complete(request())).text == "x"


async def test_a_netrc_file_neither_breaks_a_call_nor_replaces_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login joe password other\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    async with ScriptedServer([WHOLE]) as server:
        target = Target("t", "m", server.url, "chat", key="sk-secret-key")
        async with Client(resolve=lambda model: target, retries=0) as client:
            await client.complete(request())
    assert server.seen[0].headers["authorization"] == "Bearer sk-secret-key"


async def test_a_redirect_is_not_followed_so_that_the_key_stays_here() -> None:
    async with ScriptedServer([WHOLE]) as other:
        moved = {"status": 307, "headers": {"location": f"{other.url}/chat?key=echoed"}, "body": ""}
        async with ScriptedServer([moved]) as server:
            target = Target("t", "m", server.url, "chat", key="sk-secret-key")
            async with Client(resolve=lambda model: target, retries=0) as client:
                with pytest.raises(ModelError, match=other.url) as caught:
                    await client.complete(request())
        assert other.seen == []
    assert "echoed" not in str(caught.value)


async def test_a_service_that_quotes_the_key_does_not_get_it_shown() -> None:
    answer = {"status": 401, "headers": {}, "body": '{"error": {"message": "Incorrect API key: sk-secret-key"}}'}
    async with ScriptedServer([answer]) as server:
        target = Target("t", "m", server.url, "chat", key="sk-secret-key")
        async with Client(resolve=lambda model: target, retries=0) as client:
            with pytest.raises(ModelError, match="Incorrect API key") as caught:
                await client.complete(request())
    assert "sk-secret-key" not in str(caught.value) + repr(caught.value) + caught.value.message


async def test_a_connection_that_is_not_accepted_ends_with_the_connect_timer() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        others = [socket.socket() for _ in range(8)]
        try:
            for other in others:  # fill the backlog, so that the next connection hangs
                other.setblocking(False)
                other.connect_ex(full.getsockname())
            target = Target("t", "m", f"http://127.0.0.1:{full.getsockname()[1]}/v1", "chat")
            async with Client(resolve=lambda model: target, retries=0) as client:
                with pytest.raises(ModelTimeoutError) as caught:
                    await client.complete(request(timeouts=Timeouts(connect_seconds=0.1)))
        finally:
            for other in others:
                other.close()
    assert (caught.value.timer, caught.value.phase, caught.value.retryable) == ("connect", "connect", True)


async def test_certificates_that_cannot_be_read_are_a_configuration_error(tmp_path: Path) -> None:
    target = Target("t", "m", "https://model.example/v1", "chat")
    transport = HTTPTransport(ca_file=tmp_path / "none.pem")
    async with Client(resolve=lambda model: target, retries=0, transport=transport) as client:
        with pytest.raises(ConfigurationError, match=r"none\.pem"):
            await client.complete(request())


async def test_two_loops_may_use_one_transport_at_a_time() -> None:
    """Each has connections of its own: a request here does not cut the other's stream off."""
    async with ScriptedServer([entry(chunk("x"), end="hold"), WHOLE, WHOLE]) as server:
        transport = HTTPTransport()
        ask = HTTPRequest("POST", f"{server.url}/chat", {}, b"{}")
        held = await transport.send(ask, Timeouts())
        assert await held.body.read()

        async def elsewhere() -> bytes:
            response = await transport.send(ask, Timeouts())
            try:
                return await response.body.read()
            finally:
                response.body.abort()

        done: list[bytes] = []
        thread = threading.Thread(target=lambda: done.append(asyncio.run(elsewhere())))
        thread.start()
        await asyncio.to_thread(thread.join)
        assert done[0].startswith(b"data: ")
        reading = asyncio.ensure_future(held.body.read())
        await asyncio.sleep(0.05)
        assert not reading.done()
        held.body.fail(TransportError("enough"))
        with pytest.raises(TransportError, match="enough"):
            await reading
        held.body.abort()
        await transport.aclose()
        await server.disconnected()
