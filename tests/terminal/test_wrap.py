"""Words are not cut at the edge, nothing else changes, and what can be shown is shown at once."""

from __future__ import annotations

import io
import re

from hypothesis import given
from hypothesis import strategies as st

from inkwire.events import MessageEnd, TextDelta
from inkwire.messages import AssistantMessage
from inkwire.terminal.render import Renderer
from inkwire.terminal.wrap import Wrapper, columns_of, wrap


def fed(pieces: list[str], columns: int) -> str:
    wrapper = Wrapper(lambda: columns)
    return "".join([*map(wrapper.feed, pieces), wrapper.finish()])


def test_a_word_that_would_pass_the_edge_begins_the_next_line() -> None:
    assert wrap("first install it, then run", 12) == "first \ninstall it, \nthen run"
    assert wrap("a line of 12 cells", 12) == "a line of 12\ncells"


def test_pieces_of_a_word_stay_together() -> None:
    assert fed(["to in", "st", "all", " it"], 8) == "to \ninstall \nit"


def test_words_far_from_the_edge_are_shown_as_they_arrive() -> None:
    wrapper = Wrapper(lambda: 80)
    assert [wrapper.feed(piece) for piece in ("Hel", "lo", " wor", "ld")] == ["Hel", "lo", " wor", "ld"]


def test_an_address_that_is_longer_than_a_word_is_left_whole() -> None:
    address = "https://example.org/a/very/long/path/that/nobody/reads?at=all"
    assert wrap(f"look at {address} now", 30) == f"look at \n{address} now"


def test_wide_characters_are_cut_anywhere_and_take_two_cells() -> None:
    assert wrap("先读取文件再回答", 6) == "先读取文件再回答"
    assert wrap("文件 file", 8) == "文件 \nfile"


def test_lines_and_indentation_of_their_own_stay() -> None:
    assert wrap("a:\n    return 1\n\nb", 20) == "a:\n    return 1\n\nb"


def test_without_a_terminal_nothing_is_wrapped() -> None:
    assert columns_of(io.StringIO())() == 0
    assert wrap("word " * 100, 0) == "word " * 100


def test_the_last_word_is_part_of_the_answer() -> None:
    renderer = Renderer(columns=lambda: 8)
    events = (TextDelta(0, "to inst"), TextDelta(0, "all"), MessageEnd(AssistantMessage(())))
    pieces = [(piece.text, piece.kind) for event in events for piece in renderer.feed(event)]
    assert pieces == [("to ", "answer"), ("\ninstall", "answer"), ("\n", "note")]


@given(st.lists(st.text(alphabet="ab \n\t中é-", max_size=12), max_size=12), st.integers(1, 40))
def test_only_line_ends_are_added_and_cuts_do_not_matter(pieces: list[str], columns: int) -> None:
    text = "".join(pieces)
    shown = fed(pieces, columns)
    assert re.sub(r"\s", "", shown) == re.sub(r"\s", "", text)
    assert shown == wrap(text, columns)


@given(st.text(alphabet="abcdefgh ", max_size=200), st.integers(24, 40))
def test_no_short_word_is_cut_and_no_line_is_too_long(text: str, columns: int) -> None:
    if max(map(len, text.split()), default=0) <= 24:
        assert wrap(text, columns).split() == text.split()
        assert all(len(line.rstrip()) <= columns for line in wrap(text, columns).split("\n"))
