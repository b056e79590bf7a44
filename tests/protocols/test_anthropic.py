from __future__ import annotations

from typing import Any

import pytest

from inkwire.errors import ModelError, ProtocolError, ServerError
from inkwire.events import MessageEnd
from inkwire.fragments import CallFragment, FailureFragment, TextFragment, UsageFragment, WarningFragment
from inkwire.framing.frame import Frame
from inkwire.messages import (
    AssistantMessage,
    OpaquePart,
    ReasoningPart,
    TextPart,
)
from inkwire.protocols.anthropic import PROTOCOL, AnthropicDecoder
from inkwire.protocols.base import Quirks
from tests.protocols.both_ways import both_ways, mutations, streams_of
from tests.protocols.decoding import assembled, fragments_of

START = {"type": "message_start", "message": {"id": "m", "content": [], "usage": {"input_tokens": 10}}}
STOP = {"type": "message_stop"}


def block(index: int, kind: str, **more: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **more}}


def delta(index: int, kind: str, **more: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **more}}


def stopped(reason: str | None, **usage: Any) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


def assemble(*payloads: Any) -> tuple[AssistantMessage, ModelError | None]:
    return assembled(PROTOCOL, payloads)


def test_the_fast_way_says_what_the_general_way_says() -> None:
    streams = list(streams_of("anthropic"))
    assert len(streams) > 40
    for stream in streams:
        fast, general = both_ways(stream, AnthropicDecoder)
        assert fast == general, stream.name


def test_damaged_streams_say_the_same_both_ways_and_end_in_one_way() -> None:
    for stream in streams_of("anthropic"):
        for damaged in mutations(stream, 15):
            fast, general = both_ways(damaged, AnthropicDecoder)
            assert fast == general, damaged.body
            pipeline = damaged.pipeline()
            events = [*pipeline.feed(damaged.body), *pipeline.finish()]
            assert (pipeline.error is None) == (bool(events) and isinstance(events[-1], MessageEnd)), damaged.body


def test_the_fast_way_is_taken() -> None:
    decoder = AnthropicDecoder()
    decoder.feed(Frame(b'{"type":"content_block_start","index":3,"content_block":{"type":"text","text":""}}'))
    decoder._handlers.clear()
    (fragment,) = decoder.feed(
        Frame(b'{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"x"}}')
    )
    assert isinstance(fragment, TextFragment)
    assert fragment.text == "x"


@pytest.mark.parametrize(
    ("raw", "stop"),
    [
        ("end_turn", "end_turn"),
        ("max_tokens", "max_tokens"),
        ("stop_sequence", "stop_sequence"),
        ("pause_turn", "pause_turn"),
        ("refusal", "refusal"),
        ("model_context_window_exceeded", "context_window"),
        ("compaction", "unknown"),
        ("LENGTH", "max_tokens"),
    ],
)
def test_stop_reasons(raw: str, stop: str) -> None:
    message, error = assemble(START, block(0, "text", text="x"), stopped(raw), STOP)
    assert error is None
    assert (message.stop_reason, message.raw_stop_reason) == (stop, raw)


def test_an_error_as_a_stop_reason_is_an_error() -> None:
    _, error = assemble(START, stopped("error"), STOP)
    assert isinstance(error, ServerError)
    assert error.retryable


def test_counts_are_totals_and_the_largest_counts() -> None:
    found = fragments_of(
        PROTOCOL,
        [
            START,
            stopped(None, input_tokens=0, output_tokens=7, cache_read_input_tokens=5),
            stopped("end_turn", output_tokens=3, cache_creation_input_tokens=2),
        ],
    )
    assert [item for item in found if isinstance(item, UsageFragment)][-1] == UsageFragment(17, 7, 5, 2)


def test_counts_of_an_answer_that_was_given_up_do_not_count() -> None:
    again = {"type": "message_start", "message": {"usage": {"input_tokens": 4}}}
    message, _ = assemble(START, block(0, "text", text="x"), again, stopped("end_turn", output_tokens=1), STOP)
    assert (message.usage.input_tokens, message.usage.output_tokens) == (4, 1)


def test_a_start_that_is_sent_twice_before_any_content_is_no_restart() -> None:
    message, _ = assemble(START, START, block(0, "text", text="x"), stopped("end_turn"), STOP)
    assert message.text == "x"
    assert message.warnings == ()


def test_a_signature_in_pieces_is_joined_and_its_repetition_ignored() -> None:
    message, _ = assemble(
        START,
        block(0, "thinking", thinking=""),
        delta(0, "thinking_delta", thinking="hm"),
        *(delta(0, "signature_delta", signature=piece) for piece in ("SI", "G", "SIG")),
        block(1, "text", text="x"),
        stopped("end_turn"),
        STOP,
    )
    assert message.parts[0] == ReasoningPart("hm", {"signature": "SIG"})


