"""What one model call is made of, fixed before its first attempt; and what follows an attempt that failed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

import msgspec

from inkwire.errors import ModelError, ProtocolError
from inkwire.limits import Limits
from inkwire.messages import Timeouts
from inkwire.pipeline import Pipeline
from inkwire.protocols.base import DecodeOptions, WireProtocol
from inkwire.protocols.service_errors import request_id_of
from inkwire.transport.base import HTTPRequest
from inkwire.transport.retry import Retry, decide
from inkwire.transport.secrets import scrubbed

__all__ = ["Attempts", "Call", "Sign", "Timings"]

Sign: TypeAlias = Callable[[str, str, Mapping[str, str], bytes], dict[str, str]]
"""(method, url, headers, body) -> the headers that sign the request; may block."""


class Call(msgspec.Struct, frozen=True):
    """One call: the same body and idempotency key on each attempt."""

    name: str
    """`provider/model`, for the log."""
    request: HTTPRequest
    key: str | None
    """What must not be seen in any error's text."""
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

    def pipeline(self, content_type: str = "") -> Pipeline:
        """The pipeline of one attempt."""
        return Pipeline(
            self.wire,
            self.options,
            tools=self.tools,
            limits=self.limits,
            content_type=content_type,
            provider=self.provider,
            model=self.model,
            id_seed=self.id_seed,
            raw=self.raw,
        )


class Attempts:
    """Counts a call's attempts, and decides after each that failed."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._retried = self._restarted = 0
        self.number = 0
        """Of the attempt that is made now, from 1."""

    def after(
        self, error: ModelError, headers: Mapping[str, str], *, committed: bool, seconds_left: float
    ) -> Retry | None:
        """The wait before the next attempt, or None to raise. Puts on the error what the attempt knows.

        Retries count before the answer began (`committed`), restarts after; a wait that ends after the call's time
        (`seconds_left`) is not begun.
        """
        call = self._call
        error.request_id = error.request_id or request_id_of(headers)
        error.committed = committed
        _scrub(error, call.key)
        used, allowed = (self._restarted, call.restarts) if committed else (self._retried, call.retries)
        if used >= allowed:
            return None
        again = decide(error, headers, used, now=call.now, random=call.random)
        if again is None or again.delay_seconds >= seconds_left:
            return None
        if committed:
            self._restarted += 1
        else:
            self._retried += 1
        return again


def _scrub(error: ModelError, key: str | None) -> None:
    """Some services quote the key that they refuse."""
    error.message = scrubbed(error.message, key)
    error.args = (error.message,)
    if isinstance(error, ProtocolError):
        error.excerpt = scrubbed(error.excerpt, key)


class Timings:
    """When things happened, in seconds of `time.monotonic`; None while they have not."""

    def __init__(self) -> None:
        self.started: float | None = None
        self.head: float | None = None
        self.first_event: float | None = None
        self.ended: float | None = None
