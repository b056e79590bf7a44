"""Steps in, the JSON that the page reads out: chunks, so that a long trace shows its beginning at once.

A chunk is one object: `steps`, and what they need that no chunk before brought: `exchanges`, `functions` and `sets` (of
lines, by number). `done` says that no other chunk follows. Absent fields are empty. Keys are not in it.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from inkwire.errors import ModelError
from inkwire.events import Event, MessageEnd, Retrying, StreamReset
from inkwire.fragments import FailureFragment, Fragment
from inkwire.framing.frame import Frame
from inkwire.inspector.held import Warned
from inkwire.inspector.issues import issues_of
from inkwire.inspector.notes import NOTES
from inkwire.inspector.reasons import in_chinese
from inkwire.inspector.trace import Step, Tracer
from inkwire.messages import AssistantMessage
from inkwire.recording import Exchange
from inkwire.recording.keys import url_without_keys, without_keys
from inkwire.surrogates import mend_surrogates

__all__ = ["ChunkWriter", "note_words"]

_MOST_REQUEST = 64 * 1024
"""Characters of a request's body that the page shows."""


def note_words() -> dict[str, dict[str, Any]]:
    """What the notes say, by name, for both languages."""
    return {name: {"law": note.law, "en": note.words.en, "zh": note.words.zh} for name, note in NOTES.items()}


class ChunkWriter:
    """Writes the chunks of one trace; what was sent once is not sent again."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._exchanges = self._functions = self._sets = 0
        self._last: tuple[int, float] = (0, 0.0)

    def chunk(self, steps: Sequence[Step], exchanges: Sequence[Exchange], *, done: bool) -> bytes:
        """The next chunk as JSON."""
        newest = max((step.exchange for step in steps), default=self._exchanges)
        value: dict[str, Any] = {
            "steps": [self._step(step) for step in steps],
            "exchanges": [
                _exchange(each, self._tracer.protocol_of(each)) for each in exchanges[self._exchanges : newest]
            ],
            "done": done,
        }
        self._exchanges = max(self._exchanges, newest)
        if (watch := self._tracer.watch) is not None:
            value["functions"] = watch.functions[self._functions :]
            value["sets"] = watch.sets[self._sets :]
            self._functions, self._sets = len(watch.functions), len(watch.sets)
        try:
            return msgspec.json.encode(value)
        except UnicodeEncodeError:  # a fragment with half a surrogate pair, as the wire had it
            return msgspec.json.encode(mend_surrogates(json.loads(json.dumps(msgspec.to_builtins(value)))))

    def _step(self, step: Step) -> dict[str, Any]:
        number, seconds = self._last
        silence = step.seconds - seconds if number == step.exchange else 0.0
        self._last = (step.exchange, step.seconds)
        value: dict[str, Any] = {
            "moment": step.moment,
            "exchange": step.exchange,
            "call": step.call,
            "attempt": step.attempt,
            "seconds": round(step.seconds, 6),
            "notes": step.notes,
        }
        optional: dict[str, Any] = {
            "bytes": b64encode(step.received).decode(),
            "start": step.start,
            "end": step.end,
            "waiting": step.waiting,
            "frame": step.frame and _frame(step.frame, step),
            "fragments": [_fragment(fragment) for fragment in step.fragments],
            "events": [_event(event) for event in step.events],
            "changes": step.changes,
            "complete": step.complete,
            "message": step.message and _message(step.message),
            "error": step.error and _error(step.error),
            "issues": issues_of(step, silence),
            "reasons": {reason: words for reason in _reasons(step) if (words := in_chinese(reason)) is not None},
        }
        value.update((name, content) for name, content in optional.items() if content)
        if step.lines is not None:
            value["lines"] = step.lines
        return value


def _exchange(exchange: Exchange, protocol: str) -> dict[str, Any]:
    body = exchange.request_body.decode("utf-8", "replace")
    return {
        "number": exchange.number,
        "method": exchange.method,
        "url": url_without_keys(exchange.url),
        "protocol": protocol,
        "status": exchange.status,
        "headers": without_keys(exchange.headers),
        "request_headers": without_keys(exchange.request_headers),
        "request": body[:_MOST_REQUEST],
        "request_size": len(body),
        "started": exchange.started,
        "timed": exchange.timed,
    }


def _frame(frame: Frame, step: Step) -> dict[str, Any]:
    """The frame; its payload as a place in the body where it stands there as it is, else as text."""
    value: dict[str, Any] = {"event": frame.event, "id": frame.id, "retry": frame.retry}
    value = {name: content for name, content in value.items() if content}
    at = step.received.find(frame.data)
    if at >= 0:
        start = step.end - len(step.received) + at
        return {"at": (start, start + len(frame.data)), **value}
    return {"data": frame.text, **value}


def _fragment(fragment: Fragment) -> dict[str, Any]:
    kind = type(fragment).__name__.removesuffix("Fragment").lower()
    if isinstance(fragment, FailureFragment):
        return {"type": kind, "error": type(fragment.error).__name__}
    fields: dict[str, Any] = {}
    for name in fragment.__struct_fields__:
        value = getattr(fragment, name)
        if value is not None and value is not False and value != "":
            fields[name] = _plain(value) if isinstance(value, Mapping) else value
    if isinstance(fields.get("key"), (tuple, bytes)):
        fields["key"] = repr(fields["key"])
    return {"type": kind, **fields}


def _reasons(step: Step) -> Iterator[str]:
    """All that is said in this step in English."""
    if step.message is not None:
        yield from (call.refusal for call in step.message.calls if call.refusal is not None)
    if step.error is not None:
        yield step.error.message
    for change in step.changes:
        if isinstance(change, Warned):
            yield change.detail
    for event in step.events:
        if isinstance(event, (Retrying, StreamReset)):
            yield event.reason


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """Opaque values, long strings shortened: a signature is not for reading."""
    return {
        name: f"{content[:80]}… ({len(content):,})" if isinstance(content, str) and len(content) > 120 else content
        for name, content in value.items()
    }


def _event(event: Event) -> Any:
    return {"type": "message_end"} if isinstance(event, MessageEnd) else event


def _message(message: AssistantMessage) -> dict[str, Any]:
    """The message; arguments as JSON text, for a browser has not all numbers that a tool is given."""
    value: dict[str, Any] = msgspec.to_builtins(message)
    for part in value["parts"]:
        if isinstance(part.get("arguments"), dict):
            part["arguments"] = json.dumps(part["arguments"], ensure_ascii=False, separators=(",", ":"))
    return value


def _error(error: ModelError) -> dict[str, Any]:
    value = {
        "class": type(error).__name__,
        "kind": error.kind,
        "message": error.message,
        "status": error.status,
        "code": error.code,
        "retryable": error.retryable,
        "committed": error.committed,
    }
    return {name: content for name, content in value.items() if content is not None}
