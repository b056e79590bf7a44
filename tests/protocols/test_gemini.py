from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from google.genai import types

from inkwire.errors import ConfigurationError, ModelError, ServiceError
from inkwire.fragments import CallFragment, FailureFragment, Fragment, UsageFragment, WarningFragment
from inkwire.messages import (
    AssistantMessage,
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
from inkwire.protocols.base import Quirks
from inkwire.protocols.gemini import PROTOCOL
from inkwire.protocols.gemini_request import encode
from tests.protocols.decoding import assembled, fragments_of
from tests.protocols.request_matrix import MATRIX, READ, request_for

USER = UserMessage.of("hi")


def decode(*chunks: Any) -> list[Fragment]:
    return fragments_of(PROTOCOL, chunks)


def assemble(*chunks: Any) -> tuple[AssistantMessage, ModelError | None]:
    return assembled(PROTOCOL, chunks)


def chunk(*parts: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": list(parts)}}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], **more}


def call_part(name: str = "read", **more: Any) -> dict[str, Any]:
    signature = {"thoughtSignature": more.pop("signature")} if "signature" in more else {}
    return {"functionCall": {"name": name, **more}, **signature}


# ---- what comes in --------------------------------------------------------------------------------------------------


def test_thoughts_and_texts_are_parts_in_order() -> None:
    message, _ = assemble(
        chunk({"text": "Let ", "thought": True}),
        chunk({"text": "me see", "thought": True}),
        chunk({"text": "4"}),
        chunk({"text": "2"}, finish="STOP"),
    )
    assert message.parts == (ReasoningPart("Let me see"), TextPart("42"))
    assert message.stop_reason == "end_turn"


def test_a_signature_belongs_to_its_part_and_closes_it() -> None:
    message, _ = assemble(
        chunk({"text": "one "}),
        chunk({"text": "two", "thoughtSignature": "S1"}),
        chunk({"text": "three"}, finish="STOP"),
    )
    assert message.parts == (TextPart("one two", {"thoughtSignature": "S1"}), TextPart("three"))


def test_a_signature_on_an_empty_text_belongs_to_the_text_before_it() -> None:
    message, _ = assemble(chunk({"text": "42"}), chunk({"text": "", "thoughtSignature": "S"}, finish="STOP"))
    assert message.parts == (TextPart("42", {"thoughtSignature": "S"}),)


def test_a_signature_on_an_empty_text_behind_a_call_is_kept_as_it_came() -> None:
    last = {"text": "", "thoughtSignature": "S"}
    message, _ = assemble(chunk(call_part(args={})), chunk(last, finish="STOP"))
    assert message.parts[1] == OpaquePart("text", last)
    sent = encode(Request("p/m", (USER, message)), "m", Quirks()).body["contents"][-1]["parts"]
    assert sent[1] == last


def test_parallel_calls_without_ids_are_two_calls_and_only_the_first_is_signed() -> None:
    message, _ = assemble(
        chunk(call_part(args={"path": "ä"}, signature="S"), call_part(args={"path": "ä"}), finish="STOP")
    )
    first, second = message.calls
    assert first.arguments == second.arguments == {"path": "ä"}
    assert first.raw_arguments == '{"path":"ä"}'
    assert first.opaque == {"thoughtSignature": "S"}
    assert second.opaque is None
    assert first.id != second.id
    assert message.stop_reason == "tool_use"
    assert all(call.executable for call in message.calls)


def test_a_call_that_is_sent_again_keeps_its_signature() -> None:
    message, _ = assemble(
        chunk(call_part(args={"a": 1}, id="c", signature="S")), chunk(call_part(args={"a": 1}, id="c"), finish="STOP")
    )
    assert [(call.id, call.opaque) for call in message.calls] == [("c", {"thoughtSignature": "S"})]


def test_missing_arguments_are_an_empty_object() -> None:
    message, _ = assemble(chunk(call_part(), call_part("list", args=None), finish="STOP"))
    assert [call.arguments for call in message.calls] == [{}, {}]


def test_arguments_as_json_text_are_read() -> None:
    message, _ = assemble(chunk(call_part(args='{"path": "a"}'), finish="STOP"))
    assert message.calls[0].arguments == {"path": "a"}


GROWING = (
    chunk(call_part("write", id="c", willContinue=True)),
    chunk({"functionCall": {"partialArgs": [{"jsonPath": "$.path", "stringValue": "a.py"}], "willContinue": True}}),
    chunk(
        {
            "functionCall": {
                "partialArgs": [
                    {"jsonPath": "$.edits[0].text", "stringValue": "x = ", "willContinue": True},
                    {"jsonPath": "$['odd key']", "numberValue": 2.0},
                    {"jsonPath": "$.all", "boolValue": True},
                    {"jsonPath": "$.none", "nullValue": "NULL_VALUE"},
                ],
                "willContinue": True,
            }
        }
    ),
    chunk(
        {"functionCall": {"partialArgs": [{"jsonPath": "$.edits[0].text", "stringValue": "1"}], "willContinue": True}}
    ),
)


def test_arguments_that_grow_value_by_value_are_put_together() -> None:
    message, _ = assemble(*GROWING, chunk({"functionCall": {}}, finish="STOP"))
    assert message.calls[0].arguments == {
        "path": "a.py",
        "edits": [{"text": "x = 1"}],
        "odd key": 2,
        "all": True,
        "none": None,
    }
    assert message.calls[0].executable


@pytest.mark.parametrize("seen", [1, 2, 3, 4])
def test_arguments_that_do_not_grow_to_their_end_are_cut(seen: int) -> None:
    message, _ = assemble(*GROWING[:seen], chunk(finish="STOP"))
    (call,) = message.calls
    assert call.arguments is None
    assert call.arguments_error is not None
    assert call.arguments_error.kind == "incomplete"
    assert not call.executable


def test_a_growing_value_with_a_path_nobody_understands_is_not_run_without_it() -> None:
    lost = [{"jsonPath": "$..x", "stringValue": "a"}]
    message, _ = assemble(chunk(call_part("write", partialArgs=lost), finish="STOP"))
    assert not message.calls[0].executable


def test_blocks_of_the_provider_are_kept_whole() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1"}, "thoughtSignature": "S"}
    image = {"inlineData": {"mimeType": "image/png", "data": "AA=="}}
    message, _ = assemble(chunk(code, image, {"text": "1"}, finish="STOP"))
    assert message.parts == (OpaquePart("executableCode", code), OpaquePart("inlineData", image), TextPart("1"))
    assert not message.calls


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("STOP", "end_turn"),
        ("MAX_TOKENS", "max_tokens"),
        ("SAFETY", "content_filter"),
        ("SPII", "content_filter"),
        ("OTHER", "unknown"),
        ("BRAND_NEW", "unknown"),
        ("stop", "end_turn"),
    ],
)
def test_finish_reasons(raw: str, reason: str) -> None:
    message, _ = assemble(chunk({"text": "x"}, finish=raw))
    assert (message.stop_reason, message.raw_stop_reason) == (reason, raw)


