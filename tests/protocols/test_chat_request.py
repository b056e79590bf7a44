"""What goes out to Chat Completions: every conversation of the matrix, and each option, in the vendor's own types."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from pydantic import TypeAdapter

from inkwire.errors import ConfigurationError
from inkwire.messages import (
    AssistantMessage,
    ReasoningPart,
    Request,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from inkwire.protocols.base import Quirks
from inkwire.protocols.chat import PROTOCOL
from tests.protocols.request_matrix import MATRIX, READ, request_for
from tests.protocols.vendor_types import validate

PARAMS: TypeAdapter[Any] = TypeAdapter(CompletionCreateParamsStreaming)
HELLO = Request("p/m", (UserMessage.of("hi"),))


def body(request: Request, quirks: Quirks | None = None) -> dict[str, Any]:
    encoded = PROTOCOL.encode(request, "m", quirks or Quirks())
    assert encoded.path == "/chat/completions"
    validate(PARAMS, encoded.body)
    return encoded.body


@pytest.mark.parametrize("name", MATRIX)
def test_every_history_is_a_request_that_the_vendors_types_accept(name: str) -> None:
    sent = body(request_for(PROTOCOL, name))
    assert sent["stream"] is True
    assert sent["stream_options"] == {"include_usage": True}


def test_calls_and_results_stand_in_the_order_of_the_calls() -> None:
    sent = body(request_for(PROTOCOL, "parallel_calls"))
    assert sent["messages"] == [
        {"role": "user", "content": "Read a.py and b.py"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": '{"path":"a.py"}'}},
                {"id": "call_2", "type": "function", "function": {"name": "read", "arguments": '{"path":"b.py"}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "a"},
        {"role": "tool", "tool_call_id": "call_2", "content": "b"},
        {"role": "user", "content": "and quickly"},
    ]


def test_an_error_result_says_so_in_words() -> None:
    sent = body(request_for(PROTOCOL, "error_result"))
    assert sent["messages"][-1]["content"] == "Error: no such file"


def test_an_image_of_a_result_follows_it_as_a_user_message() -> None:
    sent = body(request_for(PROTOCOL, "image_result"))
    assert [message["role"] for message in sent["messages"]] == ["user", "assistant", "tool", "user"]
    assert sent["messages"][-1]["content"][0]["image_url"]["url"].startswith("data:image/jpeg;base64,")


def test_cut_arguments_never_go_out() -> None:
    cut = ToolCall("a", "read", None, raw_arguments='{"path": "REA')
    sent = body(Request("p/m", (UserMessage.of("hi"), AssistantMessage((cut,)), ToolResultMessage.of(cut, "refused"))))
    assert sent["messages"][1]["tool_calls"][0]["function"]["arguments"] == "{}"


def test_arguments_go_back_byte_for_byte_where_they_are_one_object() -> None:
    raw = '{ "path":  "a.py" }'
    call = ToolCall("a", "read", {"path": "a.py"}, raw_arguments=raw)
    sent = body(Request("p/m", (UserMessage.of("hi"), AssistantMessage((call,)), ToolResultMessage.of(call, "x"))))
    assert sent["messages"][1]["tool_calls"][0]["function"]["arguments"] == raw


def test_own_reasoning_goes_back_under_the_field_in_which_it_came() -> None:
    call = ToolCall("a", "read", {}, opaque={"extra_content": {"google": {"thought_signature": "S"}}})
    parts = (ReasoningPart("Hm.", {"field": "reasoning_content"}), TextPart("x"), call)
    encoded = PROTOCOL.encode(replace(HELLO, messages=(AssistantMessage(parts),)), "m", Quirks())
    message = encoded.body["messages"][0]
    assert message["reasoning_content"] == "Hm."
    assert message["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "S"}}


def test_an_endpoint_that_wants_its_reasoning_field_gets_it_empty() -> None:
    answer = AssistantMessage((ToolCall("a", "read", {}),))
    encoded = PROTOCOL.encode(replace(HELLO, messages=(answer,)), "m", Quirks(reasoning_field="reasoning_content"))
    assert encoded.body["messages"][0]["reasoning_content"] == ""


def test_every_option_has_its_field() -> None:
    sent = body(
        replace(
            HELLO,
            tools=(READ,),
            tool_choice="read",
            parallel_tool_calls=False,
            max_tokens=10,
            temperature=0.5,
            top_p=0.9,
            stop=("END",),
            seed=7,
            reasoning_effort="low",
            output_schema={"type": "object"},
            prompt_caching=True,
        )
    )
    assert sent["tool_choice"] == {"type": "function", "function": {"name": "read"}}
    assert (sent["parallel_tool_calls"], sent["max_tokens"], sent["stop"]) == (False, 10, ["END"])
    assert (sent["temperature"], sent["top_p"], sent["seed"], sent["reasoning_effort"]) == (0.5, 0.9, 7, "low")
    assert sent["response_format"]["json_schema"]["schema"] == {"type": "object"}


def test_quirks_change_names_and_leave_things_out() -> None:
    quirks = Quirks(
        max_tokens_field="max_completion_tokens",
        seed_field="random_seed",
        stream_usage=False,
        required_word="any",
        tool_result_name=True,
        developer_role=True,
    )
    call = ToolCall("a", "read", {})
    messages = (
        SystemMessage("Be brief."),
        UserMessage.of("hi"),
        AssistantMessage((call,)),
        ToolResultMessage.of(call, "x"),
    )
    asked = replace(HELLO, messages=messages, tools=(READ,), tool_choice="required", max_tokens=5, seed=1)
    sent = PROTOCOL.encode(asked, "m", quirks).body
    assert (sent["max_completion_tokens"], sent["random_seed"], sent["tool_choice"]) == (5, 1, "any")
    assert "stream_options" not in sent
    assert sent["messages"][0]["role"] == "developer"
    assert sent["messages"][-1]["name"] == "read"


@pytest.mark.parametrize(
    ("request_", "quirks"),
    [
        (replace(HELLO, reasoning_budget_tokens=100), Quirks()),
        (replace(HELLO, temperature=1.0), Quirks(unsupported=("temperature",))),
    ],
)
def test_an_option_that_is_not_there_is_refused_by_name(request_: Request, quirks: Quirks) -> None:
    with pytest.raises(ConfigurationError, match=r"reasoning_budget_tokens|temperature"):
        PROTOCOL.encode(request_, "m", quirks)


def test_the_body_is_json() -> None:
    assert json.loads(json.dumps(body(request_for(PROTOCOL, "unicode"))))["messages"]
