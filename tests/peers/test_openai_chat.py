"""OpenAI's own client and ours on the same streams of Chat Completions: equal where nothing is wrong."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest

from inkwire.events import MessageEnd
from inkwire.messages import AssistantMessage
from tests.peers.serving import serving
from tests.streams import Stream, all_streams

GOOD = (
    "chat/read_readme",
    "chat/two_reads_interleaved",
    "chat/llamacpp_call",
    "chat/crlf_and_comments",
    "chat/name_in_pieces",
)
HELLO: Any = [{"role": "user", "content": "Hi"}]
STREAMS = [stream for stream in all_streams() if stream.name in GOOD]


def ours(stream: Stream) -> AssistantMessage:
    events = stream.pipeline().feed(stream.body)
    assert isinstance(events[-1], MessageEnd)
    return events[-1].message


async def theirs(body: bytes) -> tuple[str | None, list[tuple[str, str, object]]]:
    async with serving(body, "text/event-stream") as service:
        async with openai.AsyncOpenAI(api_key="none", base_url=service.url, max_retries=0) as client:
            async with client.chat.completions.stream(
                model="m", messages=[{"role": "user", "content": "Hi"}]
            ) as stream:
                final = await stream.get_final_completion()
    message = final.choices[0].message
    calls = [(call.id, call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or ()]
    return message.content, calls


@pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: stream.name)
async def test_the_vendors_client_reads_the_same(stream: Stream) -> None:
    message = ours(stream)
    text, calls = await theirs(stream.body)
    assert message.text == (text or "")
    assert [(call.id, call.name, call.arguments) for call in message.calls] == calls


def test_the_streams_are_there() -> None:
    assert {stream.name for stream in STREAMS} == set(GOOD)
