"""An address in; the proxy that the environment puts in front of it out, and how to speak SOCKS with one.

`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` count, in small letters first, and the system's own settings
where it has some. What listens on this very machine is never asked through a proxy: a local model would not be found,
and its token would leave the machine.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from inkwire.errors import ConfigurationError

if TYPE_CHECKING:
    import aiohttp

__all__ = ["is_socks", "proxy_for", "socks_connector", "with_scheme"]

_SOCKS = {"socks": "socks5", "socks4": "socks4", "socks4a": "socks4", "socks5": "socks5", "socks5h": "socks5"}
_NAMED_BY_PROXY = ("socks4a", "socks5h")
"""The proxy looks the host's name up, not this machine."""
_SOCKS_PORT = 1080


def proxy_for(url: str) -> str | None:
    """The address of the proxy for `url`; None when it is to be asked directly."""
    parts = _split(url)
    if parts is None or _is_this_machine(parts.hostname or ""):
        return None
    from urllib.request import getproxies, proxy_bypass  # slow to load

    known = getproxies()
    found = known.get(parts.scheme) or known.get("all")
    if not found or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    return with_scheme(found)


def with_scheme(proxy: str) -> str:
    """`host:port` alone means an HTTP proxy."""
    return proxy if "://" in proxy else f"http://{proxy}"


def is_socks(proxy: str | None) -> bool:
    """Whether the proxy speaks SOCKS."""
    return proxy is not None and proxy.partition("://")[0].lower() in _SOCKS


def socks_connector(proxy: str, options: dict[str, Any]) -> aiohttp.BaseConnector:
    """A connector through a SOCKS proxy. Raises `ConfigurationError` without the extra, or when the address is none."""
    parts = _split(proxy)
    if parts is None or not parts.hostname:
        raise ConfigurationError("the SOCKS proxy's address is none: give socks5://host:port")
    scheme = parts.scheme.lower()
    where = f"{scheme}://{parts.hostname}:{parts.port or _SOCKS_PORT}"
    try:
        from aiohttp_socks import ProxyConnector, ProxyType
    except ImportError as cause:
        raise ConfigurationError(
            f"the proxy {where} speaks SOCKS, which needs an extra: pip install 'inkwire[socks]'"
        ) from cause
    from urllib.parse import unquote

    return ProxyConnector(
        proxy_type=ProxyType[_SOCKS[scheme].upper()],
        host=parts.hostname,
        port=parts.port or _SOCKS_PORT,
        username=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        rdns=True if scheme in _NAMED_BY_PROXY else None,
        **options,
    )


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises when it is no number
    except ValueError:
        return None
    return parts


def _is_this_machine(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
