"""The inspector's trace: what a step costs in a short and in a long recording, and how soon a long one opens."""

from __future__ import annotations

import time

import msgspec

from bench.streams import sse, text_payloads
from inkwire.inspector.source import Source
from inkwire.recording import Exchange, Read

__all__ = ["main"]


def _exchange(steps: int) -> Exchange:
    events = sse(text_payloads(steps)).split(b"\n\n")
    reads = tuple(Read(0.01 * number, event + b"\n\n") for number, event in enumerate(events) if event)
    return Exchange(reads, 200, protocol="chat")


def _opens(exchange: Exchange) -> tuple[float, float]:
    """Seconds to the first chunk, and to the last."""
    start = time.perf_counter()
    chunks = Source("bench", [exchange]).chunks()
    next(chunks)
    first = time.perf_counter() - start
    for _ in chunks:
        pass
    return first, time.perf_counter() - start


def _one_event(megabytes: int) -> float:
    """Seconds for one event that arrives in reads of 4 KiB."""
    text = "x" * (megabytes * 1024 * 1024)
    body = sse([msgspec.json.encode({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]})])
    exchange = Exchange(
        tuple(Read(0.0, body[at : at + 4096]) for at in range(0, len(body), 4096)), 200, protocol="chat"
    )
    start = time.perf_counter()
    for _ in Source("bench", [exchange]).chunks():
        pass
    return time.perf_counter() - start


def main() -> None:
    """Prints two lines."""
    short, long = _exchange(2_000), _exchange(50_000)
    _opens(short)  # reads the sources of the code panel once
    first_short, all_short = min(_opens(short) for _ in range(3))
    first_long, all_long = min(_opens(long) for _ in range(2))
    print(
        f"inspect 50,000 steps against 2,000: first chunk {first_long / first_short:.2f} x (at most 3), a step"
        f" {all_long / 50_000 * 1e6:.0f} us ({all_long / 50_000 / (all_short / 2_000):.2f} x, at most 1.5)"
    )
    small, large = min(_one_event(1) for _ in range(3)), min(_one_event(4) for _ in range(2))
    print(f"inspect one event of 4 MB in 4 KiB reads against 1 MB: {large / small:.2f} x (at most 5)")
