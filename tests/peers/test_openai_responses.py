"""OpenAI's own client and ours read the same Responses streams, and ask in the same words."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseCustomToolCall,
    ResponseFunctionToolCall,
    ResponseReasoningItem,
)

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

FAULTLESS = ("llamacpp_text", "llamacpp_call", "reasoning_text_and_call", "snapshot_only")
STREAMS = {
    name: stream.body
    for stream in all_streams()
    for protocol, name in [stream.name.split("/")]
    if protocol == "responses"
}


def ours(body: bytes) -> AssistantMessage:
    pipeline = Pipeline(protocols.get("responses"))
    events = [*pipeline.feed(body), *pipeline.finish()]
    assert pipeline.error is None
    end = events[-1]
    assert isinstance(end, MessageEnd)
    return end.message


def client(url: str) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(api_key="none", base_url=url, max_retries=0)


async def final_response(body: bytes) -> Response:
    async with serving(body, "text/event-stream") as service, client(service.url) as theirs:
        stream = await theirs.responses.create(model="m", input="hi", stream=True)
        found = [event.response async for event in stream if isinstance(event, ResponseCompletedEvent)]
    return found[-1]


@pytest.mark.parametrize("name", FAULTLESS)
async def test_the_vendors_client_reads_the_same(name: str) -> None:
    final = await final_response(STREAMS[name])
    message = ours(STREAMS[name])
    assert message.text == final.output_text
    reasoning = [item for item in final.output if isinstance(item, ResponseReasoningItem)]
    assert message.reasoning == "\n\n".join(part.text for item in reasoning for part in item.summary)
    kept = [
        part.opaque["encrypted_content"] for part in message.parts if isinstance(part, ReasoningPart) and part.opaque
    ]
    assert kept == [item.encrypted_content for item in reasoning]
    calls = [item for item in final.output if isinstance(item, ResponseFunctionToolCall)]
    assert [(one.id, one.name, one.arguments) for one in message.calls] == [
        (one.call_id, one.name, json.loads(one.arguments)) for one in calls
    ]
    assert len(message.parts) == len(final.output)
    assert message.response_id == final.id
    assert final.usage is not None
    assert message.usage.input_tokens == final.usage.input_tokens
    assert message.usage.output_tokens == final.usage.output_tokens
    assert message.usage.cache_read_tokens == final.usage.input_tokens_details.cached_tokens


async def test_the_vendors_helper_accumulates_the_same() -> None:
    body = STREAMS["reasoning_text_and_call"]
    async with (
        serving(body, "text/event-stream") as service,
        client(service.url) as theirs,
        theirs.responses.stream(model="m", input="hi") as stream,
    ):
        final = await stream.get_final_response()
    message = ours(body)
    assert message.text == final.output_text
    assert len(message.parts) == len(final.output)


async def test_the_vendors_client_reads_the_same_free_text_call() -> None:
    async with serving(STREAMS["free_text_call"], "text/event-stream") as service, client(service.url) as theirs:
        stream = await theirs.responses.create(model="m", input="hi", stream=True)
        items = [event.item async for event in stream if event.type == "response.output_item.done"]
    (theirs_call,) = [item for item in items if isinstance(item, ResponseCustomToolCall)]
    (call,) = ours(STREAMS["free_text_call"]).calls
    assert (call.id, call.name, call.arguments) == (theirs_call.call_id, theirs_call.name, theirs_call.input)


SCHEMA: dict[str, object] = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


async def test_the_vendors_client_sends_the_same_request() -> None:
    item: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ENC"}
    request = Request(
        "openai/m",
        (
            SystemMessage("Be brief."),
            UserMessage((TextPart("What is it?"), ImagePart("image/png", b"\x89PNG"))),
            AssistantMessage((ReasoningPart("", item), TextPart("I look."), ToolCall("c1", "read", {"path": "ä"}))),
            ToolResultMessage("c1", "read", (TextPart("x = 1"),)),
        ),
        (ToolDefinition("read", "Read.", SCHEMA),),
        tool_choice="required",
        parallel_tool_calls=False,
        max_tokens=100,
        temperature=0.5,
        top_p=0.9,
        reasoning_effort="high",
        output_schema=SCHEMA,
    )
    async with serving(STREAMS["snapshot_only"], "text/event-stream") as service, client(service.url) as theirs:
        stream = await theirs.responses.create(
            model="m",
            stream=True,
            store=False,
            include=["reasoning.encrypted_content"],
            instructions="Be brief.",
            input=[
                {
                    "type": "message",
                    "role": "user",
                    "content": [
                        {"type": "input_text", "text": "What is it?"},
                        {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,iVBORw=="},
                    ],
                },
                {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ENC"},
                {"type": "message", "role": "assistant", "content": "I look."},
                {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"path":"ä"}'},
                {"type": "function_call_output", "call_id": "c1", "output": "x = 1"},
            ],
            tools=[{"type": "function", "name": "read", "description": "Read.", "parameters": SCHEMA, "strict": False}],
            tool_choice="required",
            parallel_tool_calls=False,
            max_output_tokens=100,
            temperature=0.5,
            top_p=0.9,
            reasoning={"effort": "high", "summary": "auto"},
            text={"format": {"type": "json_schema", "name": "output", "schema": SCHEMA, "strict": True}},
        )
        async for _ in stream:
            pass
    ((path, sent),) = service.asked
    encoded = protocols.get("responses").encode(request, "m", Quirks())
    assert path == encoded.path
    assert json.loads(json.dumps(encoded.body)) == sent
