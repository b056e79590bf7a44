from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkwire import protocols
from inkwire.messages import (
    ArgumentsError,
    AssistantMessage,
    ImagePart,
    Message,
    OpaquePart,
    Part,
    ReasoningPart,
    Request,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolDefinition,
    ToolResultMessage,
    UserMessage,
)
from inkwire.projection import project
from inkwire.protocols.base import HistoryRules, Quirks
from tests.history_rules import body_complaints, complaints

ANTHROPIC = HistoryRules(tool_call_ids="word_64", alternate_roles=True)
RESPONSES = HistoryRules(tool_call_ids="openai_64", free_text_tools=True)
PLAIN = HistoryRules()
USUAL = Quirks()


def projected(
    *messages: Message, rules: HistoryRules = PLAIN, quirks: Quirks = USUAL, protocol: str = "chat"
) -> tuple[Message, ...]:
    return project(messages, provider="p", model="m", protocol=protocol, rules=rules, quirks=quirks)


def answer(*parts: Part, model: str = "m", interrupted: bool = False, protocol: str = "chat") -> AssistantMessage:
    return AssistantMessage(parts, "end_turn", provider="p", model=model, protocol=protocol, interrupted=interrupted)


def call(identity: str = "a", name: str = "read", arguments: Any = None, **more: Any) -> ToolCall:
    return ToolCall(identity, name, {"path": "x"} if arguments is None else arguments, executable=True, **more)


def result(identity: str = "a", text: str = "done", name: str = "read", is_error: bool = False) -> ToolResultMessage:
    return ToolResultMessage(identity, name, (TextPart(text),), is_error)


USER = UserMessage.of("hello")


def test_a_valid_history_comes_back_equal() -> None:
    history = (SystemMessage("be brief"), USER, answer(TextPart("hi"), call()), result(), answer(TextPart("bye")))
    assert projected(*history) == history


def test_a_call_without_a_result_gets_one_that_says_so() -> None:
    made = projected(USER, answer(call("a"), call("b")), result("b"), UserMessage.of("go on"))
    first, second = made[2], made[3]
    assert isinstance(first, ToolResultMessage)
    assert (first.call_id, first.is_error) == ("a", True)
    assert first.text.startswith("(no result was recorded:")
    assert second == result("b")
    assert made[4] == UserMessage.of("go on")


def test_a_refused_call_without_a_result_is_told_why_it_did_not_run() -> None:
    refused = msgspec.structs.replace(call(), executable=False, refusal="the answer was cut")
    made = projected(USER, answer(refused))[-1]
    assert isinstance(made, ToolResultMessage)
    assert made.text == "(no result was recorded: the call did not run: the answer was cut)"


def test_a_result_without_its_call_is_dropped() -> None:
    assert projected(USER, result("z"), answer(TextPart("hi"))) == (USER, answer(TextPart("hi")))


def test_a_result_before_its_call_is_no_result() -> None:
    made = projected(result(), USER, answer(call()))
    assert [type(message) for message in made] == [UserMessage, AssistantMessage, ToolResultMessage]
    assert "no result was recorded" in made[-1].text if isinstance(made[-1], ToolResultMessage) else False


def test_of_two_results_the_first_counts() -> None:
    assert projected(USER, answer(call()), result(text="1"), result(text="2")) == (
        USER,
        answer(call()),
        result(text="1"),
    )


def test_results_stand_behind_their_message_in_the_order_of_the_calls() -> None:
    made = projected(USER, answer(call("a"), call("b")), UserMessage.of("queued"), result("b"), result("a"))
    assert made == (USER, answer(call("a"), call("b")), result("a"), result("b"), UserMessage.of("queued"))


def test_an_id_that_comes_back_belongs_to_the_latest_turn_and_gets_a_new_name() -> None:
    made = projected(
        USER,
        answer(call("read:0")),
        result("read:0", "first"),
        answer(call("read:0")),
        result("read:0", "second"),
    )
    ids = [message.call_id for message in made if isinstance(message, ToolResultMessage)]
    assert ids == ["read:0", "read:1"]
    assert [message.text for message in made if isinstance(message, ToolResultMessage)] == ["first", "second"]
    assert [one.id for message in made if isinstance(message, AssistantMessage) for one in message.calls] == ids


