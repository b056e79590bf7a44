"""The pipeline wired up: a request in, the events of one answer out, over every provider.

    async with Client() as client:
        async with client.stream(request) as stream:
            async for event in stream: ...
        message = stream.message

An attempt commits when its first text, reasoning or tool event is handed out. Before that it may be retried; what it
warned of is held back until then, so that nothing is shown twice. After that the stream raises with the
partial message, or, with `restarts`, says `stream_reset` and asks again from the start.
"""

from __future__ import annotations

import asyncio
import os
import random as chance
import time
import weakref
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

import msgspec

from inkwire import protocols
from inkwire.call import Call
from inkwire.errors import ClosedError
from inkwire.limits import Limits
from inkwire.messages import AssistantMessage, Request
from inkwire.projection import project
from inkwire.protocols.base import DecodeOptions, EncodedRequest
from inkwire.protocols.requests import merge
from inkwire.providers.base import Target
from inkwire.stream import ModelStream
from inkwire.transport.base import HTTPRequest, Transport
from inkwire.transport.cassette import RecordingTransport
from inkwire.transport.http import HTTPTransport
from inkwire.version import __version__

__all__ = ["Client", "ModelStream"]


class Client:
    """Asks models; one pool of connections, any number of streams at a time.

    `record` names a file that every exchange is appended to, without keys (see `inkwire.recording`).
    `resolve` turns `provider/model` into a target; by default the catalog and the environment do. `retries` and
    `restarts` count the attempts after the first, before and after the answer began. `sleep`, `random` and `now` are
    asyncio's sleep, chance in [0, 1) and seconds since the epoch; tests give their own.
    """

    def __init__(
        self,
        *,
        transport: Transport | None = None,
        record: Path | str | None = None,
        resolve: Callable[[str], Target] | None = None,
        retries: int = 2,
        restarts: int = 0,
        limits: Limits = Limits(),  # noqa: B008 - a frozen value
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Callable[[], float] = chance.random,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._transport: Transport = transport or HTTPTransport()
        if record is not None:
            self._transport = RecordingTransport(self._transport, record)
        self._resolve = resolve or _from_environment
        self._retries, self._restarts = retries, restarts
        self._limits = limits
        self._sleep, self._random, self._now = sleep, random, now
        self._open: weakref.WeakSet[ModelStream] = weakref.WeakSet()
        self._closed = False
        self._signer: Any = None

    def stream(
        self, request: Request, *, restarts: int | None = None, tolerant: bool = False, raw: bool = False
    ) -> ModelStream:
        """One answer as a stream of events; nothing is sent before it is iterated.

        Raises `ConfigurationError` when the request cannot be made, `ClosedError` on a closed client. Iterating raises
        a `ModelError` when the call fails. `raw` puts each payload of the wire before our events that come of it.
        """
        if self._closed:
            raise ClosedError("the client is closed; make a new one")
        target = self._resolve(request.model)
        wire = protocols.get(target.protocol)
        history = project(
            request.messages,
            provider=target.provider,
            model=target.model,
            protocol=target.protocol,
            rules=wire.history,
            quirks=target.quirks,
        )
        encoded = wire.encode(msgspec.structs.replace(request, messages=history), target.model, target.quirks)
        call = Call(
            name=f"{target.provider}/{target.model}",
            request=_http_request(target, request, encoded),
            key=target.key,
            timeouts=request.timeouts,
            sign=self._sign if target.auth == "sigv4" else None,
            wire=wire,
            options=DecodeOptions(target.quirks, tolerant),
            tools=tuple(tool.name for tool in request.tools),
            provider=target.provider,
            model=target.model,
            limits=self._limits,
            raw=raw,
            retries=self._retries,
            restarts=self._restarts if restarts is None else restarts,
            id_seed=uuid4().hex[:12] + "_",
            sleep=self._sleep,
            random=self._random,
            now=self._now,
        )
        return ModelStream(call, self._transport, self._open)

    async def complete(self, request: Request) -> AssistantMessage:
        """The complete message of one answer. Raises what `stream` raises."""
        async with self.stream(request) as stream:
            return await stream.result()

    async def aclose(self) -> None:
        """Close every open stream and all connections; idempotent."""
        self._closed = True
        for stream in list(self._open):
            await stream.aclose()
        await self._transport.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _sign(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> dict[str, str]:
        if self._signer is None:
            from inkwire.transport.sigv4 import Signer

            self._signer = Signer(os.environ)
        signed: dict[str, str] = self._signer.sign(method, url, headers, body)
        return signed


def _from_environment(model: str) -> Target:
    from inkwire.providers import resolve

    return resolve(model, environ=os.environ)


def _http_request(target: Target, request: Request, encoded: EncodedRequest) -> HTTPRequest:
    headers = {
        "content-type": "application/json",
        "accept": "text/event-stream, application/x-ndjson, application/json",
        "accept-encoding": "identity",  # a compressor may hold tokens back
        "user-agent": f"inkwire/{__version__}",
        "idempotency-key": f"inkwire-{uuid4()}",
    }
    more = {**_key_header(target), **target.headers, **encoded.headers, **request.extra_headers}
    headers.update({name.lower(): value for name, value in more.items()})
    body = msgspec.json.encode(merge(encoded.body, request.extra_body))
    return HTTPRequest("POST", target.base_url.rstrip("/") + encoded.path, headers, body)


def _key_header(target: Target) -> dict[str, str]:
    if target.key is None or target.auth in ("none", "sigv4"):
        return {}
    if target.auth == "bearer":
        return {"authorization": f"Bearer {target.key}"}
    return {target.auth: target.key}