@pytest.mark.parametrize("finish", list(types.FinishReason))
def test_every_reason_that_the_vendors_client_knows_ends_the_message_or_fails_it(finish: types.FinishReason) -> None:
    message, error = assemble(chunk({"text": "x"}, finish=finish.value))
    assert (message.raw_stop_reason == finish.value) is (error is None)


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"])
def test_a_malformed_call_fails_the_answer_and_may_be_asked_again(reason: str) -> None:
    candidate = {"index": 0, "finishReason": reason, "finishMessage": "Malformed function call: print("}
    _, error = assemble({"candidates": [candidate]})
    assert isinstance(error, ServiceError)
    assert (error.code, error.retryable) == ("malformed_tool_call", True)
    assert "print(" in error.message


def test_a_missing_signature_is_not_worth_asking_again() -> None:
    _, error = assemble({"candidates": [{"finishReason": "MISSING_THOUGHT_SIGNATURE"}]})
    assert isinstance(error, ServiceError)
    assert error.retryable is False


def test_a_blocked_prompt_is_a_filtered_answer() -> None:
    message, error = assemble({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}})
    assert error is None
    assert (message.stop_reason, message.raw_stop_reason) == ("content_filter", "PROHIBITED_CONTENT")


def test_usage_is_the_last_total_of_each_field() -> None:
    message, _ = assemble(
        {"usageMetadata": {"promptTokenCount": 100, "toolUsePromptTokenCount": 7, "cachedContentTokenCount": 64}},
        {"usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 1, "thoughtsTokenCount": 20}},
        chunk({"text": "x"}, finish="STOP", usageMetadata={"promptTokenCount": 107, "candidatesTokenCount": 2}),
    )
    usage = message.usage
    assert (usage.input_tokens, usage.output_tokens) == (107, 22)
    assert (usage.cache_read_tokens, usage.reasoning_tokens, usage.cache_write_tokens) == (64, 20, None)


def test_usage_that_was_not_sent_is_unknown() -> None:
    assert decode({"usageMetadata": {"promptTokenCount": 10, "totalTokenCount": 10}}) == [UsageFragment(10)]


def test_only_the_first_candidate_is_read_and_the_others_are_told_of_once() -> None:
    two = {"candidates": [{"index": 1, "content": {"parts": [{"text": "B"}]}}, *chunk({"text": "A"})["candidates"]]}
    message, _ = assemble(two, two, chunk(finish="STOP"))
    assert message.text == "AA"
    assert [warning.kind for warning in message.warnings] == ["extra_choices"]


@pytest.mark.parametrize("form", [dict, lambda error: [error]])
def test_an_error_in_the_stream_is_the_services(form: Any) -> None:
    error = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}
    (found,) = decode(form(error))
    assert isinstance(found, FailureFragment)
    assert isinstance(found.error, ServiceError)
    assert (found.error.status, found.error.retryable) == (503, True)


