"""A reader's reply in, the bytes of a Chat Completions stream out, cut as awkwardly as the wild does it.

Characters are split between chunks, arguments between any two bytes of their escapes, several calls arrive
interleaved, comments and CRLF occur. Everything is decided by the seed, so that a run can be repeated.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import msgspec

from inkwire.local.reader import ReaderReply

__all__ = ["completion", "stream_chunks"]


def completion(reply: ReaderReply, *, response_id: str, model: str, input_characters: int) -> dict[str, Any]:
    """The reply as one answer, for a request without `stream`."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.calls:
        message["tool_calls"] = [
            {"id": _call_id(response_id, n), "type": "function", "function": {"name": call.name, "arguments": text}}
            for n, call in enumerate(reply.calls)
            for text in [_arguments(call.arguments)]
        ]
    return {
        "id": response_id,
        "object": "chat.completion",
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": _finish_reason(reply)}],
        "usage": _usage(reply, input_characters),
    }


def stream_chunks(reply: ReaderReply, *, response_id: str, model: str, input_characters: int, seed: int) -> list[bytes]:
    """The body of the stream as the writes of a server; joined they are valid, singly they need not even be UTF-8."""
    dice = random.Random(seed)
    envelope = {"id": response_id, "object": "chat.completion.chunk", "model": model}
    events = [b": inkwire built-in reader" + _ending(dice)]
    for choices, usage in _payloads(reply, response_id, input_characters, dice):
        data = msgspec.json.encode({**envelope, "choices": choices, "usage": usage})
        events.append(b"data:" + dice.choice((b" ", b"")) + data + _ending(dice))
        if dice.random() < 0.1:
            events.append(b": still here" + _ending(dice))
    events.append(b"data: [DONE]\n\n")
    return list(_cut(b"".join(events), dice))


def _payloads(
    reply: ReaderReply, response_id: str, input_characters: int, dice: random.Random
) -> Iterator[tuple[list[dict[str, Any]], dict[str, Any] | None]]:
    yield [_choice({"role": "assistant", "content": None})], None
    for piece in _pieces(reply.text, dice, 9):
        yield [_choice({"content": piece})], None
    for delta in _call_deltas(reply, response_id, dice):
        yield [_choice({"tool_calls": [delta]})], None
    yield [_choice({}, _finish_reason(reply))], None
    yield [], _usage(reply, input_characters)


def _call_deltas(reply: ReaderReply, response_id: str, dice: random.Random) -> Iterator[dict[str, Any]]:
    """All calls opened first, then their argument pieces in turns."""
    for n, call in enumerate(reply.calls):
        function = {"name": call.name, "arguments": ""}
        yield {"index": n, "id": _call_id(response_id, n), "type": "function", "function": function}
    waiting = [list(_pieces(_arguments(call.arguments), dice, 5)) for call in reply.calls]
    while any(waiting):
        for n, pieces in enumerate(waiting):
            if pieces:
                yield {"index": n, "function": {"arguments": pieces.pop(0)}}


def _pieces(text: str, dice: random.Random, most: int) -> Iterator[str]:
    position = 0
    while position < len(text):
        size = dice.randint(1, most)
        yield text[position : position + size]
        position += size


def _cut(body: bytes, dice: random.Random) -> Iterator[bytes]:
    """The body in writes of 1 to 200 bytes, wherever that falls."""
    position = 0
    while position < len(body):
        size = dice.choice((1, 2, 3, 40, 120, 200))
        yield body[position : position + size]
        position += size


def _ending(dice: random.Random) -> bytes:
    return dice.choice((b"\n\n", b"\n\n", b"\r\n\r\n"))


def _choice(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish_reason}


def _finish_reason(reply: ReaderReply) -> str:
    return "tool_calls" if reply.calls else "stop"


def _arguments(arguments: dict[str, Any]) -> str:
    return msgspec.json.encode(arguments).decode()


def _call_id(response_id: str, number: int) -> str:
    return f"call_{response_id.rpartition('-')[2]}_{number}"


def _usage(reply: ReaderReply, input_characters: int) -> dict[str, Any]:
    """Counts by the rule of thumb of four characters a token; nothing here has tokens."""
    written = len(reply.text) + sum(len(_arguments(call.arguments)) for call in reply.calls)
    asked, answered = -(-input_characters // 4), -(-written // 4)
    return {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered}
