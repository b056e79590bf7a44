"""Nothing that a terminal obeys gets through, however it is cut; nothing that people read is lost."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkwire.terminal.sanitize import MAX_HELD, Sanitizer, sanitize, sanitize_line

NASTY = st.text(
    alphabet=st.one_of(
        st.sampled_from("\x1b\x9b\x9c\x9d\x90\x07\x08\r\n\t\\[]P;?0m\x18\x7f\u202e\u2066\ufeff"),
        st.characters(),
    ),
    max_size=60,
)


@given(NASTY)
def test_only_printable_text_newlines_and_tabs_come_out(text: str) -> None:
    for char in sanitize(text):
        assert char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cs")
        assert not re.match(r"[\u202a-\u202e\u2066-\u2069\u200e\u200f\ufeff]", char)


@given(NASTY, st.lists(st.integers(1, 7)))
def test_cuts_do_not_matter(text: str, sizes: list[int]) -> None:
    sanitizer, position, out = Sanitizer(), 0, ""
    for size in [*sizes, len(text) or 1]:
        out += sanitizer.feed(text[position : position + size])
        position += size
    assert out == sanitize(text)


@given(st.text(alphabet=st.characters(exclude_categories=("Cc", "Cs", "Cf", "Zl", "Zp")), max_size=80))
def test_ordinary_text_of_any_script_is_untouched(text: str) -> None:
    assert sanitize(text) == text


@given(NASTY)
def test_what_is_safe_stays_as_it_is(text: str) -> None:
    assert sanitize(sanitize(text)) == sanitize(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mb\x1b[0mc", "abc"),
        ("a\x1b[2J\x1b[Hb", "ab"),
        ("a\x9b31mb", "ab"),
        ("a\x1b]0;title\x07b", "ab"),
        ("a\x1b]52;c;ZXZpbA==\x1b\\b", "ab"),
        ("a\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\b", "alinkb"),
        ("a\x1bPq#0\x1b\\b", "ab"),
        ("a\x1b_apc\x1b\\b", "ab"),
        ("a\x1b(Bb", "ab"),
        ("a\x1bcb", "ab"),
        ("a\x1b[31", "a"),
        ("a\x1b[3\x181mb", "a1mb"),
        ("abc\rxyz", "abcxyz"),
        ("a\r\nb", "a\nb"),
        ("a\x00\x08\x7fb", "a␀␈␡b"),
        ("a\u202egpj.exe", "a\ufffdgpj.exe"),
        ("a\x85b", "a\ufffdb"),
        ("👩‍👩‍👧 é 你好", "👩‍👩‍👧 é 你好"),
        ("a\x1b]never ends\nb", "a\nb"),
    ],
)
def test_sequences_go_and_words_stay(text: str, shown: str) -> None:
    assert sanitize(text) == shown


def test_an_endless_sequence_does_not_swallow_the_rest() -> None:
    assert sanitize("\x1b]" + "x" * (MAX_HELD + 10)).endswith("x")


def test_a_sequence_that_never_ended_does_not_reach_into_the_next_text() -> None:
    sanitizer = Sanitizer()
    sanitizer.feed("\x1b]0;")
    sanitizer.finish()
    assert sanitizer.feed("b") == "b"


def test_a_line_is_one_line() -> None:
    assert sanitize_line("a\n  b\tc\x1b[1m") == "a b c"
    assert sanitize_line("x" * 300, 10) == "x" * 9 + "…"
