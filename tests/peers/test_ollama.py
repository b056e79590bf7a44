"""Ollama's own client and ours read the same streams, and ask in the same words."""

from __future__ import annotations

import json
from typing import Any

import ollama
import pytest

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


def line(content: str = "", *, done: str | None = None, **message: Any) -> dict[str, Any]:
    ending: dict[str, Any] = {"done": False}
    if done:
        ending = {"done": True, "done_reason": done, "prompt_eval_count": 10, "eval_count": 3}
    return {
        "model": "qwen3:8b",
        "created_at": "2025-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": content, **message},
        **ending,
    }


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}}


STREAMS: dict[str, list[dict[str, Any]]] = {
    "text": [line("Grüße, "), line("世界 😀"), line(done="stop")],
    "thinking": [line(thinking="Let me "), line(thinking="see"), line("42"), line(done="stop")],
    "calls": [
        line("I look."),
        line(tool_calls=[call("read", {"path": "ä.py", "lines": [1, 2.5, None]})]),
        line(tool_calls=[call("read", {"path": "b.py"}), call("list", {})]),
        line(done="stop"),
    ],
    "cut": [line("I was sa"), line(done="length")],
}


def ours(body: bytes) -> AssistantMessage:
    pipeline = Pipeline(protocols.get("ollama"))
    events = [*pipeline.feed(body), *pipeline.finish()]
    assert pipeline.error is None
    end = events[-1]
    assert isinstance(end, MessageEnd)
    return end.message


@pytest.mark.parametrize("name", STREAMS)
async def test_the_vendors_client_reads_the_same(name: str) -> None:
    body = b"".join(json.dumps(one, ensure_ascii=False).encode() + b"\n" for one in STREAMS[name])
    text, thinking, calls, last = "", "", [], None
    async with serving(body, "application/x-ndjson") as service:
        client = ollama.AsyncClient(host=service.url)
        stream = await client.chat(model="qwen3:8b", messages=[{"role": "user", "content": "hi"}], stream=True)
        async for last in stream:
            text += last.message.content or ""
            thinking += last.message.thinking or ""
            calls += [(one.function.name, dict(one.function.arguments)) for one in last.message.tool_calls or ()]
        await client._client.aclose()
    message = ours(body)
    assert last is not None
    assert (message.text, message.reasoning) == (text, thinking)
    assert [(one.name, one.arguments) for one in message.calls] == calls
    assert message.raw_stop_reason == last.done_reason
    assert (message.usage.input_tokens, message.usage.output_tokens) == (last.prompt_eval_count, last.eval_count)


SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


async def test_the_vendors_client_sends_the_same_request() -> None:
    request = Request(
        "ollama/gpt-oss",
        (
            SystemMessage("Be brief."),
            UserMessage((TextPart("What is it?"), ImagePart("image/png", b"\x89PNG"))),
            AssistantMessage((ReasoningPart("hm"), TextPart("I look."), ToolCall("c1", "read", {"path": "ä.py"}))),
            ToolResultMessage("c1", "read", (TextPart("x = 1"),)),
        ),
        (ToolDefinition("read", "Read.", SCHEMA),),
        max_tokens=100,
        temperature=0.5,
        stop=("END",),
        reasoning_effort="high",
        output_schema=SCHEMA,
    )
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is it?", "images": [b"\x89PNG"]},
        {
            "role": "assistant",
            "content": "I look.",
            "thinking": "hm",
            "tool_calls": [call("read", {"path": "ä.py"})],
        },
        {"role": "tool", "content": "x = 1", "tool_name": "read"},
    ]
    async with serving(json.dumps(line(done="stop")).encode() + b"\n", "application/x-ndjson") as service:
        client = ollama.AsyncClient(host=service.url)
        stream = await client.chat(
            model="gpt-oss",
            messages=messages,
            tools=[{"type": "function", "function": {"name": "read", "description": "Read.", "parameters": SCHEMA}}],
            stream=True,
            think="high",
            format=SCHEMA,
            options={"num_predict": 100, "temperature": 0.5, "stop": ["END"]},
        )
        async for _ in stream:
            pass
        await client._client.aclose()
    ((path, theirs),) = service.asked
    ours = protocols.get("ollama").encode(request, "gpt-oss", Quirks())
    # The client's types know no ids; the service does.
    ours.body["messages"][2]["tool_calls"][0].pop("id")
    ours.body["messages"][3].pop("tool_call_id")
    assert path == ours.path
    assert ours.body == theirs
