"""Nothing in, the recordings of the demo out: `python -m inkwire.demo.make` writes scenarios/*.jsonl anew.

They are made, not taken from a service, so that each shows one thing and nothing else; the bytes are those of the
protocols. The same code always writes the same bytes.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

__all__ = ["DIRECTORY", "main", "recordings"]

DIRECTORY = Path(__file__).parent / "scenarios"

_CREATED = 1_760_000_000
_HEAD_SECONDS = 0.31
_READ_SECONDS = 0.12
_QUESTION = "Read README.md and tell me how this project starts."
_READ_TOOL = {
    "name": "read",
    "description": "Read a file.",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}
_STREAM = {"content-type": "text/event-stream; charset=utf-8"}
_DONE = b"data: [DONE]\n\n"


class _Made(msgspec.Struct):
    """One exchange."""

    reads: Sequence[bytes]
    end: str = "eof"
    status: int = 200
    headers: dict[str, str] = msgspec.field(default_factory=lambda: _STREAM)
    url: str = "https://api.example/v1/chat/completions"
    protocol: str = "chat"


# ---- the wire ----------------------------------------------------------------------------------


def _chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return _data({"id": "chatcmpl-1", "choices": [choice]})


def _data(value: Any) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"


def _text(text: str) -> bytes:
    return _chunk({"content": text})


def _call(index: int, arguments: str, call_id: str | None = None) -> bytes:
    function: dict[str, Any] = {"arguments": arguments}
    call: dict[str, Any] = {"index": index}
    if call_id is not None:
        function = {"name": "read", **function}
        call |= {"id": call_id, "type": "function"}
    return _chunk({"tool_calls": [{**call, "function": function}]})


def _finish(reason: str) -> bytes:
    return _chunk({}, reason)


def _usage() -> bytes:
    return _data({"id": "chatcmpl-1", "choices": [], "usage": {"prompt_tokens": 212, "completion_tokens": 19}})


def _event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\n".encode() + _data({"type": kind, **fields})


def _block(index: int, kind: str, *deltas: dict[str, Any], **start: Any) -> list[bytes]:
    opened = _event("content_block_start", index=index, content_block={"type": kind, **start})
    pieces = [_event("content_block_delta", index=index, delta=delta) for delta in deltas]
    return [opened, *pieces, _event("content_block_stop", index=index)]


def _cut(data: bytes, *places: bytes) -> list[bytes]:
    """The data cut right after each of the places."""
    reads, at = [], 0
    for place in places:
        end = data.index(place, at) + len(place)
        reads.append(data[at:end])
        at = end
    return [*reads, data[at:]]


# ---- the scenarios -----------------------------------------------------------------------------


def _read_readme() -> list[_Made]:
    first = _cut(_call(0, '{"path":"REA', "t1"), b'"tool_calls":[{"index":0,')
    return [_Made([_text("I'll read it."), *first, _call(0, 'DME.md"}'), _finish("tool_calls"), _usage() + _DONE])]


def _two_reads_interleaved() -> list[_Made]:
    return [
        _Made(
            [
                _text("I'll read both."),
                _call(0, "", "t1"),
                _call(1, "", "t2"),
                _call(0, '{"path":"REA'),
                _call(1, '{"path":"CHANGE'),
                _call(0, 'DME.md"}'),
                _call(1, 'LOG.md"}'),
                _finish("tool_calls"),
                _DONE,
            ]
        )
    ]


def _missing_finish_reason() -> list[_Made]:
    return [_Made([_text("I'll read it."), _call(0, '{"path":"REA', "t1"), _call(0, 'DME.md"}')])]


def _user_cancel() -> list[_Made]:
    return [_Made([_text("I'll read "), _text("it. "), _call(0, '{"path":"REA', "t1")], end="closed")]


def _broken_arguments() -> list[_Made]:
    return [_Made([_call(0, '{"path":"REA', "t1"), _call(0, 'DME.md"'), _finish("tool_calls"), _DONE])]


def _cut_at_limit() -> list[_Made]:
    calls = [_call(0, '{"path":"README.md"}', "t1"), _call(1, '{"path":"docs/', "t2")]
    return [_Made([_text("I'll read both."), *calls, _finish("length"), _usage() + _DONE])]


def _damage_in_the_middle() -> list[_Made]:
    damaged = _call(0, "old/")[:-9] + b"\n\n"
    calls = [_call(0, '{"path":"docs/', "t1"), damaged, _call(0, 'README.md"}')]
    return [_Made([*calls, _finish("tool_calls"), _DONE])]


def _retry_and_reset() -> list[_Made]:
    refusal = {
        "error": {"message": "Too many requests, slow down.", "type": "rate_limit_error", "code": "rate_limited"}
    }
    return [
        _Made(
            [json.dumps(refusal).encode()], status=429, headers={"content-type": "application/json", "retry-after": "2"}
        ),
        _Made([_text("The project is "), _text("started with mak")], end="lost"),
        _Made([_text("Start it with "), _text("`make run`."), _finish("stop"), _DONE]),
    ]


def _crlf_and_split_characters() -> list[_Made]:
    body = b": keep-alive\n\n" + _text("好的,") + _text("我来读。") + _finish("stop") + _DONE
    body = body.replace(b"\n", b"\r\n")
    half = "好".encode()[:2]
    return [
        _Made(_cut(b"\xef\xbb\xbf" + body, b"\r\n\r", b'"content":"' + half, b"}\r\n\r\n", b"\r\n\r\n", b"data: [DO"))
    ]


def _reasoning_with_signature() -> list[_Made]:
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "claude-example",
        "stop_reason": None,
        "usage": {"input_tokens": 212, "output_tokens": 1},
    }
    thinking = _block(
        0,
        "thinking",
        {"type": "thinking_delta", "thinking": "The README will say "},
        {"type": "thinking_delta", "thinking": "how it starts."},
        {"type": "signature_delta", "signature": "EqQBCkYIBxgCKkBzaWdu"},
        thinking="",
        signature="",
    )
    call = _block(
        1,
        "tool_use",
        {"type": "input_json_delta", "partial_json": '{"path":"REA'},
        {"type": "input_json_delta", "partial_json": 'DME.md"}'},
        id="toolu_1",
        name="read",
        input={},
    )
    stop = _event("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 48})
    reads = [_event("message_start", message=message), *thinking[:-1], thinking[-1] + call[0], *call[1:]]
    return [_Made([*reads, stop, _event("message_stop")], url="https://api.example/v1/messages", protocol="anthropic")]


_SCENARIOS: dict[str, Callable[[], list[_Made]]] = {
    "read-readme": _read_readme,
    "two-reads-interleaved": _two_reads_interleaved,
    "missing-finish-reason": _missing_finish_reason,
    "user-cancel": _user_cancel,
    "broken-arguments": _broken_arguments,
    "cut-at-limit": _cut_at_limit,
    "damage-in-the-middle": _damage_in_the_middle,
    "retry-and-reset": _retry_and_reset,
    "crlf-and-split-characters": _crlf_and_split_characters,
    "reasoning-with-signature": _reasoning_with_signature,
}


# ---- the recording -----------------------------------------------------------------------------


def recordings() -> dict[str, bytes]:
    """Each scenario's file, by its name."""
    return {name: _recording(make()) for name, make in _SCENARIOS.items()}


