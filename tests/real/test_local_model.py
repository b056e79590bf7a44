"""A real model behind a server that is not ours, over its three protocols: facts, never wording.

Runs with `scripts/test --real`, which installs the extras `local` and `local-model`; skipped otherwise.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import platformdirs
import pytest

from inkwire.client import Client
from inkwire.events import MessageEnd, TextDelta
from inkwire.local.llama_server import TEMPLATE, LlamaServer
from inkwire.local.model_package import MODEL_NAME, packaged_model
from inkwire.messages import Request, SystemMessage, ToolCall, ToolDefinition, ToolResultMessage, UserMessage

pytestmark = [
    pytest.mark.skipif(not os.environ.get("INKWIRE_REAL"), reason="a real model: scripts/test --real"),
    pytest.mark.timeout(900),
]

PROTOCOLS = ("chat", "anthropic", "responses")
SYSTEM = SystemMessage("You are a coding agent. Use the tools to look at files before you answer.")
READ = ToolDefinition(
    "read",
    "Read a text file and return its content",
    {
        "type": "object",
        "properties": {"path": {"type": "string", "description": "path of the file"}},
        "required": ["path"],
    },
)
WRITE = ToolDefinition(
    "write",
    "Write a text file",
    {
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["path", "content"],
    },
)
README = "# Demo\n\nStart it with `make serve`. It listens on port 8123.\n"


@asynccontextmanager
async def asked(protocol: str) -> AsyncIterator[Client]:
    path = packaged_model(Path(platformdirs.user_cache_dir("inkwire", appauthor=False)) / "models")
    async with (
        LlamaServer(path, template=TEMPLATE) as server,
        Client(resolve=lambda model: server.target(protocol)) as client,
    ):
        yield client


def request(text: str, **more: object) -> Request:
    return Request(f"local/{MODEL_NAME}", (SYSTEM, UserMessage.of(text)), temperature=0.0, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_real_server_is_understood(protocol: str) -> None:
    async with asked(protocol) as client:
        # chat
        chat = await client.complete(request("Say the word blue and nothing else.", max_tokens=20))
        assert "blue" in chat.text.lower()
        assert chat.usage.output_tokens
        # one call, then the answer from its result
        question = request(
            "Read README.md and tell me on which port the project listens.", tools=(READ,), max_tokens=300
        )
        call = await client.complete(question)
        assert call.stop_reason == "tool_use"
        assert [(each.name, each.arguments) for each in call.executable_calls] == [("read", {"path": "README.md"})]
        history = (*question.messages, call, ToolResultMessage.of(call.calls[0], README))
        answer = await client.complete(Request(question.model, history, tools=(READ,), temperature=0.0, max_tokens=300))
        assert "8123" in answer.text
        # two calls, in one answer or one after the other: each whole, each with an id of its own
        asked_for = [
            call
            async for call in _calls(
                client, request("Call read for README.md and call read for CHANGELOG.md.", tools=(READ,))
            )
        ]
        assert {"path": "README.md"} in [call.arguments for call in asked_for]
        assert {"path": "CHANGELOG.md"} in [call.arguments for call in asked_for]


async def _calls(client: Client, question: Request) -> AsyncIterator[ToolCall]:
    """The calls of up to four answers, each given a result."""
    history = list(question.messages)
    for _ in range(4):
        answer = await client.complete(msgspec.structs.replace(question, messages=tuple(history), max_tokens=200))
        history += [answer, *(ToolResultMessage.of(call, "It is empty.") for call in answer.calls)]
        for call in answer.executable_calls:
            yield call
        if not answer.calls:
            return


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_cut_answer_runs_nothing(protocol: str) -> None:
    async with asked(protocol) as client:
        long = request(
            "Write the numbers from one to two hundred in words to the file n.txt.", tools=(WRITE,), max_tokens=60
        )
        message = await client.complete(long)
        assert not message.executable_calls
        # This server reports a cut call as completed on one protocol; the broken arguments close the gate there.
        assert message.stop_reason == "max_tokens" or message.calls[0].arguments_error is not None
        # It answers 500 to a history with broken arguments: what was cut must not go back as it came.
        results = [ToolResultMessage.of(each, "Not run: the call was cut.", is_error=True) for each in message.calls]
        history = (*long.messages, message, *results, UserMessage.of("Never mind. Say the word red and nothing else."))
        after = await client.complete(msgspec.structs.replace(long, messages=history))
        assert after.usage.output_tokens


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_leaving_in_the_middle_leaves_a_server_that_answers(protocol: str) -> None:
    async with asked(protocol) as client:
        async with client.stream(request("Count from 1 to 300.", max_tokens=400)) as stream:
            async for event in stream:
                assert not isinstance(event, MessageEnd)
                if isinstance(event, TextDelta):
                    break
        again = await client.complete(request("Say the word green and nothing else.", max_tokens=20))
        assert "green" in again.text.lower()


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_the_agent_reads_the_file_and_answers_from_it(protocol: str, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(README)
    command = ("-m", f"local/{MODEL_NAME}", "--protocol", protocol, "--no-session", "-p")
    agent = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("inkwire"),
        *command,
        "Read README.md and tell me how to start this project",
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    answer, told = await agent.communicate()
    assert agent.returncode == 0, told.decode()
    assert b"make serve" in answer
