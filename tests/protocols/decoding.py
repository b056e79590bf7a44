"""Payloads of one protocol in; its fragments, or the message that they make, out."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from inkwire.assembler import Assembler
from inkwire.errors import ModelError
from inkwire.events import MessageEnd
from inkwire.fragments import Fragment
from inkwire.framing.frame import Frame
from inkwire.messages import AssistantMessage
from inkwire.protocols.base import DecodeOptions, Quirks, WireProtocol

__all__ = ["assembled", "fragments_of"]


def fragments_of(
    wire: WireProtocol, payloads: Iterable[Any], *, tolerant: bool = False, quirks: Quirks | None = None
) -> list[Fragment]:
    """What the decoder says of each payload: a value as JSON, bytes as they are, a pair as (event name, payload)."""
    decoder = wire.decoder(DecodeOptions(quirks or Quirks(), tolerant))
    found: list[Fragment] = []
    for payload in payloads:
        event, value = payload if isinstance(payload, tuple) else ("", payload)
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        found += decoder.feed(Frame(data, event))
    return [*found, *decoder.finish()]


def assembled(
    wire: WireProtocol, payloads: Iterable[Any], quirks: Quirks | None = None
) -> tuple[AssistantMessage, ModelError | None]:
    """The message, or what had arrived with the error that ended the stream."""
    assembler = Assembler(protocol=wire.name)
    events = [*assembler.feed(fragments_of(wire, payloads, quirks=quirks)), *assembler.finish()]
    if assembler.error is not None:
        return assembler.partial(), assembler.error
    end = events[-1]
    assert isinstance(end, MessageEnd)
    return end.message, None