def test_an_array_is_the_chunks_it_holds() -> None:
    assert decode([chunk({"text": "a"}), chunk({"text": "b"}, finish="STOP")]) == decode(
        chunk({"text": "a"}), chunk({"text": "b"}, finish="STOP")
    )


@pytest.mark.parametrize(
    "odd",
    [
        {},
        None,
        {"candidates": None},
        {"candidates": []},
        {"candidates": [None, 1]},
        {"candidates": [{"content": None}]},
        {"candidates": [{"content": {"role": "model"}}]},
        {"candidates": [{"content": {"parts": [None, 1, {}, {"text": None}, {"thought": True}]}}]},
        {"usageMetadata": None, "promptFeedback": {}},
        {"usageMetadata": {"promptTokenCount": "ten"}},
    ],
)
def test_odd_shapes_are_no_damage(odd: Any) -> None:
    for found in decode(odd):
        assert not isinstance(found, FailureFragment | WarningFragment | CallFragment)


def test_damage_fails_the_stream_unless_tolerated() -> None:
    cut = b'{"candidates": ['
    (failure,) = fragments_of(PROTOCOL, [cut])
    assert isinstance(failure, FailureFragment)
    (warning,) = fragments_of(PROTOCOL, [cut], tolerant=True)
    assert isinstance(warning, WarningFragment)
    assert warning.damage


# ---- what goes out --------------------------------------------------------------------------------------------------


def body(request: Request, model: str = "gemini-2.5-pro", quirks: Quirks | None = None) -> dict[str, Any]:
    encoded = encode(request, model, quirks or Quirks()).body
    decoded: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(encoded))
    return decoded


