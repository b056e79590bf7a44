"""What one model call is made of, fixed before its first attempt."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

import msgspec

from inkwire.assembler import Limits
from inkwire.messages import Timeouts
from inkwire.protocols.base import DecodeOptions, WireProtocol
from inkwire.transport.base import HTTPRequest

__all__ = ["Call", "Sign", "Timings"]

Sign: TypeAlias = Callable[[str, str, Mapping[str, str], bytes], dict[str, str]]
"""(method, url, headers, body) -> the headers that sign the request; may block."""


class Call(msgspec.Struct, frozen=True):
    """One call: the same body and idempotency key on each attempt."""

    name: str
    """`provider/model`, for the log."""
    request: HTTPRequest
    timeouts: Timeouts
    sign: Sign | None
    wire: WireProtocol
    options: DecodeOptions
    tools: tuple[str, ...]
    provider: str
    model: str
    limits: Limits
    raw: bool
    retries: int
    restarts: int
    id_seed: str
    sleep: Callable[[float], Awaitable[None]]
    random: Callable[[], float]
    now: Callable[[], float]


class Timings:
    """When things happened, in seconds of `time.monotonic`; None while they have not."""

    def __init__(self) -> None:
        self.started: float | None = None
        self.head: float | None = None
        self.first_event: float | None = None
        self.ended: float | None = None
