"""The protocols by name; each is loaded when it is first asked for."""

from __future__ import annotations

from importlib import import_module

from inkwire.errors import ConfigurationError
from inkwire.protocols.base import WireProtocol

__all__ = ["NAMES", "get"]

NAMES = ("chat", "responses", "anthropic", "gemini", "ollama", "bedrock")


def get(name: str) -> WireProtocol:
    """The protocol of that name.

    Raises `ConfigurationError` when there is none.
    """
    if name not in NAMES:
        raise ConfigurationError(f"unknown protocol {name!r}; known are {', '.join(NAMES)}")
    protocol: WireProtocol = import_module(f"inkwire.protocols.{name}").PROTOCOL
    return protocol
