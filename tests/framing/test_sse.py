"""What the SSE framer promises: the standard's events, with the read that completes them, at linear cost."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkwire.errors import LimitExceededError
from inkwire.framing.frame import Frame
from inkwire.framing.sse import SSEFramer
from tests.case_notation import Case, cut_every, load_cases, read_bytes, reads_of

CASES = load_cases("sse")
IDS = [case["id"] for case in CASES]
SMALL = [case for case in CASES if sum(map(len, reads_of(case))) < 20_000]


def run(reads: list[bytes]) -> tuple[SSEFramer, list[Frame], list[Frame]]:
    framer = SSEFramer()
    frames = [frame for read in reads for frame in framer.feed(read)]
    return framer, frames, framer.finish()


def shown(frame: Frame) -> dict[str, Any]:
    return {"event": frame.event or "message", "data": frame.text, "id": frame.id, "retry": frame.retry}


def wanted(case: Case) -> list[dict[str, Any]]:
    expect = case["expect"]
    if "events_count" in expect:
        return [expect["each_event"]] * expect["events_count"]
    return [{**event, "data": read_bytes(event["data"]).decode()} for event in expect["events"]]


def check(case: Case, reads: list[bytes]) -> None:
    framer, frames, flushed = run(reads)
    assert [shown(frame) for frame in frames] == wanted(case)
    assert [shown(frame) for frame in flushed] == case["expect"].get("eof_flush", [])
    assert framer.last_event_id == case["expect"]["last_event_id"]
    assert framer.retry == case["expect"]["retry"]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_every_case_gives_its_events_in_its_own_reads_whole_and_in_single_bytes(case: Case) -> None:
    body = b"".join(reads_of(case))
    check(case, reads_of(case))
    check(case, [body])
    if len(body) < 500_000:
        check(case, cut_every(body, 1))
        check(case, cut_every(body, 3))


@pytest.mark.parametrize("case", [c for c in CASES if "events_after_read" in c["expect"]], ids=lambda c: str(c["id"]))
def test_an_event_comes_with_the_read_that_completes_its_blank_line(case: Case) -> None:
    framer, counts, total = SSEFramer(), [], 0
    for read in reads_of(case):
        total += len(framer.feed(read))
        counts.append(total)
    assert counts == case["expect"]["events_after_read"]


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_random_cuts_do_not_matter(data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(SMALL))
    body = b"".join(reads_of(case))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=12)))
    check(case, [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)])


PIECES = st.sampled_from(
    [
        b"\r",
        b"\n",
        b"\r\n",
        b"\n\n",
        b"data: ",
        b"data",
        b"data:{}",
        b"event: x",
        b"id: 1",
        b"retry: 5",
        b":",
        b"z",
        b"\xef",
    ]
)


@given(st.lists(PIECES, max_size=30).map(b"".join), st.integers(1, 5), st.integers(4, 40))
@settings(max_examples=300, deadline=None)
def test_any_bytes_give_the_same_frames_and_the_same_error_however_they_are_cut(
    body: bytes, size: int, limit: int
) -> None:
    def outcome(reads: list[bytes]) -> tuple[list[Frame], bool]:
        framer, frames = SSEFramer(max_event_bytes=limit), list[Frame]()
        try:
            for read in reads:
                frames += framer.feed(read)
            return frames + framer.finish(), False
        except LimitExceededError:
            return frames, True

    assert outcome([body]) == outcome(cut_every(body, size))


def test_a_lone_cr_dispatches_at_once_and_swallows_the_lf_that_follows() -> None:
    framer = SSEFramer()
    assert [f.data for f in framer.feed(b"data: a\r\r")] == [b"a"]
    assert framer.feed(b"") == []
    assert framer.feed(b"\ndata: b\n") == []
    assert [f.data for f in framer.feed(b"\n")] == [b"b"]


def test_data_stays_bytes() -> None:
    _, frames, _ = run([b"data: a\xffb\n\n"])
    assert frames == [Frame(b"a\xffb")]


def test_lines_that_are_no_field_are_kept_up_to_4_kib() -> None:
    framer = SSEFramer()
    framer.feed(b'data: 1\n\n{\n  "error": 503\n}\n')
    framer.finish()
    assert framer.stray == b'{\n  "error": 503\n}'
    framer.feed(b"x" * 5000 + b"\n" + b"y\n" * 10)
    assert len(framer.stray) == 4096


def test_an_unterminated_stray_line_is_kept_too() -> None:
    framer = SSEFramer()
    framer.feed(b"data: 1\n\nupstream connect error")
    framer.finish()
    assert framer.stray == b"upstream connect error"


def test_comments_are_counted() -> None:
    framer, _, _ = run([b": a\n\n:\n: b"])
    assert framer.comments == 3


def test_an_absurdly_long_retry_is_ignored() -> None:
    framer, frames, _ = run([b"retry: " + b"9" * 5000 + b"\ndata: x\n\n"])
    assert frames == [Frame(b"x")]
    assert framer.retry is None


def test_an_endless_line_is_refused_while_it_grows() -> None:
    framer = SSEFramer(max_event_bytes=1000)
    for _ in range(10):
        framer.feed(b"x" * 100)
    with pytest.raises(LimitExceededError):
        framer.feed(b"x")


def test_endless_data_lines_are_refused_while_the_event_grows() -> None:
    framer = SSEFramer(max_event_bytes=1000)
    for _ in range(200):
        framer.feed(b"data\n")
    with pytest.raises(LimitExceededError):
        framer.feed(b"data\n")


def test_an_event_that_ends_within_its_limit_is_not_refused_by_the_blank_line() -> None:
    # The line end counts towards the event, but nothing grows any more when the blank line comes.
    framer = SSEFramer(max_event_bytes=4)
    assert framer.feed(b"data\n") == []
    assert framer.feed(b"\n") == [Frame(b"")]


def test_comments_for_ever_are_no_event_that_grows() -> None:
    framer = SSEFramer(max_event_bytes=100)
    for _ in range(100):
        assert framer.feed(b": keep-alive\n") == []


def test_events_before_a_too_large_one_are_handed_out_first() -> None:
    framer = SSEFramer(max_event_bytes=100)
    assert [f.data for f in framer.feed(b"data: a\n\ndata: " + b"x" * 200 + b"\n\ndata: c\n\n")] == [b"a"]
    assert isinstance(framer.failure, LimitExceededError)
    with pytest.raises(LimitExceededError):
        framer.feed(b"")
    with pytest.raises(LimitExceededError):
        framer.finish()


def test_an_event_of_exactly_the_limit_passes() -> None:
    framer = SSEFramer(max_event_bytes=106)
    assert len(framer.feed(b"data: " + b"x" * 100 + b"\n\n")) == 1


def cpu_seconds(reads: list[bytes]) -> float:
    start = time.process_time()
    run(reads)
    return time.process_time() - start


@pytest.mark.parametrize(
    "make",
    [
        lambda n: cut_every(b"data: " + b"x" * n + b"\n\n", 16),
        lambda n: [b"data: 1\n\n" * (n // 9)],
        lambda n: [b"data: x\n" * (n // 8), b"\n"],
        lambda n: cut_every(b"data: x\r\n\r\n" * (n // 11), 5),
    ],
    ids=["small-reads", "many-events", "many-lines", "crlf-in-small-reads"],
)
def test_cost_grows_with_the_bytes(make: Any) -> None:
    small, large = make(100_000), make(800_000)
    base = min(cpu_seconds(small) for _ in range(3))
    # Eight times the bytes: linear is 8, quadratic is 64.
    assert min(cpu_seconds(large) for _ in range(2)) < 30 * base + 0.01
