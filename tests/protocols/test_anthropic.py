from __future__ import annotations

from typing import Any

import anthropic.types
import pytest
from pydantic import TypeAdapter

from inkwire.errors import ConfigurationError, ModelError, ProtocolError, ServerError
from inkwire.fragments import CallFragment, FailureFragment, TextFragment, UsageFragment, WarningFragment
from inkwire.framing.frame import Frame
from inkwire.messages import (
    AssistantMessage,
    ImagePart,
    OpaquePart,
    ReasoningPart,
    Request,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolDefinition,
    ToolResultMessage,
    UserMessage,
)
from inkwire.protocols.anthropic import PROTOCOL, AnthropicDecoder
from inkwire.protocols.anthropic_request import DEFAULT_MAX_TOKENS
from inkwire.protocols.base import Quirks
from tests.protocols.both_ways import both_ways, streams_of
from tests.protocols.decoding import assembled, fragments_of
from tests.protocols.request_matrix import MATRIX, READ, request_for

USER = UserMessage.of("hi")
PARAMS: TypeAdapter[Any] = TypeAdapter(anthropic.types.message_create_params.MessageCreateParamsStreaming)

START = {"type": "message_start", "message": {"id": "m", "content": [], "usage": {"input_tokens": 10}}}
STOP = {"type": "message_stop"}


def block(index: int, kind: str, **more: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **more}}


def delta(index: int, kind: str, **more: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **more}}


def stopped(reason: str | None, **usage: Any) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


def assemble(*payloads: Any) -> tuple[AssistantMessage, ModelError | None]:
    return assembled(PROTOCOL, payloads)


# ---- what comes in --------------------------------------------------------------------------------------------------


def test_the_fast_way_says_what_the_general_way_says() -> None:
    streams = list(streams_of("anthropic"))
    assert len(streams) > 40
    for stream in streams:
        fast, general = both_ways(stream, AnthropicDecoder)
        assert fast == general, stream.name


def test_the_fast_way_is_taken() -> None:
    decoder = AnthropicDecoder()
    decoder.feed(Frame(b'{"type":"content_block_start","index":3,"content_block":{"type":"text","text":""}}'))
    decoder._handlers.clear()
    (fragment,) = decoder.feed(
        Frame(b'{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"x"}}')
    )
    assert isinstance(fragment, TextFragment)
    assert fragment.text == "x"


@pytest.mark.parametrize(
    ("raw", "stop"),
    [
        ("end_turn", "end_turn"),
        ("max_tokens", "max_tokens"),
        ("stop_sequence", "stop_sequence"),
        ("pause_turn", "pause_turn"),
        ("refusal", "refusal"),
        ("model_context_window_exceeded", "context_window"),
        ("compaction", "unknown"),
        ("LENGTH", "max_tokens"),
    ],
)
def test_stop_reasons(raw: str, stop: str) -> None:
    message, error = assemble(START, block(0, "text", text="x"), stopped(raw), STOP)
    assert error is None
    assert (message.stop_reason, message.raw_stop_reason) == (stop, raw)


def test_an_error_as_a_stop_reason_is_an_error() -> None:
    _, error = assemble(START, stopped("error"), STOP)
    assert isinstance(error, ServerError)
    assert error.retryable


def test_counts_are_totals_and_the_largest_counts() -> None:
    found = fragments_of(
        PROTOCOL,
        [
            START,
            stopped(None, input_tokens=0, output_tokens=7, cache_read_input_tokens=5),
            stopped("end_turn", output_tokens=3, cache_creation_input_tokens=2),
        ],
    )
    assert [item for item in found if isinstance(item, UsageFragment)][-1] == UsageFragment(17, 7, 5, 2)


def test_counts_of_an_answer_that_was_given_up_do_not_count() -> None:
    again = {"type": "message_start", "message": {"usage": {"input_tokens": 4}}}
    message, _ = assemble(START, block(0, "text", text="x"), again, stopped("end_turn", output_tokens=1), STOP)
    assert (message.usage.input_tokens, message.usage.output_tokens) == (4, 1)


