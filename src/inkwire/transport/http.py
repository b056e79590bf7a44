"""The one real HTTP client: aiohttp behind `transport.base`, its exceptions translated at one door.

aiohttp's own limits are off (100 connections, 300 s in all): many streams live long here. It is imported with the first
request. Redirects are not followed: a POST would become a GET, and its key would travel to another host.

A session belongs to the event loop that made it. A guard, an asynchronous generator that the loop closes when
it shuts down, closes the session even where nobody closed the client, so that nothing is left open or warned about.
"""

from __future__ import annotations

import asyncio
import io
import re
import ssl
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from inkwire.errors import ConfigurationError, ModelError, ModelTimeoutError, TransportError
from inkwire.messages import Timeouts
from inkwire.transport.base import HTTPRequest

if TYPE_CHECKING:
    import aiohttp

__all__ = ["HTTPTransport", "preload"]

_READ_BUFFER = 64 * 1024
# aiohttp writes bytes at one go, and warns from 1 MiB on; a file it writes in pieces.
_LARGE_BODY = 1024 * 1024
_SECRET = re.compile(r"([?&](?:key|api[_-]?key|access_token|token)=)[^&\s'\"]+|(//)[^/@\s'\"]+@", re.IGNORECASE)


class HTTPTransport:
    """Sends requests with aiohttp, on one pool of connections for each event loop.

    `ca_file`: a PEM file of certificates to trust in place of the system's. `proxy`: an address that overrides the
    environment's `HTTPS_PROXY` and friends; `socks5://` needs the extra `socks`.
    """

    def __init__(self, *, ca_file: str | Path | None = None, proxy: str | None = None) -> None:
        self._ca_file = ca_file
        self._proxy = proxy
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._guard: AsyncGenerator[None, None] | None = None

    async def send(self, request: HTTPRequest, timeouts: Timeouts) -> _Response:
        """The response as soon as its head is whole; errors as `Transport.send` names them."""
        session = await self._open()
        import aiohttp
        from yarl import URL

        limits = aiohttp.ClientTimeout(total=None, connect=timeouts.connect_seconds, sock_read=None)
        try:
            async with asyncio.timeout(timeouts.head_seconds):
                response = await session.request(
                    request.method,
                    URL(request.url, encoded=True),
                    headers=request.headers,
                    data=request.body if len(request.body) < _LARGE_BODY else io.BytesIO(request.body),
                    timeout=limits,
                    allow_redirects=False,
                    proxy=None if self._is_socks() else self._proxy,
                )
        except aiohttp.ConnectionTimeoutError as cause:
            raise _timeout("connect", timeouts.connect_seconds, request) from cause
        except TimeoutError as cause:
            raise _timeout("head", timeouts.head_seconds, request) from cause
        except (aiohttp.ClientError, OSError, ValueError) as cause:
            raise _translated(cause, request) from cause
        return _Response(response)

    async def aclose(self) -> None:
        """Close all connections; the next request would open new ones."""
        guard, self._guard, self._session = self._guard, None, None
        if guard is not None and self._loop is asyncio.get_running_loop():
            await guard.aclose()

    async def _open(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        if self._session is None or self._loop is not loop or self._session.closed:
            self._session, self._loop = self._new_session(), loop
            self._guard = _closing(self._session)
            await anext(self._guard)
        return self._session

    def _new_session(self) -> aiohttp.ClientSession:
        import aiohttp

        return aiohttp.ClientSession(
            connector=self._connector(),
            timeout=aiohttp.ClientTimeout(total=None),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=self._proxy is None,
            read_bufsize=_READ_BUFFER,
            auto_decompress=True,
            skip_auto_headers=("User-Agent",),
        )

    def _connector(self) -> aiohttp.BaseConnector:
        import aiohttp

        options: dict[str, Any] = {"limit": 0, "ssl": self._trust()}
        if not self._is_socks():
            return aiohttp.TCPConnector(**options)
        try:
            from aiohttp_socks import ProxyConnector
        except ImportError as cause:
            raise ConfigurationError(
                f"the proxy {_scrubbed(str(self._proxy))} speaks SOCKS, which needs an extra: "
                "pip install 'inkwire[socks]'"
            ) from cause
        connector: aiohttp.BaseConnector = ProxyConnector.from_url(str(self._proxy), **options)
        return connector

    def _is_socks(self) -> bool:
        return self._proxy is not None and self._proxy.startswith("socks")

    def _trust(self) -> ssl.SSLContext | bool:
        if self._ca_file is None:
            return True
        try:
            return ssl.create_default_context(cafile=str(self._ca_file))
        except (OSError, ssl.SSLError) as cause:
            raise ConfigurationError(f"cannot read certificates from {self._ca_file}: {cause}") from cause


def preload() -> None:
    """Load the HTTP client now, for instance in a thread while a person is still typing."""
    import aiohttp  # noqa: F401


async def _closing(session: aiohttp.ClientSession) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        await session.close()


class _Response:
    """An aiohttp response, seen through `transport.base.Response`."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in response.headers.items()}
        self.body = _Body(response)


class _Body:
    """The bytes of a response, as they arrive."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self._content = response.content

    async def read(self) -> bytes:
        """The bytes that have arrived; b"" at the end."""
        try:
            return await self._content.readany()
        except ModelError:
            raise
        except Exception as cause:
            raise TransportError(
                f"the connection was lost in mid-answer ({_said(cause)})", retryable=True, phase="body"
            ) from cause

    def fail(self, error: Exception) -> None:
        """End a pending read with this error."""
        self._content.set_exception(error)

    def abort(self) -> None:
        """Close the connection without awaiting; after the body's end it is already back in the pool."""
        self._response.close()


def _timeout(timer: Literal["connect", "head"], seconds: float | None, request: HTTPRequest) -> ModelTimeoutError:
    what = "connection to" if timer == "connect" else "answer from"
    return ModelTimeoutError(f"no {what} {_host(request.url)} within {seconds or 0:g} s", timer=timer, phase=timer)


def _translated(cause: Exception, request: HTTPRequest) -> ModelError | ConfigurationError:
    import aiohttp

    host = _host(request.url)
    if isinstance(cause, aiohttp.InvalidURL) or (isinstance(cause, ValueError) and not isinstance(cause, OSError)):
        return ConfigurationError(f"{_scrubbed(request.url)!r} is no address to send a request to: {_said(cause)}")
    if isinstance(cause, aiohttp.ClientConnectorCertificateError):
        return TransportError(
            f"the certificate of {host} is not trusted ({_said(cause)}); "
            "behind a proxy of your own, set SSL_CERT_FILE to its certificates",
            retryable=False,
            phase="connect",
        )
    if isinstance(cause, (aiohttp.ClientConnectorError, aiohttp.ClientProxyConnectionError)):
        return TransportError(f"cannot connect to {host} ({_said(cause)})", retryable=True, phase="connect")
    return TransportError(
        f"{host} closed the connection before it answered ({_said(cause)})", retryable=True, phase="head"
    )


def _said(cause: BaseException) -> str:
    return _scrubbed(str(cause) or type(cause).__name__)[:300]


def _scrubbed(text: str) -> str:
    """The text without keys in addresses."""
    return _SECRET.sub(lambda found: f"{found[1]}***" if found[1] else f"{found[2]}***@", text)


def _host(url: str) -> str:
    return _scrubbed(url).split("//", 1)[-1].split("/", 1)[0].split("?", 1)[0]
