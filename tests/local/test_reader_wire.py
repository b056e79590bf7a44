"""The reader's stream: valid as a whole, awkward in its pieces, the same for the same seed."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from inkwire.local.reader import ReaderCall, ReaderReply
from inkwire.local.reader_wire import completion, stream_chunks

REPLY = ReaderReply(
    "先读取 README.md 和 docs/a.md。",
    (ReaderCall("read", {"path": "README.md"}), ReaderCall("read", {"path": 'd/"安装".md'})),
)


def written(reply: ReaderReply, seed: int) -> list[bytes]:
    return stream_chunks(reply, response_id="chatcmpl-reader-1", model="reader", input_characters=10, seed=seed)


def payloads(body: bytes) -> list[dict[str, Any]]:
    lines = [line for line in body.decode().splitlines() if line.startswith("data:")]
    assert lines[-1] == "data: [DONE]"
    return [json.loads(line.removeprefix("data:")) for line in lines[:-1]]


@given(st.integers(0, 2**32))
def test_joined_pieces_are_the_reply(seed: int) -> None:
    deltas = [choice["delta"] for chunk in payloads(b"".join(written(REPLY, seed))) for choice in chunk["choices"]]
    assert "".join(delta.get("content") or "" for delta in deltas) == REPLY.text
    arguments: dict[int, str] = {}
    for delta in deltas:
        for piece in delta.get("tool_calls", ()):
            arguments[piece["index"]] = arguments.get(piece["index"], "") + piece["function"].get("arguments", "")
    assert [json.loads(text) for _, text in sorted(arguments.items())] == [call.arguments for call in REPLY.calls]


def test_the_same_seed_gives_the_same_writes() -> None:
    assert written(REPLY, 7) == written(REPLY, 7)
    assert written(REPLY, 7) != written(REPLY, 8)


def test_characters_and_arguments_are_split() -> None:
    chunks = written(REPLY, 3)
    assert any(_is_cut_character(chunk) for chunk in chunks)
    pieces = [
        piece["function"]["arguments"]
        for chunk in payloads(b"".join(chunks))
        for choice in chunk["choices"]
        for piece in choice["delta"].get("tool_calls", ())
    ]
    assert len(pieces) > 6


def _is_cut_character(chunk: bytes) -> bool:
    try:
        chunk.decode()
    except UnicodeDecodeError:
        return True
    return False


def test_calls_arrive_interleaved() -> None:
    order = [
        piece["index"]
        for chunk in payloads(b"".join(written(REPLY, 0)))
        for choice in chunk["choices"]
        for piece in choice["delta"].get("tool_calls", ())
    ]
    assert order[:6] == [0, 1, 0, 1, 0, 1]


def test_the_finish_reason_fits_and_usage_comes_last() -> None:
    *_, finish, usage = payloads(b"".join(written(REPLY, 0)))
    assert finish["choices"][0]["finish_reason"] == "tool_calls"
    assert usage["choices"] == []
    assert usage["usage"]["total_tokens"] == usage["usage"]["prompt_tokens"] + usage["usage"]["completion_tokens"]
    assert payloads(b"".join(written(ReaderReply("hi"), 0)))[-2]["choices"][0]["finish_reason"] == "stop"


def test_without_streaming_the_answer_is_one_object() -> None:
    whole = completion(REPLY, response_id="r-1", model="reader", input_characters=10)
    message = whole["choices"][0]["message"]
    assert message["content"] == REPLY.text
    assert [json.loads(call["function"]["arguments"]) for call in message["tool_calls"]] == [
        call.arguments for call in REPLY.calls
    ]
