"""An assembly case's chunks in, the bytes that its protocol would send out."""

from __future__ import annotations

import json
import struct
from binascii import crc32
from typing import Any

__all__ = ["body_of", "eventstream_message"]


def eventstream_message(name: str, payload: bytes) -> bytes:
    """One message of AWS's binary event stream."""
    is_exception = name.endswith("Exception")
    headers = b"".join(
        bytes([len(key)]) + key.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for key, value in (
            (":exception-type" if is_exception else ":event-type", name),
            (":content-type", "application/json"),
            (":message-type", "exception" if is_exception else "event"),
        )
    )
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    body = prelude + struct.pack(">I", crc32(prelude)) + headers + payload
    return body + struct.pack(">I", crc32(body))


def body_of(case: dict[str, Any]) -> bytes:
    """The case's chunks, framed."""
    return b"".join(_framed(case["protocol"], chunk) for chunk in case["chunks"])


def _framed(protocol: str, chunk: Any) -> bytes:
    text = chunk if chunk == "[DONE]" else json.dumps(chunk)
    match protocol:
        case "ollama":
            return f"{text}\n".encode()
        case "bedrock":
            return b"".join(eventstream_message(name, json.dumps(value).encode()) for name, value in chunk.items())
        case "responses" | "anthropic" if isinstance(chunk, dict) and isinstance(chunk.get("type"), str):
            return f"event: {chunk['type']}\ndata: {text}\n\n".encode()
        case _:
            return f"data: {text}\n\n".encode()
