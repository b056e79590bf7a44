"""Why a call may not run, in words that tell the model what to do next.

Order matters: whether the message is whole comes before whether its JSON parses, for a cut call may parse, and a model
that is told "field missing" when its answer was cut sends the same long answer again.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from inkwire.messages import AssistantMessage, StopReason, ToolCall

__all__ = [
    "ENDED_BY_CRASH",
    "STOPPED_BY_USER",
    "is_cut",
    "of_interruption",
    "of_limit",
    "of_message",
    "of_policy",
    "unknown_tool",
]

STOPPED_BY_USER = "Stopped: the user interrupted before this call was done. It is no fault of the tool."
ENDED_BY_CRASH = "Stopped: the program ended before this call had a result. It did not run, or not to its end."
_NEVER_STARTED = "Not run: the user stopped the work before this call began."
_CUT: frozenset[StopReason] = frozenset({"max_tokens", "context_window"})


def is_cut(stop: StopReason) -> bool:
    """Whether an answer that stopped so is only the beginning of what the model had to say."""
    return stop in _CUT


def of_message(call: ToolCall, message: AssistantMessage, max_tokens: int | None) -> str | None:
    """Why the message itself forbids the call (law 4); None when it may run as far as the message goes."""
    if call.executable:
        return None
    if message.stop_reason == "max_tokens":
        return _of_output_limit(message, max_tokens)
    if message.stop_reason == "context_window":
        return (
            "Not run: the context window was full before your answer was complete, so the arguments may be cut. "
            "No call of that answer ran. Send smaller pieces."
        )
    error = call.arguments_error
    if message.stop_reason in ("tool_use", "end_turn", "stop_sequence") and error is not None and call.name:
        if error.kind == "incomplete":
            return (
                f"Not run: the arguments are cut: {error.detail} (character {error.position}). "
                "Send the call again with the whole JSON object."
            )
        return (
            f"Not run: the arguments are not one JSON object: {error.detail} (character {error.position}). "
            "Fix the JSON and call again."
        )
    return f"Not run: {call.refusal or 'the answer did not end normally'}. Send the call again if it is still needed."


def _of_output_limit(message: AssistantMessage, max_tokens: int | None) -> str:
    if max_tokens is not None:
        limit = f" ({max_tokens} tokens)"
    elif message.usage.output_tokens:
        limit = f" (the answer stopped after {message.usage.output_tokens} tokens)"
    else:
        limit = ""
    return (
        f"Not run: the output limit{limit} was reached before your answer was complete, so the arguments may be cut. "
        "No call of that answer ran. Send smaller pieces: fewer calls at a time, and long content in several calls."
    )


def unknown_tool(name: str, known: Iterable[str]) -> str:
    """The names that exist, and the nearest one."""
    names = sorted(known)
    if not names:
        return f"Not run: there is no tool named {name[:100]!r}; there are no tools."
    folded = {each.casefold(): each for each in names}
    close = difflib.get_close_matches(name[:100].casefold(), folded, n=1, cutoff=0.5)
    hint = f" Did you mean {folded[close[0]]}?" if close else ""
    return f"Not run: there is no tool named {name[:100]!r}.{hint} The tools are: {', '.join(names)}."


def of_policy(by: str, reason: str) -> str:
    """A denial, and by whom."""
    because = f": {reason}" if reason else ""
    return f"Not run: denied by {by}{because}. Do not try the same by another way; find another approach or ask."


def of_limit(words: str) -> str:
    """A limit of the run that was reached."""
    return f"Not run: {words}, so the run ends here."


def of_interruption(words: str, *, started: bool) -> str:
    """What a call that was interrupted, or never began, tells the model."""
    if words != STOPPED_BY_USER:
        return f"{'Stopped' if started else 'Not run'}: {words}."
    return STOPPED_BY_USER if started else _NEVER_STARTED
