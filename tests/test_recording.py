"""What is written down is what came, without keys; and everything that people save is read back."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkwire.client import Client
from inkwire.errors import ConfigurationError, TransportError
from inkwire.messages import ToolDefinition
from inkwire.providers.base import Target
from inkwire.recording import protocol_of, read_recording
from inkwire.transport.cassette import without_keys
from tests.scripted_server import ScriptedServer
from tests.streams import Stream, all_streams
from tests.test_client import LOST, WHOLE, request


async def recorded(path: Path, *script: dict[str, object]) -> bytes:
    async with ScriptedServer(list(script)) as server:
        target = Target("t", "m", server.url + "?key=sk-secret", "chat", key="sk-secret")
        async with Client(resolve=lambda model: target, retries=0, record=path) as client:
            for _ in script:
                try:
                    await client.complete(request(tools=(ToolDefinition("read"),)))
                except TransportError:
                    pass
    return path.read_bytes()


async def test_a_recording_has_every_read_and_no_key(tmp_path: Path) -> None:
    path = tmp_path / "call.jsonl"
    data = await recorded(path, WHOLE, LOST)
    assert b"sk-secret" not in data
    assert os.stat(path).st_mode & 0o777 == 0o600
    first, second = read_recording(data)
    assert first.body == b"".join(read.encode() for read in WHOLE["reads"])
    assert (first.status, first.end, first.method) == (200, "eof", "POST")
    assert second.end in ("lost", "closed")
    assert [read.seconds for read in first.reads] == sorted(read.seconds for read in first.reads)
    assert first.tools == ("read",)
    assert protocol_of(first) == "chat"
    assert json.loads(first.request_body)["messages"]


async def test_a_torn_last_line_costs_itself_alone(tmp_path: Path) -> None:
    data = await recorded(tmp_path / "call.jsonl", WHOLE)
    whole = read_recording(data)[0]
    torn = read_recording(data[:-20])[0]
    assert torn.body == whole.body
    assert torn.end == "unknown"


async def test_a_disk_that_fails_costs_the_recording_not_the_call(tmp_path: Path) -> None:
    async with ScriptedServer([WHOLE]) as server:
        target = Target("t", "m", server.url, "chat")
        async with Client(resolve=lambda model: target, record=tmp_path / "no" / "such" / "file") as client:
            assert (await client.complete(request())).text == "Hello"


def test_a_plain_body_and_what_curl_prints_are_recordings() -> None:
    assert read_recording(b"data: 1\n\n")[0].body == b"data: 1\n\n"
    printed = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/2 429 \r\nContent-Type: text/plain\r\n\r\nslow down"
    exchange = read_recording(printed)[0]
    assert (exchange.status, exchange.headers["content-type"], exchange.body) == (429, "text/plain", b"slow down")


def test_a_har_export_is_a_recording() -> None:
    body = b'data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}\n\n'
    content = {"text": base64.b64encode(body).decode(), "encoding": "base64"}
    response = {"status": 200, "headers": [{"name": "Content-Type", "value": "text/event-stream"}], "content": content}
    har = {"log": {"entries": [{"time": 1500, "request": {"method": "POST", "url": "u"}, "response": response}]}}
    exchange = read_recording(json.dumps(har).encode())[0]
    assert exchange.body == body
    assert protocol_of(exchange) == "chat"
    with pytest.raises(ConfigurationError, match="content"):
        read_recording(b'{"log": {"entries": []}}')


@pytest.mark.parametrize(
    "stream",
    [s for s in all_streams() if len(s.body) > 200 and "error" not in (s.expected or {})],
    ids=lambda s: s.name,
)
def test_the_protocol_is_told_from_the_first_payloads(stream: Stream) -> None:
    assert protocol_of(read_recording(stream.body)[0]) == stream.protocol


@given(st.binary(max_size=300))
def test_any_bytes_are_read_somehow(data: bytes) -> None:
    try:
        exchanges = read_recording(data)
    except ConfigurationError:
        return
    assert all(protocol_of(exchange) for exchange in exchanges)


@pytest.mark.parametrize(
    "name", ["Authorization", "x-api-key", "api-key", "x-goog-api-key", "Set-Cookie", "X-Amz-Security-Token"]
)
def test_headers_that_carry_keys_are_left_out(name: str) -> None:
    assert without_keys({name: "secret", "x-request-id": "7"}) == {name: "***", "x-request-id": "7"}
