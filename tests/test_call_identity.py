"""Which call a piece belongs to: every plain way to send calls gives these calls, and none ever gives another one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkwire.assembler import Assembler
from inkwire.events import MessageEnd
from inkwire.fragments import CallFragment, DoneFragment, FinishFragment
from inkwire.messages import ToolCall
from tests.test_argument_pieces import OBJECTS, cuts

CALLS = st.lists(
    st.tuples(st.sampled_from(["read", "grep"]), OBJECTS | st.just({}), st.lists(st.integers(1, 60), max_size=4)),
    min_size=1,
    max_size=3,
)
IDS = ["first", "each", "late", "none"]


def assembled(fragments: list[CallFragment]) -> tuple[ToolCall, ...]:
    assembler = Assembler(tools=("read", "grep"))
    events = assembler.feed([*fragments, FinishFragment("tool_use", "tool_calls"), DoneFragment("[DONE]")])
    end = events[-1]
    assert isinstance(end, MessageEnd)
    return end.message.calls


def fragments_of(
    calls: list[tuple[str, dict[str, Any], list[int]]], *, keyed: bool, ids: str, name_each: bool
) -> list[list[CallFragment]]:
    found: list[list[CallFragment]] = []
    for number, (name, arguments, places) in enumerate(calls):
        pieces = cuts(json.dumps(arguments), places)
        last = len(pieces) - 1
        found.append(
            [
                CallFragment(
                    number if keyed else None,
                    f"call_{number}" if ids == "each" or at == {"first": 0, "late": last}.get(ids) else None,
                    name if name_each or at == 0 else None,
                    piece,
                )
                for at, piece in enumerate(pieces)
            ]
        )
    return found


@settings(max_examples=150)
@given(CALLS, st.randoms(use_true_random=False), st.booleans())
@pytest.mark.parametrize("ids", IDS)
def test_pieces_with_a_key_may_come_in_any_order(ids: str, calls: Any, random: Any, name_each: bool) -> None:
    queues = fragments_of(calls, keyed=True, ids=ids, name_each=name_each)
    mixed = [queue.pop(0) for queue in queues]
    while queues := [queue for queue in queues if queue]:
        mixed.append(random.choice(queues).pop(0))
    found = assembled(mixed)
    assert [(call.name, call.arguments) for call in found] == [(name, arguments) for name, arguments, _ in calls]
    assert all(call.executable for call in found)


@settings(max_examples=150)
@given(CALLS, st.booleans())
@pytest.mark.parametrize("ids", IDS)
def test_pieces_without_a_key_come_one_call_after_the_other(ids: str, calls: Any, name_each: bool) -> None:
    sent = fragments_of(calls, keyed=False, ids=ids, name_each=name_each)
    found = assembled([fragment for pieces in sent for fragment in pieces])
    wanted = [(name, arguments) for name, arguments, _ in calls]
    if ids in ("none", "late"):
        # Without an id an equal call cannot be told from the same one sent again.
        wanted = [one for at, one in enumerate(wanted) if at == 0 or one != wanted[at - 1]]
        got = [(call.name, call.arguments) for call in found]
        assert [one for at, one in enumerate(got) if at == 0 or one != got[at - 1]] == wanted
    else:
        assert [(call.name, call.arguments) for call in found] == wanted
    assert all(call.executable for call in found)


def test_a_repeated_name_opens_no_call_of_its_own() -> None:
    pieces = [CallFragment(None, None, "read", text) for text in ("", "{", '"p":', ' {"p": 1}', "}")]
    assert [call.arguments for call in assembled(pieces)] == [{"p": {"p": 1}}]


def test_a_call_that_was_cut_takes_the_next_one_with_it() -> None:
    pieces = [CallFragment(None, None, "read", text) for text in ('{"p": ', '{"q": 1}')]
    assert [call.executable for call in assembled(pieces)] == [False]
