from __future__ import annotations

from typing import Any

import pytest

from inkwire.errors import ModelError, ProtocolError, RateLimitError, ServerError
from inkwire.events import MessageEnd
from inkwire.fragments import (
    CallFragment,
    DoneFragment,
    FailureFragment,
    FinishFragment,
    TextFragment,
    UsageFragment,
    WarningFragment,
)
from inkwire.framing.frame import Frame
from inkwire.messages import (
    AssistantMessage,
    ReasoningPart,
    TextPart,
)
from inkwire.protocols.base import Quirks
from inkwire.protocols.responses import PROTOCOL, ResponsesDecoder
from tests.protocols.both_ways import both_ways, mutations, streams_of
from tests.protocols.decoding import assembled, fragments_of


def event(kind: str, /, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", **fields}


def text(piece: str, **fields: Any) -> dict[str, Any]:
    return event("output_text.delta", delta=piece, **fields)


def call(call_id: str, arguments: str, name: str = "read", **fields: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments, **fields}


def said(words: str, **fields: Any) -> dict[str, Any]:
    return {"type": "message", "content": [{"type": "output_text", "text": words}], **fields}


def completed(*output: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return event("completed", response={"id": "r", "status": "completed", "output": list(output), **fields})


def assemble(*payloads: Any) -> tuple[AssistantMessage, ModelError | None]:
    return assembled(PROTOCOL, payloads)


def test_the_fast_way_says_what_the_general_way_says() -> None:
    streams = list(streams_of("responses"))
    assert len(streams) > 50
    for stream in streams:
        fast, general = both_ways(stream, ResponsesDecoder)
        assert fast == general, stream.name


def test_damaged_streams_say_the_same_both_ways_and_end_in_one_way() -> None:
    for stream in streams_of("responses"):
        for damaged in mutations(stream, 15):
            fast, general = both_ways(damaged, ResponsesDecoder)
            assert fast == general, damaged.body
            pipeline = damaged.pipeline()
            events = [*pipeline.feed(damaged.body), *pipeline.finish()]
            assert (pipeline.error is None) == (bool(events) and isinstance(events[-1], MessageEnd)), damaged.body


def test_the_fast_way_is_taken() -> None:
    decoder = ResponsesDecoder()
    decoder._handlers.clear()
    (piece,) = decoder.feed(Frame(b'{"type":"response.output_text.delta","item_id":"m","output_index":0,"delta":"x"}'))
    assert isinstance(piece, TextFragment)
    (piece,) = decoder.feed(Frame(b'{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{"}'))
    assert isinstance(piece, CallFragment)


def test_a_delta_with_a_rare_field_goes_the_general_way() -> None:
    (piece,) = fragments_of(PROTOCOL, [event("function_call_arguments.delta", delta="{", name="read")])
    assert isinstance(piece, CallFragment)
    assert piece.name == "read"


@pytest.mark.parametrize(
    ("response", "name", "stop", "raw"),
    [
        ({"status": "completed"}, "completed", "end_turn", "completed"),
        ({"status": "in_progress"}, "completed", "end_turn", "completed"),
        ({}, "done", "end_turn", "completed"),
        ({"status": "incomplete"}, "done", "max_tokens", "incomplete"),
        ({"incomplete_details": {"reason": "max_output_tokens"}}, "incomplete", "max_tokens", "max_output_tokens"),
        ({"incomplete_details": {"reason": "content_filter"}}, "incomplete", "content_filter", "content_filter"),
        ({"incomplete_details": {"reason": "weather"}}, "incomplete", "unknown", "weather"),
    ],
)
def test_endings(response: dict[str, Any], name: str, stop: str, raw: str) -> None:
    found = fragments_of(PROTOCOL, [event(name, response=response)])
    assert isinstance(found[-1], DoneFragment)
    finish = found[-2]
    assert isinstance(finish, FinishFragment)
    assert (finish.stop_reason, finish.raw) == (stop, raw)


def test_failures_keep_what_the_snapshot_had() -> None:
    error = {"code": "rate_limit_exceeded", "message": "wait"}
    for payload in (
        event("failed", response={"status": "failed", "error": error, "output": [said("Hi")]}),
        completed(said("Hi"), error=error),
    ):
        message, failure = assemble(payload)
        assert isinstance(failure, RateLimitError)
        assert message.text == "Hi"
    _, failure = assemble(event("cancelled", response={"status": "cancelled"}))
    assert isinstance(failure, ServerError)
    assert failure.retryable


def test_a_document_that_is_still_in_progress_is_no_answer() -> None:
    _, error = assemble({"object": "response", "id": "r", "status": "queued", "output": []})
    assert error is not None
    assert error.kind == "incomplete"


def test_counts() -> None:
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 8},
        "output_tokens": 30,
        "output_tokens_details": {"reasoning_tokens": 20},
    }
    found = fragments_of(PROTOCOL, [completed(usage=usage)])
    assert UsageFragment(100, 30, 64, 8, 20) in found
    assert not [item for item in fragments_of(PROTOCOL, [completed(usage=None)]) if isinstance(item, UsageFragment)]


