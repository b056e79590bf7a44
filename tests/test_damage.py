"""What a body may hold beside good events: lost payloads, odd shapes, half characters. No call runs on a guess."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from inkwire import protocols
from inkwire.errors import LimitExceededError, ServiceError, TransportError
from inkwire.events import Event, MessageEnd, StreamWarning, ToolCallDelta
from inkwire.messages import AssistantMessage, ReasoningPart
from inkwire.pipeline import Pipeline
from inkwire.protocols.service_errors import from_response, request_id_of
from tests.case_notation import cut_every
from tests.streams.framed import eventstream_message


def sse(*payloads: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(payload).encode() + b"\n\n" for payload in payloads)


def choice(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def piece(arguments: Any, **more: Any) -> dict[str, Any]:
    function = {"arguments": arguments, **({"name": "write"} if more else {})}
    return choice({"tool_calls": [{"index": 0, "function": function, **more}]})


def run(reads: Sequence[bytes], protocol: str = "chat", content_type: str = "") -> tuple[list[Event], Pipeline]:
    pipeline = Pipeline(protocols.get(protocol), content_type=content_type)
    events: list[Event] = []
    for read in reads:
        events += pipeline.feed(read)
        if pipeline.ended:
            return events, pipeline
    return [*events, *pipeline.finish()], pipeline


def message_of(body: bytes, **options: Any) -> AssistantMessage:
    outcomes = []
    for reads in ([body], cut_every(body, 1), cut_every(body, 7)):
        events, pipeline = run(reads, **options)
        assert pipeline.error is None
        assert isinstance(events[-1], MessageEnd)
        outcomes.append(msgspec.json.encode(events))
    assert len(set(outcomes)) == 1, "cuts do not matter"
    assert isinstance(events[-1], MessageEnd)
    return events[-1].message


FIRST, LAST = sse(piece('{"path":"build', id="c")), sse(piece('"}'), choice({}, "tool_calls"))
LOST = json.dumps(piece("/tmp")).encode()
DONE = b"data: [DONE]\n\n"


PREFIXES = [" data: ", "\tdata: ", "Data: ", "data : ", "dat: ", "data= ", "", "  "]
PREFIXES += ["data; ", "data", "> data: ", '"data": ', "\ufeffdata: ", "\xa0data: ", f"{'x' * 40}: ", f"{'x' * 5000}: "]


@pytest.mark.parametrize("prefix", PREFIXES, ids=lambda prefix: repr(prefix[:12]))
def test_a_payload_behind_a_misspelt_field_closes_the_gate(prefix: str) -> None:
    message = message_of(FIRST + prefix.encode() + LOST + b"\n\n" + LAST + DONE)
    assert not message.executable_calls
    assert "stray_payload" in [warning.kind for warning in message.warnings]


@pytest.mark.parametrize(
    "line",
    ["X-Proxy: hit", "hello there", "data2: x", " data: [DONE]", "id : 7", "note: see (1)", ":{comment}", "x\n" * 5000],
    ids=lambda line: line[:16],
)
def test_other_lines_that_are_no_field_close_nothing(line: str) -> None:
    message = message_of(FIRST + line.encode() + b"\n\n" + LAST + DONE)
    assert message.executable_calls


@pytest.mark.parametrize(
    "tail",
    [
        b'{"error":{"message":"overloaded"}}\n',
        b'{"error":{"message":"overloaded"}}',
        LOST + b"\n",
        b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"argu',
        b"data: {",
    ],
)
def test_a_payload_lost_at_the_end_closes_the_gate(tail: bytes) -> None:
    message = message_of(FIRST + LAST + tail)
    assert message.stop_reason == "tool_use"
    assert not message.executable_calls
    assert message.warnings


@pytest.mark.parametrize("lines", [b"hello\n" * 1000, b"x" * 5000 + b"\n"], ids=["many", "long"])
def test_a_payload_far_behind_other_lines_closes_the_gate(lines: bytes) -> None:
    assert not message_of(FIRST + lines + b" data: " + LOST + b"\n\n" + LAST + DONE).executable_calls
    assert not message_of(FIRST + LAST + lines + LOST).executable_calls


TAILS = [b'data: {"choices":[{"index":0,"delta":{"tool_', LOST + b"\n", b" data: " + LOST]


@pytest.mark.parametrize("tail", TAILS)
def test_a_payload_lost_with_the_connection_closes_the_gate(tail: bytes) -> None:
    message = lost_after(FIRST + LAST + tail)
    assert message.stop_reason == "tool_use"
    assert not message.executable_calls


@pytest.mark.parametrize("tail", [b"", b"data: [DO", b"data: [DONE]", b": ping"])
def test_a_connection_lost_between_payloads_closes_nothing(tail: bytes) -> None:
    assert lost_after(FIRST + LAST + tail).executable_calls


def lost_after(body: bytes) -> AssistantMessage:
    pipeline = Pipeline(protocols.get("chat"))
    events = [*pipeline.feed(body), *pipeline.lost(TransportError("the connection was lost"))]
    assert pipeline.error is None
    assert isinstance(events[-1], MessageEnd)
    return events[-1].message


def test_an_error_that_came_whole_before_the_connection_was_lost_is_told() -> None:
    pipeline = Pipeline(protocols.get("chat"))
    pipeline.feed(FIRST + LAST + b'data: {"error":{"message":"overloaded"}}')
    pipeline.lost(TransportError("the connection was lost"))
    assert isinstance(pipeline.error, ServiceError)


@pytest.mark.parametrize("cut", [1, 7, 40])
def test_a_cut_binary_message_behind_the_stop_closes_the_gate(cut: int) -> None:
    body = b"".join(
        eventstream_message(kind, json.dumps(payload).encode())
        for kind, payload in (
            ("messageStart", {"role": "assistant"}),
            ("contentBlockStart", {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "c", "name": "write"}}}),
            ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"toolUse": {"input": "{}"}}}),
            ("messageStop", {"stopReason": "tool_use"}),
            ("metadata", {"usage": {"inputTokens": 1, "outputTokens": 1}}),
        )
    )
    assert message_of(body, protocol="bedrock").executable_calls
    assert message_of(body + b"\r\n", protocol="bedrock").executable_calls
    message = message_of(body[:-cut], protocol="bedrock")
    assert not message.executable_calls
    assert [warning.kind for warning in message.warnings] == ["cut_tail"]


@pytest.mark.parametrize(("end", "runs"), [(b"]", True), (b"", True), (b",", False), (b",\r\n", False), (b",{", False)])
def test_an_array_that_promised_another_element_closes_the_gate(end: bytes, runs: bool) -> None:
    call = {"functionCall": {"name": "write", "args": {"path": "x"}}}
    first = json.dumps({"candidates": [{"content": {"parts": [call]}, "finishReason": "STOP"}]}).encode()
    message = message_of(b"[" + first + end, protocol="gemini")
    assert bool(message.executable_calls) == runs
    assert [warning.kind for warning in message.warnings] == ([] if runs else ["cut_tail"])


@pytest.mark.parametrize("tail", [b"", b"\n", b"data: [DO", b"data: ", b": bye\n", b"<!-- cached -->\n"])
def test_an_end_that_lost_nothing_closes_nothing(tail: bytes) -> None:
    assert message_of(FIRST + LAST + tail).executable_calls


@pytest.mark.parametrize(
    "rest", [b'\n{"error":{"message":"x"}}', b" [1]", b' x {"error":{"message":"x"}}', b"x" * 5000 + b'{"error":"x"}']
)
def test_what_follows_a_document_closes_the_gate(rest: bytes) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "write", "arguments": "{}"}}
    document = {"choices": [{"index": 0, "message": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    assert message_of(json.dumps(document).encode() + b"\n").executable_calls
    assert not message_of(json.dumps(document).encode() + rest).executable_calls


@pytest.mark.parametrize("blank", [b" ", b"\t", b"\r\n", b"\n\n", b" \n ", b"\xef\xbb\xbf \n"])
def test_white_space_before_a_body_never_matters(blank: bytes) -> None:
    body = sse(choice({"content": "one"}), choice({"content": "two"}, "stop")) + DONE
    assert message_of(blank + body, content_type="text/event-stream").text == "onetwo"


def test_white_space_without_end_is_not_kept() -> None:
    pipeline = Pipeline(protocols.get("chat"))
    pipeline.feed(b"\xef\xbb\xbf")
    for _ in range(200):
        pipeline.feed(b" " * 1000)
    assert len(pipeline._head) < 10


ODD_PAYLOADS: list[tuple[str, Any]] = [
    ("chat", choice({"reasoning_details": [{"index": [1], "text": "x"}]})),
    ("chat", choice({"content": [{"type": "thinking", "thinking": 5}]})),
    (
        "chat",
        choice({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "w", "arguments": {"p": "\ud800"}}}]}),
    ),
    ("chat", choice({"tool_calls": [{"index": "9" * 5000, "id": "a", "function": {"name": "w", "arguments": "{}"}}]})),
    *[
        (protocol, payload)
        for protocol in ("chat", "responses", "anthropic", "gemini", "ollama")
        for payload in (
            {"error": {"x": "\ud800"}},
            {"detail": [{"x": "\ud800"}]},
            {"error": {"message": f"try again in {'9' * 5000}m 3s"}},
            {"error": {"message": "try again in" + " " * 50_000 + "x"}},
        )
    ],
    *[
        (
            "gemini",
            {
                "candidates": [
                    {"content": {"parts": [{"functionCall": {"name": "w", "partialArgs": [{"jsonPath": path}]}}]}}
                ]
            },
        )
        for path in ("$.a[" + "9" * 5000 + "]", "$" + ".a" * 100_000, "$.a" + "[9999]" * 40)
    ],
]


@pytest.mark.parametrize(("protocol", "payload"), ODD_PAYLOADS, ids=lambda value: str(value)[:60])
def test_no_shape_of_a_payload_escapes_as_an_exception(protocol: str, payload: Any) -> None:
    body = json.dumps(payload).encode() + b"\n" if protocol == "ollama" else sse(payload)
    events, pipeline = run([body], protocol)
    msgspec.json.encode(events)  # and everything that is told can be written down
    assert (pipeline.error is None) == any(isinstance(event, MessageEnd) for event in events)


def test_half_a_character_in_arguments_waits_for_the_other_half() -> None:
    body = sse(piece('{"path":"\ud83d', id="c"), piece('\ude00"}'), choice({}, "tool_calls")) + DONE
    call = message_of(body).executable_calls[0]
    assert call.arguments == {"path": "😀"}


@pytest.mark.parametrize("place", ["arguments", "end", "id", "name", "finish"])
def test_half_a_character_that_stays_alone_can_still_be_written_down(place: str) -> None:
    half = "\ud83d"
    first = piece(f'{{"path":"{half if place == "arguments" else ""}x"}}', id=half if place == "id" else "c")
    first["choices"][0]["delta"]["tool_calls"][0]["function"]["name"] = half if place == "name" else "write"
    finish = choice({}, f"tool_calls{half}" if place == "finish" else "tool_calls")
    end = [piece(half)] if place == "end" else []
    events, _ = run([sse(first, *end, finish) + DONE])
    encoded = msgspec.json.encode(events).decode()
    assert ("\ufffd" in encoded) or ("\\ufffd" in encoded)
    message = events[-1]
    assert isinstance(message, MessageEnd)
    shown = "".join(event.json_delta for event in events if isinstance(event, ToolCallDelta))
    assert shown == message.message.calls[0].raw_arguments


@pytest.mark.parametrize("number", ["1e999", "-1e999", "[1, 2e400]"])
def test_a_number_that_no_float_holds_is_refused(number: str) -> None:
    call = message_of(sse(piece(f'{{"n":{number}}}', id="c"), choice({}, "tool_calls")) + DONE).calls[0]
    assert not call.executable
    assert call.arguments_error is not None


@pytest.mark.parametrize("number", ["1e999", "-1e999", "[1, 2e400]", "NaN"])
def test_a_number_that_no_float_holds_is_refused_in_an_object_too(number: str) -> None:
    arguments = '{"name":"w","arguments":{"n":NUMBER}}'
    call = f'{{"id":"c","function":{arguments}}}'
    choice = f'{{"index":0,"delta":{{"tool_calls":[{call}]}},"finish_reason":"tool_calls"}}'
    part = '{"functionCall":{"name":"w","args":{"n":NUMBER}}}'
    bodies = {
        "chat": f'data: {{"choices":[{choice}]}}\n\n',
        "ollama": f'{{"message":{{"tool_calls":[{call}]}},"done":true,"done_reason":"stop"}}\n',
        "gemini": f'data: {{"candidates":[{{"content":{{"parts":[{part}]}},"finishReason":"STOP"}}]}}\n\n',
    }
    for protocol, body in bodies.items():
        call_made = message_of(body.replace("NUMBER", number).encode(), protocol=protocol).calls[0]
        assert (call_made.executable, call_made.arguments) == (False, None), protocol


def test_many_empty_objects_before_the_real_one_cost_no_square() -> None:
    body = sse(piece("{}" * 100_000 + '{"path":"x"}', id="c"), choice({}, "tool_calls")) + DONE
    events, _ = run([body])
    assert isinstance(events[-1], MessageEnd)
    assert events[-1].message.calls[0].arguments == {"path": "x"}


def test_warnings_of_lost_payloads_are_events_too() -> None:
    events, _ = run([FIRST + b" data: " + LOST + b"\n\n" + LAST + DONE])
    assert [event.kind for event in events if isinstance(event, StreamWarning)] == ["stray_payload"]


@pytest.mark.parametrize("end", ["finish", "sentinel", "eof"])
def test_reasoning_details_in_many_pieces_are_joined_in_order(end: str) -> None:
    entries = [{"index": number % 3, "type": "reasoning.text", "text": f"{number} "} for number in range(300)]
    details = [{"reasoning_details": [entry]} for entry in entries]
    finish = [choice({"content": "x"}, "stop")]
    body = sse(*map(choice, details), *finish) + (DONE if end == "sentinel" else b"")
    if end == "eof":
        body = sse(*finish, *map(choice, details))  # they come after the finish reason
    part = message_of(body).parts[0 if end != "eof" else -1]
    opaque = getattr(part, "opaque", None)
    assert opaque is not None
    texts = [entry["text"].split() for entry in opaque["reasoning_details"]]
    assert texts == [[str(number) for number in range(300) if number % 3 == index] for index in range(3)]


ERRORS = [
    {"error": {"message": "no \ud800", "code": "\ud800", "type": "\ud800"}, "request_id": "\ud800"},
    {"error": "\ud800"},
    {"type": "error", "error": {"type": "\ud800", "message": "no"}},
    {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "no \ud800"}]},
]


@pytest.mark.parametrize("payload", ERRORS, ids=lambda payload: next(iter(payload)))
@pytest.mark.parametrize("protocol", ["chat", "responses", "anthropic", "gemini", "ollama"])
def test_half_a_character_in_an_error_can_still_be_written_down(protocol: str, payload: Any) -> None:
    body = json.dumps(payload).encode() + b"\n" if protocol == "ollama" else sse(payload)
    _, pipeline = run([body], protocol)
    error = pipeline.error
    assert error is not None
    msgspec.json.encode([error.message, error.code, error.request_id, error.partial])


def test_bad_bytes_in_a_header_can_still_be_written_down() -> None:
    header = b"req-\xff".decode("utf-8", "surrogateescape")
    assert from_response(500, {"x-request-id": header}, b"").request_id == "req-\ufffd"
    assert request_id_of({"x-request-id": header}) == "req-\ufffd"


@pytest.mark.parametrize("number", ["1e999", "NaN", "-1e999"])
def test_a_count_that_is_no_number_is_not_known(number: str) -> None:
    usage = f'data: {{"choices":[],"usage":{{"prompt_tokens":{number},"completion_tokens":3}}}}\n\n'
    message = message_of(FIRST + LAST + usage.encode() + DONE)
    assert (message.usage.input_tokens, message.usage.output_tokens) == (None, 3)


def item(kind: str, name: str, text: str) -> dict[str, Any]:
    place = {"item_id": "i", "output_index": 0, "content_index": 0}
    return {"type": f"response.{kind}", **place, name: text}


def thinking(kind: str, text: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": f"{kind}_delta", kind: text}}


THINKING = {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}


def grown(shape: str, n: int) -> tuple[str, bytes]:
    match shape:
        case "signature":
            return "anthropic", sse(THINKING, *(thinking("signature", f"{at:0100}") for at in range(n)))
        case "name":
            return "chat", sse(
                *(choice({"tool_calls": [{"index": 0, "function": {"name": f"{at:06}"}}]}) for at in range(n))
            )
        case _:
            delta, done = item(f"{shape}.delta", "delta", "abcdefgh" * 20), item(f"{shape}.done", "text", "a")
            return "responses", sse(*([delta, done] * n))


@pytest.mark.parametrize("shape", ["signature", "name", "output_text", "reasoning_text"])
def test_what_grows_in_pieces_costs_no_square(shape: str) -> None:
    def cost(n: int) -> float:
        protocol, body = grown(shape, n)
        started = time.process_time()
        run([body], protocol)
        return time.process_time() - started

    # A square would be 16 times; the best of some tries, for the machine has other things to do.
    assert any(cost(40_000) < 8 * cost(10_000) for _ in range(3))


def test_a_name_that_never_ends_is_a_limit() -> None:
    _, pipeline = run([grown("name", 20_000)[1]])
    assert isinstance(pipeline.error, LimitExceededError)
    assert "name" in pipeline.error.message


@pytest.mark.parametrize("repeated", [False, True])
def test_a_signature_in_pieces_is_joined_and_told_once(repeated: bool) -> None:
    pieces = ["ab", "", "cd", "ef", *(["abcdef"] if repeated else [])]
    stop = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    body = sse(THINKING, *(thinking("signature", piece) for piece in pieces), stop, {"type": "message_stop"})
    part = message_of(body, protocol="anthropic").parts[0]
    assert isinstance(part, ReasoningPart)
    assert part.opaque is not None
    assert part.opaque["signature"] == "abcdef"


def test_a_block_of_an_unknown_kind_can_be_written_down() -> None:
    start = {"type": "content_block_start", "index": 0, "content_block": {"type": "new_\ud83d", "data": "\udc00"}}
    delta = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}
    stop = [{"type": "content_block_stop", "index": 0}, delta, {"type": "message_stop"}]
    events, _ = run([sse(start, *stop)], "anthropic")
    assert isinstance(events[-1], MessageEnd)
    assert b"new_" in msgspec.json.encode(events)
