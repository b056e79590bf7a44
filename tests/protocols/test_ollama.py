from __future__ import annotations

import warnings
from typing import Any

import msgspec
import pytest
from ollama._types import ChatRequest

from inkwire.errors import ConfigurationError, ModelError, ServiceError
from inkwire.fragments import DoneFragment, FailureFragment, Fragment, UsageFragment, WarningFragment
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
    UserMessage,
)
from inkwire.protocols.base import Quirks
from inkwire.protocols.ollama import PROTOCOL, encode
from tests.protocols.decoding import assembled, fragments_of
from tests.protocols.request_matrix import MATRIX, READ, request_for

USER = UserMessage.of("hi")


def line(content: str = "", done: str | None = None, model: str = "qwen3:8b", **message: Any) -> dict[str, Any]:
    ending = {"done": False} if done is None else {"done": True, "done_reason": done}
    return {"model": model, "message": {"role": "assistant", "content": content, **message}, **ending}


def tool(name: str = "read", **function: Any) -> dict[str, Any]:
    return {"function": {"name": name, **function}}


def decode(*lines: Any) -> list[Fragment]:
    return fragments_of(PROTOCOL, lines)


def assemble(*lines: Any) -> tuple[AssistantMessage, ModelError | None]:
    return assembled(PROTOCOL, lines)


# ---- what comes in --------------------------------------------------------------------------------------------------


def test_thinking_and_text_are_parts_in_order() -> None:
    message, _ = assemble(
        line(thinking="Let me"), line(thinking=" see"), line("4"), line("2"), line(done="stop")
    )  # fmt: skip
    assert message.parts == (ReasoningPart("Let me see"), TextPart("42"))
    assert (message.stop_reason, message.raw_stop_reason, message.model) == ("end_turn", "stop", "qwen3:8b")


def test_each_call_is_whole_whatever_its_index_says() -> None:
    message, _ = assemble(
        line(tool_calls=[tool(arguments={"path": "ä.py"}, index=0)]),
        line(tool_calls=[tool(arguments={"path": "b.py"}, index=0), tool("list")]),
        line(done="stop"),
    )
    assert [call.arguments for call in message.calls] == [{"path": "ä.py"}, {"path": "b.py"}, {}]
    assert message.calls[0].raw_arguments == '{"path":"ä.py"}'
    assert len({call.id for call in message.calls}) == 3
    assert message.stop_reason == "tool_use"
    assert len(message.executable_calls) == 3


def test_equal_calls_without_ids_are_two_calls() -> None:
    message, _ = assemble(
        line(tool_calls=[tool(arguments={"a": 1})]), line(tool_calls=[tool(arguments={"a": 1})], done="stop")
    )
    assert len(message.calls) == 2


def test_an_id_is_kept() -> None:
    message, _ = assemble(line(tool_calls=[{"id": "call_x", **tool(arguments={})}], done="stop"))
    assert message.calls[0].id == "call_x"


def test_arguments_as_json_text_are_read() -> None:
    message, _ = assemble(line(tool_calls=[tool(arguments='{"path": "a"}')], done="stop"))
    assert message.calls[0].arguments == {"path": "a"}


def test_think_tags_are_reasoning_where_the_template_writes_them() -> None:
    lines = [line("<thi"), line("nk>hm</think>"), line("42"), line(done="stop")]
    message, _ = assembled(PROTOCOL, lines, Quirks(think_tags=True))
    assert message.parts == (ReasoningPart("hm"), TextPart("42"))
    assert assemble(*lines)[0].parts == (TextPart("<think>hm</think>42"),)


@pytest.mark.parametrize(("raw", "reason"), [("stop", "end_turn"), ("length", "max_tokens"), ("load", "unknown")])
def test_finish_reasons(raw: str, reason: str) -> None:
    message, _ = assemble(line("x"), line(done=raw))
    assert (message.stop_reason, message.raw_stop_reason) == (reason, raw)


def test_a_call_of_a_cut_answer_does_not_run() -> None:
    message, _ = assemble(line(tool_calls=[tool(arguments={"path": "a"})]), line(done="length"))
    assert not message.executable_calls


def test_the_end_comes_last_and_after_it_nothing_is_read() -> None:
    found = decode(line("x", done="stop"))
    assert found[-1] == DoneFragment("done")


def test_an_end_without_a_reason_completes_a_text_and_runs_nothing() -> None:
    end = {"model": "m", "message": {"role": "assistant", "content": ""}, "done": True}
    message, error = assemble(line("x", tool_calls=[tool(arguments={})]), end)
    assert error is None
    assert [warning.kind for warning in message.warnings] == ["finish_reason_missing"]
    assert not message.executable_calls


def test_counts_that_are_missing_are_unknown() -> None:
    assert UsageFragment(None, 1) in decode({**line(done="stop"), "eval_count": 1})
    assert UsageFragment(10, 2) in decode({**line(done="stop"), "prompt_eval_count": 10, "eval_count": 2})


def test_an_error_line_is_the_services() -> None:
    (found,) = decode({"error": "model runner has unexpectedly stopped"})
    assert isinstance(found, FailureFragment)
    assert isinstance(found.error, ServiceError)
    assert "unexpectedly stopped" in found.error.message


@pytest.mark.parametrize(
    "odd",
    [
        {},
        None,
        {"message": None},
        {"message": {"content": None, "thinking": None, "tool_calls": None}},
        {"message": {"tool_calls": [None, {}, {"function": None}]}},
        {"done": None, "error": None},
    ],
)
def test_odd_shapes_are_no_damage(odd: Any) -> None:
    assert decode(odd) == []


