"""The trace tells what the pipeline does, no more and no less, in differences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkwire.demo.scenarios import SCENARIOS
from inkwire.events import Event, ReasoningDelta, Retrying, StreamReset, TextDelta, ToolCallDelta
from inkwire.inspector.held import Fact, PartGrew, PartKnown, PartOpened, Voided
from inkwire.inspector.notes import NOTES
from inkwire.inspector.trace import Step, Tracer, trace
from inkwire.protocols.base import DecodeOptions
from inkwire.recording import Exchange, Read
from tests.streams import Stream, all_streams, case_streams

STREAMS = all_streams() + case_streams()


def exchange_of(stream: Stream, cut: int = 0) -> Exchange:
    size = cut or max(len(stream.body), 1)
    pieces = [stream.body[at : at + size] for at in range(0, len(stream.body), size)]
    reads = tuple(Read(0.1 * number, piece) for number, piece in enumerate(pieces))
    tools = [{"function": {"name": name}} for name in stream.tools]
    body = msgspec.json.encode({"tools": tools})
    headers = {"content-type": stream.content_type} if stream.content_type else {}
    return Exchange(reads, 200, headers, request_body=body, protocol=stream.protocol)


def traced(stream: Stream, cut: int = 0) -> list[Step]:
    tracer = Tracer(lines=False, options=DecodeOptions(stream.quirks, stream.tolerant))
    return list(tracer.feed([exchange_of(stream, cut)]))


def decoded(stream: Stream) -> tuple[list[Event], Any]:
    pipeline = stream.pipeline()
    events = [*pipeline.feed(stream.body)]
    if not pipeline.ended:
        events += pipeline.finish()
    return events, pipeline.error


def text_of(steps: Sequence[Step]) -> Iterator[tuple[int, str]]:
    """Each part's text, from the differences."""
    texts: dict[int, str] = {}
    for step in steps:
        for change in step.changes:
            if isinstance(change, Voided):
                texts.clear()
            elif isinstance(change, PartOpened):
                texts[change.part] = ""
            elif isinstance(change, PartGrew):
                texts[change.part] += change.text
    yield from texts.items()


@pytest.mark.parametrize("cut", [0, 1, 7])
@pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: stream.name)
def test_the_steps_hold_the_events_of_the_pipeline_however_the_body_is_cut(stream: Stream, cut: int) -> None:
    events, error = decoded(stream)
    steps = traced(stream, cut)
    assert [event for step in steps for event in step.events] == events
    errors = [step.error for step in steps if step.error is not None]
    assert [(type(each), each.message) for each in errors] == ([] if error is None else [(type(error), error.message)])
    assert sum(step.message is not None for step in steps) + len(errors) == 1


@pytest.mark.parametrize("cut", [0, 5])
@pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: stream.name)
def test_no_byte_is_lost_or_told_twice(stream: Stream, cut: int) -> None:
    body, at = stream.body, 0
    for step in traced(stream, cut):
        if step.received:
            start = step.end - len(step.received)
            assert body[start : step.end] == step.received
            assert start >= at
            assert not body[at:start].strip(), "only blank lines may stand between"
            at = step.end
    assert not body[at:].strip()


@pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: stream.name)
def test_the_differences_add_up_to_what_was_shown(stream: Stream) -> None:
    steps = traced(stream, 11)
    shown: dict[int, str] = {}
    for step in steps:
        for event in step.events:
            match event:
                case StreamReset():
                    shown.clear()
                case TextDelta() | ReasoningDelta():
                    shown[event.index] = shown.get(event.index, "") + event.text
                case ToolCallDelta():
                    shown[event.index] = shown.get(event.index, "") + event.json_delta
    if steps[-1].error is None:  # what is held back until a call has its name is held, not shown
        assert {part: text for part, text in text_of(steps) if text} == {
            key: text for key, text in shown.items() if text
        }
    else:
        held = dict(text_of(steps))
        assert all(held[part] == text or held[part].endswith(text) for part, text in shown.items())


@pytest.mark.parametrize("name", list(SCENARIOS))
def test_nothing_is_given_before_the_end(name: str) -> None:
    steps = trace(SCENARIOS[name].exchanges())
    given_at = [number for number, step in enumerate(steps) if step.message is not None]
    assert len(given_at) <= 1
    assert all(steps[number + 1 :] == [] or steps[number + 1].moment == "unread" for number in given_at)


@pytest.mark.parametrize("name", list(SCENARIOS))
def test_every_step_says_what_there_is_to_see(name: str) -> None:
    for step in trace(SCENARIOS[name].exchanges()):
        assert step.notes
        assert set(step.notes) <= set(NOTES)


