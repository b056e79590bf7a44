"""A frame in, one JSON object out: the one door through which payloads come.

The fast way is msgspec; what it refuses but JSON readers take (lone surrogates, a bad UTF-8 byte, NaN in a field that
nobody reads) goes through Python's `json`. What neither reads is damage, never skipped in silence (law 5).
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from inkwire.errors import LimitExceededError, ModelError, ProtocolError
from inkwire.fragments import FailureFragment, Fragment, WarningFragment
from inkwire.framing.frame import Frame
from inkwire.json_depth import MAX_DEPTH, json_depth

__all__ = ["SENTINEL", "damage", "excerpt", "is_sentinel", "read_object", "read_value"]

SENTINEL = b"[DONE]"
"""The end mark of Chat Completions and of what imitates it."""
_EXCERPT = 200


def is_sentinel(data: bytes) -> bool:
    """Whether the payload is `[DONE]`, white space aside."""
    return data.strip() == SENTINEL


def excerpt(data: bytes) -> str:
    """The start of the payload as text, for an error."""
    text = data[: _EXCERPT * 4].decode("utf-8", "replace")
    return text if len(text) <= _EXCERPT else text[:_EXCERPT] + "…"


def read_value(data: bytes) -> Any:
    """The payload as a Python value. Raises `ValueError` when it is no JSON, `LimitExceededError` when too deep."""
    try:
        try:
            value = msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            value = json.loads(data.decode("utf-8", "replace"))
    except RecursionError as cause:
        raise _too_deep() from cause
    if data.count(b"{") + data.count(b"[") > MAX_DEPTH and json_depth(value) > MAX_DEPTH:
        raise _too_deep()
    return value


def _too_deep() -> LimitExceededError:
    return LimitExceededError(f"a payload is nested deeper than {MAX_DEPTH} levels", retryable=False, phase="body")


def read_object(frame: Frame, tolerant: bool) -> dict[str, Any] | Fragment | None:
    """The payload's object; None for what is no damage (empty, `null`, the sentinel); a fragment for damage."""
    data = frame.data
    if not data or data.isspace() or is_sentinel(data):
        return None
    try:
        value = read_value(data)
    except LimitExceededError as error:
        return FailureFragment(error)
    except ValueError as cause:
        return damage(f"a payload is no JSON ({cause})", data, tolerant)
    if value is None:
        return None
    if not isinstance(value, dict):
        return damage(f"a payload is {_kind(value)}, not an object", data, tolerant)
    return value


def damage(what: str, data: bytes, tolerant: bool) -> Fragment:
    """A lost payload: the end of the stream, or where that is tolerated a warning that closes the gate (law 5)."""
    shown = excerpt(data)
    if tolerant:
        return WarningFragment("bad_chunk", f"{what}: {shown}", damage=True)
    error: ModelError = ProtocolError(
        f"{what}: {shown!r}. A lost piece could change what a tool does, so the stream is refused; reading it "
        "tolerantly (`tolerant=True`, `inkwire decode --tolerant`) makes this a warning",
        excerpt=shown,
    )
    return FailureFragment(error)


def _kind(value: Any) -> str:
    return {str: "a string", bool: "a boolean", list: "an array"}.get(type(value), "a number")
