"""What the NDJSON framer promises: lines end at LF alone, blank ones do not count, the last needs no LF."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkwire.errors import LimitExceededError
from inkwire.framing.ndjson import NDJSONFramer
from tests.case_notation import cut_every


def lines(reads: list[bytes]) -> list[bytes]:
    framer = NDJSONFramer()
    return [f.data for read in reads for f in framer.feed(read)] + [f.data for f in framer.finish()]


@pytest.mark.parametrize(
    ("body", "want"),
    [
        (b'{"a":1}\n{"a":2}\n', [b'{"a":1}', b'{"a":2}']),
        (b'{"a":1}\r\n{"a":2}\r\n', [b'{"a":1}', b'{"a":2}']),
        (b'\n\r\n  \n{"a":1}\n\n', [b'{"a":1}']),
        (b'{"a":1}\n{"a":2}', [b'{"a":1}', b'{"a":2}']),
        (b'{"a":1}\n{"a":', [b'{"a":1}', b'{"a":']),
        (b'\xef\xbb\xbf{"a":1}\n', [b'{"a":1}']),
        ('{"a":"\u2028\u0085\x0b"}\n'.encode(), ['{"a":"\u2028\u0085\x0b"}'.encode()]),
        (b"", []),
        (b"\xef\xbb", [b"\xef\xbb"]),
    ],
)
def test_lines_are_the_same_however_they_are_cut(body: bytes, want: list[bytes]) -> None:
    assert lines([body]) == want
    assert lines(cut_every(body, 1)) == want
    assert lines(cut_every(body, 3)) == want


@given(
    st.lists(st.sampled_from([b"\r", b"\n", b"\r\n", b"{}", b'"x"', b" "]), max_size=30).map(b"".join),
    st.integers(1, 5),
)
def test_any_bytes_give_the_same_lines_however_they_are_cut(body: bytes, size: int) -> None:
    assert lines(cut_every(body, size)) == lines([body])


def test_a_line_is_handed_out_with_its_line_end() -> None:
    framer = NDJSONFramer()
    assert framer.feed(b'{"a":') == []
    assert [f.data for f in framer.feed(b'1}\n{"b"')] == [b'{"a":1}']


def test_an_endless_line_is_refused_while_it_grows_and_lines_before_it_are_handed_out() -> None:
    framer = NDJSONFramer(max_event_bytes=100)
    assert [f.data for f in framer.feed(b"{}\n" + b"x" * 200)] == [b"{}"]
    with pytest.raises(LimitExceededError):
        framer.feed(b"x")
