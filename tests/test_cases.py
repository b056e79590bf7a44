"""Faults from the wild: every case of tests/cases/assembly.json and json.json, in process."""

from __future__ import annotations

from typing import Any

import pytest

from inkwire import protocols
from inkwire.errors import ModelError
from inkwire.events import MessageEnd
from inkwire.limits import Limits
from inkwire.messages import AssistantMessage, ToolCall
from inkwire.pipeline import Pipeline
from tests.case_notation import load_cases, read_bytes
from tests.streams import Stream, case_streams

ASSEMBLY = case_streams()
JSON = [
    case
    for case in load_cases("json")
    if case["server"].get("end") == "eof" and "content-encoding" not in (case["server"].get("headers") or {})
]
KINDS = {
    "truncated": "incomplete",
    "incomplete_stream": "incomplete",
    "provider": "remote",
    "provider_error": "remote",
    "malformed_tool_call": "remote",
    "bad_payload": "protocol",
    "unexpected_content": "protocol",
    "protocol": "protocol",
    "event_too_large": "limit",
}
USAGE = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cache_read_tokens",
    "cache_write": "cache_write_tokens",
    "reasoning": "reasoning_tokens",
}


def result_of(pipeline: Pipeline, body: bytes) -> tuple[AssistantMessage, ModelError | None]:
    events = [*pipeline.feed(body), *pipeline.finish()]
    if pipeline.error is not None:
        assert pipeline.error.partial is not None
        return pipeline.error.partial, pipeline.error
    last = events[-1]
    assert isinstance(last, MessageEnd)
    return last.message, None


@pytest.mark.parametrize("stream", ASSEMBLY, ids=lambda stream: stream.name)
def test_assembly_case(stream: Stream) -> None:
    assert stream.expected is not None
    case = stream.expected
    message, error = result_of(stream.pipeline(), stream.body)
    wants = [case["expect"], *({**case["expect"], **other} for other in case.get("accept", ()))]
    misses = [list(_misses(message, error, want, case.get("checks", ()))) for want in wants]
    assert [] in misses, min(misses, key=len)


def _misses(message: AssistantMessage, error: ModelError | None, want: dict[str, Any], checks: Any) -> Any:
    kind = KINDS[want["error"]] if want.get("error") else None
    if (error.kind if error else None) != kind:
        yield f"error {error!r}, wanted {kind}"
        return
    if error is not None:
        if message.executable_calls:
            yield "an executable call in a failed message"
        return
    stop, _, raw = want["stop_reason"].partition(":")
    if message.stop_reason != {"pause": "pause_turn"}.get(stop, stop):
        yield f"stop reason {message.stop_reason}, wanted {stop}"
    if raw and message.raw_stop_reason != raw:
        yield f"raw stop reason {message.raw_stop_reason}, wanted {raw}"
    if ("text" in want or "refusal" in want) and message.text != (want.get("text") or "") + (want.get("refusal") or ""):
        yield f"text {message.text!r}"
    if "thinking" in want and message.reasoning != want["thinking"]:
        yield f"reasoning {message.reasoning!r}"
    if len(message.calls) != len(want["tool_calls"]):
        yield f"{len(message.calls)} calls, wanted {len(want['tool_calls'])}"
        return
    for call, wanted in zip(message.calls, want["tool_calls"], strict=True):
        yield from _call_misses(call, wanted, want.get("executable"), "ids_unique" in checks)
    for name, value in (want.get("usage") or {}).items():
        if getattr(message.usage, USAGE[name]) != value:
            yield f"usage {name} is {getattr(message.usage, USAGE[name])}, wanted {value}"
    missing = set(want.get("flags", ())) - {warning.kind for warning in message.warnings}
    if missing:
        yield f"no warning {missing}"


def _call_misses(call: ToolCall, wanted: dict[str, Any], executable: bool | None, any_id: bool) -> Any:
    if call.name != wanted["name"]:
        yield f"name {call.name!r}"
    if wanted.get("id") and not any_id and call.id != wanted["id"]:
        yield f"id {call.id!r}, wanted {wanted['id']!r}"
    if wanted.get("parse_error"):
        if call.arguments is not None or call.arguments_error is None:
            yield f"arguments {call.arguments!r} where a parse error is right"
        elif "incomplete" in wanted and (call.arguments_error.kind == "incomplete") != wanted["incomplete"]:
            yield f"arguments error {call.arguments_error}"
    elif "arguments" in wanted and call.arguments != wanted["arguments"]:
        yield f"arguments {call.arguments!r}, wanted {wanted['arguments']!r}"
    run = wanted.get("run", executable)
    if run is not None and call.executable != run:
        yield f"executable is {call.executable}"
    if (extra := wanted.get("extra")) and dict(call.opaque or {}) != extra:
        yield f"opaque {call.opaque}, wanted {extra}"


@pytest.mark.parametrize("case", JSON, ids=[case["id"] for case in JSON])
def test_json_case(case: dict[str, Any]) -> None:
    name = {"openai-chat": "chat", "openai-responses": "responses"}.get(case["protocol"], case["protocol"])
    limits = Limits(event_bytes=case["max_event_bytes"]) if "max_event_bytes" in case else Limits()
    headers = {key.lower(): value for key, value in (case["server"].get("headers") or {}).items()}
    pipeline = Pipeline(protocols.get(name), limits=limits, content_type=headers.get("content-type", ""))
    message, error = result_of(pipeline, b"".join(read_bytes(read) for read in case["server"]["reads"]))
    expect = case["expect"]
    if expect["outcome"] == "complete":
        assert error is None, error
        if "text" in expect:
            assert message.text == expect["text"]
        return
    assert error is not None
    wanted = expect["error"]
    assert error.kind == KINDS[wanted["kind"]] if wanted["kind"] in KINDS else True
    assert error.committed == wanted["committed"]
    for key in ("status", "retryable"):
        if wanted.get(key) is not None:
            assert getattr(error, key) == wanted[key]
    if wanted.get("message"):
        assert wanted["message"] in error.message
