"""The one authoritative parse: what is repaired without loss, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkwire.arguments import parse_arguments

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text(), JSON))
def test_every_object_is_what_it_says(value: dict[str, Any]) -> None:
    assert parse_arguments(json.dumps(value)) == (value, None, "")


@settings(max_examples=40)
@given(st.dictionaries(st.text(min_size=1, max_size=4), JSON, min_size=1, max_size=2))
def test_every_cut_of_an_object_is_refused_as_cut(value: dict[str, Any]) -> None:
    text = json.dumps(value)
    for end in range(1, len(text)):
        found, error, _ = parse_arguments(text[:end])
        assert found is None
        assert error is not None
        assert error.kind == "incomplete"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", {}),
        (" \n", {}),
        ("null", {}),
        ('{"p": "a\nb\tc"}', {"p": "a\nb\tc"}),
        ('"{\\"p\\": 1}"', {"p": 1}),
        ('{"p": "a\\ud83d"}', {"p": "a\ufffd"}),
        ('{"p": "\\ud83d\\ude00"}', {"p": "\U0001f600"}),
        ('{"n": 12345678901234567890}', {"n": 12345678901234567890}),
        ('{"p": 1, "p": 2}', {"p": 2}),
    ],
)
def test_repairs_that_lose_nothing(text: str, value: dict[str, Any]) -> None:
    assert parse_arguments(text) == (value, None, "")


@pytest.mark.parametrize(
    ("text", "dropped"),
    [
        ('{"p": 1}}', "}"),
        ('{"p": 1}</tool_call>', "</tool_call>"),
        ('{"p": 1}}</tool_call>', "}</tool_call>"),
        ('{"p": 1}\n```}\n', "```}"),
        ('{"p": 1}<|im_end|>\n', "<|im_end|>"),
        ('{}{"p": 1}', "{}"),
        ('{} {"p": 1}</s>', "{}</s>"),
    ],
)
def test_what_is_dropped_is_told(text: str, dropped: str) -> None:
    assert parse_arguments(text) == ({"p": 1}, None, dropped)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("['a']", "Expecting value"),
        ('["a"]', "an array"),
        ("12", "a number"),
        ("true", "a boolean"),
        ('"text"', "a string"),
        ("{'p': 1}", "property name"),
        ('{"p": True}', "Expecting value"),
        ('{"p": NaN}', "NaN"),
        ('{"p": 1}{"p": 2}', "more text after the object"),
        ('{"p": 1} and so on', "more text after the object"),
        ('{"p": 1}}}', "more text after the object"),
        ('{"p": 1}]', "more text after the object"),
        ('{"p": 1}}</s>}', "more text after the object"),
        ('{"p": ' + "[" * 300 + "]" * 300 + "}", "nested deeper"),
        ("[" * 100_000, ""),
    ],
)
def test_what_would_need_a_guess_is_refused_with_its_place(text: str, word: str) -> None:
    value, error, dropped = parse_arguments(text)
    assert dropped == ""
    assert value is None
    assert error is not None
    assert word in error.detail
    assert 0 <= error.position <= len(text)
