from __future__ import annotations

import base64
import json
from functools import cache
from typing import Any

import msgspec
import pytest
from botocore.session import Session
from botocore.validate import ParamValidator

from inkwire.errors import ConfigurationError, ModelError, RateLimitError, ServiceError
from inkwire.fragments import FailureFragment, Fragment, UsageFragment, WarningFragment
from inkwire.messages import (
    AssistantMessage,
    ImagePart,
    OpaquePart,
    ReasoningPart,
    Request,
    SystemMessage,
    TextPart,
    ToolCall,
    UserMessage,
)
from inkwire.protocols.base import Quirks
from inkwire.protocols.bedrock import PROTOCOL, encode
from tests.protocols.decoding import assembled, fragments_of
from tests.protocols.request_matrix import MATRIX, READ, request_for

USER = UserMessage.of("hi")
CLAUDE = "anthropic.claude-sonnet-4-5-20250929-v1:0"
Event = tuple[str, dict[str, Any]]


def delta(index: int, **value: Any) -> Event:
    return "contentBlockDelta", {"contentBlockIndex": index, "delta": value}


def reasoning(index: int, **value: Any) -> Event:
    return delta(index, reasoningContent=value)


def start(index: int, **use: Any) -> Event:
    return "contentBlockStart", {"contentBlockIndex": index, "start": {"toolUse": use}}


def stop(index: int) -> Event:
    return "contentBlockStop", {"contentBlockIndex": index}


def ended(reason: str = "end_turn") -> Event:
    return "messageStop", {"stopReason": reason}


def decode(*events: Any) -> list[Fragment]:
    return fragments_of(PROTOCOL, events)


def assemble(*events: Any) -> tuple[AssistantMessage, ModelError | None]:
    return assembled(PROTOCOL, [("messageStart", {"role": "assistant"}), *events])


# ---- what comes in --------------------------------------------------------------------------------------------------


