"""What somebody saved of an HTTP answer in; its status, headers and body out.

Either a body alone, or what `curl -i` prints: it starts with `HTTP/`, and interim answers (100, 103, a proxy's 200) may
stand before the real one. What `--raw` and `--compressed` leave on the body, transfer chunks and gzip, is taken off.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping

import msgspec

__all__ = ["Captured", "read_captured"]

_STATUS_LINE = re.compile(rb"HTTP/\d(?:\.\d)? (\d{3})[^\r\n]*\r?\n")
_CHUNK_LINE = re.compile(rb"([0-9a-fA-F]{1,8})(?:;[^\r\n]*)?\r\n")
_GZIP = b"\x1f\x8b"
_HEAD_END = re.compile(rb"\r?\n\r?\n")


class Captured(msgspec.Struct, frozen=True):
    """One answer as far as it was saved."""

    status: int | None
    """None for a body alone."""
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes


def read_captured(data: bytes) -> Captured:
    """The last answer of a `curl -i` output, or the data as a body."""
    status: int | None = None
    headers: dict[str, str] = {}
    while (line := _STATUS_LINE.match(data)) is not None:
        end = _HEAD_END.search(data, line.end() - 2)
        stop = end.end() if end else len(data)
        status = int(line[1])
        headers = _headers(data[line.end() : end.start() if end else len(data)])
        data = data[stop:]
    if _CHUNK_LINE.match(data) and "chunked" in headers.get("transfer-encoding", ""):
        data = _without_chunks(data)
    if data[:2] == _GZIP:
        data = _inflated(data)
    return Captured(status, headers, data)


def _without_chunks(data: bytes) -> bytes:
    """The body of RFC 9112, section 7.1; where the chunks end too early, as far as it came."""
    out, at = bytearray(), 0
    while (line := _CHUNK_LINE.match(data, at)) is not None and (size := int(line[1], 16)):
        out += data[line.end() : line.end() + size]
        at = line.end() + size + 2
    return bytes(out)


def _inflated(data: bytes) -> bytes:
    unpack = zlib.decompressobj(wbits=31)
    try:
        return unpack.decompress(data)
    except zlib.error:
        return data


def _headers(head: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in head.decode("latin-1").splitlines():
        name, colon, value = line.partition(":")
        if colon:
            found[name.strip().lower()] = value.strip()
    return found
