"""The decoding core against a bare typed decode of the same events, and its growth with the size of one call."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable
from statistics import median

import msgspec

from bench.streams import calls_body, chunk_payloads, large_call_body, sse, text_payloads
from inkwire import protocols
from inkwire.events import MessageEnd
from inkwire.framing.frame import Frame
from inkwire.pipeline import Pipeline
from inkwire.protocols.base import DecodeOptions

__all__ = ["main"]

_READ = 16 * 1024


class _Function(msgspec.Struct):
    arguments: str = ""
    name: str | None = None


class _Call(msgspec.Struct):
    index: int
    id: str | None = None
    function: _Function | None = None


class _Delta(msgspec.Struct):
    content: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct):
    delta: _Delta
    finish_reason: str | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice]


def _bare(payloads: list[bytes]) -> None:
    decode = msgspec.json.Decoder(_Chunk).decode
    for payload in payloads:
        decode(payload)


def _frames_to_message(frames: list[Frame]) -> None:
    """Decoder and assembler alone: what the goal is about."""
    from inkwire.assembler import Assembler

    decoder = protocols.get("chat").decoder(DecodeOptions())
    assembler = Assembler(protocol="chat")
    for frame in frames:
        events = assembler.feed(decoder.feed(frame))
    assert isinstance(events[-1], MessageEnd)


def _body_to_message(body: bytes) -> None:
    pipeline = Pipeline(protocols.get("chat"))
    for at in range(0, len(body), _READ):
        pipeline.feed(body[at : at + _READ])
    assert pipeline.ended
    assert pipeline.error is None


def _seconds(work: Callable[[], None]) -> float:
    gc.collect()
    start = time.process_time()
    work()
    return time.process_time() - start


def _ratio(name: str, payloads: list[bytes], rounds: int = 7) -> None:
    body = sse(payloads)
    frames = [Frame(payload) for payload in payloads] + [Frame(b"[DONE]")]
    bare, core, whole = [], [], []
    for _ in range(rounds):  # interleaved, so that a busy neighbour hits all alike
        bare.append(_seconds(lambda: _bare(payloads)))
        core.append(_seconds(lambda: _frames_to_message(frames)))
        whole.append(_seconds(lambda: _body_to_message(body)))
    each = 1e6 / len(payloads)
    floor = median(bare)
    print(
        f"core    {name:<22} bare typed decode {floor * each:5.2f} us   frames to message {median(core) * each:5.2f} us"
        f" ({median(c / b for c, b in zip(core, bare, strict=True)):.2f} x)"
        f"   bytes to message {median(whole) * each:5.2f} us"
        f" ({median(w / b for w, b in zip(whole, bare, strict=True)):.2f} x)"
    )


def _growth() -> None:
    sizes = (10_000, 100_000, 1_000_000)
    bodies = {size: large_call_body(size) for size in sizes}
    best = {
        size: min(_seconds(lambda body=body: _body_to_message(body)) for _ in range(5))  # type: ignore[misc]
        for size, body in bodies.items()
    }
    exponent = math.log(best[sizes[-1]] / best[sizes[0]]) / math.log(sizes[-1] / sizes[0])
    print(
        f"growth  one call in 4-byte fragments: 100 KB {best[100_000] * 1e3:.0f} ms,"
        f" 1 MB {best[1_000_000] * 1e3:.0f} ms,"
        f" ratio {best[1_000_000] / best[100_000]:.1f} (at most 13), exponent {exponent:.2f} (at most 1.05)"
    )


def main() -> None:
    """Prints one line a measurement."""
    _ratio("text", text_payloads(20_000))
    _ratio("one call", chunk_payloads(80_000, 4))
    _ratio("eight calls", chunk_payloads(10_000, 4, calls=8))
    _body_to_message(calls_body(800))
    _growth()
