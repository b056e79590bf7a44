"""The real pipeline, which also notes what each frame became."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from inkwire.assembler import Assembler
from inkwire.events import Event
from inkwire.fragments import Fragment
from inkwire.framing.frame import Frame
from inkwire.inspector.code import LineWatch
from inkwire.pipeline import Pipeline
from inkwire.protocols.base import Decoder, WireProtocol

__all__ = ["Decoded", "WatchedPipeline"]


class Decoded(msgspec.Struct, frozen=True):
    """A frame, what its decoder reported, and the events that came of it."""

    frame: Frame
    fragments: Sequence[Fragment]
    events: Sequence[Event]
    lines: int | None
    """The set of lines that ran, the framing's included."""


class WatchedPipeline(Pipeline):
    """Reads like any pipeline; `take()` gives what was decoded since the last call."""

    def __init__(self, protocol: WireProtocol, *, watch: LineWatch | None = None, **options: Any) -> None:
        super().__init__(protocol, **options)
        self._watch = watch
        self._spy = _Spy(self._decoder)
        self._decoder = self._spy
        self._decoded: list[Decoded] = []

    @property
    def assembler(self) -> Assembler:
        """What holds the message while it arrives."""
        return self._assembler

    @property
    def framing(self) -> str:
        """The kind of the body's framing, empty until its first bytes tell."""
        return "" if self._framer is None else _KINDS.get(type(self._framer).__name__, "")

    @property
    def held_back(self) -> Sequence[Fragment]:
        """What the decoder said at the end of the body."""
        return self._spy.held_back

    def take(self) -> list[Decoded]:
        """What each frame became, in order; given once."""
        decoded, self._decoded = self._decoded, []
        return decoded

    def _read(self, frames: Sequence[Frame], out: list[Event]) -> None:
        for frame in frames:
            shown = len(out)
            self._spy.said = ()
            super()._read((frame,), out)
            lines = self._watch.take() if self._watch else None
            self._decoded.append(Decoded(frame, self._spy.said, tuple(out[shown:]), lines))
            if self.ended:
                return


class _Spy:
    """A decoder that keeps what it said last."""

    def __init__(self, decoder: Decoder) -> None:
        self._inner = decoder
        self.said: Sequence[Fragment] = ()
        self.held_back: Sequence[Fragment] = ()

    def feed(self, frame: Frame) -> Sequence[Fragment]:
        """What the decoder says of the frame."""
        self.said = self._inner.feed(frame)
        return self.said

    def finish(self) -> Sequence[Fragment]:
        """What the decoder held back."""
        self.held_back = self._inner.finish()
        return self.held_back


_KINDS = {
    "SSEFramer": "sse",
    "NDJSONFramer": "ndjson",
    "JSONDocumentFramer": "json",
    "EventStreamFramer": "eventstream",
}
