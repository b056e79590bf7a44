"""A recorded exchange in, the answer to send out: status, headers, pieces with their times, and how it ends."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Literal, TypeAlias

import msgspec

from inkwire.framing.sniff import sniff
from inkwire.recording import Exchange, protocol_of

__all__ = ["UNTIMED_SECONDS", "Answer", "End", "Piece", "answer_of", "content_type_of", "event_ends"]

End: TypeAlias = Literal["eof", "reset", "stall"]

UNTIMED_SECONDS = 0.02
"""Between two events of a body that was saved without times: about as fast as a model writes."""

_DROPPED = frozenset(
    # They describe the connection that was recorded, or a compression that the recording has taken off.
    ("connection", "content-encoding", "content-length", "date", "keep-alive", "server", "trailer", "transfer-encoding")
)
_TYPES = {"sse": "text/event-stream", "eventstream": "application/vnd.amazon.eventstream", "html": "text/html"}
_BLANK_LINE = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LINE = re.compile(rb"\n")


class Piece(msgspec.Struct, frozen=True):
    """What is sent at one go."""

    seconds: float
    """Since the request."""
    data: bytes


class Answer(msgspec.Struct, frozen=True):
    """What is sent for one request."""

    status: int
    headers: tuple[tuple[str, str], ...]
    pieces: tuple[Piece, ...]
    end: End = "eof"
    head_seconds: float = 0.0

    @property
    def body(self) -> bytes:
        """The whole body."""
        return b"".join(piece.data for piece in self.pieces)


def answer_of(exchange: Exchange) -> Answer:
    """The exchange as it was; a body without times is sent event by event."""
    headers = {
        name: value
        for name, value in exchange.headers.items()
        if name.lower() not in _DROPPED and not name.startswith(":") and value != "***" and value.isprintable()
    }
    headers["content-type"] = content_type_of(exchange)
    pieces = tuple(Piece(read.seconds, read.data) for read in exchange.reads if read.data)
    if not exchange.timed:
        pieces = _paced(exchange.body, headers["content-type"])
    is_lost = exchange.end == "lost" or (exchange.status is None and not exchange.reads)
    return Answer(
        status=exchange.status or 200,
        headers=tuple(headers.items()),
        pieces=pieces,
        end="reset" if is_lost else "eof",
        head_seconds=exchange.head_seconds,
    )


def content_type_of(exchange: Exchange) -> str:
    """The recorded type, or what the first bytes look like."""
    if told := exchange.headers.get("content-type"):
        return told
    is_lines = protocol_of(exchange) == "ollama"
    kind = sniff(exchange.body, ndjson=is_lines, at_end=True) or ""
    return _TYPES.get(
        kind, "application/x-ndjson" if is_lines else "application/json" if kind == "json" else "text/plain"
    )


def event_ends(body: bytes, content_type: str) -> list[int]:
    """Where the events of a body end, the body's own end included."""
    if "vnd.amazon.eventstream" in content_type:
        ends = _binary_ends(body)
    else:
        pattern = _BLANK_LINE if "event-stream" in content_type else _LINE
        ends = [found.end() for found in pattern.finditer(body)]
    return ends if ends[-1:] == [len(body)] else [*ends, len(body)]


def _binary_ends(body: bytes) -> list[int]:
    """Each message begins with its length, four bytes big-endian."""
    ends, at = [], 0
    while at + 4 <= len(body) and 16 <= (size := int.from_bytes(body[at : at + 4], "big")) <= len(body) - at:
        at += size
        ends.append(at)
    return ends


def _paced(body: bytes, content_type: str) -> tuple[Piece, ...]:
    bounds = [0, *event_ends(body, content_type)]
    return tuple(
        Piece(number * UNTIMED_SECONDS, body[start:stop])
        for number, (start, stop) in enumerate(pairwise(bounds))
        if stop > start
    )
