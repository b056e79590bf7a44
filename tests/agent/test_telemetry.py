"""Spans by the GenAI names, and prices: both only where they are wanted."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from inkwire.agent.prices import price_of
from inkwire.agent.telemetry import Spans
from inkwire.errors import ServerError
from inkwire.messages import AssistantMessage, TextPart, Usage
from tests.agent.running import agent, run
from tests.agent.test_loop import echo, fails
from tests.scripted_model import ScriptedModel, call, message


async def spans(model: ScriptedModel) -> list[Any]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    subject = Spans(provider.get_tracer("test"))
    for event in await run(agent(model, echo, fails, telemetry=False)):
        subject.feed(event)
    subject.finish()
    return list(exporter.get_finished_spans())


async def test_a_run_is_a_tree_of_spans() -> None:
    two = message(call("echo", {"text": "a"}, "c1"), call("fails", {}, "c2"), usage=Usage(10, 5, 3))
    found = await spans(ScriptedModel(two, message("done")))
    assert sorted(each.name for each in found) == [
        "chat scripted",
        "chat scripted",
        "execute_tool echo",
        "execute_tool fails",
        "invoke_agent inkwire",
    ]
    by_name = {each.name: each for each in found}
    top = by_name["invoke_agent inkwire"]
    assert all(each.parent.span_id == top.context.span_id for each in found if each is not top)
    assert by_name["execute_tool fails"].attributes["error.type"] == "tool_error"
    first = next(each for each in found if each.name == "chat scripted")
    assert first.attributes["gen_ai.usage.cache_read.input_tokens"] == 3
    assert first.attributes["gen_ai.response.finish_reasons"] == ("tool_call",)
    assert first.attributes["gen_ai.response.time_to_first_chunk"] >= 0


async def test_a_failure_is_named_and_every_span_ends() -> None:
    found = await spans(ScriptedModel(["half", ServerError("down")]))
    assert {each.attributes["error.type"] for each in found} == {"remote"}
    assert len(found) == 2


def test_without_a_program_that_uses_it_nothing_is_loaded() -> None:
    code = "import sys, inkwire.agent.agent; print({'opentelemetry', 'genai_prices', 'mcp'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "set()\n"


@pytest.mark.parametrize(
    ("model", "provider", "usage", "known"),
    [
        ("gpt-4o", "openai", Usage(1_000, 100), True),
        ("gpt-4o", "openai", Usage(1_000, 100, 900), True),
        ("claude-sonnet-4-5", "anthropic", Usage(1_000, 100), True),
        ("gemini-2.5-pro", "gemini", Usage(1_000, 100), True),
        ("qwen3:8b", "ollama", Usage(1_000, 100), False),
        ("gpt-4o", "openai", Usage(), False),
    ],
)
def test_prices_are_known_or_none(model: str, provider: str, usage: Usage, known: bool) -> None:
    price = price_of(AssistantMessage((TextPart("x"),), usage=usage, model=model, provider=provider))
    assert (price is not None and 0 < price < 1) == known
