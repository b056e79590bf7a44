"""An answer and faults in, the answer broken that way out. The table KINDS names them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import msgspec

from inkwire.errors import ConfigurationError
from inkwire.replay.plan import Answer, End, Piece, event_ends

__all__ = ["KINDS", "Fault", "broken", "error_body", "parse_fault", "refusal"]

KINDS = {
    "cut": ("cut:N", "after N bytes the body ends, as if it were whole"),
    "stall": ("stall:N", "after N bytes nothing more comes"),
    "reset": ("reset:N", "after N bytes the connection is reset"),
    "damage": ("damage:N", "the line with byte N loses its rest"),
    "duplicate": ("duplicate:N", "the event with byte N comes twice"),
    "slow": ("slow:X", "everything takes X times as long"),
    "429": ("429:S", "the request is refused: try again after S seconds"),
    "status": ("status:CODE", "the request is refused with that status"),
}
"""Each kind: how it is written, and what it does. N may be left out: the middle of the body."""

_ENDS: dict[str, End] = {"cut": "eof", "stall": "stall", "reset": "reset"}
_WORDS = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error"}


class Fault(msgspec.Struct, frozen=True):
    """One way to break an answer."""

    kind: str
    value: float | None = None

    @property
    def refuses(self) -> bool:
        """Whether the request gets no answer at all, but a refusal."""
        return self.kind in ("429", "status")


def parse_fault(text: str) -> Fault:
    """A fault from `KIND[:ARG]`. Raises `ConfigurationError` that lists the kinds."""
    kind, _, argument = text.partition(":")
    if kind not in KINDS:
        raise ConfigurationError(f"unknown fault {text!r}; known are {', '.join(form for form, _ in KINDS.values())}")
    try:
        value = float(argument) if argument else None
    except ValueError:
        value = -1.0
    if value is not None and not 0 <= value < 1e9:
        raise ConfigurationError(f"fault {text!r}: expected a number, as in {KINDS[kind][0]}: {KINDS[kind][1]}")
    if kind == "status" and not 300 <= (value or 0) <= 599:
        raise ConfigurationError(f"fault {text!r}: expected a status from 300 to 599, as in status:503")
    return Fault(kind, value)


def refusal(fault: Fault) -> Answer:
    """What a refusing fault answers, in words that the clients of every protocol read."""
    status = 429 if fault.kind == "429" else int(fault.value or 500)
    kind = _WORDS.get(status, "rate_limit_error" if status == 429 else "api_error")
    headers = [("content-type", "application/json")]
    if fault.kind == "429":
        headers.append(("retry-after", f"{1 if fault.value is None else fault.value:g}"))
    return Answer(status, tuple(headers), (Piece(0.0, error_body(kind, f"replay: refused on purpose ({status})")),))


def error_body(kind: str, message: str) -> bytes:
    """An error as OpenAI's and Anthropic's clients read it."""
    return json.dumps({"type": "error", "error": {"type": kind, "code": kind, "message": message}}).encode()


def broken(answer: Answer, faults: Iterable[Fault]) -> Answer:
    """The answer with these faults, in their order; refusing ones are not for here."""
    for fault in faults:
        answer = _broken(answer, fault)
    return answer


def _broken(answer: Answer, fault: Fault) -> Answer:
    replace = msgspec.structs.replace
    pieces, body = answer.pieces, answer.body
    at = len(body) // 2 if fault.value is None else int(fault.value)
    match fault.kind:
        case "cut" | "stall" | "reset":
            return replace(answer, pieces=_first(pieces, at), end=_ENDS[fault.kind])
        case "damage":
            return replace(answer, pieces=_damaged(answer, at))
        case "duplicate":
            start, stop = _event_at(answer, at)
            return replace(answer, pieces=_inserted(pieces, stop, body[start:stop]))
        case "slow":
            factor = 2.0 if fault.value is None else fault.value
            slower = tuple(Piece(piece.seconds * factor, piece.data) for piece in pieces)
            return replace(answer, pieces=slower, head_seconds=answer.head_seconds * factor)
        case _:
            return answer


def _damaged(answer: Answer, at: int) -> tuple[Piece, ...]:
    """The rest of a line is lost; where there are no lines, one byte is wrong."""
    body, content_type = answer.body, dict(answer.headers).get("content-type", "")
    if "eventstream" in content_type:
        return _without(answer.pieces, at, at + 1, bytes([body[at] ^ 0xFF]) if at < len(body) else b"")
    ends = [end for sign in (b"\r", b"\n") if (end := body.find(sign, at)) >= 0]
    return _without(answer.pieces, at, min(ends, default=len(body)))


def _event_at(answer: Answer, at: int) -> tuple[int, int]:
    ends = event_ends(answer.body, dict(answer.headers).get("content-type", ""))
    stop = next((end for end in ends if end > at), ends[-1])
    return max((end for end in ends if end < stop), default=0), stop


def _first(pieces: Sequence[Piece], size: int) -> tuple[Piece, ...]:
    kept, left = [], size
    for piece in pieces:
        if left <= 0:
            break
        kept.append(Piece(piece.seconds, piece.data[:left]))
        left -= len(piece.data)
    return tuple(kept)


def _without(pieces: Sequence[Piece], start: int, stop: int, instead: bytes = b"") -> tuple[Piece, ...]:
    """The pieces without bytes `start` to `stop`."""
    kept, at = [], 0
    for piece in pieces:
        first, last = (min(max(bound - at, 0), len(piece.data)) for bound in (start, stop))
        middle = instead if at <= start < at + len(piece.data) else b""
        kept.append(Piece(piece.seconds, piece.data[:first] + middle + piece.data[last:]))
        at += len(piece.data)
    return tuple(piece for piece in kept if piece.data)


def _inserted(pieces: Sequence[Piece], place: int, data: bytes) -> tuple[Piece, ...]:
    kept, at = [], 0
    for piece in pieces:
        cut, size = place - at, len(piece.data)
        kept.append(Piece(piece.seconds, piece.data[:cut] + data + piece.data[cut:]) if 0 < cut <= size else piece)
        at += size
    return tuple(kept)
