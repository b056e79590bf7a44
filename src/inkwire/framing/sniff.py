"""The first bytes of a body in, the name of its framing out.

Content types lie: event streams come as text/plain or without a type, log-in pages as text/event-stream, JSON errors
under any of them. So the bytes decide, and the header only breaks ties: an event stream may open with lines that are
no fields, but only where the header announces one.

The answer for a prefix of a body is either "not yet" or what every longer prefix gives, so that cuts cannot matter.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias
from zlib import crc32

from inkwire.framing.eventstream import PRELUDE_BYTES, prelude_is_plausible

__all__ = ["Framing", "sniff"]

Framing: TypeAlias = Literal["sse", "ndjson", "json", "eventstream", "html", "text"]

_BOM: Final = b"\xef\xbb\xbf"
_BLANK: Final = b" \t\r\n"
_FIELDS: Final = (b"data", b"event", b"id", b"retry")
_LINE_END: Final = re.compile(rb"[\r\n]")

_SEARCHED_BYTES: Final = 4096
"""How far into an announced event stream its first field may be."""

_LARGEST_FIRST_BYTE: Final = 8
"""A binary message starts with its length; 8 here is 128 MiB, and no text starts with such a control character."""


def sniff(head: bytes, content_type: str = "", *, ndjson: bool = False, at_end: bool = False) -> Framing | None:
    """Name the framing of a body by all of its bytes so far; None means that more are needed.

    `ndjson` says that the protocol's payloads are lines of JSON. `at_end` says that no more bytes come: then
    only a body of nothing but white space gives None. `html` and `text` are bodies that no framer reads.
    """
    announced = content_type.partition(";")[0].strip().lower()
    if head[:1] and head[0] <= _LARGEST_FIRST_BYTE:
        return _binary(head, announced == "application/vnd.amazon.eventstream", at_end)
    if _BOM.startswith(head) and not at_end:
        return None
    text = head.removeprefix(_BOM).lstrip(_BLANK)
    match text[:1]:
        case b"":
            return None
        case b"<":
            return "html"
        case b"[":
            return "json"
        case b"{":
            return _object(text, at_end) if ndjson else "json"
        case _:
            return _lines(text[:_SEARCHED_BYTES], announced == "text/event-stream", at_end)


def _binary(head: bytes, announced: bool, at_end: bool) -> Framing | None:
    if len(head) < PRELUDE_BYTES:
        if at_end:
            return "eventstream" if announced else "text"
        return None
    right = crc32(head[:8]) == int.from_bytes(head[8:12], "big")
    return "eventstream" if right or (announced and prelude_is_plausible(head)) else "text"


def _object(text: bytes, at_end: bool) -> Framing | None:
    """A line of JSON never ends after its first brace: then it is a document printed over lines, as errors are."""
    after = text[1:_SEARCHED_BYTES].lstrip(b" \t")[:1]
    if not after and not at_end and len(text) < _SEARCHED_BYTES:
        return None
    return "json" if after in (b"\r", b"\n") else "ndjson"


def _lines(text: bytes, announced: bool, at_end: bool) -> Framing | None:
    """Look for a line that is a field or a comment: the first one, or any early one of an announced event stream."""
    at = 0
    while True:
        end = _LINE_END.search(text, at)
        line = text[at : end.start() if end else len(text)]
        if _is_field(line, whole=end is not None or at_end):
            return "sse"
        if end is None:
            break
        if not announced and line:
            return "text"
        at = end.end()
    may_grow = len(text) < _SEARCHED_BYTES and not at_end
    return None if may_grow and (announced or _may_be_field(line)) else "text"


def _is_field(line: bytes, *, whole: bool) -> bool:
    name, colon, _ = line.partition(b":")
    if colon:
        return not name or name in _FIELDS
    return whole and name in _FIELDS


def _may_be_field(line: bytes) -> bool:
    return any(field.startswith(line) for field in _FIELDS)
