"""An address in, the names of the models that answer there out: for servers on this machine and for providers' lists.

A port of this machine may belong to anything, so only an answer of the right shape counts. Sources: OpenAI API
reference "List models"; Ollama API "List local models"; Gemini API "models.list".
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from inkwire.errors import ConfigurationError, InkwireError, TransportError
from inkwire.protocols.service_errors import from_response
from inkwire.providers.base import Provider, Target
from inkwire.providers.detect import LocalServer
from inkwire.providers.resolve import resolve

__all__ = ["find_local_servers", "models_at"]

_PATHS = {"ollama": "/api/tags", "anthropic": "/v1/models"}
_KEY_HEADERS = {"x-api-key": "x-api-key", "x-goog-api-key": "x-goog-api-key", "api-key": "api-key"}
_VERSIONS = {"anthropic": {"anthropic-version": "2023-06-01"}}
_MOST_BYTES = 16 * 1024 * 1024


async def find_local_servers(
    providers: Iterable[Provider], environ: Mapping[str, str], *, timeout_seconds: float = 0.3
) -> tuple[LocalServer, ...]:
    """The local servers that answer, in the catalog's order; all are asked together, none longer than the timeout."""
    asked = [provider for provider in providers if provider.local]
    found = await asyncio.gather(*(_ask(provider, environ, timeout_seconds) for provider in asked))
    return tuple(LocalServer(provider.name, models) for provider, models in zip(asked, found, strict=True) if models)


async def models_at(target: Target, *, timeout_seconds: float = 5.0) -> tuple[str, ...]:
    """The models that the endpoint lists, in its order.

    Raises `TransportError` when it cannot be reached, a `ServiceError` in its own words, `ConfigurationError` when
    what answers is no list of models.
    """
    import aiohttp

    url = target.base_url + _PATHS.get(target.protocol, "/models")
    timeout = aiohttp.ClientTimeout(total=timeout_seconds)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, trust_env=not _is_loopback(target.base_url)) as session,
            session.get(url, headers=_headers(target), allow_redirects=False) as response,
        ):
            body = await response.content.read(_MOST_BYTES)
            while (more := await response.content.read(_MOST_BYTES)) and len(body) < _MOST_BYTES:
                body += more
    except (aiohttp.ClientError, OSError, ValueError) as error:
        words = str(error) or ("no answer in time" if isinstance(error, TimeoutError) else type(error).__name__)
        raise TransportError(f"{url}: {words}", phase="connect", retryable=True) from error
    if response.status != 200:
        raise from_response(response.status, dict(response.headers), body)
    return _names(body, url)


async def _ask(provider: Provider, environ: Mapping[str, str], timeout_seconds: float) -> tuple[str, ...]:
    try:
        target = resolve(f"{provider.name}/any", environ=environ)
        async with asyncio.timeout(timeout_seconds):
            # A closed port answers at once, without waiting for the HTTP client to be imported.
            _, writer = await asyncio.open_connection(*_host_port(target.base_url))
            writer.close()
        return await models_at(target, timeout_seconds=timeout_seconds)
    except (InkwireError, OSError):
        return ()


def _host_port(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "127.0.0.1", parts.port or (443 if parts.scheme == "https" else 80)


def _is_loopback(url: str) -> bool:
    return urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")


def _headers(target: Target) -> dict[str, str]:
    headers = {**target.headers, **_VERSIONS.get(target.protocol, {})}
    if target.key is None:
        return headers
    if target.auth == "bearer":
        return {**headers, "authorization": f"Bearer {target.key}"}
    return {**headers, _KEY_HEADERS[target.auth]: target.key} if target.auth in _KEY_HEADERS else headers


def _names(body: bytes, url: str) -> tuple[str, ...]:
    try:
        answer: Any = msgspec.json.decode(body)
    except msgspec.DecodeError:
        answer = None
    entries = answer.get("data", answer.get("models")) if isinstance(answer, dict) else answer
    if not isinstance(entries, list):
        raise ConfigurationError(f"{url} answers, but not with a list of models: is the address right?")
    names = [entry.get("id") or entry.get("name") for entry in entries if isinstance(entry, dict)]
    return tuple(name.removeprefix("models/") for name in names if isinstance(name, str) and name)