def test_half_an_event_waits_and_is_told_whole_with_the_rest() -> None:
    waits, rest = trace(SCENARIOS["read-readme"].exchanges())[2:4]
    assert (waits.moment, waits.waiting, waits.events, waits.notes) == ("read", 81, (), ("waits",))
    assert (rest.start, rest.end - len(rest.received)) == (waits.start, waits.end)
    assert "joined" in rest.notes


def test_whole_arguments_are_no_message_yet() -> None:
    steps = trace(SCENARIOS["read-readme"].exchanges())
    whole = next(
        number
        for number, step in enumerate(steps)
        if any(isinstance(change, PartKnown) and change.whole for change in step.changes)
    )
    assert steps[whole].message is None
    assert steps[whole].notes[0] == "looks_whole"
    assert steps[-1].message is not None
    assert steps[-1].notes == ("runs",)


def test_a_refusal_and_a_loss_are_attempts_of_one_call() -> None:
    steps = trace(SCENARIOS["retry-and-reset"].exchanges())
    assert {step.call for step in steps} == {1}
    assert [step.attempt for step in steps if step.moment == "head"] == [1, 2, 3]
    again = [step.events[0] for step in steps if step.moment == "again"]
    assert [type(event) for event in again] == [Retrying, StreamReset]
    assert all(Voided() in step.changes for step in steps if step.moment == "again")


def test_another_request_is_another_call() -> None:
    one = SCENARIOS["read-readme"].exchanges()[0]
    two = msgspec.structs.replace(one, number=2, request_body=b'{"other":1}')
    assert {step.call for step in trace([one, two])} == {1, 2}


def test_what_follows_the_end_is_told_and_not_read() -> None:
    one = SCENARIOS["read-readme"].exchanges()[0]
    late = Read(9.0, b'data: {"choices":[{"index":0,"delta":{"content":"late"}}]}\n\n')
    last = trace([msgspec.structs.replace(one, reads=(*one.reads, late))])[-1]
    assert (last.moment, last.events, last.received) == ("unread", (), late.data)


def test_a_torn_recording_ends_in_neither_message_nor_error() -> None:
    one = SCENARIOS["read-readme"].exchanges()[0]
    last = trace([msgspec.structs.replace(one, reads=one.reads[:3], end="unknown")])[-1]
    assert (last.moment, last.message, last.error, last.notes) == ("unknown", None, None, ("recording_ends",))


@pytest.mark.parametrize("name", list(SCENARIOS))
def test_a_recording_that_grows_gives_the_same_steps(name: str) -> None:
    exchanges = SCENARIOS[name].exchanges()
    whole = [comparable(step) for step in trace(exchanges)]
    tracer = Tracer(lines=False)
    steps: list[Step] = []
    for number, exchange in enumerate(exchanges):
        for reads in range(len(exchange.reads) + 1):
            growing = msgspec.structs.replace(exchange, reads=exchange.reads[:reads], end="unknown")
            steps += tracer.feed([*exchanges[:number], growing], done=False)
        steps += tracer.feed(exchanges[: number + 1], done=False)
    steps += tracer.feed(exchanges)
    assert [comparable(step) for step in steps] == whole


def comparable(step: Step) -> Any:
    error = None if step.error is None else (type(step.error), step.error.message)
    return msgspec.structs.replace(step, error=None, fragments=()), repr(step.fragments), error


def test_a_trace_is_as_long_as_its_recording() -> None:
    def size(pieces: int) -> int:
        piece = (
            b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"abc "}}]}}]}\n\n'
        )
        first = piece.replace(
            b'"function":{"arguments":"abc "}', b'"id":"c","function":{"name":"w","arguments":"{\\"a\\":\\""}'
        )
        reads = (Read(0.0, first), *(Read(0.0, piece) for _ in range(pieces)))
        steps = trace([Exchange(reads, 200, protocol="chat")])
        return sum(len(repr((step.received, step.fragments, step.events, step.changes))) for step in steps)

    assert size(400) < 2.2 * size(200)


def test_facts_are_told_when_they_change() -> None:
    facts = [
        (change.name, change.value)
        for step in trace(SCENARIOS["read-readme"].exchanges())
        for change in step.changes
        if isinstance(change, Fact)
    ]
    assert ("stop_reason", "tool_use") in facts
    assert ("output_tokens", 19) in facts
    assert len(facts) == len(set(facts))


@given(st.binary(max_size=400), st.sampled_from(["chat", "anthropic", "responses", "gemini", "ollama", "bedrock"]))
def test_any_bytes_give_a_trace_with_one_ending(body: bytes, protocol: str) -> None:
    cut = len(body) // 2
    steps = trace([Exchange((Read(0.0, body[:cut]), Read(0.0, body[cut:])), 200, protocol=protocol)])
    assert sum(step.message is not None or step.error is not None for step in steps) == 1
