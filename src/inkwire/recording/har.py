"""A browser's HAR export in, the exchanges with models in it out. Source: the HAR 1.2 specification."""

from __future__ import annotations

import base64
import json

import msgspec

from inkwire.errors import ConfigurationError
from inkwire.recording.exchange import Exchange, Read
from inkwire.recording.keys import url_without_keys, without_keys
from inkwire.recording.protocol import protocol_of_url

__all__ = ["read_har"]


class _Header(msgspec.Struct):
    name: str = ""
    value: str = ""


class _Content(msgspec.Struct, rename={"mime_type": "mimeType"}):
    text: str | None = None
    encoding: str | None = None
    mime_type: str | None = None


class _Posted(msgspec.Struct):
    text: str | None = None


class _Request(msgspec.Struct, rename={"posted": "postData"}):
    method: str = "POST"
    url: str = ""
    headers: list[_Header] = []
    posted: _Posted | None = None


class _Response(msgspec.Struct):
    status: int | None = None
    headers: list[_Header] = []
    content: _Content | None = None


class _Entry(msgspec.Struct):
    request: _Request = msgspec.field(default_factory=_Request)
    response: _Response | None = None


def read_har(data: bytes) -> list[Exchange] | None:
    """The answers of a HAR 1.2 export; None when the document is none.

    A page's export holds its pictures and scripts, too: where any entry was asked at a model's address or is a
    stream, only such entries count.
    """
    try:
        # The standard library's reader takes halves of surrogate pairs, which browsers write.
        entries = msgspec.convert(json.loads(data)["log"]["entries"], list[_Entry], strict=False)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    answers = [exchange for entry in entries if (exchange := _of_har_entry(entry)).body]
    if not answers:
        raise ConfigurationError("the HAR export holds no answer: in the browser, save it together with its content")
    chosen = [each for each in answers if _is_of_a_model(each)] or answers
    return [msgspec.structs.replace(each, number=number) for number, each in enumerate(chosen, 1)]


def _is_of_a_model(exchange: Exchange) -> bool:
    content_type = exchange.headers.get("content-type", "")
    is_stream = any(kind in content_type for kind in ("event-stream", "eventstream", "ndjson"))
    return is_stream or protocol_of_url(exchange.url) is not None


def _of_har_entry(entry: _Entry) -> Exchange:
    request, response = entry.request, entry.response or _Response()
    content = response.content or _Content()
    headers = _har_headers(response.headers)
    if content.mime_type:
        headers.setdefault("content-type", content.mime_type)
    return Exchange(
        reads=(Read(0.0, _har_body(content)),),
        status=response.status or None,
        headers=headers,
        method=request.method,
        url=url_without_keys(request.url),
        request_headers=_har_headers(request.headers),
        request_body=_encoded(request.posted.text if request.posted else None),
        timed=False,
    )


def _har_body(content: _Content) -> bytes:
    if content.encoding != "base64":
        return _encoded(content.text)
    try:
        return base64.b64decode(content.text or "")
    except ValueError:
        return b""


def _har_headers(headers: list[_Header]) -> dict[str, str]:
    return without_keys({header.name.lower(): header.value for header in headers})


def _encoded(text: str | None) -> bytes:
    return (text or "").encode("utf-8", "surrogatepass")
