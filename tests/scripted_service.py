"""A model service on loopback whose answers are known: three protocols, one text, and one call for each tool turn.

For tests that run whole programs, such as the README's examples. It is written on http.server so that it shares
no code with what it judges.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TEXT = ("Hello ", "from ", "the scripted service.")

_EXAMPLES: Mapping[str, Any] = {"string": "README.md", "integer": 1, "number": 1.0, "boolean": True, "array": []}

_Event = tuple[str | None, dict[str, Any] | str]


def _chat(request: dict[str, Any]) -> Iterator[_Event]:
    tools = request.get("tools")
    answered = any(message["role"] == "tool" for message in request["messages"])
    if tools and not answered:
        call = _example_call(tools[0]["function"])
        pieces: list[dict[str, Any]] = [{"tool_calls": [{"index": 0, "id": "call_1", "type": "function", **call}]}]
    else:
        pieces = [{"content": piece} for piece in TEXT]
    for delta in pieces:
        yield None, {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    reason = "tool_calls" if "tool_calls" in pieces[0] else "stop"
    yield None, {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
    yield None, {"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}}
    yield None, "[DONE]"


def _example_call(function: dict[str, Any]) -> dict[str, Any]:
    schema = function.get("parameters") or {}
    properties = schema.get("properties", {})
    arguments = {name: _EXAMPLES.get(properties[name].get("type")) for name in schema.get("required", [])}
    return {"function": {"name": function["name"], "arguments": json.dumps(arguments)}}


def _responses(request: dict[str, Any]) -> Iterator[_Event]:
    message = {"type": "message", "id": "msg_1", "role": "assistant"}
    head = {"id": "resp_1", "object": "response", "model": request.get("model")}
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    yield from _named(
        {"type": "response.created", "response": {**head, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**message, "content": []}},
        *({"type": "response.output_text.delta", **place, "delta": piece} for piece in TEXT),
    )
    whole = {**message, "status": "completed", "content": [{"type": "output_text", "text": "".join(TEXT)}]}
    usage = {"input_tokens": 11, "output_tokens": 5, "total_tokens": 16}
    yield from _named(
        {"type": "response.output_item.done", "output_index": 0, "item": whole},
        {"type": "response.completed", "response": {**head, "status": "completed", "output": [whole], "usage": usage}},
    )


def _messages(request: dict[str, Any]) -> Iterator[_Event]:
    head: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": request.get("model"),
        "content": [],
    }
    text = {"type": "text", "text": ""}
    yield from _named(
        {"type": "message_start", "message": {**head, "usage": {"input_tokens": 11, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": text},
        *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": t}} for t in TEXT),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    )


def _named(*events: dict[str, Any]) -> Iterator[_Event]:
    return ((event["type"], event) for event in events)


_ANSWERS = {"/chat/completions": _chat, "/responses": _responses, "/messages": _messages}


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answer = next((each for path, each in _ANSWERS.items() if self.path.endswith(path)), None)
        if answer is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for name, data in answer(request):
            line = data if isinstance(data, str) else json.dumps(data)
            self.wfile.write((f"event: {name}\n" if name else "").encode() + f"data: {line}\n\n".encode())

    def log_message(self, format: str, *args: Any) -> None:
        """The tests' output is no place for an access log."""


@contextmanager
def scripted_service() -> Iterator[dict[str, str]]:
    """Yields the environment variables that make every program use the service instead of a real one."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        root = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield {
                "OPENAI_API_KEY": "sk-test",
                "OPENAI_BASE_URL": f"{root}/v1",
                "ANTHROPIC_API_KEY": "sk-test",
                "ANTHROPIC_BASE_URL": root,
                "INKWIRE_MODEL": "openai/scripted",
            }
        finally:
            server.shutdown()
            thread.join()
