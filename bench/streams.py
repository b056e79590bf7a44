"""Bodies to measure with: text, one large call, eight calls interleaved, each as Chat Completions sends them."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["calls_body", "chunk_payloads", "large_call_body", "sse", "text_body", "text_payloads"]

_BASE = {
    "id": "chatcmpl-AbCdEfGhIjKlMnOpQrStUvWxYz012",
    "object": "chat.completion.chunk",
    "created": 1735689600,
    "model": "gpt-5-2025-08-07",
    "service_tier": "default",
    "system_fingerprint": "fp_0123456789",
}


def _chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return json.dumps({**_BASE, "choices": [choice], "usage": None, "obfuscation": "aBcDeF"}).encode()


def sse(payloads: list[bytes]) -> bytes:
    """The payloads as one body, with the sentinel."""
    return b"".join(b"data: " + payload + b"\n\n" for payload in payloads) + b"data: [DONE]\n\n"


def text_payloads(count: int) -> list[bytes]:
    """An answer of `count` words."""
    words = [_chunk({"content": f" word{number % 100}"}) for number in range(count)]
    return [_chunk({"role": "assistant", "content": ""}), *words, _chunk({}, "stop")]


def text_body(count: int) -> bytes:
    """An answer of `count` words, framed."""
    return sse(text_payloads(count))


def chunk_payloads(size: int, fragment: int, calls: int = 1) -> list[bytes]:
    """`calls` interleaved calls with arguments of `size` bytes each, in pieces of `fragment` bytes."""
    out = [_chunk({"role": "assistant", "content": None})]
    for index in range(calls):
        function = {"name": "write", "arguments": '{"path": "a.txt", "content": "'}
        out.append(
            _chunk({"tool_calls": [{"index": index, "id": f"call_{index}", "type": "function", "function": function}]})
        )
    piece = ("abcdefgh " * (fragment // 8 + 1))[:fragment]
    for _ in range(size // fragment):
        for index in range(calls):
            out.append(_chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}))
    for index in range(calls):
        out.append(_chunk({"tool_calls": [{"index": index, "function": {"arguments": '"}'}}]}))
    return [*out, _chunk({}, "tool_calls")]


def large_call_body(size: int, fragment: int = 4) -> bytes:
    """One call with `size` bytes of arguments, framed."""
    return sse(chunk_payloads(size, fragment))


def calls_body(count: int) -> bytes:
    """Eight calls whose pieces alternate, about `count` chunks in all."""
    return sse(chunk_payloads(count // 8 * 8, 8, calls=8))
