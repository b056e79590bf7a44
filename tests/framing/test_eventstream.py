"""What the AWS event-stream framer promises: checked messages with their types, whatever the cuts."""

from __future__ import annotations

import json
import struct
from zlib import crc32

import pytest

from inkwire.errors import LimitExceededError, ProtocolError
from inkwire.framing.eventstream import EventStreamFramer, parse_headers
from inkwire.framing.frame import Frame
from tests.case_notation import cut_every


def text_header(name: str, value: str) -> bytes:
    return bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value.encode())) + value.encode()


def message(headers: bytes, payload: bytes) -> bytes:
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    body = prelude + struct.pack(">I", crc32(prelude)) + headers + payload
    return body + struct.pack(">I", crc32(body))


def event(name: str, payload: bytes) -> bytes:
    headers = text_header(":event-type", name) + text_header(":content-type", "application/json")
    return message(headers + text_header(":message-type", "event"), payload)


START = event("messageStart", b'{"role":"assistant"}')
STOP = event("messageStop", b'{"stopReason":"end_turn"}')
EXCEPTION = message(
    text_header(":exception-type", "throttlingException") + text_header(":message-type", "exception"),
    b'{"message":"slow down"}',
)
ERROR = message(
    text_header(":error-code", "InternalError")
    + text_header(":error-message", 'a "bad" day')
    + text_header(":message-type", "error"),
    b"",
)


def frames(reads: list[bytes]) -> list[Frame]:
    framer = EventStreamFramer()
    given = [frame for read in reads for frame in framer.feed(read)] + framer.finish()
    assert framer.pending == 0
    return given


@pytest.mark.parametrize("size", [1, 3, 17, 10_000])
def test_messages_are_the_same_however_they_are_cut(size: int) -> None:
    given = frames(cut_every(START + STOP + EXCEPTION + ERROR, size))
    assert [frame.event for frame in given] == ["messageStart", "messageStop", "throttlingException", "InternalError"]
    assert given[0].data == b'{"role":"assistant"}'
    assert json.loads(given[3].data) == {"message": 'a "bad" day'}


def test_all_ten_header_types_are_read() -> None:
    headers = b"".join(
        [
            b"\x01t\x00",
            b"\x01f\x01",
            b"\x01b\x02\xff",
            b"\x01s\x03\xff\xfe",
            b"\x01i\x04\x00\x01\x00\x00",
            b"\x01l\x05" + struct.pack(">q", -5),
            b"\x01B\x06\x00\x02\x00\xff",
            b"\x01S\x07\x00\x03\xe2\x82\xac",
            b"\x01T\x08" + struct.pack(">q", 1_700_000_000_000),
            b"\x01u\x09" + bytes(range(16)),
        ]
    )
    assert parse_headers(headers) == {
        "t": True,
        "f": False,
        "b": -1,
        "s": -2,
        "i": 65536,
        "l": -5,
        "B": b"\x00\xff",
        "S": "€",
        "T": 1_700_000_000_000,
        "u": "00010203-0405-0607-0809-0a0b0c0d0e0f",
    }


@pytest.mark.parametrize(
    "headers", [b"\x05ab", b"\x01a", b"\x01a\x07\x00\x09ab", b"\x01a\x04\x00", b"\x01a\x0a", b"\x01a\x07\x00"]
)
def test_headers_that_are_cut_or_unknown_are_damage(headers: bytes) -> None:
    with pytest.raises(ProtocolError):
        EventStreamFramer().feed(message(headers, b"{}"))


def test_a_wrong_prelude_checksum_is_damage_as_soon_as_the_prelude_is_there() -> None:
    framer = EventStreamFramer()
    with pytest.raises(ProtocolError, match="prelude") as raised:
        framer.feed(START[:8] + b"\x00\x00\x00\x00")
    assert raised.value.excerpt.startswith("00 00 00")


@pytest.mark.parametrize("at", range(12, len(START)))
def test_any_changed_byte_is_damage(at: int) -> None:
    changed = bytearray(START)
    changed[at] ^= 0x20
    with pytest.raises(ProtocolError):
        EventStreamFramer().feed(bytes(changed))


@pytest.mark.parametrize(("total", "headers"), [(15, 0), (0, 0), (20, 5), (16, 0xFFFFFFFF)])
def test_impossible_lengths_are_damage(total: int, headers: int) -> None:
    prelude = struct.pack(">II", total, headers)
    with pytest.raises(ProtocolError, match="cannot"):
        EventStreamFramer().feed(prelude + struct.pack(">I", crc32(prelude)))


def test_a_message_above_the_limit_is_refused_by_its_prelude() -> None:
    framer = EventStreamFramer(max_event_bytes=1000)
    with pytest.raises(LimitExceededError):
        framer.feed(event("x", b"y" * 2000)[:12])


def test_messages_before_the_damage_are_handed_out_first() -> None:
    framer = EventStreamFramer()
    assert len(framer.feed(START + b"HTTP/1.1 500 oh")) == 1
    with pytest.raises(ProtocolError):
        framer.finish()


def test_a_cut_message_gives_no_frame_but_is_pending() -> None:
    framer = EventStreamFramer()
    framer.feed(START + STOP[:-1])
    assert framer.finish() == []
    assert framer.pending == len(STOP) - 1