def test_empty_turns_are_dropped() -> None:
    assert projected(USER, answer(), answer(TextPart(" \n")), UserMessage(()), SystemMessage("")) == (USER,)


def test_an_answer_of_reasoning_alone_is_dropped() -> None:
    assert projected(USER, answer(ReasoningPart("hm"))) == (USER,)


def test_an_interrupted_answer_keeps_its_text_without_its_calls() -> None:
    made = projected(USER, answer(ReasoningPart("hm"), TextPart("so"), call(), interrupted=True), result())
    assert made == (USER, answer(TextPart("so"), interrupted=True))


def test_invalid_arguments_go_back_as_an_empty_object_with_their_text_in_the_result() -> None:
    raw = '{"path": "x' + "y" * 5000
    broken = ToolCall("a", "read", None, ArgumentsError("incomplete", "cut", 9), raw, refusal="cut")
    for recorded in ((), (result(text="not run", is_error=True),)):
        made = projected(USER, answer(broken), *recorded)
        sent, answered = made[1], made[2]
        assert isinstance(sent, AssistantMessage)
        assert isinstance(answered, ToolResultMessage)
        assert sent.calls[0].arguments == {}
        assert sent.calls[0].arguments_error is None
        assert answered.is_error
        assert raw[:2000] in answered.text
        assert len(answered.text) < 2500


def test_an_empty_result_says_that_there_was_no_output() -> None:
    made = projected(USER, answer(call()), result(text=" "))
    assert made[-1] == result(text="(no output)")


@pytest.mark.parametrize(("model", "protocol"), [("n", "chat"), ("m", "anthropic")])
def test_reasoning_signatures_and_blocks_of_another_model_do_not_go_out(model: str, protocol: str) -> None:
    foreign = answer(
        ReasoningPart("hm", {"signature": "s"}),
        OpaquePart("web_search", {"x": 1}),
        TextPart("so", {"thoughtSignature": "s"}),
        call(opaque={"thoughtSignature": "s"}),
        model=model,
        protocol=protocol,
    )
    made = projected(USER, foreign, result())[1]
    assert isinstance(made, AssistantMessage)
    assert made.parts == (TextPart("so"), call())


def test_own_reasoning_goes_back_as_it_came() -> None:
    own = answer(ReasoningPart("", {"redactedContent": "AAEC"}), TextPart("so"), call(opaque={"extra": 1}))
    assert projected(USER, own, result()) == (USER, own, result())


def test_reasoning_at_the_end_is_dropped_where_it_is_refused() -> None:
    own = answer(TextPart("so"), ReasoningPart("hm"), protocol="anthropic")
    made = projected(USER, own, protocol="anthropic", rules=ANTHROPIC)
    assert made == (USER, answer(TextPart("so"), protocol="anthropic"))


@pytest.mark.parametrize("protocol", ["gemini", "ollama", "bedrock", "chat", "anthropic"])
def test_a_free_text_call_goes_out_as_json_where_there_are_no_such_tools(protocol: str) -> None:
    free = ToolCall("a", "patch", "*** begin", raw_arguments="*** begin", free_text=True, executable=True)
    made = projected(USER, answer(free), result(name="patch"), protocol=protocol)[1]
    assert isinstance(made, AssistantMessage)
    assert made.calls[0].arguments == {"input": "*** begin"}
    assert not made.calls[0].free_text


def test_a_free_text_call_stays_one_where_there_are_such_tools() -> None:
    history = (
        USER,
        answer(ToolCall("a", "patch", "*** begin", raw_arguments="*** begin", free_text=True)),
        result(name="patch"),
    )
    assert projected(*history, rules=RESPONSES) == history


