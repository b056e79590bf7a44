"""What services check in a history, written apart from the code that obeys it: a history in, complaints out.

`complaints` looks at messages; `body_complaints` at the JSON of a request as its service does. The rules are those
whose breach services answer with status 400: Anthropic (messages, tool use, thinking), OpenAI (chat, responses),
Gemini (function calling), Bedrock (Converse), Mistral (ids).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

from inkwire.messages import (
    AssistantMessage,
    ImagePart,
    Message,
    OpaquePart,
    ReasoningPart,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)

ID_FORMS = {
    "any": r".+",
    "alphanumeric_9": r"[a-zA-Z0-9]{9}",
    "openai_40": r".{1,40}",
    "openai_64": r"[a-zA-Z0-9_-]{1,64}",
    "word_64": r"[a-zA-Z0-9_-]{1,64}",
}


def complaints(
    messages: Sequence[Message],
    *,
    maker: tuple[str, str, str],
    id_form: str,
    alternate_roles: bool,
    free_text_tools: bool,
    images: bool,
) -> list[str]:
    """What is wrong with a history for `maker` (provider, model, protocol)."""
    found: list[str] = []
    seen: set[str] = set()
    place = 0
    while place < len(messages):
        message = messages[place]
        place += 1
        match message:
            case SystemMessage():
                found += [] if message.text.strip() else ["an empty system message"]
            case UserMessage():
                found += _user(message.parts, images)
            case ToolResultMessage():
                found.append(f"a result without its call: {message.call_id}")
            case AssistantMessage():
                found += _answer(message, maker, free_text_tools)
                for call in message.calls:
                    found += _identity(call, id_form, seen)
                    result = messages[place] if place < len(messages) else None
                    if not isinstance(result, ToolResultMessage) or result.call_id != call.id:
                        found.append(f"a call without its result: {call.id}")
                        continue
                    place += 1
                    found += [] if result.name == call.name else ["a result under another name"]
                    found += _user(result.parts, images)
    return found + (_roles(messages) if alternate_roles else [])


def _user(parts: Sequence[TextPart | ImagePart], images: bool) -> list[str]:
    found = [] if parts else ["a turn or result without content"]
    found += ["a blank text" for part in parts if isinstance(part, TextPart) and not part.text.strip()]
    return found + ["an image" for part in parts if isinstance(part, ImagePart) and not images]


def _identity(call: ToolCall, id_form: str, seen: set[str]) -> list[str]:
    found = [] if re.fullmatch(ID_FORMS[id_form], call.id, re.DOTALL) else [f"an id of another form: {call.id!r}"]
    found += [f"an id twice: {call.id}"] if call.id in seen else []
    seen.add(call.id)
    if not call.name or (id_form == "word_64" and not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", call.name)):
        found.append(f"a name that is refused: {call.name!r}")
    return found


def _answer(message: AssistantMessage, maker: tuple[str, str, str], free_text_tools: bool) -> list[str]:
    found = [] if any(not isinstance(part, ReasoningPart) for part in message.parts) else ["an empty answer"]
    own = (message.provider, message.model, message.protocol) == maker
    for part in message.parts:
        match part:
            case TextPart():
                signed = maker[2] == "gemini" and part.opaque
                found += [] if part.text.strip() or signed else ["a blank text"]
            case ReasoningPart() | OpaquePart():
                found += [] if own else ["reasoning or a block of another model"]
                found += ["a cut block"] if message.interrupted else []
                unsaid = isinstance(part, OpaquePart) and maker[2] in ("chat", "ollama")
                found += ["a block that the protocol has no words for"] if unsaid else []
            case ToolCall():
                found += ["a call of an interrupted answer"] if message.interrupted else []
                text = isinstance(part.arguments, str) and free_text_tools
                found += [] if text or isinstance(part.arguments, dict) else ["arguments that are no object"]
        found += ["a signature of another model"] if part.opaque and not own else []
    if maker[2] in ("anthropic", "bedrock", "responses") and message.parts:
        found += ["reasoning at the end"] if isinstance(message.parts[-1], ReasoningPart) else []
    return found


def _roles(messages: Iterable[Message]) -> list[str]:
    roles = [type(message).__name__ for message in messages if not isinstance(message, SystemMessage)]
    found = ["the assistant first"] if roles and roles[0] == "AssistantMessage" else []
    for before, after in pairwise(roles):
        if before == after and before in ("UserMessage", "AssistantMessage"):
            found.append(f"two neighbours: {before}")
    return found


def body_complaints(protocol: str, body: dict[str, Any]) -> list[str]:
    """What a service of that protocol would refuse in the history of this request."""
    return _BODIES[protocol](body)


def _turns(turns: Sequence[dict[str, Any]], user: str, assistant: str) -> list[str]:
    roles = [turn["role"] for turn in turns]
    found = [] if not roles or roles[0] == user else [f"{roles[0]} first"]
    found += [f"an unknown role {role}" for role in roles if role not in (user, assistant)]
    return found + [f"{a} twice" for a, b in pairwise(roles) if a == b]


def _matched(calls: Sequence[Any], results: Sequence[Any]) -> list[str]:
    return [] if list(calls) == list(results) else [f"calls {calls} with results {results}"]


def _gemini(body: dict[str, Any]) -> list[str]:
    turns = body["contents"]
    found = _turns(turns, "user", "model")
    calls: list[Any] = []
    for turn in turns:
        parts = turn["parts"]
        found += [] if parts else ["no parts"]
        results = [part["functionResponse"] for part in parts if "functionResponse" in part]
        found += _matched(calls, [(result.get("id"), result["name"]) for result in results])
        asked = [part["functionCall"] for part in parts if "functionCall" in part]
        found += ["arguments that are no object" for call in asked if not isinstance(call["args"], dict)]
        calls = [(call.get("id"), call["name"]) for call in asked]
    return found + _matched(calls, [])


def _bedrock(body: dict[str, Any]) -> list[str]:
    found = _turns(body["messages"], "user", "assistant")
    calls: list[str] = []
    seen: set[str] = set()
    for turn in body["messages"]:
        content = turn["content"]
        found += [] if content else ["no content"]
        found += ["a blank text" for block in content if "text" in block and not block["text"].strip()]
        results = [block["toolResult"] for block in content if "toolResult" in block]
        found += ["an empty result" for result in results if not result["content"]]
        found += _matched(calls, [result["toolUseId"] for result in results])
        uses = [block["toolUse"] for block in content if "toolUse" in block]
        calls = [use["toolUseId"] for use in uses]
        found += [f"a bad id {use}" for use in calls if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", use) or use in seen]
        found += ["a bad name" for use in uses if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", use["name"])]
        seen.update(calls)
        found += ["no tools declared"] if (uses or results) and not body.get("toolConfig") else []
        found += ["reasoning at the end"] if turn["role"] == "assistant" and "reasoningContent" in content[-1] else []
    return found + _matched(calls, [])


def _ollama(body: dict[str, Any]) -> list[str]:
    found: list[str] = []
    calls: list[str] = []
    for turn in body["messages"]:
        if turn["role"] == "tool":
            found += [] if calls and calls.pop(0) == turn["tool_name"] else ["a result without its call"]
            continue
        found += ["a call without its result"] if calls else []
        asked = [call["function"] for call in turn.get("tool_calls", ())]
        found += ["arguments that are no object" for call in asked if not isinstance(call["arguments"], dict)]
        calls = [call["name"] for call in asked]
        found += [] if turn["content"] or turn.get("images") or asked else ["an empty turn"]
    return found + (["a call without its result"] if calls else [])


def _anthropic(body: dict[str, Any]) -> list[str]:
    found: list[str] = []
    roles = [turn["role"] for turn in body["messages"]]
    found += ["the assistant first"] if roles[:1] == ["assistant"] else []
    calls: list[str] = []
    seen: set[str] = set()
    for turn in body["messages"]:
        content = turn["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        found += [] if blocks else ["no content"]
        found += ["a blank text" for block in blocks if block["type"] == "text" and not block["text"].strip()]
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        found += _matched(calls, results)
        uses = [block for block in blocks if block["type"] == "tool_use"]
        calls = [use["id"] for use in uses]
        found += ["arguments that are no object" for use in uses if not isinstance(use["input"], dict)]
        found += [f"a bad id {use}" for use in calls if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", use) or use in seen]
        seen.update(calls)
        if turn["role"] == "assistant":
            found += ["thinking at the end"] if "thinking" in blocks[-1]["type"] else []
    return found + _matched(calls, [])


def _chat(body: dict[str, Any]) -> list[str]:
    found: list[str] = []
    calls: list[str] = []
    seen: set[str] = set()
    for turn in body["messages"]:
        if turn["role"] == "tool":
            found += [] if calls and calls.pop(0) == turn["tool_call_id"] else ["a result without its call"]
            continue
        found += ["a call without its result"] if calls else []
        calls = [call["id"] for call in turn.get("tool_calls") or ()]
        found += [f"a bad id {call}" for call in calls if not 0 < len(call) <= 40 or call in seen]
        seen.update(calls)
        found += [] if turn.get("content") or calls else ["an empty turn"]
    return found + (["a call without its result"] if calls else [])


def _responses(body: dict[str, Any]) -> list[str]:
    found: list[str] = []
    calls: list[str] = []
    seen: set[str] = set()
    items = body["input"]
    for item, after in zip(items, [*items[1:], {}], strict=True):
        kind = item.get("type", "message")
        if kind in ("function_call", "custom_tool_call"):
            calls.append(item["call_id"])
            found += ["an id twice"] if item["call_id"] in seen else []
            found += [] if re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", item["call_id"]) else ["a bad id"]
            seen.add(item["call_id"])
        elif kind in ("function_call_output", "custom_tool_call_output"):
            found += [] if calls and calls.pop(0) == item["call_id"] else ["a result without its call"]
        elif kind == "reasoning":
            follows = after.get("type", "message") in ("message", "function_call", "custom_tool_call", "reasoning")
            found += [] if follows and after.get("role") != "user" and after else ["reasoning without what follows"]
        elif kind == "message" and item.get("role") == "user":
            found += ["a call without its result"] if calls else []
    return found + (["a call without its result"] if calls else [])


_BODIES: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "chat": _chat,
    "responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "ollama": _ollama,
    "bedrock": _bedrock,
}
