"""Bytes in, the messages of AWS's binary event stream out (`application/vnd.amazon.eventstream`).

One message, all integers big-endian:

    total length   u32   of the whole message, these four bytes included
    headers length u32
    prelude CRC    u32   CRC-32 of the eight bytes before
    headers              name length u8, name, type u8, value; repeated
    payload
    message CRC    u32   CRC-32 of everything before

Source: Amazon Transcribe developer guide, "Event stream encoding"; Smithy, "Amazon Event Stream Specification".
"""

from __future__ import annotations

import json
import struct
from typing import Final, TypeAlias
from zlib import crc32

from inkwire.errors import ProtocolError
from inkwire.framing.base import DEFAULT_MAX_EVENT_BYTES, Framer
from inkwire.framing.frame import Frame

__all__ = ["PRELUDE_BYTES", "EventStreamFramer", "HeaderValue", "parse_headers", "prelude_is_plausible"]

HeaderValue: TypeAlias = bool | int | bytes | str

PRELUDE_BYTES: Final = 12
_FRAME_BYTES: Final = PRELUDE_BYTES + 4
_PRELUDE: Final = struct.Struct(">III")
_U16: Final = struct.Struct(">H")

# Header value types by their number; the sizes of 6 and 7 precede the value.
_TRUE, _FALSE, _BYTES, _STRING, _UUID = 0, 1, 6, 7, 9
_INTEGER_SIZES: Final = {2: 1, 3: 2, 4: 4, 5: 8, 8: 8}
_UUID_BYTES: Final = 16


class EventStreamFramer(Framer):
    """Cuts a body into binary messages and checks both checksums of each.

    A frame's `event` is `:event-type`, an exception's `:exception-type`, or an error's `:error-code`; the data of
    an error is `{"message": ...}`. Raises `ProtocolError` on a wrong checksum, impossible lengths or bad headers.
    """

    def __init__(self, *, max_event_bytes: int = DEFAULT_MAX_EVENT_BYTES) -> None:
        super().__init__(max_event_bytes=max_event_bytes)
        self._buffer = bytearray()
        self._wanted = PRELUDE_BYTES
        """How long the buffer must be for the next step."""

    @property
    def pending(self) -> int:
        """Bytes of a message that is not whole yet; more than 0 after `finish()` means that the body was cut."""
        return len(self._buffer)

    @property
    def is_cut(self) -> bool:
        """Whether the body ends inside a message; white space behind the last one is none."""
        return bool(self._buffer.strip())

    def _feed(self, data: bytes, frames: list[Frame]) -> None:
        self._buffer += data
        while len(self._buffer) >= self._wanted:
            if self._wanted == PRELUDE_BYTES:
                self._wanted = self._message_length()
                continue
            # The bytearray drops its front without moving the rest.
            message = bytes(self._buffer[: self._wanted])
            del self._buffer[: self._wanted]
            self._wanted = PRELUDE_BYTES
            frames.append(_frame(message))

    def _finish(self, frames: list[Frame]) -> None:
        """Give nothing: a cut message has no checksum that vouches for it."""

    def _message_length(self) -> int:
        prelude = bytes(self._buffer[:PRELUDE_BYTES])
        total, headers, checksum = _PRELUDE.unpack(prelude)
        if crc32(prelude[:8]) != checksum:
            raise _damage("the prelude's checksum is wrong", bytes(self._buffer[:64]))
        if not prelude_is_plausible(prelude):
            raise _damage(f"a message of {total} bytes cannot have {headers} bytes of headers", prelude)
        if total > self._limit:
            raise self._refuse_size(f"an event-stream message of {total} bytes")
        return int(total)


def prelude_is_plausible(prelude: bytes) -> bool:
    """Tell whether the lengths in the first eight bytes fit each other."""
    total, headers = struct.unpack_from(">II", prelude)
    return bool(total >= _FRAME_BYTES + headers)


def parse_headers(data: bytes) -> dict[str, HeaderValue]:
    """Read the headers of one message: all ten value types, timestamps as milliseconds, UUIDs as text.

    Raises `ProtocolError` if they do not end where their length says, or have an unknown type.
    """
    headers: dict[str, HeaderValue] = {}
    at = 0
    try:
        while at < len(data):
            name_end = at + 1 + data[at]
            name = data[at + 1 : name_end].decode("utf-8", "replace")
            headers[name], at = _header_value(data, name_end + 1, data[name_end])
    except (IndexError, struct.error):
        at = len(data) + 1
    if at != len(data):
        raise _damage("the headers of an event-stream message are cut", data)
    return headers


def _header_value(data: bytes, at: int, kind: int) -> tuple[HeaderValue, int]:
    if kind in (_TRUE, _FALSE):
        return kind == _TRUE, at
    if kind in _INTEGER_SIZES:
        end = at + _INTEGER_SIZES[kind]
        return int.from_bytes(data[at:end], "big", signed=True), end
    if kind in (_BYTES, _STRING):
        (size,) = _U16.unpack_from(data, at)
        end = at + 2 + size
        value = data[at + 2 : end]
        return (value if kind == _BYTES else value.decode("utf-8", "replace")), end
    if kind == _UUID:
        digits = data[at : at + _UUID_BYTES].hex()
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])), at + _UUID_BYTES
    raise _damage(f"an event-stream header has the unknown type {kind}", data)


def _frame(message: bytes) -> Frame:
    (checksum,) = struct.unpack(">I", message[-4:])
    if crc32(message[:-4]) != checksum:
        raise _damage("a message's checksum is wrong", message)
    headers_end = PRELUDE_BYTES + int.from_bytes(message[4:8], "big")
    headers = parse_headers(message[PRELUDE_BYTES:headers_end])
    match headers.get(":message-type", "event"):
        case "error":
            payload = json.dumps({"message": str(headers.get(":error-message", ""))}).encode()
            return Frame(payload, str(headers.get(":error-code", "")))
        case "exception":
            return Frame(message[headers_end:-4], str(headers.get(":exception-type", "")))
        case _:
            return Frame(message[headers_end:-4], str(headers.get(":event-type", "")))


def _damage(what: str, seen: bytes) -> ProtocolError:
    return ProtocolError(f"damaged AWS event stream: {what}", excerpt=seen[:64].hex(" "))