def test_a_start_that_is_sent_twice_before_any_content_is_no_restart() -> None:
    message, _ = assemble(START, START, block(0, "text", text="x"), stopped("end_turn"), STOP)
    assert message.text == "x"
    assert message.warnings == ()


def test_a_signature_in_pieces_is_joined_and_its_repetition_ignored() -> None:
    message, _ = assemble(
        START,
        block(0, "thinking", thinking=""),
        delta(0, "thinking_delta", thinking="hm"),
        *(delta(0, "signature_delta", signature=piece) for piece in ("SI", "G", "SIG")),
        block(1, "text", text="x"),
        stopped("end_turn"),
        STOP,
    )
    assert message.parts[0] == ReasoningPart("hm", {"signature": "SIG"})


def test_thinking_that_is_not_shown_keeps_its_place_and_signature() -> None:
    message, _ = assemble(
        START,
        block(0, "thinking", thinking="", signature=""),
        delta(0, "signature_delta", signature="SIG"),
        block(1, "text", text="x"),
        stopped("end_turn"),
        STOP,
    )
    assert message.parts == (ReasoningPart("", {"signature": "SIG"}), TextPart("x"))


def test_an_input_that_is_an_object_is_the_whole() -> None:
    message, _ = assemble(
        START, block(0, "tool_use", id="a", name="read"), delta(0, "input_json_delta", partial_json={"path": "x"}),
        stopped("tool_use"), STOP,
    )  # fmt: skip
    assert message.calls[0].arguments == {"path": "x"}


def test_an_input_in_the_start_and_again_in_pieces_is_one_input() -> None:
    message, _ = assemble(
        START,
        block(0, "tool_use", id="a", name="read", input={"path": "x"}),
        delta(0, "input_json_delta", partial_json='{"path"'),
        delta(0, "input_json_delta", partial_json=': "x"}'),
        stopped("tool_use"),
        STOP,
    )
    assert message.executable_calls[0].arguments == {"path": "x"}
    assert message.warnings == ()


def test_pieces_of_an_input_that_no_block_announced_make_a_call_that_cannot_run() -> None:
    message, _ = assemble(START, delta(0, "input_json_delta", partial_json="{}"), stopped("tool_use"), STOP)
    assert [(call.name, call.executable) for call in message.calls] == [("", False)]


def test_a_malformed_input_of_the_services_own_tool_is_told() -> None:
    message, _ = assemble(
        START, block(0, "server_tool_use", id="s", name="web_search", input={}),
        delta(0, "input_json_delta", partial_json='{"q'), stopped("end_turn"), STOP,
    )  # fmt: skip
    assert [warning.kind for warning in message.warnings] == ["opaque_input_malformed"]
    (part,) = message.parts
    assert isinstance(part, OpaquePart)
    assert part.opaque is not None
    assert part.opaque["input"] == {}


@pytest.mark.parametrize(
    "payload",
    [
        delta(0, "text_delta", text=["x"]),
        delta(0, "thinking_delta", thinking=7),
        {"type": "content_block_delta", "index": 0},
        {"type": "content_block_start", "index": 0},
    ],
)
def test_content_of_a_wrong_type_is_damage(payload: dict[str, Any]) -> None:
    (failure,) = fragments_of(PROTOCOL, [payload])
    assert isinstance(failure, FailureFragment)
    assert isinstance(failure.error, ProtocolError)
    (warning,) = fragments_of(PROTOCOL, [payload], tolerant=True)
    assert isinstance(warning, WarningFragment)
    assert warning.damage


@pytest.mark.parametrize(
    ("payload", "spoken"),
    [
        ({"object": "chat.completion.chunk", "choices": []}, "chat"),
        ({"type": "response.created", "response": {}}, "responses"),
        ({"candidates": []}, "gemini"),
        ({"message": {"content": ""}, "done": False}, "ollama"),
    ],
)
def test_another_protocol_is_named(payload: dict[str, Any], spoken: str) -> None:
    (failure,) = fragments_of(PROTOCOL, [payload])
    assert isinstance(failure, FailureFragment)
    assert f"speaks {spoken}" in failure.error.message


