"""A history as it was kept in, the history that this model accepts out (law 6).

A service refuses the whole request when one call of the history lacks its result, when a result lacks its call, when
arguments are no object or an id has a form it does not like, and it refuses it for ever: the session is dead. So before
every request the history goes through one pure function. It repairs anywhere in the list, not only at its end, and
what is valid already comes back equal. Ids are given out in order, so a longer history begins with the same messages
and a provider's prompt cache stays warm.

Own are messages that this provider's model made over this protocol. Only they keep reasoning, signatures and blocks
that nobody else can read; of all others their text, calls and results go out.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from inkwire.call_ids import CallIds
from inkwire.messages import (
    AssistantMessage,
    ImagePart,
    Message,
    OpaquePart,
    Part,
    ReasoningPart,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    UserPart,
)
from inkwire.protocols.base import HistoryRules, Quirks

__all__ = ["project"]

_NO_OUTPUT = "(no output)"
_NO_IMAGE = "(an image was here; this model takes none)"
_NO_START = "(the conversation before this is not shown)"
_RAN_PERHAPS = "(no result was recorded: the call was cut off; it did not run, or not to its end)"
_DID_NOT_RUN = "(no result was recorded: the call did not run"
_MAX_RAW_ARGUMENTS = 2000
"""Characters of invalid arguments that are shown to the model."""
_CLOSED_BY_OUTPUT = ("anthropic", "bedrock", "responses")
"""Protocols that refuse an answer which ends with reasoning."""
_WITHOUT_BLOCKS = ("chat", "ollama")
"""Protocols that have no words for a block that only its provider understands."""
_SIGNED_TEXTS = ("gemini",)
"""Protocols that want a signature back even when the text it came on is blank; the others refuse blank texts."""
_FOREIGN_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_MAX_NAME, _MAX_OWN_NAME = 64, 128
_NO_NAME = "unnamed_tool"

_Results = dict[int, list[ToolResultMessage | None]]
"""By the place of an assistant message: the result of each of its calls."""


def project(
    messages: Sequence[Message], *, provider: str, model: str, protocol: str, rules: HistoryRules, quirks: Quirks
) -> tuple[Message, ...]:
    """The history for `model` of `provider` over `protocol`: valid by its rules, and equal to `messages` if it was.

    Every call has exactly one result, right behind its message and in the order of the calls: a missing one says that
    none was recorded; a second one, and one without its call, are left out. Calls of an interrupted message go, its
    text stays. Pure: nothing is changed in place, and the same history gives the same messages.
    """
    target = _Target(provider, model, protocol, rules, quirks)
    results = _pair(messages)
    ids = CallIds(quirks.tool_call_ids if quirks.tool_call_ids != "any" else rules.tool_call_ids)
    projected: list[Message] = []
    for place, message in enumerate(messages):
        match message:
            case SystemMessage():
                if message.text.strip():
                    projected.append(message)
            case UserMessage():
                if parts := target.user_parts(message.parts):
                    projected.append(_with_parts(message, parts))
            case AssistantMessage():
                projected += target.turn(message, results.get(place, []), ids)
            case ToolResultMessage():
                pass  # goes out behind its call
    return tuple(_alternate(projected, target) if rules.alternate_roles else projected)


def _pair(messages: Sequence[Message]) -> _Results:
    """Each result to the latest call before it that has its id and no result yet.

    Ids may come back in a later turn (`read:0`), so a call's place counts beside its id.
    """
    results: _Results = {}
    waiting: dict[str, tuple[int, deque[int]]] = {}
    for place, message in enumerate(messages):
        if isinstance(message, AssistantMessage) and message.calls:
            results[place] = [None] * len(message.calls)
            for number, call in enumerate(message.calls):
                known = waiting.get(call.id)
                if known is None or known[0] != place:
                    known = waiting[call.id] = (place, deque())
                known[1].append(number)
        elif isinstance(message, ToolResultMessage) and message.call_id in waiting:
            owner, numbers = waiting[message.call_id]
            if numbers:
                results[owner][numbers.popleft()] = message
    return results


class _Target(msgspec.Struct, frozen=True):
    """Whom the history is for."""

    provider: str
    model: str
    protocol: str
    rules: HistoryRules
    quirks: Quirks

    def owns(self, message: AssistantMessage) -> bool:
        """Whether this very model made the message."""
        made_by = (message.provider, message.model, message.protocol)
        return made_by == (self.provider, self.model, self.protocol)

    def user_parts(self, parts: Iterable[UserPart]) -> tuple[UserPart, ...]:
        """Parts without blank texts; a note for each image where the endpoint takes none."""
        kept: list[UserPart] = []
        for part in parts:
            if isinstance(part, ImagePart):
                kept.append(part if self.quirks.images else TextPart(_NO_IMAGE))
            elif part.text.strip():
                kept.append(part)
        return tuple(kept)

    def turn(
        self, message: AssistantMessage, results: Sequence[ToolResultMessage | None], ids: CallIds
    ) -> Iterator[Message]:
        """An answer and the results of its calls; nothing when nothing of it is left."""
        parts: list[Part] = []
        answers: list[ToolResultMessage] = []
        calls = iter(results)
        for part in message.parts:
            if isinstance(part, ToolCall):
                result = next(calls)
                if not message.interrupted:
                    call = self._call(part, own=self.owns(message), identity=ids.give(part.id, part.name))
                    parts.append(call)
                    answers.append(self._result(part, call, result))
            elif (kept := self._part(part, message)) is not None:
                parts.append(kept)
        if self.protocol in _CLOSED_BY_OUTPUT:
            while parts and isinstance(parts[-1], ReasoningPart):
                parts.pop()
        if any(not isinstance(part, ReasoningPart) for part in parts):
            yield _with_parts(message, tuple(parts))
            yield from answers

    def _part(self, part: TextPart | ReasoningPart | OpaquePart, message: AssistantMessage) -> Part | None:
        own = self.owns(message)
        if isinstance(part, TextPart):
            if part.text.strip() or (own and part.opaque and self.protocol in _SIGNED_TEXTS):
                return part if own or part.opaque is None else TextPart(part.text)
            return None
        if isinstance(part, OpaquePart) and self.protocol in _WITHOUT_BLOCKS:
            return None
        # Reasoning that was cut is unsigned, and a block that was cut is not whole: neither is accepted back.
        return part if own and not message.interrupted else None

    def _call(self, call: ToolCall, *, own: bool, identity: str) -> ToolCall:
        arguments, raw, error, free_text = call.arguments, call.raw_arguments, call.arguments_error, call.free_text
        if isinstance(arguments, str) and not self.rules.free_text_tools:
            arguments, free_text = {"input": arguments}, False
            raw = msgspec.json.encode(arguments).decode()
        elif arguments is None and self.rules.object_arguments:
            arguments, raw, error, free_text = {}, "{}", None, False
        name = self._name(call.name, own)
        opaque = call.opaque if own else None
        same = (identity, name, arguments, opaque) == (call.id, call.name, call.arguments, call.opaque)
        if same and free_text == call.free_text:
            return call
        return msgspec.structs.replace(
            call,
            id=identity,
            name=name,
            arguments=arguments,
            arguments_error=error,
            raw_arguments=raw,
            free_text=free_text,
            opaque=opaque,
        )

    def _name(self, name: str, own: bool) -> str:
        """A name that the service accepts in a history; it looks at names of tools that never existed, too."""
        longest = _MAX_OWN_NAME if own and self.protocol != "bedrock" else _MAX_NAME
        if not own or self.rules.tool_call_ids == "word_64":
            name = _FOREIGN_NAME.sub("_", name)
        return name[:longest] or _NO_NAME

    def _result(self, call: ToolCall, sent: ToolCall, result: ToolResultMessage | None) -> ToolResultMessage:
        """The result as it goes out: under the call's new id and name, with words for what is missing."""
        invalid = call.arguments is None and sent.arguments is not None
        if result is None:
            parts: tuple[UserPart, ...] = (TextPart(_missing(call)),)
        else:
            parts = self.user_parts(result.parts) or (TextPart(_NO_OUTPUT),)
        if invalid and call.raw_arguments:
            parts = (*parts, TextPart(_quoted(call.raw_arguments)))
        is_error = invalid or result is None or result.is_error
        projected = ToolResultMessage(sent.id, sent.name, parts, is_error)
        return result if projected == result else projected


