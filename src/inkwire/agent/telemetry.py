"""An agent's events in, OpenTelemetry spans out, by the GenAI conventions (semantic-conventions-genai 0.1).

    invoke_agent inkwire
      chat {model}              one a turn
      execute_tool {name}       one a call that ran

The API package alone is needed (extra `telemetry`); where spans go is for the program to set up. Neither prompts nor
arguments nor results are put into spans.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from inkwire.agent.events import AgentEvent, RunEnd, RunStart, ToolEnd, ToolStart, TurnStart
from inkwire.errors import ConfigurationError
from inkwire.events import MessageEnd, ReasoningDelta, TextDelta, ToolCallStart
from inkwire.messages import AssistantMessage, Usage

__all__ = ["Spans", "spans_if_wanted"]

_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_call",
    "max_tokens": "length",
    "context_window": "length",
    "content_filter": "content_filter",
    "refusal": "content_filter",
}
_USAGE = {
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cache_read_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_write_tokens": "gen_ai.usage.cache_creation.input_tokens",
    "reasoning_tokens": "gen_ai.usage.reasoning.output_tokens",
}


def spans_if_wanted(wanted: bool | None) -> Spans | None:
    """Spans when asked for, or, with None, when the program has loaded OpenTelemetry itself."""
    if wanted is False or (wanted is None and "opentelemetry.trace" not in sys.modules):
        return None
    try:
        return Spans()
    except ImportError as error:
        if wanted is None:
            return None
        raise ConfigurationError("telemetry needs opentelemetry-api: pip install 'inkwire[telemetry]'") from error


class Spans:
    """The spans of one run. Parents are named outright: nothing is left in the task's context between events."""

    def __init__(self, tracer: Any = None) -> None:
        from opentelemetry import trace

        self._trace = trace
        self._tracer = tracer or trace.get_tracer("inkwire")
        self._run: Any = None
        self._chat: Any = None
        self._chat_began = 0.0
        self._has_first_chunk = False
        self._tools: dict[str, Any] = {}
        self._model = ""

    def feed(self, event: AgentEvent) -> None:
        """Take an event of the run."""
        match event:
            case RunStart():
                self._model = event.model.partition("/")[2] or event.model
                attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "inkwire"}
                if event.session_id:
                    attributes["gen_ai.conversation.id"] = event.session_id
                self._run = self._tracer.start_span("invoke_agent inkwire", attributes=attributes)
            case TurnStart():
                self._start_chat()
            case TextDelta() | ReasoningDelta() | ToolCallStart() if not self._has_first_chunk:
                self._has_first_chunk = True
                if self._chat is not None:
                    waited = time.monotonic() - self._chat_began
                    self._chat.set_attribute("gen_ai.response.time_to_first_chunk", waited)
            case MessageEnd():
                self._end_chat(event.message)
            case ToolStart():
                self._tools[event.call_id] = self._start(
                    f"execute_tool {event.name}",
                    "execute_tool",
                    {"gen_ai.tool.name": event.name, "gen_ai.tool.call.id": event.call_id},
                )
            case ToolEnd() if (span := self._tools.pop(event.call_id, None)) is not None:
                if event.is_error:
                    self._mark(span, "tool_error")
                span.end()
            case RunEnd():
                self._end_run(event)

    def finish(self) -> None:
        """End what is still open: a run that was cancelled from outside, or whose reader left."""
        for span in [*self._tools.values(), self._chat, self._run]:
            if span is not None:
                self._mark(span, "cancelled")
                span.end()
        self._tools.clear()
        self._chat = self._run = None

    def _start(self, name: str, operation: str, attributes: dict[str, Any]) -> Any:
        parent = self._trace.set_span_in_context(self._run) if self._run is not None else None
        return self._tracer.start_span(
            name, context=parent, attributes={"gen_ai.operation.name": operation, **attributes}
        )

    def _start_chat(self) -> None:
        if self._chat is not None:
            self._mark(self._chat, "error")
            self._chat.end()
        self._chat_began, self._has_first_chunk = time.monotonic(), False
        self._chat = self._start(f"chat {self._model}", "chat", {"gen_ai.request.model": self._model})

    def _end_chat(self, message: AssistantMessage) -> None:
        if self._chat is None:
            return
        attributes: dict[str, Any] = {
            "gen_ai.provider.name": message.provider,
            "gen_ai.response.model": message.model,
            "gen_ai.response.finish_reasons": [_FINISH.get(message.stop_reason, "error")],
            **_usage(message.usage),
        }
        if message.response_id:
            attributes["gen_ai.response.id"] = message.response_id
        self._chat.set_attributes(attributes)
        self._chat.end()
        self._chat = None

    def _end_run(self, end: RunEnd) -> None:
        kind = end.error.kind if end.error is not None else end.outcome
        for span in (self._chat, self._run):
            if span is not None and end.outcome != "completed":
                self._mark(span, kind)
        if self._run is not None:
            self._run.set_attributes(_usage(end.usage))
        for span in (self._chat, self._run):
            if span is not None:
                span.end()
        self._chat = self._run = None

    def _mark(self, span: Any, kind: str) -> None:
        span.set_attribute("error.type", kind)
        span.set_status(self._trace.StatusCode.ERROR)


def _usage(usage: Usage) -> dict[str, int]:
    counts = {attribute: getattr(usage, name) for name, attribute in _USAGE.items()}
    return {attribute: count for attribute, count in counts.items() if count is not None}
