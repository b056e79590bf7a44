"""Google's own client and ours read the same streams, and ask in the same words."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import pytest
from google import genai
from google.genai import types

from inkwire import protocols
from inkwire.events import MessageEnd
from inkwire.messages import (
    AssistantMessage,
    ImagePart,
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

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")

SIGNATURE = base64.b64encode(b"signature").decode()


def chunk(*parts: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": list(parts)}}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "modelVersion": "gemini-2.5-flash", "responseId": "r1", **more}


def call(name: str, **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, **more}}


STREAMS: dict[str, list[dict[str, Any]]] = {
    "text": [
        chunk({"text": "Grüße, "}, usageMetadata={"promptTokenCount": 4}),
        chunk({"text": "世界 😀"}, finish="STOP", usageMetadata={"promptTokenCount": 4, "candidatesTokenCount": 3}),
    ],
    "thoughts": [
        chunk({"text": "Let me ", "thought": True}),
        chunk({"text": "see", "thought": True}),
        chunk({"text": "42", "thoughtSignature": SIGNATURE}, finish="STOP"),
    ],
    "calls": [
        chunk({"text": "I look."}),
        chunk(call("read", id="c1", args={"path": "ä.py", "lines": [1, 2.5, None]})),
        chunk(call("read", id="c2", args={"path": "b.py"}), finish="STOP"),
    ],
    "cut": [chunk({"text": "I was "}), chunk({"text": "sa"}, finish="MAX_TOKENS")],
}


def ours(body: bytes) -> AssistantMessage:
    pipeline = Pipeline(protocols.get("gemini"))
    events = [*pipeline.feed(body), *pipeline.finish()]
    assert pipeline.error is None
    end = events[-1]
    assert isinstance(end, MessageEnd)
    return end.message


@pytest.mark.parametrize("name", STREAMS)
async def test_the_vendors_client_reads_the_same(name: str) -> None:
    body = b"".join(b"data: " + json.dumps(one).encode() + b"\r\n\r\n" for one in STREAMS[name])
    parts: list[types.Part] = []
    usage: types.GenerateContentResponseUsageMetadata | None = None
    async with serving(body, "text/event-stream") as service:
        client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=service.url))
        stream = await client.aio.models.generate_content_stream(model="gemini-2.5-flash", contents="hi")
        async for response in stream:
            usage = response.usage_metadata or usage
            for candidate in response.candidates or ():
                parts += (candidate.content and candidate.content.parts) or ()
        await client.aio.aclose()
        client.close()
    message = ours(body)
    assert message.text == "".join(part.text or "" for part in parts if not part.thought)
    assert message.reasoning == "".join(part.text or "" for part in parts if part.thought)
    calls = [part.function_call for part in parts if part.function_call]
    assert [(one.id, one.name, one.arguments) for one in message.calls] == [
        (one.id, one.name, one.args) for one in calls
    ]
    signatures = [base64.b64encode(part.thought_signature).decode() for part in parts if part.thought_signature]
    assert [part.opaque["thoughtSignature"] for part in message.parts if part.opaque] == signatures
    assert message.usage.input_tokens == (usage and usage.prompt_token_count)
    assert message.usage.output_tokens == (usage and usage.candidates_token_count)


SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


def camel(value: Any) -> Any:
    """The client mixes both spellings of a name; the service takes either."""
    if isinstance(value, list):
        return [camel(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {re.sub(r"_(.)", lambda found: found[1].upper(), name): camel(item) for name, item in value.items()}


async def test_the_vendors_client_sends_the_same_request() -> None:
    contents = [
        types.Content(
            role="user",
            parts=[types.Part(text="What is it?"), types.Part.from_bytes(data=b"\x89PNG", mime_type="image/png")],
        ),
        types.Content(
            role="model",
            parts=[
                types.Part(text="I look."),
                types.Part(
                    function_call=types.FunctionCall(id="c1", name="read", args={"path": "ä.py"}),
                    thought_signature=b"signature",
                ),
            ],
        ),
        types.Content(
            role="user",
            parts=[
                types.Part(function_response=types.FunctionResponse(id="c1", name="read", response={"output": "x = 1"}))
            ],
        ),
    ]
    config = types.GenerateContentConfig(
        system_instruction="Be brief.",
        max_output_tokens=100,
        temperature=0.5,
        top_p=0.9,
        stop_sequences=["END"],
        seed=7,
        thinking_config=types.ThinkingConfig(thinking_budget=512, include_thoughts=True),
        tools=[
            types.Tool(
                function_declarations=[
                    types.FunctionDeclaration(name="read", description="Read.", parameters_json_schema=SCHEMA)
                ]
            )
        ],
        tool_config=types.ToolConfig(
            function_calling_config=types.FunctionCallingConfig(mode=types.FunctionCallingConfigMode.ANY)
        ),
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        response_mime_type="application/json",
        response_json_schema=SCHEMA,
    )
    request = Request(
        "gemini/gemini-2.5-flash",
        (
            SystemMessage("Be brief."),
            UserMessage((TextPart("What is it?"), ImagePart("image/png", b"\x89PNG"))),
            AssistantMessage(
                (
                    TextPart("I look."),
                    ToolCall("c1", "read", {"path": "ä.py"}, opaque={"thoughtSignature": SIGNATURE}),
                )
            ),
            ToolResultMessage("c1", "read", (TextPart("x = 1"),)),
        ),
        (ToolDefinition("read", "Read.", SCHEMA),),
        tool_choice="required",
        max_tokens=100,
        temperature=0.5,
        top_p=0.9,
        stop=("END",),
        seed=7,
        reasoning_budget_tokens=512,
        output_schema=SCHEMA,
    )
    async with serving(b'data: {"candidates": [{"finishReason": "STOP"}]}\n\n', "text/event-stream") as service:
        client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=service.url))
        model = client.aio.models
        async for _ in await model.generate_content_stream(model="gemini-2.5-flash", contents=contents, config=config):
            pass
        await client.aio.aclose()
        client.close()
    ((path, theirs),) = service.asked
    ours = protocols.get("gemini").encode(request, "gemini-2.5-flash", Quirks())
    theirs["systemInstruction"].pop("role")
    assert path.endswith(ours.path)
    assert ours.body == camel(theirs)
