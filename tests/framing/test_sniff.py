"""What the sniffer promises: the bytes decide, as early as they can, and the same however they are cut."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkwire.framing.sniff import Framing, sniff
from tests.case_notation import cut_every
from tests.framing.test_eventstream import START

SSE = "text/event-stream; charset=utf-8"
AWS = "application/vnd.amazon.eventstream"


def sniff_reads(reads: list[bytes], content_type: str, *, ndjson: bool) -> Framing | None:
    head = b""
    for read in reads:
        head += read
        if (framing := sniff(head, content_type, ndjson=ndjson)) is not None:
            return framing
    return sniff(head, content_type, ndjson=ndjson, at_end=True)


@pytest.mark.parametrize(
    ("body", "content_type", "ndjson", "want"),
    [
        (b'data: {"a":1}\n\n', "", False, "sse"),
        (b'data:{"a":1}', "text/plain", False, "sse"),
        (b"data: {}\r\r", "application/json", False, "sse"),
        (b"\xef\xbb\xbfevent: x\n", "", False, "sse"),
        (b"\n\r\n\nid: 1\n", "", False, "sse"),
        (b"retry: 1\n", "", True, "sse"),
        (b": ping\n\n", "", False, "sse"),
        (b":", "", False, "sse"),
        (b"data\n\n", "", False, "sse"),
        (b"data", SSE, False, "sse"),
        (b"foo: 1\r\nbar\r\rdata: {}\n\n", SSE, False, "sse"),
        (b"foo: 1\ndata: {}\n\n", "", False, "text"),
        (b"da", "", False, "text"),
        (b"database down\n", "", False, "text"),
        (b"data base: down", "", False, "text"),
        (
            b"upstream connect error or disconnect/reset before headers. reset reason: timeout",
            "text/plain",
            False,
            "text",
        ),
        (b"upstream connect error or disconnect/reset before headers. reset reason: timeout", SSE, False, "text"),
        (b"<!doctype html><html>", "text/html", False, "html"),
        (b"\n <html>", SSE, False, "html"),
        (b"\xef\xbb\xbf<html>", "", False, "html"),
        (b'{"error":{}}', SSE, False, "json"),
        (b'\n\n \n   {"a":1}', "application/json", False, "json"),
        (b'[{"a":1}]', "application/json", True, "json"),
        (b'{"a":1}\n', "application/x-ndjson", True, "ndjson"),
        (b'\n{ "a":1}\n', "", True, "ndjson"),
        (b"{}", "", True, "ndjson"),
        (b'{\n  "error": "no model"\n}', "application/json", True, "json"),
        (b'{ \r\n "error": 1}', "", True, "json"),
        (START, AWS, False, "eventstream"),
        (START, "", False, "eventstream"),
        (START[:8] + b"\x00\x00\x00\x00" + START[12:], AWS, False, "eventstream"),
        (START[:8] + b"\x00\x00\x00\x00" + START[12:], "", False, "text"),
        (START[:5], AWS, False, "eventstream"),
        (b'{"message":"no"}', AWS, False, "json"),
        (b"", SSE, False, None),
        (b"\n\n   \n", "", False, None),
        (b"\xef\xbb\xbf\n", "", False, None),
        (b"\xef\xbb", "", False, "text"),
        (b"x" * 5000 + b"\ndata: 1\n", SSE, False, "text"),
    ],
)
def test_the_bytes_decide_however_they_are_cut(
    body: bytes, content_type: str, ndjson: bool, want: Framing | None
) -> None:
    for size in (1, 3, len(body) or 1):
        assert sniff_reads(cut_every(body, size), content_type, ndjson=ndjson) == want


@given(
    st.lists(
        st.sampled_from(
            [
                b"data",
                b"da",
                b":",
                b" ",
                b"\n",
                b"\r",
                b"\xef\xbb\xbf",
                b"\xef",
                b"{",
                b"<",
                b"[",
                b"x",
                b"id: 1",
                b"\0",
                START,
            ]
        ),
        max_size=8,
    ).map(b"".join),
    st.sampled_from(["", SSE, AWS]),
    st.booleans(),
)
@settings(max_examples=500, deadline=None)
def test_an_answer_never_changes_with_more_bytes(body: bytes, content_type: str, ndjson: bool) -> None:
    whole = sniff(body, content_type, ndjson=ndjson, at_end=True)
    for end in range(len(body) + 1):
        assert sniff(body[:end], content_type, ndjson=ndjson) in (None, whole)


@pytest.mark.parametrize(
    ("head", "want"), [(b"d", None), (b"dat", None), (b"data", None), (b"data:", "sse"), (b"dx", "text")]
)
def test_an_answer_comes_as_early_as_it_is_certain(head: bytes, want: Framing | None) -> None:
    assert sniff(head) == want