def test_images_become_a_note_where_the_endpoint_takes_none() -> None:
    image = UserMessage((TextPart("look"), ImagePart("image/png", b"x")))
    made = projected(image, quirks=Quirks(images=False))
    assert made == (UserMessage((TextPart("look"), TextPart("(an image was here; this model takes none)"))),)
    assert projected(image) == (image,)


@pytest.mark.parametrize(
    ("form", "identity", "kept"),
    [
        ("any", "functions.read:0", True),
        ("any", "", False),
        ("alphanumeric_9", "D681PevKs", True),
        ("alphanumeric_9", "call_1", False),
        ("word_64", "toolu_01-x", True),
        ("word_64", "functions.read:0", False),
        ("openai_40", "functions.read:0", True),
        ("openai_40", "x" * 41, False),
        ("openai_64", "x" * 69, False),
    ],
)
def test_ids_are_rewritten_only_where_their_form_is_refused(form: Any, identity: str, kept: bool) -> None:
    for rules, quirks in ((HistoryRules(tool_call_ids=form), Quirks()), (PLAIN, Quirks(tool_call_ids=form))):
        history = (USER, answer(call(identity)), result(identity))
        made = projected(*history, rules=rules, quirks=quirks)
        assert (made == history) is kept
        assert not complaints(made, **_asked(rules, quirks))


def test_ids_that_would_become_equal_stay_different() -> None:
    made = projected(USER, answer(call("a:b"), call("a_b"), call("a.b")), rules=ANTHROPIC)
    ids = [message.call_id for message in made if isinstance(message, ToolResultMessage)]
    assert len(set(ids)) == 3
    assert ids[0] == "a_b"


def test_ids_at_the_limit_of_their_length_still_find_a_twin() -> None:
    numbered = "x" * 38 + ":9"
    made = projected(
        USER, answer(call(numbered), call(numbered), call(numbered)), rules=HistoryRules(tool_call_ids="openai_40")
    )
    assert len({message.call_id for message in made if isinstance(message, ToolResultMessage)}) == 3


def test_a_longer_history_begins_with_the_same_messages() -> None:
    history: list[Message] = [USER, answer(call("call_0")), result("call_0"), answer(call("call_0")), result("call_0")]
    rules = HistoryRules(tool_call_ids="alphanumeric_9")
    before = projected(*history, rules=rules)
    after = projected(*history, USER, answer(call("call_0")), result("call_0"), rules=rules)
    assert after[: len(before)] == before


def test_names_that_services_refuse_are_rewritten_for_call_and_result() -> None:
    made = projected(USER, answer(call(name="mcp.read file")), result(name="mcp.read file"), rules=ANTHROPIC)
    assert isinstance(made[1], AssistantMessage)
    assert isinstance(made[2], ToolResultMessage)
    assert made[1].calls[0].name == made[2].name == "mcp_read_file"


def test_a_call_without_a_name_gets_one() -> None:
    made = projected(USER, answer(call(name="")), result(name=""))
    assert isinstance(made[1], AssistantMessage)
    assert made[1].calls[0].name == "unnamed_tool"


def test_neighbours_are_joined_and_the_user_comes_first_where_roles_alternate() -> None:
    cut = answer(TextPart("so"), interrupted=True)
    made = projected(cut, answer(TextPart("then"), call()), result(), USER, UserMessage.of("too"), rules=ANTHROPIC)
    assert made == (
        UserMessage.of("(the conversation before this is not shown)"),
        answer(TextPart("so"), TextPart("then"), call()),
        result(),
        UserMessage((TextPart("hello"), TextPart("too"))),
    )


# ---- random histories: every protocol, cancels at any point, models that change ------------------------------------

ENDPOINTS = [("p", "m", name) for name in protocols.NAMES] + [("q", "m", "chat"), ("p", "n", "anthropic")]
WIRES = ("chat", "anthropic", "gemini", "ollama", "bedrock")
NAMES = ("read", "write", "a.b", "")
IDS = ("a", "b", "read:0", "functions.read:1", "call_0", "x" * 70, "", "a_b", "a:b")

