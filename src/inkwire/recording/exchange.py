"""What a recording is made of: exchanges, and their reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

__all__ = ["Exchange", "Read"]


class Read(msgspec.Struct, frozen=True):
    """One read of a body."""

    seconds: float
    """Since the request was sent."""
    data: bytes


class Exchange(msgspec.Struct, frozen=True):
    """One request and what came back; empty where it was not recorded."""

    reads: tuple[Read, ...] = ()
    status: int | None = None
    """None for a body alone, and where no answer came."""
    headers: Mapping[str, str] = {}
    """Of the response, names in lower case."""
    end: str = "eof"
    """`eof`; `lost`, the connection broke; `closed`, the client stopped reading; the kind of the error (`transport`,
    `timeout`) when no answer came; `unknown` where the recording itself ends first."""
    method: str = "POST"
    url: str = ""
    request_headers: Mapping[str, str] = {}
    request_body: bytes = b""
    number: int = 1
    """From 1, in the order of the requests."""
    protocol: str = ""
    """As the recording names it; empty where it does not, see `protocol_of`."""
    started: float | None = None
    """When the request was sent, in seconds since 1970; None where it is not known."""
    head_seconds: float = 0.0
    """From the request to the response's head."""
    run: int = 1
    """Which run of the program recorded it, from 1; a later run says that an earlier one is over."""
    timed: bool = True
    """False where the reads are no reads and have no times: the body is one piece."""

    @property
    def body(self) -> bytes:
        """The whole body."""
        return b"".join(read.data for read in self.reads)

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools that the request offered, in any protocol's form."""
        request = self.request
        return tuple(_tool_names(request.get("tools") or request.get("toolConfig") or ()))

    @property
    def request(self) -> Mapping[str, Any]:
        """The request's body as an object; empty when it is none."""
        try:
            request = json.loads(self.request_body)
        except (ValueError, RecursionError):
            return {}
        return request if isinstance(request, dict) else {}


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
