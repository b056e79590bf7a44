"""The vendors' own clients, and ours, take the replay for their provider; every fault reaches them as itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aiohttp
import anthropic
import openai
import pytest

from inkwire.client import Client
from inkwire.errors import (
    IncompleteStreamError,
    ModelTimeoutError,
    ProtocolError,
    RateLimitError,
    TransportError,
)
from inkwire.messages import Request, Timeouts, UserMessage
from inkwire.providers.base import Target
from inkwire.recording import Exchange, Read, read_recording
from inkwire.replay import Fault, parse_fault
from inkwire.replay.server import ReplayServer, Served

STREAMS = Path(__file__).parent.parent / "streams"


def saved(name: str) -> list[Exchange]:
    return read_recording(next((STREAMS / name).glob("body.*")))


READ_README = saved("chat/read_readme")


def text_exchange(words: Sequence[str]) -> Exchange:
    deltas = [{"index": 0, "delta": {"role": "assistant", "content": word}, "finish_reason": None} for word in words]
    choices = [*deltas, {"index": 0, "delta": {}, "finish_reason": "stop"}]
    chunk = {"id": "c-2", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    events = [f"data: {json.dumps({**chunk, 'choices': [choice]})}\n\n".encode() for choice in choices]
    return Exchange(tuple(Read(0, event) for event in [*events, b"data: [DONE]\n\n"]), 200)


CONVERSATION = [*READ_README, text_exchange(["Run ", "make start", "."])]


def ask(url: str, **more: Any) -> tuple[Client, Request]:
    target = Target("custom", "replay", url + "/v1", "chat")
    client = Client(resolve=lambda model: target, **{"retries": 0, **more})
    return client, Request("custom/replay", (UserMessage.of("hi"),), timeouts=Timeouts(idle_seconds=1.0))


async def test_openais_client_holds_a_whole_conversation() -> None:
    async with (
        ReplayServer(CONVERSATION, speed=0) as server,
        openai.AsyncOpenAI(api_key="none", base_url=server.url + "/v1", max_retries=0) as client,
    ):
        messages: list[Any] = [{"role": "user", "content": "Read README.md"}]
        async with client.chat.completions.stream(model="m", messages=messages) as stream:
            first = (await stream.get_final_completion()).choices[0].message
        assert first.tool_calls
        messages += [first.model_dump(), {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "# Demo"}]
        async with client.chat.completions.stream(model="m", messages=messages) as stream:
            second = (await stream.get_final_completion()).choices[0].message
        assert second.content == "Run make start."
        with pytest.raises(openai.NotFoundError, match="--loop"):
            await client.chat.completions.create(model="m", messages=[*messages, *messages], stream=True)
        assert [model.id async for model in client.models.list()] == ["replay"]


async def test_anthropics_client_reads_a_recorded_answer() -> None:
    async with (
        ReplayServer(saved("anthropic/thinking_and_calls"), speed=0) as server,
        anthropic.AsyncAnthropic(api_key="none", base_url=server.url, max_retries=0) as client,
    ):
        call = client.messages.stream(model="m", max_tokens=10, messages=[{"role": "user", "content": "hi"}])
        async with call as stream:
            final = await stream.get_final_message()
    assert final.stop_reason == "tool_use"
    assert any(block.type == "thinking" and block.signature for block in final.content)


async def test_a_refused_client_asks_again_and_is_answered() -> None:
    served: list[Served] = []
    async with (
        ReplayServer(CONVERSATION, speed=0, faults=[parse_fault("429:0.01")], served=served.append) as server,
        openai.AsyncOpenAI(api_key="none", base_url=server.url + "/v1", max_retries=1) as client,
    ):
        messages: list[Any] = [{"role": "user", "content": "Read README.md"}]
        async with client.chat.completions.stream(model="m", messages=messages) as stream:
            assert (await stream.get_final_completion()).choices[0].message.tool_calls
    assert [(each.status, each.exchange) for each in served] == [(429, None), (200, 1)]


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("cut:600", IncompleteStreamError),
        ("stall:600", ModelTimeoutError),
        ("reset:600", TransportError),
        ("damage:600", ProtocolError),
        ("429:0.01", RateLimitError),
    ],
)
async def test_each_fault_is_its_own_error_and_the_next_answer_is_whole(fault: str, error: type[Exception]) -> None:
    async with ReplayServer(READ_README, speed=0, faults=[parse_fault(fault)]) as server:
        client, request = ask(server.url)
        async with client:
            with pytest.raises(error):
                await client.complete(request)
            assert (await client.complete(request)).calls[0].arguments == {"path": "README.md"}


async def test_with_every_the_next_answer_is_broken_too() -> None:
    async with ReplayServer(READ_README, speed=0, faults=[Fault("cut", 600)], every=True) as server:
        client, request = ask(server.url)
        async with client:
            for _ in range(2):
                with pytest.raises(IncompleteStreamError):
                    await client.complete(request)


async def test_a_restart_gets_the_same_answer_whole() -> None:
    async with ReplayServer(CONVERSATION, speed=0, faults=[Fault("reset", 600)]) as server:
        client, request = ask(server.url, restarts=1)
        async with client:
            assert (await client.complete(request)).calls


async def test_what_is_recorded_of_a_replay_is_the_recording(tmp_path: Path) -> None:
    async with ReplayServer(READ_README, speed=0) as server:
        client, request = ask(server.url, record=tmp_path / "again.jsonl")
        async with client:
            await client.complete(request)
    assert read_recording(tmp_path / "again.jsonl")[0].body == READ_README[0].body


async def test_only_its_own_address_is_answered() -> None:
    async with ReplayServer(READ_README) as server, aiohttp.ClientSession() as session:
        async with session.get(server.url + "/v1/models", headers={"Host": "evil.example"}) as response:
            assert response.status == 403
        async with session.get(server.url.replace("127.0.0.1", "localhost") + "/v1/models") as response:
            assert response.status == 200


async def test_an_exchange_without_an_answer_has_none_again() -> None:
    silent = Exchange((), None, {}, "transport", url="http://x/v1/chat/completions")
    async with ReplayServer([silent], speed=0) as server:
        client, request = ask(server.url)
        async with client:
            with pytest.raises(TransportError):
                await client.complete(request)
