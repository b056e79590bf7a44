"""A text that people will read in; the same text without keys out: those in addresses, and those that are known."""

from __future__ import annotations

import re

__all__ = ["scrubbed"]

_IN_ADDRESS = re.compile(r"([?&](?:key|api[_-]?key|access_token|token)=)[^&\s'\"]+|(//)[^/@\s'\"]+@", re.IGNORECASE)
_SHORTEST_KEY = 8
"""Shorter ones are placeholders for servers that want none, and words of ordinary sentences (`none`, `ollama`)."""


def scrubbed(text: str, key: str | None = None) -> str:
    """The text with `***` for the key wherever it is quoted, and for keys and passwords in addresses."""
    if key is not None and len(key) >= _SHORTEST_KEY:
        text = text.replace(key, "***")
    return _IN_ADDRESS.sub(lambda found: f"{found[1]}***" if found[1] else f"{found[2]}***@", text)
