"""A recording in, the exchanges that it holds out: what was asked, what was answered, and when each read came.

One JSON object a line, appended while things happen:

    {"inkwire_recording":1,"created":…}                                        the first line
    {"exchange":1,"kind":"request","at":…,"method":…,"url":…,"headers":{…},"body":…}
    {"exchange":1,"kind":"response","t":0.21,"status":200,"headers":{…}}
    {"exchange":1,"kind":"read","t":0.25,"text":…}      or "b64" where the bytes are no UTF-8
    {"exchange":1,"kind":"end","t":1.9,"how":"eof"}     eof, lost, closed

`t` is in seconds since the request. Keys are not in it. A torn last line is left out. A browser's HAR export, what
`curl -i` printed and a plain body are read as recordings, too; they have no times.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from inkwire.captured import read_captured
from inkwire.errors import ConfigurationError, ModelError
from inkwire.framing.base import Framer
from inkwire.framing.document import JSONDocumentFramer
from inkwire.framing.eventstream import EventStreamFramer
from inkwire.framing.frame import Frame
from inkwire.framing.ndjson import NDJSONFramer
from inkwire.framing.sniff import sniff
from inkwire.framing.sse import SSEFramer
from inkwire.protocols.detect import detect

__all__ = ["FORMAT", "Exchange", "Read", "protocol_of", "read_recording"]

FORMAT = "inkwire_recording"
_LOOK_BYTES = 256 * 1024
"""How much of a body is looked at to tell its protocol."""


class Read(msgspec.Struct, frozen=True):
    """One read of a body."""

    seconds: float
    """Since the request was sent."""
    data: bytes


class Exchange(msgspec.Struct, frozen=True):
    """One request and what came back; empty where it was not recorded."""

    reads: tuple[Read, ...] = ()
    status: int | None = None
    headers: Mapping[str, str] = {}
    """Of the response, names in lower case."""
    end: str = "eof"
    """`eof`, `lost`, `closed`, or `unknown` where the recording itself ends first."""
    method: str = "POST"
    url: str = ""
    request_headers: Mapping[str, str] = {}
    request_body: bytes = b""

    @property
    def body(self) -> bytes:
        """The whole body."""
        return b"".join(read.data for read in self.reads)

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools that the request offered, in any protocol's form."""
        try:
            request = json.loads(self.request_body)
        except ValueError:
            return ()
        return tuple(_tool_names(request.get("tools") or request.get("toolConfig") or ())) if request else ()


def read_recording(data: bytes) -> list[Exchange]:
    """The exchanges of a recording, a HAR export, a `curl -i` output or a plain body.

    Raises `ConfigurationError` for a HAR export that holds no answer.
    """
    start = data.lstrip()[:200]
    if start.startswith(b"{") and f'"{FORMAT}"'.encode() in start:
        return list(_of_lines(data))
    if start.startswith(b"{") and b'"log"' in start and (found := _of_har(data)) is not None:
        return found
    captured = read_captured(data)
    return [Exchange((Read(0.0, captured.body),), captured.status, captured.headers)]


def protocol_of(exchange: Exchange) -> str:
    """The protocol that the body's first payloads speak; without any that tells, chat."""
    body = exchange.body[:_LOOK_BYTES]
    kind = sniff(body, exchange.headers.get("content-type", ""), ndjson=False, at_end=True)
    framers: dict[str, type[Framer]] = {"sse": SSEFramer, "json": NDJSONFramer, "eventstream": EventStreamFramer}
    for framer in (framers.get(kind or "sse", SSEFramer), JSONDocumentFramer):
        for frame in _peek(framer(), body):
            if (name := detect(frame)) is not None:
                return name
    return "chat"


def _peek(framer: Framer, body: bytes) -> list[Frame]:
    try:
        return [*framer.feed(body), *framer.finish()]
    except ModelError:
        return []


def _tool_names(value: Any) -> Iterator[str]:
    """Every `name` beside a tool's description or schema, however deep."""
    if isinstance(value, list):
        for item in value:
            yield from _tool_names(item)
    elif isinstance(value, dict):
        if isinstance(name := value.get("name"), str):
            yield name
        else:
            for item in value.values():
                yield from _tool_names(item)


def _of_lines(data: bytes) -> Iterator[Exchange]:
    open_exchanges: dict[int, list[dict[str, Any]]] = {}
    for line in data.split(b"\n"):
        try:
            entry = json.loads(line)
        except ValueError:
            continue  # a torn last line
        if isinstance(entry, dict) and "exchange" in entry:
            open_exchanges.setdefault(entry["exchange"], []).append(entry)
    for entries in open_exchanges.values():
        yield _exchange(entries)


def _exchange(entries: list[dict[str, Any]]) -> Exchange:
    def first(kind: str) -> dict[str, Any]:
        return next((entry for entry in entries if entry.get("kind") == kind), {})

    request, response = first("request"), first("response")
    return Exchange(
        reads=tuple(Read(entry.get("t", 0.0), _bytes(entry)) for entry in entries if entry.get("kind") == "read"),
        status=response.get("status"),
        headers=response.get("headers", {}),
        end=first("end").get("how", "unknown"),
        method=request.get("method", "POST"),
        url=request.get("url", ""),
        request_headers=request.get("headers", {}),
        request_body=request.get("body", "").encode("utf-8", "surrogatepass"),
    )


def _bytes(entry: Mapping[str, Any]) -> bytes:
    return base64.b64decode(entry["b64"]) if "b64" in entry else str(entry.get("text", "")).encode()


def _of_har(data: bytes) -> list[Exchange] | None:
    """The answers of a HAR 1.2 export; None when the document is none. Source: the HAR 1.2 specification."""
    try:
        entries = json.loads(data)["log"]["entries"]
    except (ValueError, KeyError, TypeError):
        return None
    found = [_of_har_entry(entry) for entry in entries if isinstance(entry, dict) and entry.get("response")]
    if not found:
        raise ConfigurationError("the HAR export holds no answer: in the browser, save it together with its content")
    return found


def _of_har_entry(entry: Mapping[str, Any]) -> Exchange:
    request, response = entry.get("request", {}), entry["response"]
    content = response.get("content", {})
    text = content.get("text", "")
    body = base64.b64decode(text) if content.get("encoding") == "base64" else text.encode("utf-8", "surrogatepass")
    return Exchange(
        reads=(Read(entry.get("time", 0) / 1000, body),),
        status=response.get("status"),
        headers=_har_headers(response),
        method=request.get("method", "POST"),
        url=request.get("url", ""),
        request_body=request.get("postData", {}).get("text", "").encode("utf-8", "surrogatepass"),
    )


def _har_headers(part: Mapping[str, Any]) -> dict[str, str]:
    return {header["name"].lower(): header["value"] for header in part.get("headers", ()) if "name" in header}