def test_text_and_a_call_with_the_usage_after_the_end() -> None:
    message, _ = assemble(
        delta(0, text="Let me "),
        delta(0, text="look."),
        stop(0),
        start(1, toolUseId="tooluse_1", name="read"),
        delta(1, toolUse={"input": '{"path"'}),
        delta(1, toolUse={"input": ': "a.py"}'}),
        stop(1),
        ended("tool_use"),
        ("metadata", {"usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}}),
    )
    assert message.parts[0] == TextPart("Let me look.")
    (call,) = message.executable_calls
    assert (call.id, call.name, call.arguments) == ("tooluse_1", "read", {"path": "a.py"})
    assert (message.usage.input_tokens, message.usage.output_tokens) == (10, 5)


def test_interleaved_calls_keep_their_arguments() -> None:
    message, _ = assemble(
        start(0, toolUseId="a", name="read"),
        start(1, toolUseId="b", name="read"),
        delta(1, toolUse={"input": '{"path": '}),
        delta(0, toolUse={"input": '{"path": "a"}'}),
        delta(1, toolUse={"input": '"b"}'}),
        ended("tool_use"),
    )
    assert [call.arguments for call in message.calls] == [{"path": "a"}, {"path": "b"}]


def test_a_block_whose_index_is_used_again_is_a_new_call() -> None:
    message, _ = assemble(
        start(0, toolUseId="a", name="read"),
        delta(0, toolUse={"input": '{"path": "a"}'}),
        start(0, toolUseId="b", name="read"),
        delta(0, toolUse={"input": '{"path": "b"}'}),
        ended("tool_use"),
    )
    assert [call.arguments for call in message.calls] == [{"path": "a"}, {"path": "b"}]


@pytest.mark.parametrize("pieces", [[], [""], [{}]])
def test_no_arguments_are_an_empty_object(pieces: list[Any]) -> None:
    message, _ = assemble(
        start(0, toolUseId="a", name="list"),
        *(delta(0, toolUse={"input": piece}) for piece in pieces),
        ended("tool_use"),
    )
    assert message.executable_calls[0].arguments == {}


def test_a_signature_in_pieces_is_joined_on_its_reasoning() -> None:
    message, _ = assemble(
        reasoning(0, text="Let me "),
        reasoning(0, text="see"),
        reasoning(0, signature="SI"),
        reasoning(0, signature="G"),
        stop(0),
        delta(1, text="42"),
        ended(),
    )
    assert message.parts == (ReasoningPart("Let me see", {"signature": "SIG"}), TextPart("42"))


@pytest.mark.parametrize("closed", [True, False])
def test_redacted_reasoning_is_joined_as_bytes_and_keeps_its_place(closed: bool) -> None:
    pieces = [base64.b64encode(piece).decode() for piece in (b"\x00", b"\x01\x02", b"\x03")]
    message, _ = assemble(
        *(reasoning(0, redactedContent=piece) for piece in pieces),
        *([stop(0)] if closed else []),
        delta(1, text="so"),
        ended(),
    )
    whole = base64.b64encode(b"\x00\x01\x02\x03").decode()
    assert message.parts == (ReasoningPart("", {"redactedContent": whole}), TextPart("so"))


def test_redacted_reasoning_that_is_no_base64_is_a_warning() -> None:
    (found,) = decode(reasoning(0, redactedContent="!"))
    assert isinstance(found, WarningFragment)
    assert not found.damage


def test_a_tool_that_the_service_runs_is_no_call() -> None:
    message, _ = assemble(
        start(0, toolUseId="a", name="search", type="server_tool_use"),
        delta(0, toolUse={"input": '{"q": 1}'}),
        stop(0),
        delta(1, text="found"),
        ended(),
    )
    assert not message.calls
    assert isinstance(message.parts[0], OpaquePart)
    assert message.text == "found"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("end_turn", "end_turn"),
        ("max_tokens", "max_tokens"),
        ("stop_sequence", "stop_sequence"),
        ("guardrail_intervened", "content_filter"),
        ("content_filtered", "content_filter"),
        ("model_context_window_exceeded", "context_window"),
        ("brand_new", "unknown"),
    ],
)
def test_stop_reasons(raw: str, reason: str) -> None:
    message, _ = assemble(delta(0, text="x"), ended(raw))
    assert (message.stop_reason, message.raw_stop_reason) == (reason, raw)


def test_end_turn_with_a_call_is_tool_use() -> None:
    message, _ = assemble(start(0, toolUseId="a", name="list"), ended())
    assert message.stop_reason == "tool_use"
    assert message.executable_calls


@pytest.mark.parametrize("reason", ["malformed_tool_use", "malformed_model_output"])
def test_a_malformed_call_fails_the_answer_and_may_be_asked_again(reason: str) -> None:
    _, error = assemble(ended(reason))
    assert isinstance(error, ServiceError)
    assert (error.code, error.retryable) == ("malformed_tool_call", True)


def test_usage_counts_the_cache_into_the_input() -> None:
    usage = {"inputTokens": 10, "outputTokens": 5, "cacheReadInputTokens": 100, "cacheWriteInputTokens": 20}
    assert decode(("metadata", {"usage": usage})) == [UsageFragment(130, 5, 100, 20)]


@pytest.mark.parametrize(
    ("name", "retryable"),
    [
        ("throttlingException", True),
        ("internalServerException", True),
        ("modelStreamErrorException", True),
        ("serviceUnavailableException", True),
        ("validationException", False),
    ],
)
@pytest.mark.parametrize("payload", [{"message": "said so"}, b""])
def test_an_exception_is_the_services_error(name: str, retryable: bool, payload: Any) -> None:
    (found,) = decode((name, payload))
    assert isinstance(found, FailureFragment)
    assert isinstance(found.error, ServiceError)
    assert found.error.retryable is retryable
    assert not payload or found.error.message == "said so"


def test_throttling_by_tokens_is_no_full_context() -> None:
    (found,) = decode(("throttlingException", {"message": "Too many tokens, please wait before trying again."}))
    assert isinstance(found, FailureFragment)
    assert isinstance(found.error, RateLimitError)


