"""A recording in, its chunks for the page out, also while the recording is still being written."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from inkwire.inspector.growing import GrowingFile
from inkwire.inspector.page import ChunkWriter
from inkwire.inspector.trace import Step, Tracer
from inkwire.recording import Exchange

__all__ = ["Source"]

_FIRST_CHUNK, _CHUNK = 200, 1_000
"""Steps of the first chunk, which the page waits for, and of the others."""
_POLL_SECONDS = 0.1
_LONGEST_WAIT_SECONDS = 10.0


class Source:
    """The chunks of one recording, traced when they are first asked for, then kept.

    Given a file that grows (`live`), chunks follow it until `end()` is called.
    """

    def __init__(
        self, name: str, exchanges: Sequence[Exchange] | Path, *, live: bool = False, tracer: Tracer | None = None
    ) -> None:
        self.name = name
        self._file = GrowingFile(exchanges) if isinstance(exchanges, Path) else None
        self._exchanges: Sequence[Exchange] = () if isinstance(exchanges, Path) else exchanges
        self._live = live
        self._tracer = tracer or Tracer()
        self._writer = ChunkWriter(self._tracer)
        self._steps: Iterator[Step] = iter(())
        self._chunks: list[bytes] = []
        self._done = False
        self._lock = asyncio.Lock()

    def end(self) -> None:
        """The recording is whole: nothing more is written."""
        self._live = False

    def chunks(self) -> Iterator[bytes]:
        """All chunks, at once."""
        while (chunk := self._next()) is not None:
            yield chunk

    async def chunk(self, number: int) -> bytes:
        """Chunk `number` from 0; a live recording that has nothing new gives an empty one after a while."""
        waited = 0.0
        async with self._lock:
            while number >= len(self._chunks) and not self._done:
                if self._next() is None:
                    if waited >= _LONGEST_WAIT_SECONDS:
                        break
                    waited += _POLL_SECONDS
                    await asyncio.sleep(_POLL_SECONDS)
        return self._chunks[number] if number < len(self._chunks) else b'{"steps":[],"done":false}'

    def _next(self) -> bytes | None:
        """The next chunk; None when there is none, or none yet."""
        if self._done:
            return None
        limit = _CHUNK if self._chunks else _FIRST_CHUNK
        steps = list(islice(self._steps, limit))
        live = self._live
        if len(steps) < limit:
            if self._file is not None:
                self._exchanges = self._file.look(done=not live)
            self._steps = self._tracer.feed(self._exchanges, done=not live)
            steps += islice(self._steps, limit - len(steps))
        self._done = len(steps) < limit and not live
        if not steps and not self._done:
            return None
        chunk = self._writer.chunk(steps, self._exchanges, done=self._done)
        self._chunks.append(chunk)
        return chunk