def test_thinking_that_is_not_shown_keeps_its_place_and_signature() -> None:
    message, _ = assemble(
        START,
        block(0, "thinking", thinking="", signature=""),
        delta(0, "signature_delta", signature="SIG"),
        block(1, "text", text="x"),
        stopped("end_turn"),
        STOP,
    )
    assert message.parts == (ReasoningPart("", {"signature": "SIG"}), TextPart("x"))


def test_an_input_that_is_an_object_is_the_whole() -> None:
    message, _ = assemble(
        START, block(0, "tool_use", id="a", name="read"), delta(0, "input_json_delta", partial_json={"path": "x"}),
        stopped("tool_use"), STOP,
    )  # fmt: skip
    assert message.calls[0].arguments == {"path": "x"}


def test_an_input_in_the_start_and_again_in_pieces_is_one_input() -> None:
    message, _ = assemble(
        START,
        block(0, "tool_use", id="a", name="read", input={"path": "x"}),
        delta(0, "input_json_delta", partial_json='{"path"'),
        delta(0, "input_json_delta", partial_json=': "x"}'),
        stopped("tool_use"),
        STOP,
    )
    assert message.executable_calls[0].arguments == {"path": "x"}
    assert message.warnings == ()


def test_pieces_of_an_input_that_no_block_announced_make_a_call_that_cannot_run() -> None:
    message, _ = assemble(START, delta(0, "input_json_delta", partial_json="{}"), stopped("tool_use"), STOP)
    assert [(call.name, call.executable) for call in message.calls] == [("", False)]


def test_a_malformed_input_of_the_services_own_tool_is_told() -> None:
    message, _ = assemble(
        START, block(0, "server_tool_use", id="s", name="web_search", input={}),
        delta(0, "input_json_delta", partial_json='{"q'), stopped("end_turn"), STOP,
    )  # fmt: skip
    assert [warning.kind for warning in message.warnings] == ["opaque_input_malformed"]
    (part,) = message.parts
    assert isinstance(part, OpaquePart)
    assert part.opaque is not None
    assert part.opaque["input"] == {}


@pytest.mark.parametrize(
    "payload",
    [
        delta(0, "text_delta", text=["x"]),
        delta(0, "thinking_delta", thinking=7),
        {"type": "content_block_delta", "index": 0},
        {"type": "content_block_start", "index": 0},
    ],
)
def test_content_of_a_wrong_type_is_damage(payload: dict[str, Any]) -> None:
    (failure,) = fragments_of(PROTOCOL, [payload])
    assert isinstance(failure, FailureFragment)
    assert isinstance(failure.error, ProtocolError)
    (warning,) = fragments_of(PROTOCOL, [payload], tolerant=True)
    assert isinstance(warning, WarningFragment)
    assert warning.damage


@pytest.mark.parametrize(
    ("payload", "spoken"),
    [
        ({"object": "chat.completion.chunk", "choices": []}, "chat"),
        ({"type": "response.created", "response": {}}, "responses"),
        ({"candidates": []}, "gemini"),
        ({"message": {"content": ""}, "done": False}, "ollama"),
    ],
)
def test_another_protocol_is_named(payload: dict[str, Any], spoken: str) -> None:
    (failure,) = fragments_of(PROTOCOL, [payload])
    assert isinstance(failure, FailureFragment)
    assert f"speaks {spoken}" in failure.error.message


def test_unknown_events_and_deltas_are_skipped_and_counted() -> None:
    decoder = AnthropicDecoder()
    for data in (
        b'{"type":"future"}',
        b'{"type":"content_block_delta","index":0,"delta":{"type":"new"}}',
        b"null",
        b"",
    ):
        assert decoder.feed(Frame(data)) == ()
    assert decoder.unknown_events == 2


def test_a_delta_without_any_type_is_still_a_delta() -> None:
    message, _ = assemble(
        START, block(0, "text", text=""), {"index": 0, "delta": {"text": "Hi"}}, stopped("end_turn"), STOP
    )
    assert message.text == "Hi"


def test_half_a_character_goes_the_general_way() -> None:
    body = b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\ud83d"}}'
    rest = b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\ude00"}}'
    message, _ = assemble(START, block(0, "text", text=""), body, rest, stopped("end_turn"), STOP)
    assert message.text == "😀"


def test_tags_are_reasoning_where_the_quirk_says_so() -> None:
    payloads = [
        START,
        block(0, "text", text=""),
        delta(0, "text_delta", text="<think>hm</th"),
        delta(0, "text_delta", text="ink>so"),
        stopped("end_turn"),
        STOP,
    ]
    message, _ = assembled(PROTOCOL, payloads, Quirks(think_tags=True))
    assert message.parts == (ReasoningPart("hm"), TextPart("so"))


def test_a_call_keeps_the_services_extra_fields() -> None:
    found = fragments_of(PROTOCOL, [block(0, "tool_use", id="a", name="read", input={}, caller={"type": "direct"})])
    assert found == [CallFragment(0, id="a", name="read", opens=True, opaque={"caller": {"type": "direct"}})]