def _recording(exchanges: Iterable[_Made]) -> bytes:
    lines: list[dict[str, Any]] = [{"inkwire_recording": 1, "created": _CREATED, "made_by": "inkwire.demo.make"}]
    for number, made in enumerate(exchanges, 1):
        lines += [{"exchange": number, **line} for line in _lines(made, number)]
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)


def _lines(made: _Made, number: int) -> Iterable[dict[str, Any]]:
    t = _HEAD_SECONDS
    yield {
        "kind": "request",
        "at": _CREATED + 10 * number,
        "method": "POST",
        "url": made.url,
        "protocol": made.protocol,
        "headers": {"content-type": "application/json", "authorization": "***"},
        "body": json.dumps(_request(made.protocol)),
    }
    yield {"kind": "response", "t": t, "status": made.status, "headers": made.headers}
    for data in made.reads:
        t = round(t + _READ_SECONDS, 2)
        yield {"kind": "read", "t": t, **_content(data)}
    yield {"kind": "end", "t": round(t + _READ_SECONDS, 2), "how": made.end}


def _content(data: bytes) -> dict[str, str]:
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(data).decode("ascii")}


def _request(protocol: str) -> dict[str, Any]:
    asked = {"model": "example", "stream": True, "messages": [{"role": "user", "content": _QUESTION}]}
    if protocol == "anthropic":
        schema = _READ_TOOL["parameters"]
        tool = {"name": _READ_TOOL["name"], "description": _READ_TOOL["description"], "input_schema": schema}
        return {**asked, "max_tokens": 1024, "tools": [tool]}
    return {**asked, "tools": [{"type": "function", "function": _READ_TOOL}]}


def main() -> None:
    """Write the files."""
    for name, data in recordings().items():
        (DIRECTORY / f"{name}.jsonl").write_bytes(data)


if __name__ == "__main__":
    main()
