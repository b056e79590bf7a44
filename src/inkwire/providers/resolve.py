"""A model's name, the environment and the configuration in; where the request goes out."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from inkwire.errors import ConfigurationError
from inkwire.protocols import NAMES
from inkwire.providers.base import Auth, Provider, Target
from inkwire.providers.config import Config, providers_of

__all__ = ["address_of", "key_of", "key_variable", "resolve", "split_model"]

_PLACE = re.compile(r"\{([A-Z0-9_|]+)\|=([^}]*)\}")


def resolve(
    model: str,
    *,
    environ: Mapping[str, str],
    base_url: str | None = None,
    protocol: str | None = None,
    config: Config = Config(),  # noqa: B008 - a frozen value
) -> Target:
    """The target of `provider/model`: address, protocol, key, quirks and headers filled in.

    With `base_url`, a name whose first part is no provider belongs to `custom`.
    Raises `ConfigurationError` that says what to set: an unknown provider or protocol, no key, no address.
    """
    providers = providers_of(config)
    provider, name = _find(model, providers, custom=base_url is not None)
    if protocol is not None and protocol not in NAMES:
        raise ConfigurationError(f"unknown protocol {protocol!r}; known are {', '.join(NAMES)}")
    address = _checked(base_url, "--base-url") if base_url else address_of(provider, environ)
    if not address:
        raise ConfigurationError(_no_address(provider, name))
    key = key_of(provider, environ)
    moved = base_url is not None or bool(provider.base_url_env and environ.get(provider.base_url_env))
    # A gateway or a local stand-in at another address often wants no key at all.
    if key is None and provider.key_env and not (provider.key_optional or moved):
        raise ConfigurationError(_no_key(provider))
    return Target(
        provider=provider.name,
        model=name,
        base_url=address,
        protocol=protocol or provider.protocol,
        auth=_auth(provider, key),
        key=key,
        quirks=provider.quirks,
        headers=provider.headers,
    )


def split_model(model: str) -> tuple[str, str]:
    """`provider/model` at its first slash; without one the provider is empty."""
    provider, slash, name = model.partition("/")
    return (provider, name) if slash else ("", model)


def address_of(provider: Provider, environ: Mapping[str, str]) -> str:
    """The base URL: the provider's variable, else the catalog's, with its places filled in; no slash at the end.

    Raises `ConfigurationError` when the variable holds no address.
    """
    variable = provider.base_url_env
    given = environ.get(variable, "").strip() if variable else ""
    if not given or variable is None:
        return _PLACE.sub(lambda place: _fill(place, environ), provider.base_url).rstrip("/")
    if "://" not in given:
        given = _without_scheme(given, provider.base_url)
    address = _checked(given, variable)
    return address + provider.base_url_path if not urlsplit(address).path else address


def key_variable(provider: Provider, environ: Mapping[str, str]) -> str | None:
    """The name of the variable that holds the provider's key, if one does."""
    return next((name for name in provider.key_env if environ.get(name, "").strip()), None)


def key_of(provider: Provider, environ: Mapping[str, str]) -> str | None:
    """The provider's key.

    Raises `ConfigurationError` when it holds what no header can carry; the words do not show it.
    """
    variable = key_variable(provider, environ)
    if variable is None:
        return None
    key = environ[variable].strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigurationError(
            f"{variable} holds characters that no key has (a line break, a quote sign?); set it again"
        )
    return key


def _find(model: str, providers: Mapping[str, Provider], *, custom: bool) -> tuple[Provider, str]:
    first, name = split_model(model)
    provider = providers.get(first)
    if provider is not None:
        if not name:
            raise ConfigurationError(f"no model after {model!r}: write {first}/MODEL")
        return provider, name
    if custom:
        return providers["custom"], model
    if not first:
        owners = [entry.name for entry in providers.values() if model in (entry.name, entry.default_model)]
        hint = f"{owners[0]}/{providers[owners[0]].default_model or 'MODEL'}" if owners else "openai/gpt-6-sol"
        raise ConfigurationError(f"{model!r} names no provider: write provider/model, for example {hint}")
    raise ConfigurationError(f"unknown provider {first!r} in {model!r}{_nearest(first, providers)}")


def _nearest(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name.lower(), list(known), n=1, cutoff=0.6)
    listed = ", ".join(known)
    return f"; did you mean {close[0]!r}? Known are {listed}" if close else f"; known are {listed}"


def _fill(place: re.Match[str], environ: Mapping[str, str]) -> str:
    return next((environ[name] for name in place[1].split("|") if environ.get(name)), place[2])


def _without_scheme(given: str, default: str) -> str:
    """`OLLAMA_HOST` may be a host, a port, or the wildcard that the server itself listens on."""
    parts, usual = urlsplit(f"http://{given}"), urlsplit(default)
    host = "127.0.0.1" if parts.hostname in (None, "0.0.0.0", "::") else parts.hostname
    host = f"[{host}]" if ":" in str(host) else host
    port = parts.port or usual.port
    return f"http://{host}:{port}{parts.path}" if port else f"http://{host}{parts.path}"


def _checked(address: str, where: str) -> str:
    try:
        parts = urlsplit(address)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        fine = False
    if not fine:
        raise ConfigurationError(f"{where}: {address!r} is no address; it looks like https://host/v1")
    return address.rstrip("/")


def _auth(provider: Provider, key: str | None) -> Auth:
    # Bedrock takes a bearer key of its own in the place of a signature.
    if provider.auth == "sigv4":
        return "bearer" if key else "sigv4"
    return provider.auth if key else "none"


def _no_address(provider: Provider, name: str) -> str:
    if provider.embedded:
        return f"{provider.name}/{name} is served by inkwire itself and is not running; `inkwire.local` starts it"
    variable = f"set {provider.base_url_env} or " if provider.base_url_env else ""
    return f"no address for {provider.name}/{name}: {variable}give --base-url"


def _no_key(provider: Provider) -> str:
    variables = " or ".join(provider.key_env)
    return f"no key for {provider.name}: set {variables} (see {provider.source})"
