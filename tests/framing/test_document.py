"""What the JSON document framer promises: payloads as they close, a cut rest at the end, the same for all cuts."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkwire.errors import LimitExceededError
from inkwire.framing.document import JSONDocumentFramer
from tests.case_notation import cut_every


def read(reads: list[bytes]) -> tuple[list[bytes], list[bytes], bytes, bool]:
    framer = JSONDocumentFramer()
    frames = [frame.data for read in reads for frame in framer.feed(read)]
    return frames, [frame.data for frame in framer.finish()], framer.stray, framer.complete


@pytest.mark.parametrize(
    ("body", "frames", "rest", "stray", "complete"),
    [
        (b'{"a":1}', [b'{"a":1}'], [], b"", True),
        (b'\n\n  {"a":"}\\"]"}\n', [b'{"a":"}\\"]"}'], [], b"", True),
        (b'\xef\xbb\xbf{"a":{"b":[]}}', [b'{"a":{"b":[]}}'], [], b"", True),
        (b'[{"a":1}\n,\r\n{"a":[2]}]', [b'{"a":1}', b'{"a":[2]}'], [], b"", True),
        (b"[]", [], [], b"", True),
        (b'[1, "x,]" ,null]', [b"1", b'"x,]"', b"null"], [], b"", True),
        (b'[{"a":1},{"a":', [b'{"a":1}'], [b'{"a":'], b"", False),
        (b'[{"a":1},', [b'{"a":1}'], [], b"", False),
        (b'{"a":"\\', [], [b'{"a":"\\'], b"", False),
        (b'{"a":1} and {more}', [b'{"a":1}'], [], b"and {more}", True),
        (b'[{"a":1} junk, {"a":2}]', [b'{"a":1}', b"junk", b'{"a":2}'], [], b"", True),
        (b"  \n ", [], [], b"", False),
        (b"", [], [], b"", False),
        (b"null", [], [b"null"], b"", False),
    ],
)
def test_payloads_are_the_same_however_they_are_cut(
    body: bytes, frames: list[bytes], rest: list[bytes], stray: bytes, complete: bool
) -> None:
    want = (frames, rest, stray, complete)
    assert read([body]) == want
    assert read(cut_every(body, 1)) == want
    assert read(cut_every(body, 3)) == want


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.lists(JSON, min_size=1), st.integers(1, 7), st.sampled_from([None, 1]))
@settings(max_examples=100, deadline=None)
def test_the_frames_of_an_array_are_its_elements(values: list[object], size: int, indent: int | None) -> None:
    frames, rest, stray, complete = read(cut_every(json.dumps(values, indent=indent).encode(), size))
    assert [json.loads(frame) for frame in frames] == values
    assert (rest, stray, complete) == ([], b"", True)


def test_an_element_is_given_with_its_last_bracket() -> None:
    framer = JSONDocumentFramer()
    assert [f.data for f in framer.feed(b'[{"a":1}')] == [b'{"a":1}']


def test_an_endless_payload_is_refused_while_it_grows_and_white_space_is_none() -> None:
    framer = JSONDocumentFramer(max_event_bytes=100)
    for _ in range(50):
        framer.feed(b"   \n")
    framer.feed(b"[")
    for _ in range(50):
        framer.feed(b"   \n")
    assert len(framer.feed(b'{"a":1},{"b":"' + b"x" * 200)) == 1
    with pytest.raises(LimitExceededError):
        framer.feed(b"")


def test_what_follows_the_document_is_kept_up_to_4_kib() -> None:
    _, _, stray, _ = read([b"{}", b" x", b"y" * 5000, b"z"])
    assert len(stray) == 4096


def test_cost_grows_with_the_bytes() -> None:
    def cpu_seconds(size: int) -> float:
        reads = cut_every(json.dumps([{"a": "x\n" * 50}] * (size // 100)).encode(), 7)
        start = time.process_time()
        read(reads)
        return time.process_time() - start

    base = min(cpu_seconds(20_000) for _ in range(3))
    assert min(cpu_seconds(160_000) for _ in range(2)) < 30 * base + 0.01