def test_damage_fails_the_stream_unless_tolerated() -> None:
    (failure,) = fragments_of(PROTOCOL, [b'{"message": '])
    assert isinstance(failure, FailureFragment)
    (warning,) = fragments_of(PROTOCOL, [b"[1]"], tolerant=True)
    assert isinstance(warning, WarningFragment)
    assert warning.damage


# ---- what goes out --------------------------------------------------------------------------------------------------


def body(request: Request, model: str = "qwen3:8b", quirks: Quirks | None = None) -> dict[str, Any]:
    encoded = encode(request, model, quirks or Quirks())
    assert encoded.path == "/api/chat"
    decoded: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(encoded.body))
    return decoded


def check(sent: dict[str, Any]) -> None:
    """The vendor's own types take it and send the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dumped = ChatRequest.model_validate(sent).model_dump(exclude_none=True)
    assert dumped["model"] == sent["model"]
    assert [message["role"] for message in dumped["messages"]] == [message["role"] for message in sent["messages"]]
    for theirs, ours in zip(dumped["messages"], sent["messages"], strict=True):
        assert theirs.get("content") == ours.get("content")
        assert theirs.get("tool_name") == ours.get("tool_name")


@pytest.mark.parametrize("name", MATRIX)
def test_every_kind_of_history_is_taken_by_the_vendors_types(name: str) -> None:
    check(body(request_for(PROTOCOL, name)))


def test_a_conversation_with_parallel_calls() -> None:
    sent = body(request_for(PROTOCOL, "parallel_calls"))
    assert sent["messages"] == [
        {"role": "user", "content": "Read a.py and b.py"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {"id": "call_1", "function": {"name": "read", "arguments": {"path": "a.py"}}},
                {"id": "call_2", "function": {"name": "read", "arguments": {"path": "b.py"}}},
            ],
        },
        {"role": "tool", "content": "a", "tool_name": "read", "tool_call_id": "call_1"},
        {"role": "tool", "content": "b", "tool_name": "read", "tool_call_id": "call_2"},
        {"role": "user", "content": "and quickly"},
    ]


def test_images_are_base64_beside_the_text() -> None:
    (message,) = body(request_for(PROTOCOL, "image"))["messages"]
    assert message == {"role": "user", "content": "What is it?", "images": ["iVBORw=="]}


def test_an_error_result_says_so_in_words() -> None:
    assert body(request_for(PROTOCOL, "error_result"))["messages"][-1]["content"] == "Error: no such file"


def test_own_reasoning_goes_back_as_thinking() -> None:
    own = AssistantMessage((ReasoningPart("hm"), TextPart("so")))
    assert body(Request("p/m", (USER, own)))["messages"][1] == {
        "role": "assistant",
        "content": "so",
        "thinking": "hm",
    }


def test_an_answer_of_which_nothing_can_be_said_is_left_out() -> None:
    assert len(body(Request("p/m", (USER, AssistantMessage((OpaquePart("x", {"a": 1}),)))))["messages"]) == 1


def test_all_options() -> None:
    sent = body(
        Request(
            "p/m",
            (SystemMessage("Be brief."), USER),
            (READ, ToolDefinition("now")),
            max_tokens=100,
            temperature=0.5,
            top_p=0.9,
            stop=("END",),
            seed=7,
            output_schema={"type": "object"},
            extra_body={"options": {"num_ctx": 8192}, "keep_alive": "5m"},
        )
    )
    check(sent)
    assert sent == {
        "model": "qwen3:8b",
        "stream": True,
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
        "tools": [
            {
                "type": "function",
                "function": {"name": "read", "description": "Read a file.", "parameters": READ.parameters},
            },
            {
                "type": "function",
                "function": {"name": "now", "description": "", "parameters": {"type": "object", "properties": {}}},
            },
        ],
        "format": {"type": "object"},
        "options": {
            "temperature": 0.5,
            "num_predict": 100,
            "stop": ["END"],
            "seed": 7,
            "top_p": 0.9,
            "num_ctx": 8192,
        },
        "keep_alive": "5m",
    }


@pytest.mark.parametrize(
    ("model", "effort", "think"),
    [
        ("qwen3:8b", "none", False),
        ("qwen3:8b", "high", True),
        ("gpt-oss:20b", "high", "high"),
        ("gpt-oss:20b", "minimal", "low"),
        ("gpt-oss:20b", "none", False),
        ("qwen3:8b", "max", "max"),
    ],
)
def test_reasoning_effort(model: str, effort: str, think: bool | str) -> None:
    sent = body(Request("p/m", (USER,), reasoning_effort=effort), model)
    check(sent)
    assert sent["think"] == think


def test_forbidden_tools_are_not_offered() -> None:
    assert "tools" not in body(Request("p/m", (USER,), (READ,), tool_choice="none"))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"tool_choice": "required"}, "tool_choice"),
        ({"parallel_tool_calls": True}, "parallel_tool_calls"),
        ({"reasoning_budget_tokens": 100}, "reasoning_budget_tokens"),
        ({"seed": 1}, "seed"),
    ],
)
def test_options_that_are_not_there_are_refused_by_name(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        encode(Request("p/m", (USER,), **options), "m", Quirks(unsupported=("seed",)))


def test_an_images_address_is_refused() -> None:
    image = UserMessage((ImagePart(url="https://example.com/a.png"),))
    with pytest.raises(ConfigurationError, match="bytes"):
        encode(Request("p/m", (image,)), "m", Quirks())


def test_a_free_text_call_goes_out_as_an_object() -> None:
    free = ToolCall("a", "patch", "*** begin", free_text=True)
    sent = body(Request("p/m", (USER, AssistantMessage((free,)))))
    assert sent["messages"][1]["tool_calls"][0]["function"]["arguments"] == {"input": "*** begin"}
