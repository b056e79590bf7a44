"""Anthropic's own client and ours read the same streams, and ask in the same words."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import pytest
from anthropic.types import TextBlock, ThinkingBlock, ToolUseBlock

from inkwire import protocols
from inkwire.events import MessageEnd
from inkwire.messages import (
    AssistantMessage,
    ImagePart,
    ReasoningPart,
    Request,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolDefinition,
    ToolResultMessage,
    UserMessage,
)
from inkwire.pipeline import Pipeline
from inkwire.protocols.base import Quirks
from tests.peers.serving import serving
from tests.streams import all_streams

FAULTLESS = ("llamacpp_text", "llamacpp_call", "thinking_and_calls", "interleaved_blocks", "server_tool", "start_text")
STREAMS = {
    name: stream.body
    for stream in all_streams()
    for protocol, name in [stream.name.split("/")]
    if protocol == "anthropic" and name in FAULTLESS
}


def ours(body: bytes) -> AssistantMessage:
    pipeline = Pipeline(protocols.get("anthropic"))
    events = [*pipeline.feed(body), *pipeline.finish()]
    assert pipeline.error is None
    end = events[-1]
    assert isinstance(end, MessageEnd)
    return end.message


def client(url: str) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(api_key="none", base_url=url, max_retries=0)


@pytest.mark.parametrize("name", FAULTLESS)
async def test_the_vendors_client_reads_the_same(name: str) -> None:
    async with serving(STREAMS[name], "text/event-stream") as service, client(service.url) as theirs:
        call = theirs.messages.stream(model="m", max_tokens=10, messages=[{"role": "user", "content": "hi"}])
        async with call as stream:
            final = await stream.get_final_message()
    message = ours(STREAMS[name])
    assert message.text == "".join(block.text for block in final.content if isinstance(block, TextBlock))
    thought = [block for block in final.content if isinstance(block, ThinkingBlock)]
    assert message.reasoning == "".join(block.thinking for block in thought)
    signatures = [part.opaque["signature"] for part in message.parts if part.opaque and "signature" in part.opaque]
    assert signatures == [block.signature for block in thought]
    calls = [block for block in final.content if isinstance(block, ToolUseBlock)]
    assert [(one.id, one.name, one.arguments) for one in message.calls] == [
        (one.id, one.name, one.input) for one in calls
    ]
    assert len(message.parts) == len(final.content)
    assert message.raw_stop_reason == final.stop_reason
    assert (message.response_id, message.model) == (final.id, final.model)
    usage = final.usage
    cached = (usage.cache_read_input_tokens or 0) + (usage.cache_creation_input_tokens or 0)
    assert message.usage.input_tokens == usage.input_tokens + cached
    assert message.usage.output_tokens == usage.output_tokens


SCHEMA: dict[str, object] = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


async def test_the_vendors_client_sends_the_same_request() -> None:
    request = Request(
        "anthropic/m",
        (
            SystemMessage("Be brief."),
            UserMessage((TextPart("What is it?"), ImagePart("image/png", b"\x89PNG"))),
            AssistantMessage(
                (ReasoningPart("hm", {"signature": "SIG"}), TextPart("I look."), ToolCall("c1", "read", {"path": "ä"}))
            ),
            ToolResultMessage("c1", "read", (TextPart("no such file"),), is_error=True),
        ),
        (ToolDefinition("read", "Read.", SCHEMA),),
        tool_choice="required",
        parallel_tool_calls=False,
        max_tokens=100,
        temperature=0.5,
        top_p=0.9,
        stop=("END",),
        reasoning_effort="high",
        output_schema=SCHEMA,
        prompt_caching=True,
    )
    async with serving(STREAMS["llamacpp_text"], "text/event-stream") as service, client(service.url) as theirs:
        call = theirs.messages.stream(
            model="m",
            max_tokens=100,
            system=[{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
            messages=[
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "What is it?"},
                        {
                            "type": "image",
                            "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="},
                        },
                    ],
                },
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "hm", "signature": "SIG"},
                        {"type": "text", "text": "I look."},
                        {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "ä"}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "c1",
                            "content": [{"type": "text", "text": "no such file"}],
                            "is_error": True,
                            "cache_control": {"type": "ephemeral"},
                        }
                    ],
                },
            ],
            tools=[
                {
                    "name": "read",
                    "description": "Read.",
                    "input_schema": SCHEMA,
                    "cache_control": {"type": "ephemeral"},
                }
            ],
            tool_choice={"type": "any", "disable_parallel_tool_use": True},
            stop_sequences=["END"],
            thinking={"type": "adaptive", "display": "summarized"},
            output_config={"effort": "high", "format": {"type": "json_schema", "schema": SCHEMA}},
            extra_body={
                "temperature": 0.5,
                "top_p": 0.9,
            },  # the service takes them under this version, the client no more
        )
        async with call as stream:
            await stream.until_done()
    ((path, sent),) = service.asked
    encoded = protocols.get("anthropic").encode(request, "m", Quirks())
    assert path == encoded.path
    assert json.loads(json.dumps(encoded.body)) == sent


async def test_an_overload_in_mid_stream_is_an_error_to_both() -> None:
    (body,) = (stream.body for stream in all_streams() if stream.name == "anthropic/overloaded")
    async with serving(body, "text/event-stream") as service, client(service.url) as theirs:
        message: dict[str, Any] = {"role": "user", "content": "hi"}
        with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
            async with theirs.messages.stream(model="m", max_tokens=10, messages=[message]) as stream:  # type: ignore[list-item]
                await stream.until_done()
