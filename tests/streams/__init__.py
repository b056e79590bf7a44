"""Golden streams: bytes as a service sent them, and what they mean.

    tests/streams/<protocol>/<scenario>/body.txt        a body, or what `curl -i` printed
    tests/streams/<protocol>/<scenario>/expected.json   {"about", "source", "tools"?, "quirks"?, "tolerant"?,
                                                         "message" | "error"}

`message` and `error` hold the keys that are asserted, as `inkwire decode` prints them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from inkwire import protocols
from inkwire.captured import read_captured
from inkwire.pipeline import Pipeline
from inkwire.protocols.base import DecodeOptions, Quirks

__all__ = ["STREAM_CASES", "Stream", "all_streams", "case_streams"]

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Stream:
    """One recorded body and how to read it."""

    name: str
    protocol: str
    body: bytes
    content_type: str = ""
    tools: tuple[str, ...] = ()
    quirks: Quirks = Quirks()  # noqa: RUF009 - a frozen value
    tolerant: bool = False
    expected: dict[str, Any] | None = None

    def pipeline(self) -> Pipeline:
        """A fresh pipeline for this stream."""
        return Pipeline(
            protocols.get(self.protocol),
            DecodeOptions(self.quirks, self.tolerant),
            tools=self.tools,
            content_type=self.content_type,
        )


def all_streams() -> list[Stream]:
    """Every golden stream on disk."""
    return [_read(path.parent) for path in sorted(_HERE.glob("*/*/expected.json"))]


def _read(folder: Path) -> Stream:
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    captured = read_captured((folder / "body.txt").read_bytes())
    return Stream(
        name=f"{folder.parent.name}/{folder.name}",
        protocol=folder.parent.name,
        body=captured.body,
        content_type=captured.headers.get("content-type", ""),
        tools=tuple(expected.get("tools", ())),
        quirks=msgspec.convert(dict.fromkeys(expected.get("quirks", ()), True), Quirks),
        tolerant=expected.get("tolerant", False),
        expected=expected,
    )


def case_streams() -> list[Stream]:
    """The streams of tests/cases/assembly.json, framed as their protocol sends them."""
    from tests.case_notation import load_cases
    from tests.streams.framed import body_of

    found = []
    for case in load_cases("assembly"):
        options = dict(case.get("options") or {})
        found.append(
            Stream(
                name=case["id"],
                protocol=case["protocol"],
                body=body_of(case),
                tools=tuple(options.pop("tools", ())),
                tolerant=options.pop("tolerant", False),
                quirks=msgspec.convert(options, Quirks),
                expected=case,
            )
        )
    return found


STREAM_CASES = case_streams()
"""The same, read once."""
