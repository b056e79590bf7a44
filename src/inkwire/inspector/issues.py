"""A step in, what a reader of a bug report should look at in it out, each with how bad it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

import msgspec

from inkwire.events import Retrying, StreamReset
from inkwire.inspector.held import Warned
from inkwire.inspector.trace import Step

__all__ = ["Issue", "Severity", "issues_of"]

Severity: TypeAlias = Literal["error", "refused", "damage", "warning", "note"]
"""Worst first."""

_DAMAGE = ("bad_chunk", "stray_payload")
_LONG_SILENCE_SECONDS = 5.0
_CUT = ("max_tokens", "context_window", "content_filter", "refusal", "pause_turn", "unknown")


class Issue(msgspec.Struct, frozen=True):
    """Something to look at."""

    severity: Severity
    kind: str
    detail: str


def issues_of(step: Step, silence_seconds: float = 0.0) -> list[Issue]:
    """The issues of one step; `silence_seconds` passed since the step before."""
    return list(_issues(step, silence_seconds))


def _issues(step: Step, silence_seconds: float) -> Iterator[Issue]:
    if step.error is not None:
        yield Issue("error", step.error.kind, f"{type(step.error).__name__}: {step.error.message}")
    if (message := step.message) is not None:
        for call in message.calls:
            if call.refusal is not None:
                yield Issue("refused", "refused", f"{call.name or '?'} {call.id}: {call.refusal}")
        if message.stop_reason in _CUT and not message.calls:
            yield Issue("warning", "stop_reason", message.raw_stop_reason or message.stop_reason)
    for change in step.changes:
        if isinstance(change, Warned):
            yield Issue("damage" if change.kind in _DAMAGE else "warning", change.kind, change.detail)
    for event in step.events:
        if isinstance(event, (Retrying, StreamReset)):
            yield Issue("note", type(event).__struct_config__.tag or "", event.reason)  # type: ignore[arg-type]
    if step.moment == "unread":
        yield Issue("note", "unread", f"{len(step.received):,} bytes after the end")
    if step.moment == "cancelled":
        yield Issue("note", "cancelled", "")
    if step.moment == "unknown" and step.message is None:
        yield Issue("note", "recording_ends", "")
    if silence_seconds >= _LONG_SILENCE_SECONDS:
        yield Issue("note", "silence", f"{silence_seconds:.1f} s")
