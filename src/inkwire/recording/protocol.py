"""An exchange in, the protocol that it speaks out."""

from __future__ import annotations

import re

from inkwire.errors import ModelError
from inkwire.framing.base import Framer
from inkwire.framing.document import JSONDocumentFramer
from inkwire.framing.eventstream import EventStreamFramer
from inkwire.framing.frame import Frame
from inkwire.framing.ndjson import NDJSONFramer
from inkwire.framing.sniff import sniff
from inkwire.framing.sse import SSEFramer
from inkwire.protocols.detect import detect
from inkwire.recording.exchange import Exchange

__all__ = ["is_protocol_told", "protocol_of", "protocol_of_url"]

_LOOK_BYTES = 256 * 1024
"""How much of a body is looked at to tell its protocol."""
_PATHS = (
    (re.compile(r"/chat/completions$"), "chat"),
    (re.compile(r"/responses$"), "responses"),
    (re.compile(r"/messages$"), "anthropic"),
    (re.compile(r":(?:streamG|g)enerateContent$"), "gemini"),
    (re.compile(r"/api/chat$"), "ollama"),
    (re.compile(r"/converse(?:-stream)?$"), "bedrock"),
)


def protocol_of(exchange: Exchange) -> str:
    """The protocol of an exchange: as recorded, by its address, by the body's first payloads; in doubt, chat."""
    return _told(exchange) or "chat"


def is_protocol_told(exchange: Exchange) -> bool:
    """Whether its address or what has come of its body tells the protocol."""
    return _told(exchange) is not None


def _told(exchange: Exchange) -> str | None:
    if told := exchange.protocol or protocol_of_url(exchange.url):
        return told
    body = exchange.body[:_LOOK_BYTES]
    kind = sniff(body, exchange.headers.get("content-type", ""), ndjson=False, at_end=True)
    framers: dict[str, type[Framer]] = {"sse": SSEFramer, "json": NDJSONFramer, "eventstream": EventStreamFramer}
    for framer in (framers.get(kind or "sse", SSEFramer), JSONDocumentFramer):
        for frame in _peek(framer(), body):
            if (name := detect(frame)) is not None:
                return name
    return None


def protocol_of_url(url: str) -> str | None:
    """The protocol that is spoken at an address; None when its path says nothing."""
    path = re.split(r"[?#]", url, maxsplit=1)[0].rstrip("/")
    return next((name for pattern, name in _PATHS if pattern.search(path)), None)


def _peek(framer: Framer, body: bytes) -> list[Frame]:
    try:
        return [*framer.feed(body), *framer.finish()]
    except ModelError:
        return []