@pytest.mark.parametrize(
    "odd",
    [
        ("brandNew", {"x": 1}),
        ("contentBlockDelta", {"contentBlockIndex": 0, "delta": None}),
        ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"citation": {}}}),
        ("contentBlockStart", {"contentBlockIndex": 0, "start": None}),
        ("metadata", {"usage": None}),
        ("messageStart", b""),
    ],
)
def test_what_is_not_known_yet_is_skipped(odd: Event) -> None:
    assert decode(odd) == []


def test_damage_fails_the_stream() -> None:
    (found,) = decode(("contentBlockDelta", b'{"delta'))
    assert isinstance(found, FailureFragment)


# ---- what goes out --------------------------------------------------------------------------------------------------


@cache
def service_model() -> Any:
    return Session().get_service_model("bedrock-runtime")


def body(request: Request, model: str = CLAUDE, quirks: Quirks | None = None) -> dict[str, Any]:
    encoded = encode(request, model, quirks or Quirks())
    decoded: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(encoded.body))
    return decoded


def check(sent: dict[str, Any]) -> None:
    """The service's own model takes it."""
    shape = service_model().operation_model("ConverseStream").input_shape
    report = ParamValidator().validate({"modelId": CLAUDE, **sent}, shape)
    assert not report.has_errors(), report.generate_report()


@pytest.mark.parametrize("name", MATRIX)
def test_every_kind_of_history_is_taken_by_the_services_model(name: str) -> None:
    check(body(request_for(PROTOCOL, name)))


def test_the_address_names_the_model() -> None:
    encoded = encode(Request("p/m", (USER,)), CLAUDE, Quirks())
    assert encoded.path == "/model/anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream"
    assert encoded.headers == {"accept": "application/vnd.amazon.eventstream"}
    arn = "arn:aws:bedrock:us-east-1:1:application-inference-profile/x"
    assert "/" not in encode(Request("p/m", (USER,)), arn, Quirks()).path[7:-16]


def test_a_conversation_with_parallel_calls() -> None:
    sent = body(request_for(PROTOCOL, "parallel_calls"))
    assert sent["messages"] == [
        {"role": "user", "content": [{"text": "Read a.py and b.py"}]},
        {
            "role": "assistant",
            "content": [
                {"text": "I look."},
                {"toolUse": {"toolUseId": "call_1", "name": "read", "input": {"path": "a.py"}}},
                {"toolUse": {"toolUseId": "call_2", "name": "read", "input": {"path": "b.py"}}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": "call_1", "content": [{"text": "a"}], "status": "success"}},
                {"toolResult": {"toolUseId": "call_2", "content": [{"text": "b"}], "status": "success"}},
                {"text": "and quickly"},
            ],
        },
    ]


def test_error_and_image_results() -> None:
    (failed,) = body(request_for(PROTOCOL, "error_result"))["messages"][-1]["content"]
    assert failed["toolResult"]["status"] == "error"
    (image,) = body(request_for(PROTOCOL, "image_result"))["messages"][-1]["content"]
    assert image["toolResult"]["content"] == [{"image": {"format": "jpeg", "source": {"bytes": "/9g="}}}]


def test_own_reasoning_goes_back_as_it_came_and_unsigned_reasoning_does_not() -> None:
    own = AssistantMessage(
        (
            ReasoningPart("hm", {"signature": "S"}),
            ReasoningPart("", {"redactedContent": "AAEC"}),
            ReasoningPart("unsigned"),
            TextPart("so"),
        )
    )
    sent = body(Request("p/m", (USER, own)))
    check(sent)
    assert sent["messages"][1]["content"] == [
        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "S"}}},
        {"reasoningContent": {"redactedContent": "AAEC"}},
        {"text": "so"},
    ]


