"""The seven laws, each over every recorded stream and every case."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inkwire.events import (
    Event,
    MessageEnd,
    ReasoningDelta,
    StreamReset,
    StreamWarning,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
)
from inkwire.messages import AssistantMessage, ReasoningPart, TextPart, ToolCall
from inkwire.pipeline import Pipeline
from inkwire.protocols.chat import ChatDecoder
from tests.case_notation import cut_every
from tests.streams import Stream, all_streams, case_streams

GOLDEN = all_streams()
STREAMS = GOLDEN + case_streams()
NORMAL = ("tool_use", "end_turn", "stop_sequence")


def run(stream: Stream, reads: Iterable[bytes]) -> tuple[list[Event], Pipeline]:
    pipeline = stream.pipeline()
    events: list[Event] = []
    for read in reads:
        events += pipeline.feed(read)
        if pipeline.ended:
            break
    events += pipeline.finish()
    return events, pipeline


def outcome(stream: Stream, reads: Iterable[bytes]) -> list[Any]:
    """Everything that a caller sees, comparable."""
    events, pipeline = run(stream, reads)
    error = pipeline.error
    seen: list[Any] = [msgspec.to_builtins(event) for event in events]
    if error is not None:
        seen.append([type(error), error.message, error.committed, msgspec.to_builtins(error.partial)])
    return seen


def ids(streams: Sequence[Stream]) -> list[str]:
    return [stream.name for stream in streams]


@pytest.mark.parametrize("stream", STREAMS, ids=ids(STREAMS))
def test_law_1_cuts_do_not_matter(stream: Stream) -> None:
    whole = outcome(stream, [stream.body])
    assert outcome(stream, cut_every(stream.body, 1)) == whole
    chance = random.Random(stream.name)
    for _ in range(5):
        places = sorted(chance.sample(range(len(stream.body) + 1), min(12, len(stream.body))))
        edges = [0, *places, len(stream.body)]
        assert outcome(stream, [stream.body[a:b] for a, b in itertools.pairwise(edges)]) == whole


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.data())
def test_law_1_cuts_found_by_search_do_not_matter(data: st.DataObject) -> None:
    stream = data.draw(st.sampled_from(STREAMS))
    places = data.draw(st.lists(st.integers(0, len(stream.body)), max_size=8))
    edges = [0, *sorted(places), len(stream.body)]
    reads = [stream.body[a:b] for a, b in itertools.pairwise(edges)]
    assert outcome(stream, reads) == outcome(stream, [stream.body])


@pytest.mark.parametrize("stream", STREAMS, ids=ids(STREAMS))
def test_law_2_one_ending(stream: Stream) -> None:
    events, pipeline = run(stream, [stream.body])
    endings = [event for event in events if isinstance(event, MessageEnd)]
    assert len(endings) + (pipeline.error is not None) == 1
    if endings:
        assert events[-1] is endings[0]
    else:
        assert pipeline.error is not None
        assert pipeline.error.partial is not None
    assert pipeline.feed(stream.body) == [] == pipeline.finish()


@pytest.mark.parametrize("stream", STREAMS, ids=ids(STREAMS))
def test_law_2_no_cut_of_a_stream_ends_twice_or_runs_a_call_too_early(stream: Stream) -> None:
    """A body that ends anywhere gives one ending; a message only if the completion signal had come."""
    step = max(1, len(stream.body) // 60)
    for end in range(0, len(stream.body), step):
        pipeline = stream.pipeline()
        events = pipeline.feed(stream.body[:end])
        was_complete = pipeline.complete
        events += pipeline.finish()
        endings = sum(isinstance(event, MessageEnd) for event in events)
        assert endings + (pipeline.error is not None) == 1
        if pipeline.error is not None:
            assert pipeline.error.partial is not None
            assert not pipeline.error.partial.executable_calls
        else:
            assert was_complete or pipeline.complete


@pytest.mark.parametrize("stream", STREAMS, ids=ids(STREAMS))
def test_law_3_shown_is_stored(stream: Stream) -> None:
    events, _ = run(stream, [stream.body])
    for event in events[::-1]:
        if isinstance(event, StreamReset):
            events = events[events.index(event) + 1 :]
            break
    shown: dict[int, str] = {}
    started: dict[int, ToolCallStart] = {}
    for event in events:
        match event:
            case TextDelta() | ReasoningDelta():
                shown[event.index] = shown.get(event.index, "") + event.text
            case ToolCallStart():
                assert event.index not in started
                started[event.index] = event
            case ToolCallDelta():
                assert event.index in started, "a delta of a call that was not announced"
                shown[event.index] = shown.get(event.index, "") + event.json_delta
    message = events[-1].message if events and isinstance(events[-1], MessageEnd) else None
    if message is None:
        return
    replaced = {warning.kind for warning in message.warnings} & {"arguments_replaced", "text_differs"}
    renamed = any(warning.kind == "name_changed" for warning in message.warnings)
    for index, part in enumerate(message.parts):
        if isinstance(part, (TextPart, ReasoningPart)):
            assert shown.get(index, "") == part.text
        elif isinstance(part, ToolCall):
            assert started[index].id == part.id
            assert renamed or started[index].name == part.name
            assert replaced or shown.get(index, "") == part.raw_arguments


@pytest.mark.parametrize("stream", STREAMS, ids=ids(STREAMS))
def test_law_4_no_tool_runs_on_half_a_call(stream: Stream) -> None:
    events, _ = run(stream, [stream.body])
    if not events or not isinstance(events[-1], MessageEnd):
        return
    message = events[-1].message
    for call in message.calls:
        assert call.executable == (call.refusal is None)
        if call.executable:
            assert message.stop_reason in NORMAL
            assert call.name
            assert isinstance(call.arguments, str if call.free_text else dict)
            assert call.arguments_error is None
        assert (call.arguments is None) == (call.arguments_error is not None)
    names = [call.id for call in message.calls]
    assert all(names)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    "stream", [s for s in STREAMS if not s.tolerant and s.protocol != "bedrock"], ids=lambda s: s.name
)
def test_law_5_nothing_is_lost_in_silence(stream: Stream) -> None:
    """A piece of damage put between the events makes an error; tolerant, a warning and no executable call."""
    damage = b"{oops}\n" if stream.protocol == "ollama" else b"data: {oops}\n\n"
    body = damage + stream.body
    events, pipeline = run(stream, [body])
    assert pipeline.error is not None
    assert pipeline.error.kind == "protocol"
    assert not any(isinstance(event, MessageEnd) for event in events)
    lenient = Stream(
        stream.name, stream.protocol, body, stream.content_type, stream.tools, stream.quirks, tolerant=True
    )
    events, pipeline = run(lenient, [body])
    assert any(isinstance(event, StreamWarning) and event.kind == "bad_chunk" for event in events)
    if isinstance(events[-1], MessageEnd):
        assert not events[-1].message.executable_calls


@pytest.mark.parametrize("stream", GOLDEN, ids=ids(GOLDEN))
def test_golden_streams_mean_what_they_say(stream: Stream) -> None:
    assert stream.expected is not None
    events, pipeline = run(stream, [stream.body])
    if "error" in stream.expected:
        assert pipeline.error is not None
        error = pipeline.error
        said = {"kind": error.kind, "status": error.status, "code": error.code, "retryable": error.retryable}
        said |= {"committed": error.committed, "detail": error.message}
        if error.partial is not None:
            said["partial"] = json.loads(msgspec.json.encode(error.partial))
        _holds(stream.expected["error"], said)
        return
    assert pipeline.error is None, pipeline.error
    assert isinstance(events[-1], MessageEnd)
    _holds(stream.expected["message"], json.loads(msgspec.json.encode(events[-1].message)))


def _holds(wanted: Any, got: Any, at: str = "") -> None:
    """Every key that is wanted is there with its value; lists are compared item by item."""
    if isinstance(wanted, dict) and isinstance(got, dict):
        for key, value in wanted.items():
            assert key in got, f"{at}.{key} is missing"
            _holds(value, got[key], f"{at}.{key}")
    elif isinstance(wanted, list) and isinstance(got, list):
        assert len(wanted) == len(got), f"{at}: {len(got)} items, wanted {len(wanted)}"
        for number, (mine, theirs) in enumerate(zip(wanted, got, strict=True)):
            _holds(mine, theirs, f"{at}[{number}]")
    else:
        assert got == wanted, at


CHAT = [stream for stream in STREAMS if stream.protocol == "chat"]


@pytest.mark.parametrize("stream", CHAT, ids=ids(CHAT))
def test_the_fast_way_of_chat_gives_what_the_general_way_gives(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = outcome(stream, [stream.body])
    plain = ChatDecoder.__init__

    def without_fast(self: ChatDecoder, *arguments: Any, **options: Any) -> None:
        plain(self, *arguments, **options)
        self.fast = False

    monkeypatch.setattr(ChatDecoder, "__init__", without_fast)
    assert outcome(stream, [stream.body]) == fast


def call_stream(size: int) -> bytes:
    """One call whose arguments are `size` bytes in fragments of 4."""
    head = {"index": 0, "id": "call_a", "type": "function", "function": {"name": "write", "arguments": '{"s": "'}}
    pieces = [head] + [{"index": 0, "function": {"arguments": "abcd"}} for _ in range(size // 4)]
    pieces.append({"index": 0, "function": {"arguments": '"}'}})
    chunks = [{"id": "c", "choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]} for piece in pieces]
    chunks.append({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"


def test_law_7_a_large_call_costs_no_more_a_fragment_than_a_small_one() -> None:
    """Work is counted, not timed: joins of an attribute's text would show as calls that grow with the size."""
    import sys

    def instructions(size: int) -> int:
        count = 0

        def tracer(frame: Any, event: str, argument: Any) -> Any:
            nonlocal count
            count += 1
            return None

        stream = Stream("large", "chat", call_stream(size))
        sys.setprofile(tracer)
        try:
            events, _ = run(stream, cut_every(stream.body, 4096))
        finally:
            sys.setprofile(None)
        last = events[-1]
        assert isinstance(last, MessageEnd)
        message: AssistantMessage = last.message
        assert isinstance(message.calls[0].arguments, dict)
        assert len(message.calls[0].arguments["s"]) == size
        return count

    small, large = instructions(4_000), instructions(40_000)
    assert large < 11 * small
