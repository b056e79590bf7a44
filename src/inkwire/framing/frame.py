"""The one value every framing gives: a payload with what the wire said around it."""

from __future__ import annotations

import msgspec


class Frame(msgspec.Struct, frozen=True, gc=False):
    """One payload of a stream: a server-sent event, an NDJSON line, a JSON document or a binary event.

    Source: WHATWG HTML, section 9.2.6 for the four fields of a server-sent event.
    """

    data: bytes
    """The payload, undecoded. For SSE the data lines joined by LF."""
    event: str = ""
    """The event's name; empty where the wire gave none (SSE's default name `message` is not written out)."""
    id: str = ""
    """SSE's last event id at dispatch."""
    retry: int | None = None
    """The reconnection time in milliseconds of the event's own block, if it had one."""

    stray: bytes = b""
    """Lines since the frame before that were no field (SSE) and look like a lost payload; the first 4 KiB."""

    @property
    def text(self) -> str:
        """The payload as UTF-8, bytes that are none replaced by U+FFFD."""
        return self.data.decode("utf-8", "replace")