def test_all_options() -> None:
    schema = {"type": "object", "properties": {"ä": {"type": "string"}}}
    sent = body(
        Request(
            "p/m",
            (SystemMessage("Be brief."), USER),
            (READ,),
            tool_choice="required",
            max_tokens=2000,
            temperature=0.5,
            top_p=0.9,
            stop=("END",),
            reasoning_budget_tokens=1024,
            output_schema=schema,
            prompt_caching=True,
            extra_body={"performanceConfig": {"latency": "optimized"}},
        )
    )
    check(sent)
    point = {"cachePoint": {"type": "default"}}
    assert json.loads(sent["outputConfig"]["textFormat"]["structure"]["jsonSchema"].pop("schema")) == schema
    assert sent == {
        "messages": [{"role": "user", "content": [{"text": "hi"}, point]}],
        "system": [{"text": "Be brief."}, point],
        "toolConfig": {
            "tools": [
                {
                    "toolSpec": {
                        "name": "read",
                        "description": "Read a file.",
                        "inputSchema": {"json": READ.parameters},
                    }
                },
                point,
            ],
            "toolChoice": {"any": {}},
        },
        "inferenceConfig": {"maxTokens": 2000, "temperature": 0.5, "topP": 0.9, "stopSequences": ["END"]},
        "additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 1024}},
        "outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": {"name": "output"}}}},
        "performanceConfig": {"latency": "optimized"},
    }


@pytest.mark.parametrize(
    ("model", "effort", "fields"),
    [
        (CLAUDE, "high", {"outputConfig": {"effort": "high"}}),
        (CLAUDE, "none", {"additionalModelRequestFields": {"thinking": {"type": "disabled"}}}),
        (
            "us.amazon.nova-2-lite-v1:0",
            "low",
            {"additionalModelRequestFields": {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": "low"}}},
        ),
        ("openai.gpt-oss-120b-1:0", "low", {"additionalModelRequestFields": {"reasoning_effort": "low"}}),
    ],
)
def test_reasoning_effort_in_each_familys_words(model: str, effort: str, fields: dict[str, Any]) -> None:
    sent = body(Request("p/m", (USER,), reasoning_effort=effort), model)
    check(sent)
    assert {name: sent[name] for name in sent if name != "messages"} == fields


def test_one_tool_can_be_forced() -> None:
    sent = body(Request("p/m", (USER,), (READ,), tool_choice="read"))
    check(sent)
    assert sent["toolConfig"]["toolChoice"] == {"tool": {"name": "read"}}


def test_a_history_with_calls_declares_their_tools_even_when_none_are_offered() -> None:
    request = msgspec.structs.replace(request_for(PROTOCOL, "parallel_calls"), tools=())
    sent = body(request)
    check(sent)
    assert [tool["toolSpec"]["name"] for tool in sent["toolConfig"]["tools"]] == ["read"]
    assert "toolConfig" not in body(Request("p/m", (USER,)))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"seed": 1}, "seed"),
        ({"parallel_tool_calls": False}, "parallel_tool_calls"),
        ({"tool_choice": "none", "tools": (READ,)}, "tool_choice"),
        ({"reasoning_budget_tokens": 9}, "reasoning_budget_tokens"),
        ({"top_p": 0.5}, "top_p"),
    ],
)
def test_options_that_are_not_there_are_refused_by_name(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        encode(Request("p/m", (USER,), **options), "meta.llama", Quirks(unsupported=("top_p",)))


@pytest.mark.parametrize("image", [ImagePart(url="https://example.com/a.png"), ImagePart("image/tiff", b"x")])
def test_images_that_the_service_does_not_take_are_refused(image: ImagePart) -> None:
    with pytest.raises(ConfigurationError, match="image"):
        encode(Request("p/m", (UserMessage((image,)),)), CLAUDE, Quirks())


def test_blank_texts_are_left_out() -> None:
    history = (USER, AssistantMessage((TextPart(" \n"), ToolCall("a", "read", {}))))
    sent = body(Request("p/m", history))
    assert sent["messages"][1]["content"] == [{"toolUse": {"toolUseId": "a", "name": "read", "input": {}}}]
