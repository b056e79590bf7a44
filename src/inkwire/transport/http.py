"""The one real HTTP client: aiohttp behind `transport.base`, its exceptions translated at one door.

aiohttp's own limits are off (100 connections, 300 s in all, 8 KiB a header): many streams live long here. It is
imported with the first request. Redirects are not followed: a POST would become a GET, and its key would travel to
another host. Its `trust_env` is off: it would read `~/.netrc` and put a password found there in the place of the key.

Connections belong to the event loop that made them, so each loop has a pool of its own. A guard, an asynchronous
generator that the loop closes when it shuts down, closes the pool even where nobody closed the client, so that
nothing is left open or warned about.
"""

from __future__ import annotations

import asyncio
import io
import ssl
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from inkwire.errors import ConfigurationError, ModelError, ModelTimeoutError, ProtocolError, TransportError
from inkwire.messages import Timeouts
from inkwire.transport.base import HTTPRequest
from inkwire.transport.proxies import is_socks, proxy_for, socks_connector, with_scheme
from inkwire.transport.secrets import scrubbed

if TYPE_CHECKING:
    import aiohttp

__all__ = ["HTTPTransport", "preload"]

_READ_BUFFER = 64 * 1024
_LONGEST_HEADER = 64 * 1024
# aiohttp writes bytes at one go, and warns from 1 MiB on; a file it writes in pieces.
_LARGE_BODY = 1024 * 1024


class HTTPTransport:
    """Sends requests with aiohttp, on one pool of connections for each event loop.

    `ca_file`: a PEM file of certificates to trust in place of the system's (`SSL_CERT_FILE` moves those). `proxy`: an
    address that overrides the environment's `HTTPS_PROXY` and friends; `socks5://` needs the extra `socks`.
    """

    def __init__(self, *, ca_file: str | Path | None = None, proxy: str | None = None) -> None:
        self._ca_file = ca_file
        self._proxy = with_scheme(proxy) if proxy else None
        self._pools: dict[asyncio.AbstractEventLoop, dict[str, _Pool]] = {}

    async def send(self, request: HTTPRequest, timeouts: Timeouts) -> _Response:
        """The response as soon as its head is whole; errors as `Transport.send` names them."""
        proxy = self._proxy or proxy_for(request.url)
        session = await self._open(proxy if is_socks(proxy) else None)
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
                    proxy=None if is_socks(proxy) else proxy,
                )
        except aiohttp.ConnectionTimeoutError as cause:
            raise _timeout("connect", timeouts.connect_seconds, request) from cause
        except TimeoutError as cause:
            raise _timeout("head", timeouts.head_seconds, request) from cause
        except (aiohttp.ClientError, OSError, ValueError) as cause:
            raise _translated(cause, request) from cause
        except Exception as cause:
            if not _is_of_socks(cause):
                raise
            raise _translated(cause, request) from cause
        return _Response(response)

    async def aclose(self) -> None:
        """Close all connections, those of other loops in their own time; the next request would open new ones."""
        here = asyncio.get_running_loop()
        pools, self._pools = self._pools, {}
        for loop, of_loop in pools.items():
            for pool in of_loop.values():
                if loop is here:
                    await pool.guard.aclose()
                elif not loop.is_closed():
                    asyncio.run_coroutine_threadsafe(_close(pool.guard), loop)

    async def _open(self, socks: str | None) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop, {}).get(socks or "")
        if pool is None or pool.session.closed:
            self._pools = {each: of_loop for each, of_loop in self._pools.items() if not each.is_closed()}
            pool = self._pools.setdefault(loop, {})[socks or ""] = _Pool(self._new_session(socks))
            await anext(pool.guard)
        return pool.session

    def _new_session(self, socks: str | None) -> aiohttp.ClientSession:
        import aiohttp

        options: dict[str, Any] = {"limit": 0, "ssl": self._trust()}
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(**options) if socks is None else socks_connector(socks, options),
            timeout=aiohttp.ClientTimeout(total=None),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            read_bufsize=_READ_BUFFER,
            max_line_size=_LONGEST_HEADER,
            max_field_size=_LONGEST_HEADER,
            auto_decompress=True,
            skip_auto_headers=("User-Agent",),
        )

    def _trust(self) -> ssl.SSLContext | bool:
        if self._ca_file is None:
            return True
        try:
            return ssl.create_default_context(cafile=str(self._ca_file))
        except (OSError, ssl.SSLError) as cause:
            raise ConfigurationError(f"cannot read certificates from {self._ca_file}: {cause}") from cause


class _Pool:
    """The connections of one loop."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.session = session
        self.guard = _closing(session)


def preload() -> None:
    """Load the HTTP client now, for instance in a thread while a person is still typing."""
    import aiohttp  # noqa: F401


async def _closing(session: aiohttp.ClientSession) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        await session.close()


async def _close(guard: AsyncGenerator[None, None]) -> None:
    await guard.aclose()


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
            raise  # what `fail` was given
        except Exception as cause:
            # What had arrived before the loss counts: while the consumer is busy both may have come.
            if rest := self._rest():
                return rest
            raise _lost(cause) from cause

    def _rest(self) -> bytes:
        cause = self._content.exception()
        if cause is None:
            return b""
        self._content.set_exception(None)  # type: ignore[arg-type]
        try:
            return self._content.read_nowait()
        finally:
            self._content.set_exception(cause)

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
    if isinstance(cause, ValueError) and not isinstance(cause, OSError):
        return ConfigurationError(f"{scrubbed(request.url)!r} is no address to send a request to: {_said(cause)}")
    if isinstance(cause, aiohttp.ClientHttpProxyError):
        return TransportError(
            f"the proxy in front of {host} refused with status {cause.status} ({scrubbed(cause.message)})",
            retryable=cause.status >= 500,
            phase="connect",
        )
    if isinstance(cause, aiohttp.ClientConnectorCertificateError):
        return TransportError(
            f"the certificate of {host} is not trusted ({_said(cause)}); "
            "behind a proxy of your own, set SSL_CERT_FILE to its certificates",
            retryable=False,
            phase="connect",
        )
    if isinstance(cause, aiohttp.ClientResponseError):
        return TransportError(
            f"what listens at {host} does not answer in HTTP ({_one_line(cause.message)}); check the address",
            retryable=False,
            phase="head",
        )
    if isinstance(cause, aiohttp.ClientConnectorError | aiohttp.ClientProxyConnectionError) or _is_of_socks(cause):
        return TransportError(f"cannot connect to {host} ({_said(cause)})", retryable=True, phase="connect")
    return TransportError(
        f"{host} closed the connection before it answered ({_said(cause)})", retryable=True, phase="head"
    )


def _is_of_socks(cause: Exception) -> bool:
    return type(cause).__module__.partition(".")[0] in ("aiohttp_socks", "python_socks")


def _lost(cause: Exception) -> ModelError:
    """Why a body broke off."""
    from aiohttp.http_exceptions import ContentEncodingError

    if isinstance(cause.__cause__, ContentEncodingError):
        return ProtocolError(f"the body is not compressed as its header says ({_said(cause)})", retryable=False)
    return TransportError(f"the connection was lost in mid-answer ({_said(cause)})", retryable=True, phase="body")


def _said(cause: BaseException) -> str:
    return _one_line(scrubbed(str(cause) or type(cause).__name__))


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300]


def _host(url: str) -> str:
    return scrubbed(url).split("//", 1)[-1].split("/", 1)[0].split("?", 1)[0]
