"""A decoder with a fast way in; what both its ways say of every stream of its protocol, out."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from inkwire.fragments import FailureFragment, Fragment
from inkwire.framing.frame import Frame
from inkwire.framing.sse import SSEFramer
from inkwire.protocols.base import DecodeOptions
from tests.streams import Stream, all_streams, case_streams

__all__ = ["both_ways", "mutations", "streams_of"]

_ODD_VALUES: tuple[Any, ...] = (None, "", 0, 1, -1, True, [], {}, "x", [{}], [None], {"type": "text"}, "null", 3.5)


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


def mutations(stream: Stream, count: int) -> Iterator[Stream]:
    """The stream with payloads changed, doubled, dropped or swapped; the same ones every time."""
    chance = random.Random(stream.name)
    frames = SSEFramer().feed(stream.body)
    try:
        payloads = [json.loads(frame.data) for frame in frames]
    except ValueError:
        return
    for _ in range(count if payloads else 0):
        changed = list(payloads)
        for _ in range(chance.randint(1, 3)):
            at, other = chance.randrange(len(changed)), chance.randrange(len(changed))
            match chance.randrange(6):
                case 0:
                    changed.insert(at, changed[other])
                case 1 if len(changed) > 1:
                    del changed[at]
                case 2:
                    changed[at], changed[other] = changed[other], changed[at]
                case _:
                    changed[at] = _odd(changed[at], chance)
        body = b"".join(b"data: " + json.dumps(payload).encode() + b"\n\n" for payload in changed)
        yield dataclasses.replace(stream, body=body)


def _odd(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict) and value:
        name = chance.choice(sorted(value))
        rest = {key: item for key, item in value.items() if key != name}
        match chance.randrange(4):
            case 0:
                return rest
            case 1:
                return {**rest, name: chance.choice(_ODD_VALUES)}
            case _:
                return {**rest, name: _odd(value[name], chance)}
    if isinstance(value, list) and value:
        at = chance.randrange(len(value))
        return [*value[:at], _odd(value[at], chance), *value[at + 1 :]]
    return chance.choice(_ODD_VALUES)
