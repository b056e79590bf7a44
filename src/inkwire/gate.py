"""How a message ended and what its calls hold in; why a call may not run out. Nothing else opens this gate (law 4):

the stream is whole · nothing of it was lost · its reason to stop is a normal one
· the call has a name · its arguments are one JSON object (a string for a free-text tool)
"""

from __future__ import annotations

from inkwire.messages import ArgumentsError, StopReason

__all__ = ["is_milder", "refusal_of", "refusal_of_call"]

_SEVERITY: dict[StopReason, int] = {
    # Of several reasons the most severe counts; of equals the last.
    "end_turn": 0,
    "stop_sequence": 1,
    "tool_use": 1,
    "unknown": 2,
    "pause_turn": 3,
    "max_tokens": 4,
    "context_window": 5,
    "refusal": 6,
    "content_filter": 7,
}
_NORMAL: frozenset[StopReason] = frozenset({"tool_use", "end_turn", "stop_sequence"})
_REFUSALS: dict[StopReason, str] = {
    "max_tokens": "the answer was cut at the output limit, so no call of it is known to be whole",
    "context_window": "the answer was cut at the end of the context window, so no call of it is known to be whole",
    "content_filter": "the answer was stopped by the provider's content filter",
    "refusal": "the model refused to answer",
    "pause_turn": "the turn was paused by the provider and is not over",
    "unknown": "the answer stopped for a reason that is not known to be a normal one",
}


def is_milder(stop: StopReason, than: StopReason) -> bool:
    """Whether a reason to stop counts less than one that was given before."""
    return _SEVERITY[stop] < _SEVERITY[than]


def refusal_of(stop: StopReason, *, raw: str | None, damaged: bool, told: bool) -> str | None:
    """Why no call of a whole message may run, or None; `told`: the service said itself how it stopped."""
    if damaged:
        return "a piece of the stream was lost, so no call of it is known to be whole"
    if not told:
        return "the stream gave no reason to stop, so no call of it is known to be whole"
    if stop not in _NORMAL:
        return f"{_REFUSALS[stop]} ({raw})" if stop == "unknown" else _REFUSALS[stop]
    return None


def refusal_of_call(name: str, error: ArgumentsError | None) -> str | None:
    """Why this call may not run even in a good message, or None."""
    if not name:
        return "the call has no name"
    if error is not None:
        cut = "the arguments are cut" if error.kind == "incomplete" else "the arguments are not one JSON object"
        return f"{cut}: {error.detail} (position {error.position})"
    return None
