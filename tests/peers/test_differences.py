"""docs/peers.md: what the vendors' clients make of faulty streams, and what we do, as the table says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from inkwire.errors import ModelError
from inkwire.events import MessageEnd
from inkwire.messages import AssistantMessage
from tests.peers.serving import serving
from tests.streams import Stream, all_streams

HELLO: Any = [{"role": "user", "content": "Hi"}]
TABLE = (Path(__file__).parent.parent.parent / "docs" / "peers.md").read_text(encoding="utf-8")
NAMED = re.findall(r"^\| `([\w/]+)` \|", TABLE, re.MULTILINE)
STREAMS = {stream.name: stream for stream in all_streams() if stream.name in NAMED}

# What the vendor's client gives: an exception's name, or (reason, text, calls as name -> arguments).
THEIRS: dict[str, Any] = {
    "chat/missing_finish_reason": (None, "Reading.", [("read", '{"path":"README.md"}')]),
    "chat/cut_after_half_a_path": (None, "", [("read", '{"path":"REA')]),
    "chat/llamacpp_disconnect": (None, "Sure, here are the numbers from ", []),
    "chat/done_is_the_finish_reason": (None, "", [("read", '{"path":"README.md"}')]),
    "chat/cut_at_the_limit": "LengthFinishReasonError",
    "chat/damage_in_the_middle": "JSONDecodeError",
    "chat/payload_outside_of_an_event": "JSONDecodeError",
    "anthropic/llamacpp_cut_in_arguments": ("max_tokens", "", [("write", {"path": "hello.py"})]),
    "anthropic/llamacpp_lost": (None, "Sure, here are the numbers from 1 to 200,", []),
    "anthropic/restarted": ("end_turn", "HelHello", []),
    "anthropic/index_reused": "lost input",
    "anthropic/names_left_out": "AssertionError",
    "anthropic/one_document": "AssertionError",
}
# What we give: an error's name, or (stop reason, text, arguments of what may run).
OURS: dict[str, Any] = {
    "chat/missing_finish_reason": "IncompleteStreamError",
    "chat/cut_after_half_a_path": "IncompleteStreamError",
    "chat/llamacpp_disconnect": "IncompleteStreamError",
    "chat/done_is_the_finish_reason": ("tool_use", "", [{"path": "README.md"}]),
    "chat/cut_at_the_limit": ("max_tokens", "", []),
    "chat/damage_in_the_middle": "ProtocolError",
    "chat/payload_outside_of_an_event": ("tool_use", "", []),
    "anthropic/llamacpp_cut_in_arguments": ("max_tokens", "", []),
    "anthropic/llamacpp_lost": "IncompleteStreamError",
    "anthropic/restarted": ("end_turn", "Hello", []),
    "anthropic/index_reused": None,
    "anthropic/names_left_out": None,
    "anthropic/one_document": None,
}


def test_the_table_and_the_test_name_the_same_streams() -> None:
    assert sorted(NAMED) == sorted(THEIRS) == sorted(OURS) == sorted(STREAMS)


def ours(stream: Stream) -> AssistantMessage | ModelError:
    pipeline = stream.pipeline()
    events = [*pipeline.feed(stream.body), *pipeline.finish()]
    if pipeline.error is not None:
        return pipeline.error
    assert isinstance(events[-1], MessageEnd)
    return events[-1].message


async def openais(body: bytes) -> Any:
    async with serving(body, "text/event-stream") as service:
        async with openai.AsyncOpenAI(api_key="none", base_url=service.url, max_retries=0) as client:
            async with client.chat.completions.stream(
                model="m", messages=[{"role": "user", "content": "Hi"}]
            ) as stream:
                final = await stream.get_final_completion()
    message = final.choices[0].message
    calls = [(call.function.name, call.function.arguments) for call in message.tool_calls or ()]
    return final.choices[0].finish_reason, message.content or "", calls


async def anthropics(body: bytes) -> Any:
    async with serving(body, "text/event-stream") as service:
        async with anthropic.AsyncAnthropic(api_key="none", base_url=service.url, max_retries=0) as client:
            async with client.messages.stream(model="m", max_tokens=10, messages=HELLO) as stream:
                final = await stream.get_final_message()
    text = "".join(block.text or "" for block in final.content if block.type == "text")
    return final.stop_reason, text, [(block.name, block.input) for block in final.content if block.type == "tool_use"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(THEIRS))
async def test_both_sides_are_as_the_table_says(name: str) -> None:
    stream = STREAMS[name]
    client = openais if stream.protocol == "chat" else anthropics
    try:
        theirs = await client(stream.body)
    except Exception as error:
        theirs = type(error).__name__
    if THEIRS[name] == "lost input":
        assert [arguments for _, arguments in theirs[2]].count({}) == 2
    else:
        assert theirs == THEIRS[name]
    mine = ours(stream)
    if isinstance(mine, ModelError):
        assert type(mine).__name__ == OURS[name]
    elif OURS[name] is None:
        assert all(call.arguments for call in mine.executable_calls)
        assert mine.parts
    else:
        runs = [call.arguments for call in mine.executable_calls]
        assert (mine.stop_reason, mine.text, runs) == OURS[name]
