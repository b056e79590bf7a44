"""A server on loopback that misbehaves by script: one entry a request, in the notation of tests/cases/http.json.

An entry has `status`, `headers` and `body` or `reads`; `end` says how the body ends (`eof`, `reset`, `hold`, `close`,
`close_without_last_chunk`), `after` what comes before that end, `then` replaces the answer by something worse. Seconds
in names are scaled by `pace`, so that a case of seconds takes tenths of one.
"""

from __future__ import annotations

import asyncio
import re
import socket
import struct
import time
from collections.abc import Sequence
from contextlib import suppress
from email.utils import formatdate
from types import TracebackType
from typing import Any, Self

from tests.case_notation import read_bytes

__all__ = ["EVENT", "ScriptedServer", "Seen"]

EVENT = b'data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}]}\n\n'
_FINISH = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
_AFTER = re.compile(r"(comments|events)_(\d+)ms_(?:x(\d+)_then_finish|forever)")


class Seen:
    """One request as the server saw it."""

    def __init__(self, connection: int, path: str, headers: dict[str, str], body: bytes) -> None:
        self.connection = connection
        self.path = path
        self.headers = headers
        self.body = body


class ScriptedServer:
    """Serves a script on 127.0.0.1; the last entry is served again and again."""

    def __init__(self, script: Sequence[dict[str, Any]], *, pace: float = 1.0) -> None:
        self._script = list(script)
        self._pace = pace
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._connections = 0
        self.open = 0
        """Connections that are open now."""
        self.all_closed = asyncio.Event()
        self.seen: list[Seen] = []
        self.failures: list[BaseException] = []
        """Faults of the script itself; none may be there at the end."""
        self.port = 0

    @property
    def url(self) -> str:
        """The base URL, with `/v1`."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def connections(self) -> int:
        """How many connections were made."""
        return self._connections

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()
        assert not self.failures

    async def disconnected(self) -> None:
        """Wait until every connection is closed by its client."""
        while self.open:
            self.all_closed.clear()
            await self.all_closed.wait()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        self.open += 1
        number = self._connections
        try:
            while (seen := await _request(reader, number)) is not None:
                self.seen.append(seen)
                entry = self._script[min(len(self.seen), len(self._script)) - 1]
                work = asyncio.ensure_future(self._answer(entry, writer))
                gone = asyncio.ensure_future(_gone(reader)) if _holds(entry) else None
                try:
                    await asyncio.wait([work, *([gone] if gone else [])], return_when=asyncio.FIRST_COMPLETED)
                finally:
                    if not work.done():
                        work.cancel()
                    if gone is not None:
                        gone.cancel()
                    await asyncio.gather(work, *([gone] if gone else []), return_exceptions=True)
                if work.cancelled():
                    break
                if (failure := work.exception()) is not None:
                    if not isinstance(failure, ConnectionError):
                        self.failures.append(failure)
                    break
                if not work.result():
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open -= 1
            if not self.open:
                self.all_closed.set()
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(self, entry: dict[str, Any], writer: asyncio.StreamWriter) -> bool:
        """Serve one entry; False when the connection is over."""
        then = entry.get("then")
        if then in ("refuse", "close_idle_after_response"):
            return False
        if then == "accept_and_hold":
            await asyncio.Event().wait()
        if then == "trickle_head_50ms":
            for byte in b"HTTP/1.1 200 OK\r\nx-slow: " + b"x" * 100_000:
                writer.write(bytes([byte]))
                await asyncio.sleep(0.05 * self._pace)
        await asyncio.sleep(entry.get("delay_before_head_s", 0) * self._pace)
        return await self._body(entry, writer, then)

    async def _body(self, entry: dict[str, Any], writer: asyncio.StreamWriter, then: str | None) -> bool:
        headers = {name.lower(): _header(value) for name, value in (entry.get("headers") or {}).items()}
        end = entry.get("end", "eof")
        is_plain = "content-length" in headers or end == "close" or entry.get("status") == 204
        chunked = ("reads" in entry or then in ("endless_body", "hold")) and not is_plain
        if chunked:
            headers["transfer-encoding"] = "chunked"
        elif not is_plain:
            headers["content-length"] = str(len(entry.get("body", "").encode()))
        head = f"HTTP/1.1 {entry.get('status', 200)} Scripted\r\n"
        writer.write((head + "".join(f"{k}: {v}\r\n" for k, v in headers.items()) + "\r\n").encode("latin-1"))
        if "body" in entry:
            _send(writer, read_bytes(entry["body"]), chunked)
        while then == "endless_body":
            _send(writer, b"x" * 4096, chunked)
            await writer.drain()
        for read in entry.get("reads", ()):
            _send(writer, read_bytes(read), chunked)
            await writer.drain()
            if entry.get("deliver") != "all at once":
                await asyncio.sleep(0)
        await self._after(entry.get("after"), writer, chunked)
        return await _end("hold" if then == "hold" else end, writer, chunked)

    async def _after(self, after: str | None, writer: asyncio.StreamWriter, chunked: bool) -> None:
        if after is None or after == "hold":
            return
        found = _AFTER.fullmatch({"trickle_comments_20ms": "comments_20ms_forever"}.get(after, after))
        assert found is not None, f"unknown script: {after}"
        kind, milliseconds, times = found.groups()
        count = int(times) if times else 1_000_000
        for _ in range(count):
            await asyncio.sleep(int(milliseconds) / 1000 * self._pace)
            _send(writer, b": ping\n\n" if kind == "comments" else EVENT, chunked)
            await writer.drain()
        _send(writer, _FINISH, chunked)


async def _end(end: str, writer: asyncio.StreamWriter, chunked: bool) -> bool:
    await writer.drain()
    match end:
        case "hold":
            await asyncio.Event().wait()
        case "reset" | "h2_rst":
            sock: socket.socket = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            await asyncio.sleep(0.05)  # a reset overtakes what the client has not read yet
            writer.transport.abort()
            return False
        case "close" | "close_without_last_chunk":
            return False
    if chunked:
        writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True


async def _gone(reader: asyncio.StreamReader) -> None:
    """Ends when the client closes the connection."""
    while await reader.read(1024):
        pass


def _holds(entry: dict[str, Any]) -> bool:
    return entry.get("end") == "hold" or "after" in entry or entry.get("then") in _WAITING


_WAITING = ("accept_and_hold", "trickle_head_50ms", "endless_body", "hold")


def _send(writer: asyncio.StreamWriter, data: bytes, chunked: bool) -> None:
    if data:
        writer.write(b"%x\r\n%b\r\n" % (len(data), data) if chunked else data)


def _header(value: Any) -> str:
    return formatdate(time.time() + value["http_date_in_s"], usegmt=True) if isinstance(value, dict) else str(value)


async def _request(reader: asyncio.StreamReader, connection: int) -> Seen | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines) if value}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Seen(connection, first.split(" ")[1], headers, body)
