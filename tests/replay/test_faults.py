"""Each fault breaks exactly what it says, wherever the reads were cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkwire.errors import ConfigurationError
from inkwire.recording import Exchange, Read, read_recording
from inkwire.replay.faults import KINDS, Fault, broken, parse_fault, refusal
from inkwire.replay.plan import Answer, answer_of, event_ends
from tests.streams import all_streams

EVENTS = [b'data: {"n": 1}\n\n', b'data: {"n": 2}\n\n', b"data: [DONE]\n\n"]
BODY = b"".join(EVENTS)


def answer(body: bytes = BODY, *, piece: int = 5, content_type: str = "text/event-stream") -> Answer:
    reads = tuple(Read(at / 10, body[at : at + piece]) for at in range(0, len(body), piece))
    return answer_of(Exchange(reads, 200, {"content-type": content_type}))


def body(fault: str, *, piece: int = 5) -> bytes:
    return broken(answer(piece=piece), [parse_fault(fault)]).body


@given(at=st.integers(0, len(BODY) + 5), piece=st.integers(1, len(BODY)))
def test_a_cut_a_stall_and_a_reset_keep_the_first_bytes(at: int, piece: int) -> None:
    for kind, end in {"cut": "eof", "stall": "stall", "reset": "reset"}.items():
        found = broken(answer(piece=piece), [Fault(kind, at)])
        assert (found.body, found.end) == (BODY[:at], end)


@given(piece=st.integers(1, len(BODY)))
def test_damage_takes_the_rest_of_one_line(piece: int) -> None:
    assert body("damage:24", piece=piece) == EVENTS[0] + b'data: {"\n\n' + EVENTS[2]


@given(piece=st.integers(1, len(BODY)))
def test_a_duplicate_is_one_whole_event(piece: int) -> None:
    assert body("duplicate:20", piece=piece) == EVENTS[0] + EVENTS[1] * 2 + EVENTS[2]
    assert body("duplicate:0", piece=piece) == EVENTS[0] + BODY
    assert body("duplicate:9999", piece=piece) == BODY + EVENTS[2]


def test_slow_moves_every_time_and_no_byte() -> None:
    slower = broken(answer(), [parse_fault("slow:3")])
    assert slower.body == BODY
    assert [piece.seconds for piece in slower.pieces] == [piece.seconds * 3 for piece in answer().pieces]


def test_without_a_number_it_happens_in_the_middle() -> None:
    assert body("cut") == BODY[: len(BODY) // 2]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("429", "status")])
@pytest.mark.parametrize("data", [b"", b"x", b"no line end"])
def test_any_body_can_be_broken(kind: str, data: bytes) -> None:
    for content_type in ("text/event-stream", "application/vnd.amazon.eventstream", "text/plain"):
        broken(answer(data, content_type=content_type), [Fault(kind), Fault(kind, 0), Fault(kind, 9)])


def test_a_refusal_says_when_to_come_back() -> None:
    assert dict(refusal(parse_fault("429:2")).headers)["retry-after"] == "2"
    assert refusal(parse_fault("status:503")).status == 503
    assert b"on purpose" in refusal(parse_fault("429")).body


@pytest.mark.parametrize("text", ["explode", "cut:x", "cut:-1", "slow:nan", "status", "status:200", ""])
def test_what_is_no_fault_is_told(text: str) -> None:
    with pytest.raises(ConfigurationError, match="fault"):
        parse_fault(text)


@pytest.mark.parametrize("stream", all_streams(), ids=lambda stream: stream.name)
def test_a_body_without_times_is_sent_event_by_event(stream: object) -> None:
    data = stream.body  # type: ignore[attr-defined]
    (exchange,) = read_recording(data)
    found = answer_of(exchange)
    assert found.body == exchange.body
    ends = event_ends(found.body, dict(found.headers)["content-type"])
    assert len(found.pieces) == len([end for end in ends if end])


def test_what_described_the_old_connection_is_left_out() -> None:
    headers = {"content-length": "9", "content-encoding": "gzip", "set-cookie": "***", "x-request-id": "7"}
    found = answer_of(Exchange((Read(0, b"{}"),), 200, headers))
    assert dict(found.headers) == {"x-request-id": "7", "content-type": "application/json"}


@pytest.mark.parametrize(("end", "then"), [("eof", "eof"), ("closed", "eof"), ("unknown", "eof"), ("lost", "reset")])
def test_a_lost_connection_is_lost_again(end: str, then: str) -> None:
    assert answer_of(Exchange((Read(0, b"{}"),), 200, {}, end)).end == then
