"""Which call a fragment belongs to, what is shown when, and what may run: the rules of `calls` and `assembler`."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from inkwire.assembler import Assembler
from inkwire.events import Event, MessageEnd, TextDelta, ToolCallDelta, ToolCallStart
from inkwire.fragments import (
    CallFragment,
    DoneFragment,
    FinishFragment,
    Fragment,
    ReasoningFragment,
    TextFragment,
    UsageFragment,
)
from inkwire.limits import Limits
from inkwire.messages import AssistantMessage, ReasoningPart, TextPart, Usage

FINISH = FinishFragment("tool_use", "tool_calls")
DONE = DoneFragment("[DONE]")


def assemble(*fragments: Fragment, tools: Iterable[str] = ()) -> tuple[list[Event], AssistantMessage]:
    assembler = Assembler(tools=tools)
    events = [*assembler.feed(fragments), *assembler.finish()]
    assert assembler.error is None, assembler.error
    last = events[-1]
    assert isinstance(last, MessageEnd)
    return events, last.message


def calls(*fragments: Fragment, tools: Iterable[str] = ()) -> list[tuple[str, str, object]]:
    _, message = assemble(*fragments, FINISH, DONE, tools=tools)
    return [(call.id, call.name, call.arguments) for call in message.calls]


def piece(key: int | None, id: str | None = None, name: str | None = None, arguments: str = "") -> CallFragment:
    return CallFragment(key, id, name, arguments)


A, B = ("a", "read", {"p": 1}), ("b", "read", {"p": 2})


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param(
            [
                piece(0, "a", "read"),
                piece(1, "b", "read"),
                piece(0, arguments='{"p":'),
                piece(1, arguments='{"p":'),
                piece(0, arguments="1}"),
                piece(1, arguments="2}"),
            ],
            id="two keys in turns",
        ),
        pytest.param(
            [
                piece(0, "a", "read", '{"p":'),
                piece(0, arguments="1}"),
                piece(0, "b", "read", '{"p":'),
                piece(0, arguments="2}"),
            ],
            id="one key, a new id with a name, then pieces without an id",
        ),
        pytest.param(
            [
                piece(0, "a", "read"),
                piece(0, "b", "read"),
                piece(0, "a", arguments='{"p":'),
                piece(0, "b", arguments='{"p":'),
                piece(0, "a", arguments="1}"),
                piece(0, "b", arguments="2}"),
            ],
            id="one key, known ids in turns",
        ),
        pytest.param(
            [piece(None, "a", "read"), piece(None, arguments='{"p": 1}'), piece(None, "b", "read", '{"p": 2}')],
            id="no key at all",
        ),
        pytest.param([piece(0, "a", "read", '{"p": 1}'), piece(7, "b", "read", '{"p": 2}')], id="a gap"),
    ],
)
def test_interleaved_calls_keep_their_arguments(pieces: list[CallFragment]) -> None:
    assert calls(*pieces) == [A, B]


def test_a_rotating_id_without_a_name_goes_on_with_its_call() -> None:
    assert calls(piece(0, "a", "read"), piece(0, "x", arguments='{"p": '), piece(0, "y", arguments="1}")) == [A]


def test_two_calls_of_one_id_become_two_ids() -> None:
    found = calls(piece(0, "a", "read", '{"p": 1}'), piece(1, "a", "read", '{"p": 2}'))
    assert [call[2] for call in found] == [{"p": 1}, {"p": 2}]
    assert found[0][0] == "a"
    assert found[1][0] not in ("", "a")


def test_a_whole_call_sent_again_is_one_call() -> None:
    assert calls(piece(0, "a", "read", '{"p"'), piece(0, arguments=": 1}"), piece(0, "a", "read", '{ "p":1 }')) == [A]


def test_a_piece_that_is_an_object_inside_a_string_is_a_piece() -> None:
    pieces = [piece(0, "a", "bash", '{"c": "x '), piece(0, arguments="{}"), piece(0, arguments=' y"}')]
    assert calls(*pieces) == [("a", "bash", {"c": "x {} y"})]


def test_growing_arguments_are_shown_once() -> None:
    events, message = assemble(
        piece(0, "a", "read", '{"p'), piece(0, arguments='{"p": 1'), piece(0, arguments='{"p": 1}'), FINISH, DONE
    )
    assert [event.json_delta for event in events if isinstance(event, ToolCallDelta)] == ['{"p', '": 1', "}"]
    assert message.calls[0].raw_arguments == '{"p": 1}'


def test_a_start_waits_for_the_name_and_brings_what_was_held() -> None:
    assembler = Assembler()
    assert assembler.feed([piece(0, "a", arguments='{"p"')]) == []
    assert assembler.feed([piece(0, name="read", arguments=": 1}")]) == [
        ToolCallStart(0, "a", "read"),
        ToolCallDelta(0, "a", '{"p": 1}'),
    ]


def test_a_name_in_pieces_waits_until_it_is_a_tool_that_was_offered() -> None:
    events, message = assemble(
        piece(0, "a", "re"), piece(0, name="ad"), piece(0, arguments="{}"), FINISH, DONE, tools=("read",)
    )
    assert [event.name for event in events if isinstance(event, ToolCallStart)] == ["read"]
    assert message.calls[0].name == "read"


def test_a_name_that_grows_after_its_start_is_told() -> None:
    _, message = assemble(piece(0, "a", "re"), piece(0, name="ad", arguments="{}"), FINISH, DONE)
    assert message.calls[0].name == "read"
    assert [warning.kind for warning in message.warnings] == ["name_changed"]


def test_an_authoritative_text_that_differs_replaces_the_pieces_and_is_told() -> None:
    whole = CallFragment(0, arguments='{"p": 2}', whole=True)
    _, message = assemble(piece(0, "a", "read", '{"p": 1'), whole, FINISH, DONE)
    assert message.calls[0].arguments == {"p": 2}
    assert [warning.kind for warning in message.warnings] == ["arguments_replaced"]


def test_a_later_empty_object_never_replaces_fuller_arguments() -> None:
    whole = CallFragment(0, arguments="{}", whole=True)
    assert calls(piece(0, "a", "read", '{"p": 1}'), whole) == [A]


@pytest.mark.parametrize("stop", ["max_tokens", "context_window", "content_filter", "refusal", "pause_turn", "unknown"])
def test_no_call_runs_when_the_stop_is_not_a_normal_one(stop: str) -> None:
    _, message = assemble(piece(0, "a", "read", '{"p": 1}'), FinishFragment(stop, stop), DONE)  # type: ignore[arg-type]
    assert not message.executable_calls
    assert message.calls[0].refusal
    assert message.calls[0].arguments == {"p": 1}


def test_of_several_reasons_the_most_severe_counts() -> None:
    reasons = [FinishFragment("end_turn", "stop"), FinishFragment("max_tokens", "length"), FINISH]
    _, message = assemble(TextFragment("x"), *reasons, DONE)
    assert (message.stop_reason, message.raw_stop_reason) == ("max_tokens", "length")


def test_parts_stand_in_the_order_of_their_first_appearance() -> None:
    _, message = assemble(
        TextFragment("A"),
        ReasoningFragment("B"),
        piece(0, "a", "read", "{}"),
        TextFragment("C"),
        piece(0, arguments=" "),
        FINISH,
        DONE,
    )
    assert [type(part).__name__ for part in message.parts] == ["TextPart", "ReasoningPart", "ToolCall", "TextPart"]
    assert isinstance(message.parts[1], ReasoningPart)


def test_half_a_character_waits_for_its_other_half() -> None:
    assembler = Assembler()
    assert assembler.feed([TextFragment("a\ud83d")]) == [TextDelta(0, "a")]
    assert assembler.feed([TextFragment("\ude00b")]) == [TextDelta(0, "\U0001f600b")]


def test_half_a_character_that_stays_alone_is_replaced_and_shown() -> None:
    events, message = assemble(TextFragment("a\ud83d"), FinishFragment("end_turn", "stop"), DONE)
    assert message.parts == (TextPart("a\ufffd"),)
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "a\ufffd"


def test_usage_is_a_total_of_which_the_last_value_counts() -> None:
    _, message = assemble(
        UsageFragment(input_tokens=10, output_tokens=1),
        UsageFragment(output_tokens=3),
        UsageFragment(),
        FinishFragment("end_turn", "stop"),
        DONE,
    )
    assert message.usage == Usage(input_tokens=10, output_tokens=3)


def test_what_has_arrived_never_has_an_executable_call() -> None:
    assembler = Assembler(limits=Limits())
    assembler.feed([TextFragment("x"), piece(0, "a", "read", '{"p": 1}'), FINISH])
    partial = assembler.partial()
    assert partial.text == "x"
    assert partial.calls[0].arguments == {"p": 1}
    assert not partial.executable_calls
    assert partial.calls[0].refusal == "the answer did not arrive whole"


def test_ids_of_ours_are_told_apart_by_their_seed() -> None:
    seeded = Assembler(id_seed="xyz_")
    events = seeded.feed([piece(0, None, "read", "{}"), piece(1, None, "read", "{}")])
    assert [event.id for event in events if isinstance(event, ToolCallStart)] == ["call_xyz_0", "call_xyz_1"]