def test_two_contents_of_a_message_are_two_parts() -> None:
    message, _ = assemble(
        text("a", item_id="m", output_index=0, content_index=0),
        text("b", item_id="m", output_index=0, content_index=1),
        event("output_text.done", item_id="m", output_index=0, content_index=0, text="a!"),
        completed(),
    )
    assert message.parts == (TextPart("a!"), TextPart("b"))


def test_a_text_that_ends_otherwise_than_it_was_shown_is_told() -> None:
    message, _ = assemble(text("Hello"), event("output_text.done", text="Good bye"), completed())
    assert message.text == "Hello"
    assert [warning.kind for warning in message.warnings] == ["text_differs"]


def test_reasoning_that_ends_otherwise_than_it_was_shown_is_told() -> None:
    message, _ = assemble(
        event("reasoning_text.delta", delta="hm"), event("reasoning_text.done", text="ah"), text("x"), completed()
    )
    assert message.reasoning == "hm"
    assert [warning.kind for warning in message.warnings] == ["text_differs"]


def test_the_end_of_a_reasoning_summary_supplies_its_tail() -> None:
    message, _ = assemble(
        event("reasoning_summary_text.delta", summary_index=0, delta="On"),
        event("reasoning_summary_text.done", summary_index=0, text="One"),
        event("reasoning_summary_part.done", summary_index=1, part={"type": "summary_text", "text": "Two"}),
        text("x"),
        completed(),
    )
    assert message.reasoning == "One\n\nTwo"


def test_later_nulls_do_not_undo_the_encrypted_reasoning() -> None:
    item = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "ENC"}
    message, _ = assemble(
        event("output_item.done", output_index=0, item=item),
        text("x", output_index=1),
        completed({**item, "encrypted_content": None}, said("x")),
    )
    assert message.parts[0] == ReasoningPart("", {"type": "reasoning", "id": "rs", "encrypted_content": "ENC"})


def test_deltas_that_come_before_their_item_belong_to_it() -> None:
    message, _ = assemble(
        event("function_call_arguments.delta", output_index=0, item_id="fc", delta='{"path": 1}'),
        event("output_item.added", output_index=0, item=call("a", "", id="fc")),
        completed(),
    )
    assert [(one.id, one.name, one.arguments) for one in message.executable_calls] == [("a", "read", {"path": 1})]


def test_an_item_that_is_announced_twice_is_one_item() -> None:
    added = event("output_item.added", output_index=0, item=call("a", "", id="fc"))
    message, _ = assemble(
        added, added, event("function_call_arguments.delta", output_index=0, item_id="fc", delta="{}"), completed()
    )
    assert len(message.calls) == 1


