"""Requests in, the number of the exchange that each one gets out.

A request gets, of the exchanges in its protocol (and of its kind, streamed or not; a stream that was asked for may also
get what was recorded instead of one), in this order: the next one that
was recorded with the very same body; the one that the same body got before, if that answer was broken on purpose,
because the client asks again; the next one. After the last: the one that the same body got before, or with `loop` all
over again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from inkwire.recording import Exchange, protocol_of, protocol_of_url
from inkwire.replay.plan import content_type_of

__all__ = ["Choice", "wants_stream"]


class Choice:
    """Remembers what was served."""

    def __init__(self, exchanges: Sequence[Exchange], *, loop: bool = False) -> None:
        self._exchanges = exchanges
        self._loop = loop
        self._protocols = [protocol_of(each) for each in exchanges]
        self._streams = [_is_stream(each) for each in exchanges]
        self._bodies = [_normal(each.request_body) for each in exchanges]
        self._served: set[int] = set()
        self._given: dict[str, int] = {}
        self._broken: set[str] = set()

    def choose(self, path: str, body: bytes) -> int | str:
        """The position of the exchange, or why there is none in words."""
        protocol = protocol_of_url(path)
        spoken = sorted(set(self._protocols))
        if protocol not in spoken:
            return f"the recording holds {' and '.join(spoken)}; nothing in it answers {path}"
        fitting = [at for at, name in enumerate(self._protocols) if name == protocol]
        is_stream = wants_stream(protocol, path, body)
        alike = [at for at in fitting if self._streams[at] in (is_stream, None)]
        if not alike and not is_stream:
            return "the recording holds streams; ask with stream: true in the JSON body"
        chosen = self._of(alike or fitting, _normal(body))
        return chosen if chosen is not None else "every exchange of the recording has been served; --loop starts again"

    def was_broken(self, body: bytes) -> None:
        """The answer to this body was broken on purpose: who asks again gets the same exchange."""
        self._broken.add(_normal(body))

    def _of(self, candidates: Sequence[int], body: str) -> int | None:
        left = [at for at in candidates if at not in self._served]
        same = [at for at in left if self._bodies[at] == body]
        before = self._given.get(body)
        if same:
            chosen: int | None = same[0]
        elif before is not None and body in self._broken:
            chosen = before
        elif left:
            chosen = left[0]
        elif self._loop and before is None:
            self._served -= set(candidates)
            chosen = candidates[0]
        else:
            chosen = before
        self._broken.discard(body)
        if chosen is not None:
            self._served.add(chosen)
            self._given[body] = chosen
        return chosen


def wants_stream(protocol: str, path: str, body: bytes) -> bool:
    """Whether a request asks for a stream."""
    if protocol in ("gemini", "bedrock"):
        return "stream" in path.rsplit("/", 1)[-1]
    request = _object(body)
    return request.get("stream", protocol == "ollama") is True


def _is_stream(exchange: Exchange) -> bool | None:
    """Whether the exchange answers with a stream; None for a refusal, which fits any request."""
    if exchange.status is not None and exchange.status >= 300:
        return None
    content_type = content_type_of(exchange)
    return any(kind in content_type for kind in ("event-stream", "eventstream", "ndjson")) or not exchange.body


def _normal(body: bytes) -> str:
    request = _object(body)
    return json.dumps(request, sort_keys=True) if request else body.decode("latin-1")


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
