"""A service on loopback that answers each request with the next script: bytes, a stall, a cut, a reset.

Raw sockets and threads, so that it can do what no HTTP server would, and shares no code with what it judges.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

Step: TypeAlias = bytes | Literal["stall", "reset", "close"]
"""Bytes to write; `stall`: say nothing until the test is over; `reset`: kill the connection; `close`: end it early."""


class Loopback:
    """The running service: where it is, what it was asked, and what it will answer next."""

    def __init__(self, scripts: Sequence[Sequence[Step]]) -> None:
        self._scripts = list(scripts)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._over = threading.Event()
        self._lock = threading.Lock()
        self.requests: list[dict[str, Any]] = []
        """The bodies of the requests, as JSON, in order."""
        self.stalled = threading.Event()
        """Set once an answer has come to its stall."""
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        """The base URL to use."""
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"

    def close(self) -> None:
        """Ends the stalls and stops listening."""
        self._over.set()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                body = _read_request(connection)
                with self._lock:
                    self.requests.append(json.loads(body or b"{}"))
                    script = self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0]
                for step in script:
                    self._do(connection, step)
            except (OSError, ValueError):
                return

    def _do(self, connection: socket.socket, step: Step) -> None:
        match step:
            case "stall":
                self.stalled.set()
                self._over.wait(60)
            case "reset":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            case "close":
                connection.shutdown(socket.SHUT_RDWR)
            case _:
                connection.sendall(step)


def _read_request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        if not (more := connection.recv(65536)):
            raise OSError("no request")
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        (int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
    )
    while len(body) < length:
        body += connection.recv(65536)
    return body


@contextmanager
def loopback(*scripts: Sequence[Step]) -> Iterator[Loopback]:
    """A service that answers with the scripts in turn, the last one for ever."""
    service = Loopback(scripts)
    try:
        yield service
    finally:
        service.close()


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


def event(delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
    """One chat chunk."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return b"data: " + json.dumps({"id": "r1", "model": "scripted", "choices": [choice]}).encode() + b"\n\n"


def call(index: int, arguments: str, *, name: str | None = None) -> bytes:
    """A piece of a call; with a name, its first."""
    piece: dict[str, Any] = {"index": index, "function": {"arguments": arguments}}
    if name is not None:
        piece |= {"id": f"call_{index}", "type": "function", "function": {"name": name, "arguments": arguments}}
    return event({"tool_calls": [piece]})


DONE = b'data: {"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}}\n\ndata: [DONE]\n\n'


def text(*pieces: str, finish_reason: str = "stop") -> list[Step]:
    """A whole answer of text."""
    return [HEAD, *(event({"content": piece}) for piece in pieces), event({}, finish_reason), DONE]


def status(code: int, body: bytes, content_type: str = "application/json", extra: str = "") -> list[Step]:
    """An answer that is no stream."""
    head = f"HTTP/1.1 {code} X\r\ncontent-type: {content_type}\r\ncontent-length: {len(body)}\r\n"
    return [f"{head}{extra}connection: close\r\n\r\n".encode() + body]
