"""The examples run, against a server on loopback that streams what a service would."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
TEXT = [{"content": "Hel"}, {"content": "lo"}]
CALL = [
    {"tool_calls": [{"index": 0, "id": "call_a", "function": {"name": "read", "arguments": '{"path": "no'}}]},
    {"tool_calls": [{"index": 0, "function": {"arguments": 'te.txt"}'}}]},
]


def body(deltas: list[dict[str, Any]], finish: str) -> bytes:
    """The deltas as a stream of Chat Completions."""
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"


class Service:
    """Calls `read` when it is offered a tool and has no result yet, else says hello."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []

    async def answer(self, request: web.Request) -> web.Response:
        asked = await request.json()
        self.requests.append(asked)
        calls = "tools" in asked and asked["messages"][-1]["role"] != "tool"
        data = body(CALL, "tool_calls") if calls else body(TEXT, "stop")
        return web.Response(body=data, content_type="text/event-stream")


@pytest.fixture
async def service(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Service]:
    made = Service()
    app = web.Application()
    app.router.add_post("/v1/chat/completions", made.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    monkeypatch.setenv("GROQ_API_KEY", "test")
    monkeypatch.setenv("GROQ_BASE_URL", f"http://127.0.0.1:{port}/v1")
    yield made
    await runner.cleanup()


def load(name: str) -> Any:
    spec = spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


async def test_the_chat_prints_the_answer_as_it_arrives(service: Service) -> None:
    command = [sys.executable, str(EXAMPLES / "chat.py"), "groq/any", "Hi"]
    done = await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, env=dict(os.environ), timeout=60, check=False
    )
    assert (done.stdout, done.returncode) == ("Hello\n", 0), done.stderr


async def test_the_tool_loop_reads_the_file_and_answers(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "note.txt").write_text("remember the milk")
    monkeypatch.chdir(tmp_path)
    assert await load("tool_loop").main("groq/any", "What is in note.txt?") == "Hello"
    assert service.requests[1]["messages"][-1]["content"] == "remember the milk"


async def test_the_relay_streams_events_to_a_page(service: Service) -> None:
    pytest.importorskip("fastapi")
    relay = load("relay")
    async with relay.lifespan(relay.app):
        response = await relay.ask(relay.Question(model="groq/any", prompt="Hi"))
        lines = b"".join([piece async for piece in response.body_iterator]).decode().split("\n\n")
    events = [json.loads(line.removeprefix("data: ")) for line in lines if line]
    assert [event["type"] for event in events] == ["text_delta", "text_delta", "message_end"]


@pytest.mark.parametrize("name", ["chat.py", "tool_loop.py"])
def test_an_example_without_arguments_says_how_it_is_run(name: str) -> None:
    done = subprocess.run([sys.executable, EXAMPLES / name], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"usage: {name} PROVIDER/MODEL PROMPT")
    assert done.stderr.count("\n") == 1