def check(sent: dict[str, Any]) -> None:
    """The vendor's own types take it."""
    for content in sent["contents"]:
        types.Content.model_validate(content)
    for tool in sent.get("tools", ()):
        types.Tool.model_validate(tool)
    types.GenerationConfig.model_validate(sent.get("generationConfig", {}))
    types.ToolConfig.model_validate(sent.get("toolConfig", {}))
    if "systemInstruction" in sent:
        types.Content.model_validate(sent["systemInstruction"])


@pytest.mark.parametrize("name", MATRIX)
@pytest.mark.parametrize("model", ["gemini-2.5-pro", "gemini-3-pro-preview"])
def test_every_kind_of_history_is_taken_by_the_vendors_types(name: str, model: str) -> None:
    check(body(request_for(PROTOCOL, name, model), model))


def test_the_address_names_the_model() -> None:
    def path(model: str) -> str:
        return encode(Request("p/m", (USER,)), model, Quirks()).path

    assert path("gemini-2.5-pro") == "/models/gemini-2.5-pro:streamGenerateContent?alt=sse"
    assert path("tunedModels/my one") == "/tunedModels/my%20one:streamGenerateContent?alt=sse"


def test_a_conversation_with_parallel_calls() -> None:
    sent = body(request_for(PROTOCOL, "parallel_calls"))
    assert sent["contents"] == [
        {"role": "user", "parts": [{"text": "Read a.py and b.py"}]},
        {
            "role": "model",
            "parts": [
                {"text": "I look."},
                {"functionCall": {"id": "call_1", "name": "read", "args": {"path": "a.py"}}},
                {"functionCall": {"id": "call_2", "name": "read", "args": {"path": "b.py"}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "call_1", "name": "read", "response": {"output": "a"}}},
                {"functionResponse": {"id": "call_2", "name": "read", "response": {"output": "b"}}},
                {"text": "and quickly"},
            ],
        },
    ]


def test_an_error_result_says_so() -> None:
    (part,) = body(request_for(PROTOCOL, "error_result"))["contents"][-1]["parts"]
    assert part["functionResponse"]["response"] == {"error": "no such file"}


def test_images_stand_inside_a_result_where_the_model_takes_them_and_behind_it_elsewhere() -> None:
    image = {"inlineData": {"mimeType": "image/jpeg", "data": "/9g="}}
    (inside,) = body(request_for(PROTOCOL, "image_result"), "gemini-3-flash")["contents"][-1]["parts"]
    assert inside["functionResponse"]["parts"] == [image]
    result, behind = body(request_for(PROTOCOL, "image_result"))["contents"][-1]["parts"]
    assert "parts" not in result["functionResponse"]
    assert behind == image


def test_calls_of_another_model_get_the_stand_in_signature_where_one_is_demanded() -> None:
    def signatures(model: str) -> list[Any]:
        parts = body(request_for(PROTOCOL, "parallel_calls", model), model)["contents"][1]["parts"]
        return [part.get("thoughtSignature") for part in parts]

    assert signatures("gemini-3-pro-preview") == [None, "skip_thought_signature_validator", None]
    assert signatures("gemini-2.5-pro") == [None, None, None]


def test_own_signatures_go_back_on_their_parts() -> None:
    own = AssistantMessage(
        (
            ReasoningPart("hm"),
            TextPart("so", {"thoughtSignature": "S1"}),
            ToolCall("a", "read", {}, opaque={"thoughtSignature": "S2"}),
        )
    )
    parts = body(Request("p/m", (USER, own)), "gemini-3-pro")["contents"][1]["parts"]
    assert parts == [
        {"text": "hm", "thought": True},
        {"text": "so", "thoughtSignature": "S1"},
        {"functionCall": {"id": "a", "name": "read", "args": {}}, "thoughtSignature": "S2"},
    ]


def test_ids_stay_at_home_where_the_endpoint_refuses_them() -> None:
    sent = json.dumps(body(request_for(PROTOCOL, "parallel_calls"), quirks=Quirks(omit_call_ids=True)))
    assert '"id"' not in sent