def test_unknown_events_and_deltas_are_skipped_and_counted() -> None:
    decoder = AnthropicDecoder()
    for data in (
        b'{"type":"future"}',
        b'{"type":"content_block_delta","index":0,"delta":{"type":"new"}}',
        b"null",
        b"",
    ):
        assert decoder.feed(Frame(data)) == ()
    assert decoder.unknown_events == 2


def test_half_a_character_goes_the_general_way() -> None:
    body = b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\ud83d"}}'
    rest = b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\ude00"}}'
    message, _ = assemble(START, block(0, "text", text=""), body, rest, stopped("end_turn"), STOP)
    assert message.text == "😀"


def test_tags_are_reasoning_where_the_quirk_says_so() -> None:
    payloads = [
        START,
        block(0, "text", text=""),
        delta(0, "text_delta", text="<think>hm</th"),
        delta(0, "text_delta", text="ink>so"),
        stopped("end_turn"),
        STOP,
    ]
    message, _ = assembled(PROTOCOL, payloads, Quirks(think_tags=True))
    assert message.parts == (ReasoningPart("hm"), TextPart("so"))


def test_a_call_keeps_the_services_extra_fields() -> None:
    found = fragments_of(PROTOCOL, [block(0, "tool_use", id="a", name="read", input={}, caller={"type": "direct"})])
    assert found == [CallFragment(0, id="a", name="read", opens=True, opaque={"caller": {"type": "direct"}})]


# ---- what goes out --------------------------------------------------------------------------------------------------


def body(request: Request, model: str = "m", quirks: Quirks | None = None) -> dict[str, Any]:
    encoded = PROTOCOL.encode(request, model, quirks or Quirks())
    assert encoded.path == "/v1/messages"
    assert encoded.headers["anthropic-version"] == "2023-06-01"
    PARAMS.validate_python(encoded.body)
    return encoded.body


@pytest.mark.parametrize("name", MATRIX)
def test_every_history_is_a_request_that_the_vendors_types_accept(name: str) -> None:
    sent = body(request_for(PROTOCOL, name))
    assert sent["stream"] is True
    assert sent["max_tokens"] == DEFAULT_MAX_TOKENS


def test_results_of_one_answer_and_the_users_next_words_are_one_message() -> None:
    assert body(request_for(PROTOCOL, "parallel_calls"))["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "Read a.py and b.py"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "call_1", "name": "read", "input": {"path": "a.py"}},
                {"type": "tool_use", "id": "call_2", "name": "read", "input": {"path": "b.py"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "call_1", "content": [{"type": "text", "text": "a"}]},
                {"type": "tool_result", "tool_use_id": "call_2", "content": [{"type": "text", "text": "b"}]},
                {"type": "text", "text": "and quickly"},
            ],
        },
    ]


def test_an_error_result_says_so() -> None:
    assert body(request_for(PROTOCOL, "error_result"))["messages"][-1]["content"] == [
        {
            "type": "tool_result",
            "tool_use_id": "call_1",
            "content": [{"type": "text", "text": "no such file"}],
            "is_error": True,
        }
    ]


def test_images_go_as_bytes_or_by_address_also_in_results() -> None:
    (turn,) = body(request_for(PROTOCOL, "image"))["messages"]
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}
    assert turn["content"][1] == {"type": "image", "source": source}
    (result,) = body(request_for(PROTOCOL, "image_result"))["messages"][-1]["content"]
    assert result["content"][0]["source"]["media_type"] == "image/jpeg"
    linked = body(Request("p/m", (UserMessage((ImagePart(url="https://x/y.png"),)),)))
    assert linked["messages"][0]["content"][0]["source"] == {"type": "url", "url": "https://x/y.png"}
    with pytest.raises(ConfigurationError, match="image/bmp"):
        body(Request("p/m", (UserMessage((ImagePart("image/bmp", b"x"),)),)))


def test_an_interrupted_answer_and_an_empty_turn_leave_valid_turns() -> None:
    turns = body(request_for(PROTOCOL, "interrupted"))["messages"]
    assert [turn["role"] for turn in turns] == ["user", "assistant", "user"]
    assert turns[1]["content"] == [{"type": "text", "text": "I was"}]
    (turn,) = body(request_for(PROTOCOL, "empty_turn"))["messages"]
    assert [part["text"] for part in turn["content"]] == ["Read a.py and b.py", "still there?"]