def _missing(call: ToolCall) -> str:
    if call.executable:
        return _RAN_PERHAPS
    return f"{_DID_NOT_RUN}: {call.refusal})" if call.refusal else f"{_DID_NOT_RUN})"


def _quoted(raw: str) -> str:
    if len(raw) <= _MAX_RAW_ARGUMENTS:
        return f"The arguments were no JSON object. As they came: {raw}"
    shown = raw[:_MAX_RAW_ARGUMENTS]
    return f"The arguments were no JSON object. As they came (the first {len(shown)} of {len(raw)} characters): {shown}"


def _alternate(messages: Iterable[Message], target: _Target) -> list[Message]:
    """Neighbours of one role as one message, and the user first; system messages stand apart in such protocols."""
    merged: list[Message] = []
    last: int | None = None
    for message in messages:
        if isinstance(message, SystemMessage):
            merged.append(message)
            continue
        joined = None if last is None else _joined(merged[last], message, target)
        if last is None and isinstance(message, AssistantMessage):
            merged.append(UserMessage.of(_NO_START))
        elif last is not None and joined is not None:
            # To the later place, for the results of its calls follow there.
            del merged[last]
        last = len(merged)
        merged.append(joined or message)
    return merged


def _joined(first: Message, second: Message, target: _Target) -> Message | None:
    """Two messages of one role as one, None when they are not.

    Joined answers are own if either was: what the other could not keep is gone by now.
    """
    if isinstance(first, UserMessage) and isinstance(second, UserMessage):
        return UserMessage(first.parts + second.parts)
    if not isinstance(first, AssistantMessage) or not isinstance(second, AssistantMessage):
        return None
    origin = first if target.owns(first) else second
    return msgspec.structs.replace(
        second,
        parts=first.parts + second.parts,
        provider=origin.provider,
        model=origin.model,
        protocol=origin.protocol,
        interrupted=first.interrupted and second.interrupted,
    )


def _with_parts(message: Message, parts: tuple[Part, ...] | tuple[UserPart, ...]) -> Message:
    return message if parts == getattr(message, "parts", None) else msgspec.structs.replace(message, parts=parts)