def test_all_options() -> None:
    schema = {"type": "object", "properties": {"x": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "string"}}}
    sent = body(
        Request(
            "p/m",
            (SystemMessage("Be brief."), SystemMessage("Be kind."), USER),
            (READ, ToolDefinition("patch", free_text=True)),
            tool_choice="read",
            max_tokens=100,
            temperature=0.5,
            top_p=0.9,
            stop=("END",),
            seed=7,
            reasoning_budget_tokens=512,
            output_schema=schema,
            extra_body={"generationConfig": {"topK": 5}, "safetySettings": []},
        )
    )
    check(sent)
    assert sent == {
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "systemInstruction": {"parts": [{"text": "Be brief."}, {"text": "Be kind."}]},
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "read", "description": "Read a file.", "parametersJsonSchema": READ.parameters},
                    {
                        "name": "patch",
                        "description": "",
                        "parametersJsonSchema": {
                            "type": "object",
                            "properties": {"input": {"type": "string"}},
                            "required": ["input"],
                        },
                    },
                ]
            }
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["read"]}},
        "generationConfig": {
            "maxOutputTokens": 100,
            "temperature": 0.5,
            "topP": 0.9,
            "stopSequences": ["END"],
            "seed": 7,
            "thinkingConfig": {"thinkingBudget": 512, "includeThoughts": True},
            "responseMimeType": "application/json",
            "responseJsonSchema": schema,
            "topK": 5,
        },
        "safetySettings": [],
    }


@pytest.mark.parametrize(("choice", "mode"), [("none", "NONE"), ("required", "ANY")])
def test_tool_choices(choice: str, mode: str) -> None:
    sent = body(Request("p/m", (USER,), (READ,), tool_choice=choice))
    check(sent)
    assert sent["toolConfig"] == {"functionCallingConfig": {"mode": mode}}


@pytest.mark.parametrize(
    ("model", "effort", "config"),
    [
        ("gemini-2.5-flash", "none", {"thinkingBudget": 0, "includeThoughts": False}),
        ("gemini-2.5-pro", "high", {"thinkingBudget": 24576, "includeThoughts": True}),
        ("gemini-3-pro-preview", "low", {"thinkingLevel": "low", "includeThoughts": True}),
        ("gemini-3.1-flash", "minimal", {"thinkingLevel": "minimal", "includeThoughts": True}),
    ],
)
def test_reasoning_effort(model: str, effort: str, config: dict[str, Any]) -> None:
    sent = body(Request("p/m", (USER,), reasoning_effort=effort), model)
    check(sent)
    assert sent["generationConfig"]["thinkingConfig"] == config


@pytest.mark.parametrize(
    ("model", "options", "named"),
    [
        ("gemini-2.5-pro", {"parallel_tool_calls": False}, "parallel_tool_calls"),
        ("gemini-2.5-pro", {"reasoning_effort": "max"}, "reasoning_effort"),
        ("gemini-3-pro", {"reasoning_effort": "none"}, "reasoning_effort"),
        ("gemini-3-pro", {"reasoning_effort": "low", "reasoning_budget_tokens": 5}, "reasoning_budget_tokens"),
        ("gemma-3", {"seed": 5}, "seed"),
    ],
)
def test_options_that_are_not_there_are_refused_by_name(model: str, options: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        encode(Request("p/m", (USER,), **options), model, Quirks(unsupported=("seed",)))


def test_a_result_without_ids_still_names_its_tool() -> None:
    result = ToolResultMessage("a", "read", (TextPart("x"),))
    sent = body(
        Request("p/m", (USER, AssistantMessage((ToolCall("a", "read", {}),)), result)),
        quirks=Quirks(omit_call_ids=True),
    )
    assert sent["contents"][-1]["parts"] == [{"functionResponse": {"name": "read", "response": {"output": "x"}}}]
