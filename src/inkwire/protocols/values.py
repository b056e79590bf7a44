"""Untyped JSON values in, what a decoder needs of them out; a wrong type counts as absent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inkwire.protocols.requests import compact_json

__all__ = ["argument_text", "count", "string"]


def string(value: Any) -> str | None:
    """A string that is not empty, or None."""
    return value if isinstance(value, str) and value else None


def count(values: Mapping[str, Any], name: str, default: int | None = None) -> int | None:
    """The whole number under `name`, or the default."""
    value = values.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def argument_text(value: Any) -> str:
    """A call's arguments as their JSON text: an object serialised, a proxy's own text as it is, None as nothing."""
    if value is None:
        return ""
    return value if isinstance(value, str) else compact_json(value)
