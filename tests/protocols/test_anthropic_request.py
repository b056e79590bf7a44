from __future__ import annotations

from typing import Any

import anthropic.types
import pytest
from pydantic import TypeAdapter

from inkwire.errors import ConfigurationError
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
from inkwire.protocols.anthropic import PROTOCOL
from inkwire.protocols.anthropic_request import DEFAULT_MAX_TOKENS
from inkwire.protocols.base import Quirks
from tests.protocols.request_matrix import MATRIX, READ, request_for
from tests.protocols.vendor_types import validate

USER = UserMessage.of("hi")
PARAMS: TypeAdapter[Any] = TypeAdapter(anthropic.types.message_create_params.MessageCreateParamsStreaming)


def body(request: Request, model: str = "m", quirks: Quirks | None = None) -> dict[str, Any]:
    encoded = PROTOCOL.encode(request, model, quirks or Quirks())
    assert encoded.path == "/v1/messages"
    assert encoded.headers["anthropic-version"] == "2023-06-01"
    validate(PARAMS, encoded.body)
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


def test_a_thinking_budget_leaves_room_for_the_answer() -> None:
    sent = body(Request("p/m", (USER,), reasoning_budget_tokens=2000))
    assert sent["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert sent["max_tokens"] == DEFAULT_MAX_TOKENS
    assert body(Request("p/m", (USER,), reasoning_budget_tokens=40_000))["max_tokens"] == 48_000
    assert body(Request("p/m", (USER,), reasoning_budget_tokens=2000, max_tokens=3000))["max_tokens"] == 3000
    assert body(Request("p/m", (USER,), reasoning_effort="none"))["thinking"] == {"type": "disabled"}
    assert body(Request("p/m", (USER,), reasoning_effort="minimal"))["output_config"] == {"effort": "low"}


def test_an_option_that_the_protocol_lacks_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"seed=7 .* anthropic"):
        PROTOCOL.encode(Request("p/m", (USER,), seed=7), "m", Quirks())
    with pytest.raises(ConfigurationError, match="this endpoint refuses it"):
        PROTOCOL.encode(Request("p/m", (USER,), temperature=1.0), "m", Quirks(unsupported=("temperature",)))