def test_a_snapshot_with_other_ids_makes_no_second_call() -> None:
    message, _ = assemble(
        event("output_item.done", output_index=0, item=call("a", '{"path": 1}', id="fc_1")),
        completed(call("other", '{"path": 1}', id="fc_9")),
    )
    assert [one.id for one in message.calls] == ["a"]


def test_a_snapshot_call_of_another_name_is_another_call() -> None:
    message, _ = assemble(
        event("output_item.done", output_index=0, item=call("a", "{}", id="fc_1")),
        completed(call("b", "{}", name="grep", id="fc_2")),
    )
    assert [(one.id, one.name) for one in message.calls] == [("a", "read"), ("b", "grep")]


def test_one_id_and_one_place_for_all_still_finds_each_call() -> None:
    message, _ = assemble(
        event("output_item.added", output_index=0, item=call("a", "", id="x")),
        event("output_item.added", output_index=0, item=call("b", "", "grep", id="x")),
        event("output_item.done", output_index=0, item=call("a", '{"path": 1}', id="x")),
        event("output_item.done", output_index=0, item=call("b", '{"q": 2}', "grep", id="x")),
        completed(),
    )
    assert [(one.id, one.name, one.arguments) for one in message.executable_calls] == [
        ("a", "read", {"path": 1}),
        ("b", "grep", {"q": 2}),
    ]


def test_a_text_after_its_item_was_closed_under_a_new_id_is_a_new_part() -> None:
    message, _ = assemble(
        text("a", item_id="m1", output_index=0),
        event("output_item.done", output_index=0, item=said("a", id="m1")),
        text("b", item_id="m2", output_index=0),
        completed(),
    )
    assert message.parts == (TextPart("a"), TextPart("b"))


def test_arguments_that_are_an_object_are_the_whole() -> None:
    message, _ = assemble(
        event("output_item.added", output_index=0, item=call("a", "")),
        event("function_call_arguments.delta", output_index=0, delta={"path": 1}),
        completed(),
    )
    assert message.executable_calls[0].arguments == {"path": 1}


@pytest.mark.parametrize(
    "payload",
    [
        text(["x"]),  # type: ignore[arg-type]
        event("refusal.delta", delta=7),
        event("reasoning_text.delta", delta={}),
        event("output_item.added"),
        event("output_item.done", item="x"),
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
        ({"type": "message_start", "message": {}}, "anthropic"),
    ],
)
def test_another_protocol_is_named(payload: dict[str, Any], spoken: str) -> None:
    (failure,) = fragments_of(PROTOCOL, [payload])
    assert isinstance(failure, FailureFragment)
    assert f"speaks {spoken}" in failure.error.message


def test_unknown_events_are_skipped_and_counted_known_progress_is_not() -> None:
    decoder = ResponsesDecoder()
    for kind in ("response.new", "future", "response.web_search_call.searching", "response.content_part.added"):
        assert decoder.feed(Frame(f'{{"type":"{kind}"}}'.encode())) == ()
    assert decoder.feed(Frame(b"[DONE]")) == ()
    assert decoder.unknown_events == 2


def test_the_event_name_stands_in_for_a_missing_type() -> None:
    message, _ = assemble(("response.output_text.delta", {"delta": "Hi"}), completed())
    assert message.text == "Hi"


def test_half_a_character_goes_the_general_way() -> None:
    half = b'{"type":"response.output_text.delta","delta":"\\ud83d"}'
    rest = b'{"type":"response.output_text.delta","delta":"\\ude00"}'
    message, _ = assemble(half, rest, event("output_text.done", text="😀"), completed(said("😀")))
    assert message.parts == (TextPart("😀"),)
    assert message.warnings == ()


def test_tags_are_reasoning_where_the_quirk_says_so() -> None:
    payloads = [
        text("<think>hm</th"),
        text("ink>so"),
        event("output_text.done", text="<think>hm</think>so"),
        completed(said("<think>hm</think>so")),
    ]
    message, _ = assembled(PROTOCOL, payloads, Quirks(think_tags=True))
    assert message.parts == (ReasoningPart("hm"), TextPart("so"))
