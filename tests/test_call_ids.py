from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkwire.call_ids import CallIds, IdForm
from tests.history_rules import ID_FORMS

FORMS: tuple[IdForm, ...] = ("any", "alphanumeric_9", "openai_40", "openai_64", "word_64")
ids = st.text(max_size=80) | st.sampled_from(("call_0", "read:0", "read:1", "a:b", "a_b", "x" * 38 + ":9", ""))


@pytest.mark.parametrize("form", FORMS)
@given(history=st.lists(ids, max_size=30))
def test_every_id_has_the_form_and_comes_once(form: IdForm, history: list[str]) -> None:
    book = CallIds(form)
    given_out = [book.give(identity, "read") for identity in history]
    assert all(re.fullmatch(ID_FORMS[form], identity, re.DOTALL) for identity in given_out)
    assert len(set(given_out)) == len(given_out)


@pytest.mark.parametrize("form", FORMS)
@given(history=st.lists(ids, max_size=30))
def test_the_same_history_gives_the_same_ids_and_good_ones_stay(form: IdForm, history: list[str]) -> None:
    first, second = CallIds(form), CallIds(form)
    once = [first.give(identity, "read") for identity in history]
    assert [second.give(identity, "read") for identity in history] == once
    third = CallIds(form)
    assert [third.give(identity, "read") for identity in once] == once


def test_a_twin_of_a_numbered_id_gets_the_next_number() -> None:
    book = CallIds("any")
    assert [
        book.give(identity, "read") for identity in ("functions.read:0", "functions.read:0", "functions.read:1")
    ] == [
        "functions.read:0",
        "functions.read:1",
        "functions.read:2",
    ]


def test_a_long_id_keeps_its_beginning() -> None:
    made = CallIds("openai_40").give("call_" + "x" * 64, "read")
    assert made.startswith("call_xxx")
    assert len(made) == 40


def test_a_missing_id_is_made_up() -> None:
    book = CallIds("any")
    first, second = book.give("", "read"), book.give("", "read")
    assert first.startswith("call_")
    assert first != second
