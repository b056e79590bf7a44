"""Helpers for tests that run an agent: an open policy, a run to its end, and what history must look like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, TypeVar

from inkwire.agent.agent import Agent
from inkwire.agent.approval import Approve
from inkwire.agent.dispatch import Decision
from inkwire.agent.events import AgentEvent, RunEnd
from inkwire.messages import AssistantMessage, Message, ToolResultMessage, UserMessage
from inkwire.projection import project
from inkwire.protocols.base import HistoryRules, Quirks
from inkwire.tools.base import Access, Tool, ToolContext
from tests.history_rules import complaints
from tests.scripted_model import ScriptedModel

E = TypeVar("E")
MAKER = ("test", "scripted", "chat")


class Open:
    """Lets everything through."""

    read_only = False

    def decide(
        self, tool: Tool, arguments: Mapping[str, Any], accesses: tuple[Access, ...], context: ToolContext
    ) -> Decision:
        return Decision("allow")

    def remember(self, rules: Sequence[str]) -> None:
        raise AssertionError("nothing was asked")


def agent(
    model: ScriptedModel, *tools: Tool, workspace: Path | str = ".", approve: Approve | None = None, **options: Any
) -> Agent:
    """An agent over a script."""
    options.setdefault("policy", Open())
    return Agent(client=model, model="test/scripted", tools=tools, workspace=workspace, approve=approve, **options)


async def run(subject: Agent, prompt: str = "go") -> list[AgentEvent]:
    """All events of a run; the history is checked afterwards."""
    found = []
    async with aclosing(subject.run(prompt)) as events:
        async for event in events:
            found.append(event)
    check_history(subject.history)
    return found


def ending(events: Sequence[AgentEvent]) -> RunEnd:
    """The run's end, which is the last event and the only one of its kind."""
    assert [event for event in events if isinstance(event, RunEnd)] == [events[-1]]
    end = events[-1]
    assert isinstance(end, RunEnd)
    return end


def of(kind: type[E], events: Iterable[Any]) -> list[E]:
    """The events of one kind."""
    return [event for event in events if isinstance(event, kind)]


def results(history: Iterable[Message]) -> list[ToolResultMessage]:
    """The tool results."""
    return of(ToolResultMessage, history)


def check_history(history: Sequence[Message]) -> None:
    """Law 6: valid as it is, and what the projection makes of it is accepted."""
    open_calls: list[str] = []
    seen: set[str] = set()
    for message in history:
        if isinstance(message, ToolResultMessage):
            assert open_calls, f"a result without its call: {message.call_id}"
            assert open_calls.pop(0) == message.call_id, "results out of order"
            assert message.parts
            continue
        assert not open_calls, f"calls without results: {open_calls}"
        if isinstance(message, AssistantMessage):
            assert message.parts, "an empty answer"
            assert not (message.interrupted and message.calls), "calls of an interrupted answer"
            open_calls = [call.id for call in message.calls]
            assert not seen.intersection(open_calls), "an id twice"
            seen.update(open_calls)
        if isinstance(message, UserMessage):
            assert message.parts
    assert not open_calls, f"calls without results: {open_calls}"
    provider, model, protocol = MAKER
    projected = project(
        history, provider=provider, model=model, protocol=protocol, rules=HistoryRules(), quirks=Quirks()
    )
    found = complaints(projected, maker=MAKER, id_form="any", alternate_roles=False, free_text_tools=False, images=True)
    assert found == []
