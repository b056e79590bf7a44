"""What the pipeline adds to its stages: the start, the end, and what lies outside of events."""

from __future__ import annotations

import json

import pytest

from inkwire import protocols
from inkwire.errors import LimitExceededError, ProtocolError, ServiceError, TransportError
from inkwire.events import MessageEnd, RawEvent, StreamWarning, TextDelta
from inkwire.limits import Limits
from inkwire.pipeline import Pipeline
from inkwire.protocols.base import DecodeOptions


def chunk(content: str | None = None, finish: str | None = None, **more: object) -> bytes:
    delta = {} if content is None else {"content": content}
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: " + json.dumps({"choices": [choice], **more}).encode() + b"\n\n"


CALL = {"index": 0, "id": "a", "function": {"name": "read", "arguments": '{"path": "x"}'}}
CALL_CHUNK = b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"tool_calls": [CALL]}}]}).encode() + b"\n\n"
STOP = chunk(finish="stop")
DONE = b"data: [DONE]\n\n"


def chat(**options: object) -> Pipeline:
    return Pipeline(protocols.get("chat"), **options)  # type: ignore[arg-type]


def test_text_is_given_with_the_read_that_brings_it() -> None:
    pipeline = chat()
    assert pipeline.feed(chunk("Hel")) == [TextDelta(0, "Hel")]
    assert pipeline.feed(chunk("lo")) == [TextDelta(0, "lo")]


def test_the_sentinel_ends_at_once_and_nothing_counts_after_it() -> None:
    pipeline = chat()
    events = pipeline.feed(chunk("Hi") + STOP + DONE + chunk("junk"))
    assert isinstance(events[-1], MessageEnd)
    assert events[-1].message.text == "Hi"
    assert pipeline.ended
    assert pipeline.feed(chunk("junk")) == []


def test_a_lost_connection_after_completion_is_no_error() -> None:
    pipeline = chat()
    pipeline.feed(chunk("Hi") + STOP)
    events = pipeline.lost(TransportError("reset"))
    assert isinstance(events[-1], MessageEnd)
    assert pipeline.error is None


def test_a_lost_connection_before_completion_carries_what_came() -> None:
    pipeline = chat()
    pipeline.feed(chunk("Hi"))
    assert pipeline.lost(TransportError("reset")) == []
    assert isinstance(pipeline.error, TransportError)
    assert pipeline.error.committed
    assert pipeline.error.partial is not None
    assert pipeline.error.partial.text == "Hi"


def test_events_before_a_fault_are_given_before_it() -> None:
    pipeline = chat()
    events = pipeline.feed(chunk("Hi") + b"data: {oops}\n\n" + chunk("lost"))
    assert events == [TextDelta(0, "Hi")]
    assert isinstance(pipeline.error, ProtocolError)
    assert "{oops}" in pipeline.error.excerpt


@pytest.mark.parametrize("cut", [1, 7, 10_000])
def test_a_payload_on_the_line_under_data_closes_the_gate(cut: int) -> None:
    body = CALL_CHUNK + b'data:\n{"choices": [{"delta": {"content": "lost"}}]}\n\n' + STOP + DONE
    pipeline = chat()
    events = [event for at in range(0, len(body), cut) for event in pipeline.feed(body[at : at + cut])]
    assert isinstance(events[-1], MessageEnd)
    message = events[-1].message
    assert [warning.kind for warning in message.warnings] == ["stray_payload"]
    assert not message.executable_calls
    assert message.calls[0].refusal == "a piece of the stream was lost, so no call of it is known to be whole"


def test_an_unknown_field_is_no_damage() -> None:
    pipeline = chat()
    events = pipeline.feed(CALL_CHUNK + b"x-trace: 7\n\n" + STOP + DONE)
    assert isinstance(events[-1], MessageEnd)
    assert len(events[-1].message.executable_calls) == 1


def test_an_unframed_error_after_events_keeps_its_words() -> None:
    pipeline = chat()
    pipeline.feed(chunk("Hi") + b'{\n  "error": {\n    "code": 503,\n    "message": "overloaded"\n  }\n}\n')
    pipeline.finish()
    assert isinstance(pipeline.error, ServiceError)
    assert (pipeline.error.status, pipeline.error.message) == (503, "overloaded")


@pytest.mark.parametrize("cut", [1, 5, 10_000])
@pytest.mark.parametrize("body", [b"<!doctype html><title>Sign in</title>" + b"x" * 3000, b"upstream connect error"])
def test_what_is_no_stream_is_told_in_its_own_words(body: bytes, cut: int) -> None:
    pipeline = chat(content_type="text/html")
    for at in range(0, len(body), cut):
        pipeline.feed(body[at : at + cut])
    pipeline.finish()
    assert isinstance(pipeline.error, ProtocolError)
    assert body[:20].decode() in str(pipeline.error)
    assert pipeline.error.excerpt.startswith(body[:20].decode())


def test_white_space_before_the_body_is_no_body() -> None:
    pipeline = chat()
    for _ in range(100):
        assert pipeline.feed(b"\n  \n") == []
    assert isinstance(pipeline.feed(chunk("Hi") + STOP + DONE)[-1], MessageEnd)


def test_too_many_calls_are_a_limit() -> None:
    calls = [{"index": n, "id": f"c{n}", "function": {"name": "read", "arguments": "{}"}} for n in range(11)]
    body = b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"tool_calls": calls}}]}).encode() + b"\n\n"
    pipeline = chat(limits=Limits(calls=10))
    pipeline.feed(body)
    assert isinstance(pipeline.error, LimitExceededError)


def test_a_message_that_is_too_long_is_a_limit() -> None:
    pipeline = chat(limits=Limits(message_bytes=100))
    assert pipeline.feed(chunk("x" * 60)) == [TextDelta(0, "x" * 60)]
    pipeline.feed(chunk("x" * 60))
    assert isinstance(pipeline.error, LimitExceededError)
    assert pipeline.error.partial is not None


def test_a_payload_that_is_nested_too_deep_is_a_limit() -> None:
    pipeline = chat()
    pipeline.feed(b'data: {"choices": [], "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n\n")
    assert isinstance(pipeline.error, LimitExceededError)


def test_raw_payloads_stand_before_the_events_that_come_of_them() -> None:
    events = chat(raw=True).feed(chunk("Hi"))
    assert isinstance(events[0], RawEvent)
    assert json.loads(events[0].data)["choices"][0]["delta"] == {"content": "Hi"}
    assert events[1] == TextDelta(0, "Hi")


def test_tolerant_reading_tells_of_the_damage_and_runs_nothing() -> None:
    pipeline = chat(options=DecodeOptions(tolerant=True))
    events = pipeline.feed(CALL_CHUNK + b"data: {oops}\n\n" + STOP + DONE)
    assert any(isinstance(event, StreamWarning) and event.kind == "bad_chunk" for event in events)
    assert isinstance(events[-1], MessageEnd)
    assert not events[-1].message.executable_calls


def test_a_cut_tail_after_completion_is_a_warning() -> None:
    pipeline = chat()
    pipeline.feed(chunk("Hi") + STOP + b'data: {"usage": {"prom')
    events = pipeline.finish()
    assert isinstance(events[-1], MessageEnd)
    assert [warning.kind for warning in events[-1].message.warnings] == ["cut_tail"]
