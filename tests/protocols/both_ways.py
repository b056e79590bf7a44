"""A decoder with a fast way in; what both its ways say of every stream of its protocol, out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from inkwire.fragments import FailureFragment, Fragment
from inkwire.framing.frame import Frame
from inkwire.framing.sse import SSEFramer
from inkwire.protocols.base import DecodeOptions
from tests.streams import Stream, all_streams, case_streams

__all__ = ["both_ways", "streams_of"]


class FastDecoder(Protocol):
    """A decoder whose fast way can be switched off."""

    fast: bool

    def feed(self, frame: Frame) -> Sequence[Fragment]: ...

    def finish(self) -> Sequence[Fragment]: ...


def streams_of(protocol: str) -> Iterator[Stream]:
    """Every golden stream and every case of it."""
    yield from (stream for stream in all_streams() + case_streams() if stream.protocol == protocol)


def both_ways(stream: Stream, make: Callable[[DecodeOptions], FastDecoder]) -> tuple[list[Any], list[Any]]:
    """The fragments of the fast way and those of the general way, comparable."""
    options = DecodeOptions(stream.quirks, stream.tolerant)
    fast, general = make(options), make(options)
    general.fast = False
    return _read(fast, stream.body), _read(general, stream.body)


def _read(decoder: FastDecoder, body: bytes) -> list[Any]:
    framer = SSEFramer()
    found: list[Fragment] = []
    for frame in [*framer.feed(body), *framer.finish()]:
        found += decoder.feed(frame)
    found += decoder.finish()
    # An error is no value: two of the same words are not equal.
    return [repr(item.error) if isinstance(item, FailureFragment) else item for item in found]
