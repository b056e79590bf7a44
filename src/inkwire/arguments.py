"""A call's whole argument text in; one JSON object, or the reason why it is none, out.

The one authoritative parse, at the end of a message. Repairs are those that lose nothing: nothing at all or `null` is
an empty object; raw control characters in strings are taken; an object written as a JSON string is unwrapped once, at
the top; known markup and one stray `}` behind the object are dropped; an empty object before the real one is dropped;
half a surrogate pair becomes U+FFFD. Whatever needs a guess (closing a quote, single quotes, `True`, two different
objects, brackets left over because their beginning may be lost) is refused, for a guess here is a command there.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from inkwire.json_depth import MAX_DEPTH, json_depth
from inkwire.messages import ArgumentsError
from inkwire.partial_json import classify
from inkwire.surrogates import has_surrogates, mend_surrogates

__all__ = ["parse_arguments"]

_MARKUP = r"(?:\s|</[\w:.-]+>|<\|[^|<>]{0,40}\|>|<｜[^｜<>]{0,40}｜>|```)*+"
_DROPPED = re.compile(rf"{_MARKUP}\}}?{_MARKUP}")
"""What may follow the object: markup that leaked out of a chat template, and one closer too many."""
_EMPTY_OBJECTS = re.compile(r"(?:\{\s*\}\s*)+(?=\{)")


def _refuse_constant(name: str) -> NoReturn:
    # NaN and Infinity are no JSON (RFC 8259, section 6) and could not be sent back in history.
    raise ValueError(f"{name} is no JSON")


def _finite(text: str) -> float:
    """A number that overflows is refused, too: what runs must be what is stored."""
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"the number {text[:20]} is too large")
    return number


_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse_constant, parse_float=_finite)


def parse_arguments(raw: str) -> tuple[dict[str, Any] | None, ArgumentsError | None, str]:
    """The object that `raw` holds, or the error that says why it holds none; and the text that was dropped for it."""
    start = len(raw) - len(raw.lstrip())
    text = raw.strip()
    dropped = ""
    if not text or text == "null":
        return {}, None, dropped
    try:
        if empty := _EMPTY_OBJECTS.match(text):
            dropped, start, text = empty[0].strip(), start + empty.end(), text[empty.end() :]
        value, end = _DECODER.raw_decode(text)
        if isinstance(value, str) and not text[end:].strip():
            value, end = _unwrap(value, text, end)
    except RecursionError:
        return None, ArgumentsError("malformed", f"nested deeper than {MAX_DEPTH} levels", start), ""
    except ValueError as cause:
        return None, _why(text, start, cause), ""
    if not isinstance(value, dict):
        return None, ArgumentsError("malformed", f"{_kind(value)}, expected one JSON object", start), ""
    rest = text[end:].strip()
    if not _DROPPED.fullmatch(rest):
        return None, ArgumentsError("malformed", f"more text after the object: {rest[:60]!r}", start + end), ""
    if text.count("{") + text.count("[") > MAX_DEPTH and json_depth(value) > MAX_DEPTH:
        return None, ArgumentsError("malformed", f"nested deeper than {MAX_DEPTH} levels", start), ""
    if "\\ud" in text or "\\uD" in text or has_surrogates(text):
        value = mend_surrogates(value)
    return value, None, dropped + rest


def _unwrap(inner: str, text: str, end: int) -> tuple[Any, int]:
    """An object written as a JSON string, unwrapped once; any other string stays what it is."""
    try:
        value, stop = _DECODER.raw_decode(inner.strip())
    except ValueError:
        return inner, end
    return (value, len(text)) if isinstance(value, dict) and stop == len(inner.strip()) else (inner, end)


def _why(text: str, start: int, cause: ValueError) -> ArgumentsError:
    verdict, position = classify(text)
    if verdict == "incomplete":
        return ArgumentsError("incomplete", "the text ends before the object is closed", start + len(text))
    if isinstance(cause, json.JSONDecodeError):
        position = cause.pos
    near = text[max(0, position - 20) : position + 20]
    detail = cause.msg if isinstance(cause, json.JSONDecodeError) else str(cause)
    return ArgumentsError("malformed", f"{detail} near {near!r}", start + position)


def _kind(value: Any) -> str:
    names = {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
