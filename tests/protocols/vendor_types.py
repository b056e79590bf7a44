"""A request's body in; a complaint if the vendor's own types do not admit it."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

__all__ = ["validate"]


def validate(params: TypeAdapter[Any], body: dict[str, Any]) -> None:
    """Check the body to its depth: pydantic looks into what is declared an Iterable only when it is iterated."""
    _exhaust(params.validate_python(body))


def _exhaust(value: Any) -> None:
    if isinstance(value, dict):
        for item in value.values():
            _exhaust(item)
    elif hasattr(value, "__iter__") and not isinstance(value, (str, bytes)):
        for item in value:
            _exhaust(item)
