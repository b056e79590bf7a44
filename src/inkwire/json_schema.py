"""The published shape of events and messages: JSON Schema, generated from the very types that are sent.

`python -m inkwire.json_schema DIRECTORY` writes `events.schema.json` and `messages.schema.json`; a test holds the files
in docs/schema against it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from inkwire.events import Event
from inkwire.messages import Message

__all__ = ["SCHEMAS", "schema_of", "write"]

SCHEMAS: dict[str, Any] = {"events": Event, "messages": Message}
"""File name without its ending -> the type that it describes."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema_of(name: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of `events` (one line of a stream) or `messages` (one entry of a history)."""
    titles = {"events": "One event of a model call, as Inkwire prints it", "messages": "One message of a conversation"}
    return {"$schema": _DIALECT, "title": titles[name], **msgspec.json.schema(SCHEMAS[name])}


def write(directory: Path) -> None:
    """Write every schema into the directory."""
    for name in SCHEMAS:
        text = json.dumps(schema_of(name), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        (directory / f"{name}.schema.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
