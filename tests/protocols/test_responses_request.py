from __future__ import annotations

from typing import Any

import pytest
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import TypeAdapter

from inkwire.errors import ConfigurationError
from inkwire.messages import (
    AssistantMessage,
    ImagePart,
    Message,
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
from inkwire.protocols.responses import PROTOCOL
from tests.protocols.request_matrix import MATRIX, READ, request_for
from tests.protocols.vendor_types import validate

USER = UserMessage.of("hi")
PARAMS: TypeAdapter[Any] = TypeAdapter(ResponseCreateParamsStreaming)


def body(request: Request, model: str = "gpt-5.5", quirks: Quirks | None = None) -> dict[str, Any]:
    encoded = PROTOCOL.encode(request, model, quirks or Quirks())
    assert encoded.path == "/responses"
    validate(PARAMS, encoded.body)
    return encoded.body


@pytest.mark.parametrize("name", MATRIX)
def test_every_history_is_a_request_that_the_vendors_types_accept(name: str) -> None:
    sent = body(request_for(PROTOCOL, name))
    assert (sent["stream"], sent["store"]) == (True, False)
    assert sent["include"] == ["reasoning.encrypted_content"]


def test_calls_and_results_are_items_of_their_own() -> None:
    sent = body(request_for(PROTOCOL, "parallel_calls"))
    assert sent["input"] == [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Read a.py and b.py"}]},
        {"type": "message", "role": "assistant", "content": "I look."},
        {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": '{"path":"a.py"}'},
        {"type": "function_call", "call_id": "call_2", "name": "read", "arguments": '{"path":"b.py"}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "a"},
        {"type": "function_call_output", "call_id": "call_2", "output": "b"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "and quickly"}]},
    ]


def test_an_error_result_says_so_in_words() -> None:
    assert body(request_for(PROTOCOL, "error_result"))["input"][-1]["output"] == "Error: no such file"


def test_images_are_data_urls_also_in_results() -> None:
    (turn,) = body(request_for(PROTOCOL, "image"))["input"]
    image = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,iVBORw=="}
    assert turn["content"] == [{"type": "input_text", "text": "What is it?"}, image]
    output = body(request_for(PROTOCOL, "image_result"))["input"][-1]["output"]
    assert output == [{"type": "input_image", "detail": "auto", "image_url": "data:image/jpeg;base64,/9g="}]
    linked = body(Request("p/m", (UserMessage((ImagePart(url="https://x/y.png"),)),)))
    assert linked["input"][0]["content"][0]["image_url"] == "https://x/y.png"


def test_characters_of_all_scripts_stay_what_they_are() -> None:
    sent = body(request_for(PROTOCOL, "unicode"))["input"]
    assert sent[0]["content"][0]["text"] == "Grüße, 世界 😀"
    assert sent[1]["arguments"] == '{"path":"ä/世界.py"}'


def test_an_interrupted_answer_and_an_empty_turn_leave_valid_items() -> None:
    sent = body(request_for(PROTOCOL, "interrupted"))["input"]
    assert [item["role"] for item in sent] == ["user", "assistant", "user"]
    sent = body(request_for(PROTOCOL, "empty_turn"))["input"]
    assert [item["role"] for item in sent] == ["user", "user"]


def own(*parts: TextPart | ReasoningPart | ToolCall | OpaquePart) -> tuple[Message, ...]:
    results = [ToolResultMessage(part.id, part.name, (TextPart("ok"),)) for part in parts if isinstance(part, ToolCall)]
    return (USER, AssistantMessage(parts), *results)


def test_own_items_go_back_encrypted_and_without_their_ids() -> None:
    summary = [{"type": "summary_text", "text": "One"}]
    search = {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "x"},
    }
    messages = own(
        ReasoningPart("One", {"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "ENC"}),
        ReasoningPart("", {"type": "reasoning", "id": "rs_2", "encrypted_content": "ENC2", "status": "completed"}),
        OpaquePart("web_search_call", search),
        TextPart("I look.", {"phase": "commentary", "annotations": [{"type": "url_citation"}]}),
        ToolCall("call_1", "read", {"path": "x"}, opaque={"namespace": "files"}),
    )
    assert body(Request("p/m", messages))["input"][1:-1] == [
        {"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "ENC"},
        {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "ENC2"},
        search,
        {"type": "message", "role": "assistant", "content": "I look.", "phase": "commentary"},
        {
            "type": "function_call",
            "call_id": "call_1",
            "name": "read",
            "arguments": '{"path":"x"}',
            "namespace": "files",
        },
    ]


def test_reasoning_that_the_service_could_not_read_stays_at_home_unless_it_stores() -> None:
    messages = own(ReasoningPart("hm", {"type": "reasoning", "id": "rs_1", "summary": []}), TextPart("x"))
    assert [item["type"] for item in body(Request("p/m", messages))["input"]] == ["message", "message"]
    stored = body(Request("p/m", messages, extra_body={"store": True}))
    assert stored["store"] is True
    assert [item["type"] for item in stored["input"]] == ["message", "reasoning", "message"]


def test_free_text_calls_and_their_results_have_their_own_kinds() -> None:
    messages = own(ToolCall("call_1", "patch", "*** Begin", free_text=True), ToolCall("call_2", "read", {}))
    sent = body(Request("p/m", messages, (ToolDefinition("patch", "Patch.", free_text=True),), tool_choice="patch"))
    assert [item["type"] for item in sent["input"][1:]] == [
        "custom_tool_call",
        "function_call",
        "custom_tool_call_output",
        "function_call_output",
    ]
    assert sent["tools"] == [{"type": "custom", "name": "patch", "description": "Patch."}]
    assert sent["tool_choice"] == {"type": "custom", "name": "patch"}


def test_all_options() -> None:
    sent = body(
        Request(
            "p/m",
            (SystemMessage("Be brief."), SystemMessage("Be kind."), USER, SystemMessage("Now in French.")),
            (READ, ToolDefinition("now")),
            tool_choice="read",
            parallel_tool_calls=False,
            max_tokens=100,
            temperature=0.5,
            top_p=0.9,
            reasoning_effort="high",
            output_schema={"type": "object"},
            output_schema_name="answer",
            prompt_caching=True,
            extra_body={"reasoning": {"summary": "detailed"}, "prompt_cache_key": "k"},
        ),
        quirks=Quirks(developer_role=True),
    )
    assert sent == {
        "model": "gpt-5.5",
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "instructions": "Be brief.\n\nBe kind.",
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
            {"type": "message", "role": "developer", "content": "Now in French."},
        ],
        "tools": [
            {
                "type": "function",
                "name": "read",
                "description": "Read a file.",
                "parameters": READ.parameters,
                "strict": False,
            },
            {
                "type": "function",
                "name": "now",
                "description": "",
                "parameters": {"type": "object", "properties": {}},
                "strict": False,
            },
        ],
        "tool_choice": {"type": "function", "name": "read"},
        "parallel_tool_calls": False,
        "max_output_tokens": 100,
        "temperature": 0.5,
        "top_p": 0.9,
        "reasoning": {"effort": "high", "summary": "detailed"},
        "text": {"format": {"type": "json_schema", "name": "answer", "schema": {"type": "object"}, "strict": True}},
        "prompt_cache_key": "k",
    }


@pytest.mark.parametrize(("choice", "sent"), [("auto", None), ("required", "required"), ("none", "none")])
def test_tool_choices(choice: str, sent: str | None) -> None:
    assert body(Request("p/m", (USER,), (READ,), tool_choice=choice)).get("tool_choice") == sent


@pytest.mark.parametrize("model", ["gpt-4.1", "openai/gpt-4o-mini", "gpt-5-chat-latest"])
def test_models_without_reasoning_are_not_asked_for_it(model: str) -> None:
    assert "include" not in body(Request("p/m", (USER,)), model)


def test_no_effort_is_asked_for_without_a_summary() -> None:
    assert body(Request("p/m", (USER,), reasoning_effort="none"))["reasoning"] == {"effort": "none"}


@pytest.mark.parametrize("option", [{"stop": ("END",)}, {"seed": 7}, {"reasoning_budget_tokens": 100}])
def test_an_option_that_the_protocol_lacks_is_named(option: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=f"{next(iter(option))}=.* responses"):
        PROTOCOL.encode(Request("p/m", (USER,), **option), "m", Quirks())
    with pytest.raises(ConfigurationError, match="no such tool"):
        PROTOCOL.encode(Request("p/m", (USER,), (READ,), tool_choice="write"), "m", Quirks())
