"""What the client needs of a network: one request out, one response in, read by read.

Small on purpose, so that a recording, a fault or another HTTP client can stand in its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec

from inkwire.messages import Timeouts

__all__ = ["Body", "HTTPRequest", "Response", "Transport"]


class HTTPRequest(msgspec.Struct, frozen=True):
    """A request with everything filled in."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes


class Body(Protocol):
    """A response's body; a plain iterator, so that nothing has to be closed in the task that opened it."""

    async def read(self) -> bytes:
        """The bytes that have arrived, at least one; b"" at the end.

        Raises `TransportError` when the connection is lost, or what `fail` was given.
        """

    def fail(self, error: Exception) -> None:
        """End a pending read with this error, now; later reads raise it, too."""

    def abort(self) -> None:
        """Give the connection up without awaiting; idempotent."""


class Response(Protocol):
    """A response's head, and its body."""

    @property
    def status(self) -> int:
        """The HTTP status."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, names in lower case."""

    @property
    def body(self) -> Body:
        """The body, of which nothing is read yet."""


class Transport(Protocol):
    """Sends requests."""

    async def send(self, request: HTTPRequest, timeouts: Timeouts) -> Response:
        """The response as soon as its head is whole.

        Raises `TransportError`, or `ModelTimeoutError` with timer `connect` or `head`.
        """

    async def aclose(self) -> None:
        """Close all connections; idempotent."""
