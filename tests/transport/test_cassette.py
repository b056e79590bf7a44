"""What is written down is what came, read by read, without keys; and the call never suffers from it."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from pathlib import Path

import pytest

from inkwire.client import Client
from inkwire.errors import ModelError
from inkwire.messages import ToolDefinition
from inkwire.providers.base import Target
from inkwire.recording import Exchange, protocol_of, read_recording
from tests.scripted_server import ScriptedServer
from tests.test_client import LOST, WHOLE, chunk, entry, request


async def record(path: Path, *script: dict[str, object], url: str | None = None) -> bytes:
    async with ScriptedServer(list(script)) as server:
        target = Target("t", "m", url or server.url + "?key=sk-secret", "chat", key="sk-secret")
        async with Client(resolve=lambda model: target, retries=0, record=path) as client:
            for _ in script or [WHOLE]:
                try:
                    await client.complete(request(tools=(ToolDefinition("read"),)))
                except ModelError:
                    pass
    return path.read_bytes()


async def recorded(path: Path, *script: dict[str, object], url: str | None = None) -> list[Exchange]:
    return read_recording(await record(path, *script, url=url))


async def test_a_recording_has_every_read_and_no_key(tmp_path: Path) -> None:
    path = tmp_path / "call.jsonl"
    data = await record(path, WHOLE, LOST)
    assert b"sk-secret" not in data
    assert os.stat(path).st_mode & 0o777 == 0o600
    first, second = read_recording(data)
    assert first.body == b"".join(read.encode() for read in WHOLE["reads"])
    assert (first.status, first.end, first.method) == (200, "eof", "POST")
    assert second.end == "lost"
    times = [0, first.head_seconds, *(read.seconds for read in first.reads)]
    assert times == sorted(times)
    assert first.tools == ("read",)
    assert protocol_of(first) == "chat"
    assert json.loads(first.request_body)["messages"]
    assert first.started is not None


async def test_a_torn_last_line_costs_itself_alone(tmp_path: Path) -> None:
    data = await record(tmp_path / "call.jsonl", WHOLE)
    whole = read_recording(data)[0]
    torn = read_recording(data[:-20])[0]
    assert torn.body == whole.body
    assert torn.end == "unknown"


async def test_a_file_that_is_there_is_continued_even_after_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "call.jsonl"
    data = await record(path, WHOLE)
    path.write_bytes(data[:-20])
    path.chmod(0o644)
    exchanges = await recorded(path, WHOLE)
    assert [each.number for each in exchanges] == [1, 2]
    assert exchanges[0].body == exchanges[1].body
    assert [each.end for each in exchanges] == ["unknown", "eof"]
    assert os.stat(path).st_mode & 0o777 == 0o600


async def test_no_answer_is_recorded_as_the_kind_of_its_error(tmp_path: Path) -> None:
    (exchange,) = await recorded(tmp_path / "call.jsonl", url="http://127.0.0.1:1")
    assert (exchange.status, exchange.reads, exchange.end) == (None, (), "transport")


async def test_an_error_status_is_recorded_with_its_body(tmp_path: Path) -> None:
    refused = {"status": 400, "headers": {"content-type": "application/json"}, "reads": ['{"error":{"message":"no"}}']}
    (exchange,) = await recorded(tmp_path / "call.jsonl", refused)
    assert (exchange.status, exchange.body) == (400, b'{"error":{"message":"no"}}')


async def test_a_cancelled_call_is_recorded_as_closed(tmp_path: Path) -> None:
    path = tmp_path / "call.jsonl"
    silent = entry(chunk("Hel"), end="hold")
    async with ScriptedServer([silent]) as server:
        target = Target("t", "m", server.url, "chat")
        async with Client(resolve=lambda model: target, record=path) as client:
            stream = client.stream(request())
            async for _ in stream:
                stream.cancel()
                await asyncio.sleep(0)
    (exchange,) = read_recording(path)
    assert exchange.end == "closed"
    assert exchange.reads


@pytest.mark.parametrize("place", ["no/such/directory/file", "."])
async def test_a_disk_that_fails_costs_the_recording_not_the_call(
    tmp_path: Path, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="inkwire")
    async with ScriptedServer([WHOLE, WHOLE]) as server:
        target = Target("t", "m", server.url, "chat")
        async with Client(resolve=lambda model: target, record=tmp_path / place) as client:
            assert (await client.complete(request())).text == "Hello"
            assert (await client.complete(request())).text == "Hello"
    assert len([line for line in caplog.messages if "stopped" in line]) == 1
