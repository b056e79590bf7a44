"""The end of a run or of a call in; the sentence, the statistics and the exit code that stand for it out."""

from __future__ import annotations

from typing import Any

from inkwire.agent.events import Failure, RunEnd
from inkwire.terminal.sanitize import sanitize_line

__all__ = ["advice", "exit_code", "headline", "headline_key", "outcome_line", "result_line", "statistics"]

_HEADLINES = ("path", "file_path", "command", "pattern", "query", "url", "name")
"""The argument that says best what a call is about, in the order of preference."""

_LIMITS = {
    "max_turns": "; --max-turns sets the limit",
    "max_cost": "; --max-cost sets the limit",
    "max_time": "; max_time_seconds in the settings sets the limit",
}
"""Which setting ended the run; that it did, and where the limit stood, is among the run's warnings."""
_ADVICE = {
    "transport": "Check the network, the proxy and the address (`inkwire config` shows it), then ask again.",
    "timeout": "The service was silent for too long. Ask again; if it stays so, the service is overloaded.",
    "incomplete": "The stream ended before the answer was whole, so it was not used. Ask again.",
    "protocol": "`--record FILE` keeps what came, `inkwire inspect FILE` shows where it goes wrong.",
    "limit": "The answer passed a safety limit. Ask for less at a time.",
    "overflow": "Begin a new conversation, or ask with less text.",
}


def exit_code(end: RunEnd) -> int:
    """0 for a whole answer, 130 for an interrupt, 75 when the same run may work later, else 1."""
    if end.ok:
        return 0
    if end.outcome == "cancelled":
        return 130
    return 75 if end.outcome == "failed" and end.error is not None and end.error.retryable else 1


def outcome_line(end: RunEnd) -> str | None:
    """How a run that did not simply complete ended, and what to do; None when it did."""
    if end.truncated:
        return "The answer was cut at the output limit. Send another message (such as: continue) to go on."
    if end.outcome == "completed":
        return None
    if end.outcome == "cancelled":
        return "Interrupted. What had arrived stays in the conversation, marked as interrupted."
    if end.error is not None:
        return f"{sanitize_line(end.error.detail, 600)}\n{advice(end.error)}".rstrip()
    return f"Send another message to go on{_LIMITS.get(end.outcome, '')}."


def advice(failure: Failure) -> str:
    """What a person can do about a failure; empty when the service's own words must do."""
    if failure.status in (401, 403):
        return "Check the provider's key: `inkwire config` shows which variable it comes from."
    if failure.status == 404:
        return "If that does not say why, check the model's name and the address: `inkwire models` lists what is there."
    if failure.retry_after is not None:
        return f"The service asks to wait {failure.retry_after:.0f} seconds."
    if failure.kind == "remote" and failure.retryable:
        return "The service is overloaded or limits the rate. Try again later."
    return _ADVICE.get(failure.kind, "")


def statistics(end: RunEnd, first_token_seconds: float | None = None, separator: str = " · ") -> str:
    """The run in numbers, on one line; what is not known is left out."""
    parts = [_count(end.turns, "turn")]
    if end.tool_calls or end.refused_calls:
        refused = f" ({end.refused_calls} refused)" if end.refused_calls else ""
        parts.append(_count(end.tool_calls, "tool call") + refused)
    usage = end.usage
    if usage.input_tokens is not None or usage.output_tokens is not None:
        cached = f" ({usage.cache_read_tokens:,} cached)" if usage.cache_read_tokens else ""
        asked = "?" if usage.input_tokens is None else f"{usage.input_tokens:,}"
        given = "?" if usage.output_tokens is None else f"{usage.output_tokens:,}"
        parts.append(f"{asked} tokens in{cached}, {given} out")
    if first_token_seconds is not None:
        parts.append(f"first token {first_token_seconds:.1f} s")
    parts.append(f"{end.duration_seconds:.1f} s")
    if end.cost is not None:
        parts.append(f"${end.cost:.4f}" + ("" if end.cost_complete else " or more"))
    return separator.join(parts)


def headline_key(keys: list[str]) -> str | None:
    """Which of a call's arguments to show beside its name."""
    return next((key for key in _HEADLINES if key in keys), None)


def headline(arguments: dict[str, Any] | str | None) -> str:
    """What a call is about: its path, command or the like; a free-text call's text."""
    if isinstance(arguments, dict):
        key = headline_key(list(arguments))
        return str(arguments[key]) if key is not None else ""
    return arguments or ""


def result_line(result: str, *, is_error: bool) -> str:
    """A tool's result in a few words."""
    lines = result.splitlines()
    filled = [line for line in lines if line.strip()]
    if not filled:
        return "(no output)"
    if is_error or len(lines) == 1:
        return sanitize_line(filled[0], 160) + (f" (+{_count(len(lines) - 1, 'line')})" if len(lines) > 1 else "")
    return f"{len(lines)} lines"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
