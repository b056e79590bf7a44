"""A provider as data: address, key, protocol, quirks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

from inkwire.protocols.base import Quirks

__all__ = ["Auth", "Provider", "Target"]

Auth: TypeAlias = Literal["bearer", "x-api-key", "x-goog-api-key", "api-key", "sigv4", "none"]
"""How the key travels: `Authorization: Bearer`, a header of that name, AWS signature, or not at all."""


class Provider(msgspec.Struct, frozen=True):
    """One entry of the catalog."""

    name: str
    base_url: str
    """`{NAME|NAME|=value}` stands for the first environment variable that is set, else the value; empty: not known
    until a flag, a variable or the program itself gives it."""
    protocol: str
    """`chat`, `responses`, `anthropic`, `gemini`, `ollama` or `bedrock`."""
    key_env: tuple[str, ...] = ()
    """Environment variables that may hold the key; the first that is set counts. Empty: no key needed."""
    key_optional: bool = False
    """It answers without a key, too, but takes one if the variable is set."""
    base_url_env: str | None = None
    """An environment variable that moves the whole provider to another address."""
    base_url_path: str = ""
    """Appended to that variable's value when it names a host alone (`AZURE_OPENAI_ENDPOINT` has no path)."""
    auth: Auth = "bearer"
    quirks: Quirks = Quirks()
    headers: Mapping[str, str] = {}
    default_model: str | None = None
    """What is used when only the key is known; None: the key alone chooses nothing."""
    local: bool = False
    """A server on this machine that may be looked for."""
    embedded: bool = False
    """Served by this very process: its address and token are known once it runs (`inkwire.local`)."""
    source: str = ""
    """The provider's page that the entry follows."""


class Target(msgspec.Struct, frozen=True):
    """Where a request goes: a provider with everything filled in."""

    provider: str
    model: str
    """The model's name without its provider."""
    base_url: str
    protocol: str
    auth: Auth = "bearer"
    key: str | None = None
    quirks: Quirks = Quirks()
    headers: Mapping[str, str] = {}

    def __repr__(self) -> str:
        return f"Target({self.provider}/{self.model} at {self.base_url}, {self.protocol})"
