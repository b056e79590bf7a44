"""Argument text in pieces: however it is cut or repeated, the call is what the service meant, or it is refused."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkwire.assembler import Assembler
from inkwire.events import MessageEnd
from inkwire.fragments import CallFragment, DoneFragment, FinishFragment
from inkwire.messages import ToolCall

# Few keys and values, so that a piece often begins as the text before it did.
NESTED = st.recursive(
    st.sampled_from([1, "", "a", '{"a":', []]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", ":", ","]), inner, max_size=2),
    max_leaves=5,
)
OBJECTS = st.dictionaries(st.sampled_from(["a", ":", ","]), NESTED, min_size=1, max_size=2)


def call_of(*pieces: CallFragment | str) -> tuple[ToolCall, list[str]]:
    """The call that these pieces make, and the kinds of the warnings."""
    assembler = Assembler()
    fragments = [CallFragment(0, arguments=piece) if isinstance(piece, str) else piece for piece in pieces]
    opening = CallFragment(0, "call_1", "read")
    events = assembler.feed([opening, *fragments, FinishFragment("tool_use", "tool_calls"), DoneFragment("[DONE]")])
    end = events[-1]
    assert isinstance(end, MessageEnd)
    return end.message.calls[0], [warning.kind for warning in end.message.warnings]


def cuts(text: str, places: list[int]) -> list[str]:
    ends = sorted({place % len(text) for place in places} | {len(text)})
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


@settings(max_examples=300)
@given(OBJECTS, st.lists(st.integers(1, 60), max_size=5))
def test_an_object_in_pieces_is_that_object(value: dict[str, Any], places: list[int]) -> None:
    text = json.dumps(value, separators=(",", ":"))
    call, warnings = call_of(*cuts(text, places))
    assert (call.arguments, call.executable, call.raw_arguments) == (value, True, text)
    assert warnings == []


@settings(max_examples=300)
@given(OBJECTS, st.lists(st.integers(1, 60), max_size=5))
def test_pieces_that_hold_all_so_far_are_the_last_one_or_refused(value: dict[str, Any], places: list[int]) -> None:
    text = json.dumps(value, separators=(",", ":"))
    pieces = cuts(text, places)
    call, _ = call_of(*("".join(pieces[: number + 1]) for number in range(len(pieces))))
    assert (call.arguments == value) if call.executable else call.refusal


def test_pieces_of_every_way_to_cut_an_object_in_an_object_of_the_same_beginning() -> None:
    text = '{"a":{"a":{"a":1}}}'
    for choice in product([False, True], repeat=len(text) - 1):
        places = [at for at, is_cut in enumerate(choice, 1) if is_cut]
        if len(places) <= 4:
            call, warnings = call_of(*cuts(text, places))
            assert (call.raw_arguments, call.executable, warnings) == (text, True, [])


@pytest.mark.parametrize(
    "pieces",
    [
        ['{"pa', '{"path":', '{"path":"a', '{"path":"a"}'],
        ['{"path":', '{"path":"a', '{"path":"a"}'],
        ['{"path":', '{"path":"', '{"path":"a"}', '{"path":"a"}'],
        ['{"pa', '{"pa', 'th":"a"}'],
    ],
)
def test_repeated_text_counts_once(pieces: list[str]) -> None:
    call, _ = call_of(*pieces)
    assert (call.arguments, call.executable, call.raw_arguments) == ({"path": "a"}, True, '{"path":"a"}')


def test_text_that_was_shown_and_turned_out_to_be_repeated_is_told() -> None:
    assert call_of('{"p":', '{"p":"a', '{"p":"a"}')[1] == ["arguments_replaced"]
    assert call_of('{"p', '{"p":"a', '{"p":"a"}')[1] == []


@pytest.mark.parametrize(
    "pieces",
    [
        ['{"a":', '{"a":1}'],  # all of it once more, or an object in an object that was cut
        ['{"a":', '{"a":', "1}"],
        ['{"a":', "1}}}}"],
        ['{"a":', "1}]"],
        ['{"a":', '{"a":1', '{"a":12', "3}}"],
        ['{"a', '{"a":', '{"a":', "1}}"],
        ['{"a":1}', '{"a":2}'],
        ['{"a":1}', "{"],
    ],
)
def test_what_may_be_read_in_two_ways_is_refused(pieces: list[str]) -> None:
    call, _ = call_of(*pieces)
    assert not call.executable
    assert call.arguments is None


def test_pieces_behind_a_whole_text_repeat_it_or_are_refused() -> None:
    whole = CallFragment(0, arguments='{"p": 1}', whole=True)
    assert call_of(whole, '{"p"', ":1}")[0].arguments == {"p": 1}
    assert call_of(whole, "{}")[0].arguments == {"p": 1}
    assert call_of(CallFragment(0, arguments="{}", whole=True), '{"p"', ": 1}")[0].arguments == {"p": 1}
    assert not call_of(CallFragment(0, arguments="{}", whole=True), '{"p"')[0].executable
    assert not call_of(whole, '{"p": 2}')[0].executable
    assert not call_of(whole, "}")[0].executable


def test_one_closing_bracket_too_many_is_dropped_and_told() -> None:
    call, warnings = call_of('{"p":', "1}}")
    assert (call.arguments, call.executable) == ({"p": 1}, True)
    assert warnings == ["arguments_repaired"]
