"""A history that is too long in; a summary and the last messages out.

The cut lies where a turn begins, never between a call and its result. The summary is made of a transcript with long
tool output shortened, without tools. It is judged by its outcome: a summary that was cut itself, is empty, or frees
next to nothing is not taken, and the run ends with `ContextOverflowError` instead of trying for ever.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence

import msgspec

from inkwire.agent.access import ModelAccess
from inkwire.agent.context import estimate_request, estimate_tokens
from inkwire.agent.conversation import Conversation
from inkwire.agent.events import AgentEvent, Compaction, Notice
from inkwire.agent.interrupt import Interrupt
from inkwire.errors import ContextOverflowError
from inkwire.events import MessageEnd
from inkwire.messages import AssistantMessage, Message, Request, SystemMessage, ToolResultMessage, UserMessage

__all__ = ["Compactor", "cut_place"]

_FULL = 0.85
"""Of the window, before the answer's own room."""
_KEPT = 0.25
_WORTH = 0.9
"""A compaction must bring the history below this part of what it was."""
_RESULT_CHARACTERS = 1_500
_DEFAULT_WINDOW = 100_000
_SYSTEM = "You summarise the work of a coding agent, so that it can go on without the messages that you read."
_ASK = """\
Summarise the transcript below for the agent that will go on with the work. Keep: what the user asked for, in their
words; what was decided and why; files read and changed, with paths and the names that matter; commands that were run
and what they showed; what is done, what is open, what was about to be done. Leave out pleasantries. Write plain text.

<transcript>
{transcript}
</transcript>"""
_TITLE = "Summary of the conversation so far, whose messages are no longer shown:\n\n"


class Compactor:
    """Shortens histories for one model."""

    def __init__(self, access: ModelAccess, template: Request, *, window: int | None = None) -> None:
        """`window`: the model's, in tokens; None: only the service's own refusal counts."""
        self._access = access
        self._template = template
        self._window = window

    def wants(self, conversation: Conversation) -> bool:
        """Whether the next request would fill the window."""
        if self._window is None:
            return False
        fixed = len(self._template.messages)
        request = msgspec.structs.replace(self._template, messages=(*self._template.messages, *conversation.messages))
        size = estimate_request(request, since=fixed + conversation.compacted)
        return size > self._window * _FULL - min(self._template.max_tokens or 0, self._window // 4)

    async def shorten(
        self, conversation: Conversation, interrupt: Interrupt, spent: Callable[[AssistantMessage], None]
    ) -> AsyncGenerator[AgentEvent, None]:
        """Replace the beginning of the history by its summary.

        Raises `ContextOverflowError` when that frees nothing, `ModelError` when no summary comes.
        """
        messages = conversation.messages
        before = estimate_tokens(messages, since=conversation.compacted)
        window = self._window or max(before, 1)
        place = cut_place(messages, int(min(window, before) * _KEPT))
        if place < 1 or (place == 1 and conversation.compacted == 1):
            raise ContextOverflowError(
                "the history does not fit into the context window and cannot be shortened further"
            )
        summary = await self._summary(messages[:place], min(window, _DEFAULT_WINDOW), interrupt, spent)
        if summary is None:
            return
        after = estimate_tokens([summary, *messages[place:]], since=len(messages))
        plain = estimate_tokens(messages, since=len(messages))
        if after > plain * _WORTH:
            raise ContextOverflowError(f"a summary would free next to nothing ({plain} tokens before, {after} after)")
        yield conversation.compact(Compaction(summary, place, before, after))
        yield Notice("compacted", f"The first {place} messages were replaced by a summary (about {after} tokens now).")

    async def _summary(
        self,
        messages: Sequence[Message],
        room: int,
        interrupt: Interrupt,
        spent: Callable[[AssistantMessage], None],
    ) -> UserMessage | None:
        """The summary as a message; None when the run was interrupted."""
        transcript = _transcript(messages, room * 2)
        request = Request(
            self._template.model,
            (SystemMessage(_SYSTEM), UserMessage.of(_ASK.format(transcript=transcript))),
            timeouts=self._template.timeouts,
        )
        answer: AssistantMessage | None = None
        stream = self._access.stream(request, restarts=2)
        interrupt.attach(stream.cancel)
        try:
            async with stream:
                async for event in stream:
                    if isinstance(event, MessageEnd):
                        answer = event.message
        finally:
            interrupt.detach()
            if answer is not None:
                spent(answer)
        if interrupt.reason is not None:
            return None
        if answer is None or answer.stop_reason not in ("end_turn", "stop_sequence") or not answer.text.strip():
            why = answer.stop_reason if answer is not None else "nothing"
            raise ContextOverflowError(f"the history is too long, and no whole summary could be made of it ({why})")
        return UserMessage.of(_TITLE + answer.text.strip())


def cut_place(messages: Sequence[Message], keep_tokens: int) -> int:
    """Where the kept rest begins: at a prompt or an answer, with about so many tokens after it; 0: nowhere."""
    kept = 0
    best = 0
    for place in range(len(messages) - 1, 0, -1):
        kept += estimate_tokens([messages[place]], since=1)
        if isinstance(messages[place], ToolResultMessage):
            continue
        if best and kept > keep_tokens:
            break
        best = place
    return best


def _transcript(messages: Sequence[Message], room: int) -> str:
    lines = [line for message in messages for line in _lines(message)]
    text = "\n\n".join(lines)
    if len(text) <= room:
        return text
    half = room // 2
    return f"{text[:half]}\n\n[… {len(text) - 2 * half} characters left out …]\n\n{text[-half:]}"


def _lines(message: Message) -> list[str]:
    match message:
        case UserMessage():
            return [f"USER: {message.text}"]
        case AssistantMessage():
            said = [f"AGENT: {message.text}"] if message.text.strip() else []
            return said + [f"AGENT CALLS {call.name}: {_short(call.raw_arguments)}" for call in message.calls]
        case ToolResultMessage():
            return [f"RESULT of {message.name}{' (error)' if message.is_error else ''}: {_short(message.text)}"]
        case SystemMessage():
            return []


def _short(text: str) -> str:
    if len(text) <= _RESULT_CHARACTERS:
        return text
    half = _RESULT_CHARACTERS // 2
    return f"{text[:half]} [… {len(text) - 2 * half} characters …] {text[-half:]}"