opaque = st.none() | st.just({"signature": "s"})
texts = st.sampled_from(("", " ", "hello", "ümlaut 😀\n"))
user_parts = st.lists(
    st.builds(TextPart, texts) | st.just(ImagePart("image/png", b"x")),
    max_size=3,
).map(tuple)
good_calls = st.builds(
    ToolCall,
    st.sampled_from(IDS),
    st.sampled_from(NAMES),
    st.just({"path": "x"}) | st.just({}),
    executable=st.booleans(),
    refusal=st.none() | st.just("the answer was cut"),
    opaque=opaque,
)
bad_calls = st.builds(
    ToolCall,
    st.sampled_from(IDS),
    st.sampled_from(NAMES),
    st.none(),
    st.just(ArgumentsError("incomplete", "cut", 3)),
    st.sampled_from(("", '{"path": "x', "nonsense")),
)
free_calls = st.builds(
    ToolCall, st.sampled_from(IDS), st.sampled_from(NAMES), st.just("text"), raw_arguments=st.just("text"),
    free_text=st.just(True),
)  # fmt: skip
parts = st.lists(
    st.builds(TextPart, texts, opaque)
    | st.builds(ReasoningPart, texts, opaque)
    | st.builds(OpaquePart, st.just("block"), st.just({"type": "block", "text": "opaque"}))
    | good_calls
    | bad_calls
    | free_calls,
    max_size=4,
).map(tuple)
answers = st.builds(
    lambda made_by, content, interrupted: AssistantMessage(
        content, provider=made_by[0], model=made_by[1], protocol=made_by[2], interrupted=interrupted
    ),
    st.sampled_from(ENDPOINTS),
    parts,
    st.booleans(),
)
results = st.builds(ToolResultMessage, st.sampled_from(IDS), st.sampled_from(NAMES), user_parts, st.booleans())
histories = st.lists(
    st.builds(UserMessage, user_parts) | answers | results | st.builds(SystemMessage, texts), max_size=12
)


def _asked(rules: HistoryRules, quirks: Quirks, maker: tuple[str, str, str] = ("p", "m", "chat")) -> dict[str, Any]:
    form = quirks.tool_call_ids if quirks.tool_call_ids != "any" else rules.tool_call_ids
    return {
        "maker": maker,
        "id_form": form,
        "alternate_roles": rules.alternate_roles,
        "free_text_tools": rules.free_text_tools,
        "images": quirks.images,
    }


@pytest.mark.parametrize("protocol", WIRES)
@given(history=histories, quirks=st.sampled_from((Quirks(), Quirks(tool_call_ids="alphanumeric_9", images=False))))
@settings(max_examples=150, deadline=None)
def test_any_history_becomes_valid_and_stays_so(protocol: str, history: Sequence[Message], quirks: Quirks) -> None:
    rules = protocols.get(protocol).history

    def again(messages: Sequence[Message]) -> tuple[Message, ...]:
        return project(messages, provider="p", model="m", protocol=protocol, rules=rules, quirks=quirks)

    once = again(history)
    asked = _asked(rules, quirks, ("p", "m", protocol))
    assert complaints(once, **asked) == []
    assert again(once) == once
    if not complaints(history, **asked):
        assert once == tuple(history)


@pytest.mark.parametrize("protocol", WIRES)
@given(history=histories)
@settings(max_examples=150, deadline=None)
def test_any_history_becomes_a_request_that_its_service_accepts(protocol: str, history: Sequence[Message]) -> None:
    wire = protocols.get(protocol)
    # As OpenAI takes it; the protocol itself has no form of ids.
    quirks = Quirks(tool_call_ids="openai_40") if protocol == "chat" else Quirks()
    messages = project(history, provider="p", model="m", protocol=protocol, rules=wire.history, quirks=quirks)
    request = Request("p/m", messages, (ToolDefinition("read"),), max_tokens=100)
    body = msgspec.json.decode(msgspec.json.encode(wire.encode(request, "m", quirks).body))
    assert body_complaints(protocol, body) == []
