"""A case's notation in, bytes out: how the files in tests/cases write reads and values.

A read is a string (UTF-8), `{"b64": ...}`, `{"repeat": read, "times": n}` (with `"each": true` every repetition is
a read of its own) or `{"parts": [read, ...]}`.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

__all__ = ["CASES", "cut_every", "load_cases", "read_bytes", "reads_of"]

CASES = Path(__file__).parent / "cases"

Read = str | dict[str, Any]
Case = dict[str, Any]


def load_cases(name: str) -> list[Case]:
    """Read `tests/cases/<name>.json`."""
    cases: list[Case] = json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))
    return cases


def read_bytes(read: Read) -> bytes:
    """Give the bytes of one read or value."""
    if isinstance(read, str):
        return read.encode("utf-8", "surrogatepass")
    if "b64" in read:
        return base64.b64decode(read["b64"])
    if "parts" in read:
        return b"".join(read_bytes(part) for part in read["parts"])
    repetitions: int = read["times"]
    return read_bytes(read["repeat"]) * repetitions


def reads_of(case: Case) -> list[bytes]:
    """Give the reads of a case, or of its `server`, with their boundaries."""
    written: list[Read] = case["reads"] if "reads" in case else case["server"]["reads"]
    reads: list[bytes] = []
    for read in written:
        if isinstance(read, dict) and read.get("each"):
            reads += [read_bytes(read["repeat"])] * read["times"]
        else:
            reads.append(read_bytes(read))
    return reads


def cut_every(body: bytes, size: int) -> list[bytes]:
    """Cut a body into reads of `size` bytes, the last one shorter."""
    return [body[at : at + size] for at in range(0, len(body), size)]
