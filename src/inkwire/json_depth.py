"""A JSON value in, the depth of its nesting out."""

from __future__ import annotations

from typing import Any

__all__ = ["MAX_DEPTH", "json_depth"]

MAX_DEPTH = 200
"""Containers inside containers; deeper input is refused (law 7)."""


def json_depth(value: Any) -> int:
    """How many containers lie inside each other at the deepest place."""
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, (dict, list))]:
        depth += 1
        level = [child for item in level for child in (item.values() if isinstance(item, dict) else item)]
    return depth