def test_own_blocks_go_back_as_they_came() -> None:
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    own = AssistantMessage(
        (
            ReasoningPart("hm", {"signature": "SIG"}),
            ReasoningPart("", {"data": "ENC"}),
            ReasoningPart("unsigned"),
            OpaquePart("server_tool_use", search),
            TextPart("so"),
            ToolCall("a", "read", {"path": "x"}, opaque={"caller": {"type": "direct"}}),
        )
    )
    request = Request("p/m", (USER, own, ToolResultMessage("a", "read", (TextPart("x"),))))
    assert body(request)["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "SIG"},
        {"type": "redacted_thinking", "data": "ENC"},
        search,
        {"type": "text", "text": "so"},
        {"type": "tool_use", "id": "a", "name": "read", "input": {"path": "x"}, "caller": {"type": "direct"}},
    ]
    wanted = body(request, quirks=Quirks(reasoning_field="thinking"))["messages"][1]["content"]
    assert wanted[2] == {"type": "thinking", "thinking": "unsigned", "signature": ""}


def test_all_options() -> None:
    sent = body(
        Request(
            "p/m",
            (SystemMessage("Be brief."), SystemMessage("Be kind."), USER),
            (READ, ToolDefinition("patch", free_text=True), ToolDefinition("now", "Tell the time.")),
            tool_choice="read",
            parallel_tool_calls=False,
            temperature=0.5,
            top_p=0.9,
            stop=("END",),
            reasoning_effort="high",
            output_schema={"type": "object"},
            prompt_caching=True,
            extra_body={"metadata": {"user_id": "u"}},
        )
    )
    mark = {"cache_control": {"type": "ephemeral"}}
    text = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
    assert sent == {
        "model": "m",
        "max_tokens": DEFAULT_MAX_TOKENS,
        "stream": True,
        "system": [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind.", **mark}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi", **mark}]}],
        "tools": [
            {"name": "read", "description": "Read a file.", "input_schema": READ.parameters},
            {"name": "patch", "input_schema": text},
            {
                "name": "now",
                "description": "Tell the time.",
                "input_schema": {"type": "object", "properties": {}},
                **mark,
            },
        ],
        "tool_choice": {"type": "tool", "name": "read", "disable_parallel_tool_use": True},
        "temperature": 0.5,
        "top_p": 0.9,
        "stop_sequences": ["END"],
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": "high", "format": {"type": "json_schema", "schema": {"type": "object"}}},
        "metadata": {"user_id": "u"},
    }


@pytest.mark.parametrize(
    ("choice", "parallel", "sent"),
    [
        ("auto", None, None),
        ("auto", True, None),
        ("auto", False, {"type": "auto", "disable_parallel_tool_use": True}),
        ("required", None, {"type": "any"}),
        ("none", False, {"type": "none"}),
    ],
)
def test_tool_choices(choice: str, parallel: bool | None, sent: dict[str, Any] | None) -> None:
    request = Request("p/m", (USER,), (READ,), tool_choice=choice, parallel_tool_calls=parallel)
    assert body(request).get("tool_choice") == sent


def test_a_thinking_budget_stands_beside_the_output_limit() -> None:
    sent = body(Request("p/m", (USER,), reasoning_budget_tokens=2000))
    assert sent["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert sent["max_tokens"] == DEFAULT_MAX_TOKENS + 2000
    assert body(Request("p/m", (USER,), reasoning_budget_tokens=2000, max_tokens=3000))["max_tokens"] == 3000
    assert body(Request("p/m", (USER,), reasoning_effort="none"))["thinking"] == {"type": "disabled"}
    assert body(Request("p/m", (USER,), reasoning_effort="minimal"))["output_config"] == {"effort": "low"}


def test_an_option_that_the_protocol_lacks_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"seed=7 .* anthropic"):
        PROTOCOL.encode(Request("p/m", (USER,), seed=7), "m", Quirks())
    with pytest.raises(ConfigurationError, match="this endpoint refuses it"):
        PROTOCOL.encode(Request("p/m", (USER,), temperature=1.0), "m", Quirks(unsupported=("temperature",)))
