"""OpenAI Responses: an event in, fragments out. The request is in `responses_request`, the naming of items in
`responses_items`.

The same text comes up to four times: in deltas, in the `done` of the content, in that of its item, and in the final
snapshot. Each later one is the authority and supplies what the earlier ones lacked. A call's id is its `call_id`; the
item's own id means nothing to the next request, since nothing is stored at the service. Reasoning items are kept whole,
for they must go back with the calls that followed them.

Text, argument and reasoning deltas are decoded straight into structs; whatever differs goes the general way, with the
same fragments.

Source: the OpenAI API reference, "Responses: streaming events".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from inkwire.errors import ServerError, ServiceError
from inkwire.fragments import (
    CallFragment,
    DoneFragment,
    FailureFragment,
    FinishFragment,
    Fragment,
    Key,
    OpaqueFragment,
    OriginFragment,
    ReasoningFragment,
    TextFragment,
    UsageFragment,
)
from inkwire.framing.frame import Frame
from inkwire.messages import StopReason
from inkwire.protocols.base import DecodeOptions, Decoder, HistoryRules, WireProtocol
from inkwire.protocols.mismatch import odd_field, wrong_protocol
from inkwire.protocols.payload import read_object
from inkwire.protocols.responses_deltas import DELTA, ODD, ArgumentsDelta, InputDelta, SummaryDelta, TextDelta
from inkwire.protocols.responses_items import CALL_KINDS, Item, ItemBook
from inkwire.protocols.responses_request import encode
from inkwire.protocols.service_errors import in_payload
from inkwire.protocols.text_quirks import with_text_quirks
from inkwire.protocols.values import argument_text, count, string

__all__ = ["PROTOCOL", "ResponsesDecoder"]

_ENDINGS = ("completed", "incomplete", "failed", "cancelled")
_INCOMPLETE: dict[str, StopReason] = {
    "max_output_tokens": "max_tokens",
    "max_tokens": "max_tokens",
    "content_filter": "content_filter",
}
_CALL_FIELDS = frozenset({"type", "id", "call_id", "name", "arguments", "input", "status"})
_TOLD_ELSEWHERE = frozenset(
    {
        # Events whose content comes in others, too.
        "response.content_part.added",
        "response.reasoning_summary_part.added",
        "response.output_text.annotation.added",
        "keepalive",
        "ping",
    }
)
_SERVER_TOOLS = (
    # Progress of tools that the service runs; their items come whole.
    "response.web_search_call.",
    "response.file_search_call.",
    "response.code_interpreter_call",
    "response.image_generation_call.",
    "response.mcp_",
)


_Handler = Callable[[dict[str, Any], bytes], Sequence[Fragment]]


class ResponsesDecoder:
    """Decodes the payloads of one Responses stream; parts are keyed by the running number of their item."""

    def __init__(self, options: DecodeOptions = DecodeOptions()) -> None:  # noqa: B008 - a frozen value
        self._tolerant = options.tolerant
        quirks = options.quirks
        self._repeats = not (quirks.think_tags or quirks.think_open or quirks.cumulative_text)
        """Whether a text may come again as a whole: not where its pieces are put right behind us."""
        self._shown: set[Key] = set()
        self.unknown_events = 0
        """How many events of a type that we do not know were skipped."""
        self.fast = self._repeats
        """Off in tests that compare both ways."""
        self._refused = False
        self._items = ItemBook()
        self._found: dict[tuple[str, int | None, str | None], Item] = {}
        """What `_items` would say of a delta, until an event that may change it."""
        self._handlers: dict[str, _Handler] = {
            "response.created": self._on_status,
            "response.in_progress": self._on_status,
            "response.queued": self._on_status,
            "response.output_item.added": self._on_added,
            "response.output_item.done": self._on_item_done,
            "response.content_part.done": self._on_part_done,
            "response.output_text.delta": self._on_text,
            "response.output_text.done": self._on_text,
            "response.refusal.delta": self._on_refusal,
            "response.refusal.done": self._on_refusal,
            "response.reasoning_summary_text.delta": self._on_reasoning,
            "response.reasoning_summary_text.done": self._on_reasoning,
            "response.reasoning_summary_part.done": self._on_summary_part,
            "response.reasoning_text.delta": self._on_reasoning,
            "response.reasoning_text.done": self._on_reasoning,
            "response.function_call_arguments.delta": self._on_arguments,
            "response.function_call_arguments.done": self._on_arguments,
            "response.custom_tool_call_input.delta": self._on_arguments,
            "response.custom_tool_call_input.done": self._on_arguments,
            **{f"response.{word}": self._on_end for word in (*_ENDINGS, "done")},
        }

    def feed(self, frame: Frame) -> Sequence[Fragment]:
        """What one event said."""
        if not self.fast:
            return self._feed_any(frame)
        try:
            event = DELTA.decode(frame.data)
        except ODD:
            return self._feed_any(frame)
        name = (event.kind, event.output_index, event.item_id)
        item = self._found.get(name)
        if item is None:
            item = self._found[name] = self._items.find(event.kind, event.output_index, event.item_id or None)
        if not event.delta:
            return ()
        if type(event) is TextDelta:
            return (TextFragment(event.delta, (item.key, event.content_index or 0)),)
        if type(event) is ArgumentsDelta or type(event) is InputDelta:
            return (CallFragment(item.key, arguments=event.delta, free_text=type(event) is InputDelta),)
        if type(event) is SummaryDelta:
            return item.read(("summary", event.summary_index or 0), event.delta, False)
        return item.read(("content", event.content_index or 0), event.delta, False)

    def finish(self) -> Sequence[Fragment]:
        """Nothing is held back."""
        return ()

    def _feed_any(self, frame: Frame) -> Sequence[Fragment]:
        payload = read_object(frame, self._tolerant)
        if payload is None:
            return ()
        if not isinstance(payload, dict):
            return (payload,)
        kind = string(payload.get("type")) or frame.event
        if kind != "response.failed" and (failure := in_payload(payload, frame.event)) is not None:
            return (FailureFragment(failure),)
        if (handler := self._handlers.get(kind)) is not None:
            self._found.clear()
            return handler({**payload, "type": kind}, frame.data)
        if payload.get("object") == "response":
            return self._end(payload, string(payload.get("status")) or "completed")
        if (mismatch := wrong_protocol(payload, "responses", frame.data)) is not None:
            return (FailureFragment(mismatch),)
        if kind not in _TOLD_ELSEWHERE and not kind.startswith(_SERVER_TOOLS):
            self.unknown_events += 1
        return ()

    # ---- content -------------------------------------------------------------------------------

    def _item(self, payload: dict[str, Any], kind: str) -> Item:
        return self._items.find(kind, count(payload, "output_index"), string(payload.get("item_id")))

    def _said(self, payload: dict[str, Any], data: bytes, name: str) -> tuple[str, bool, Fragment | None]:
        """The text of a delta or a `done`, whether it is the whole, and the damage if it is no text."""
        whole = payload["type"].endswith(".done")
        value = payload.get(name if whole else "delta")
        if value is None or isinstance(value, str):
            return value or "", whole, None
        return "", whole, odd_field(f"{payload['type']} without a text", data, self._tolerant)

    def _on_text(self, payload: dict[str, Any], data: bytes) -> Sequence[Fragment]:
        text, whole, damage = self._said(payload, data, "text")
        key = (self._item(payload, "message").key, count(payload, "content_index") or 0)
        return (damage,) if damage is not None else self._text(text, key, whole)

    def _on_refusal(self, payload: dict[str, Any], data: bytes) -> Sequence[Fragment]:
        self._refused = True
        text, whole, damage = self._said(payload, data, "refusal")
        key = (self._item(payload, "message").key, count(payload, "content_index") or 0, "refusal")
        return (damage,) if damage is not None else self._text(text, key, whole)

    def _text(
        self, text: str, key: Key, whole: bool = False, opaque: Mapping[str, Any] | None = None
    ) -> Sequence[Fragment]:
        if not text:
            return ()
        if not self._repeats:
            if whole and key in self._shown:
                return ()
            self._shown.add(key)
        return (TextFragment(text, key, opaque or None, whole and self._repeats),)

    def _on_part_done(self, payload: dict[str, Any], data: bytes) -> Sequence[Fragment]:
        part = payload.get("part")
        if not isinstance(part, dict) or part.get("type") not in ("output_text", "refusal"):
            return ()
        return self._content(self._item(payload, "message"), count(payload, "content_index") or 0, part, {})

    def _content(self, item: Item, index: int, part: dict[str, Any], opaque: dict[str, Any]) -> Sequence[Fragment]:
        """One part of a message, whole."""
        if part.get("type") == "refusal":
            self._refused = True
            return self._text(string(part.get("refusal")) or "", (item.key, index, "refusal"), True, opaque)
        if annotations := part.get("annotations"):
            opaque = {**opaque, "annotations": annotations}
        return self._text(string(part.get("text")) or "", (item.key, index), True, opaque)

    def _on_arguments(self, payload: dict[str, Any], data: bytes) -> Sequence[Fragment]:
        free_text = payload["type"].startswith("response.custom")
        item = self._item(payload, "custom_tool_call" if free_text else "function_call")
        whole = payload["type"].endswith(".done")
        value = payload.get(("input" if free_text else "arguments") if whole else "delta")
        text = argument_text(value)
        if not text and not whole:
            return ()
        # An object is never a piece: it is the whole.
        return (
            CallFragment(
                item.key,
                name=string(payload.get("name")),
                arguments=text,
                whole=whole or isinstance(value, dict),
                free_text=free_text,
            ),
        )

    # ---- reasoning -----------------------------------------------------------------------------

    def _on_reasoning(self, payload: dict[str, Any], data: bytes) -> Sequence[Fragment]:
        text, whole, damage = self._said(payload, data, "text")
        channel = "summary" if "summary" in payload["type"] else "content"
        item, number = self._item(payload, "reasoning"), count(payload, f"{channel}_index") or 0
        return (damage,) if damage is not None else item.read((channel, number), text, whole)

    def _on_summary_part(self, payload: dict[str, Any], data: bytes) -> Sequence[Fragment]:
        part = payload.get("part")
        text = string(part.get("text")) if isinstance(part, dict) else None
        place = ("summary", count(payload, "summary_index") or 0)
        return self._item(payload, "reasoning").read(place, text or "", True)

    # ---- items ---------------------------------------------------------------------------------

    def _on_added(self, payload: dict[str, Any], data: bytes) -> Sequence[Fragment]:
        said = payload.get("item")
        if not isinstance(said, dict):
            return (odd_field("an output item is announced without its item", data, self._tolerant),)
        item, is_new = self._items.announce(count(payload, "output_index"), said)
        if item.kind == "message":
            return ()
        return self._whole_item(item, is_new, said)

    def _on_item_done(self, payload: dict[str, Any], data: bytes) -> Sequence[Fragment]:
        said = payload.get("item")
        if not isinstance(said, dict):
            return (odd_field("an output item is done without its item", data, self._tolerant),)
        item, is_new = self._items.finished(count(payload, "output_index"), said)
        return self._whole_item(item, is_new, said)

    def _whole_item(self, item: Item, is_new: bool, said: dict[str, Any]) -> Sequence[Fragment]:
        if item.kind in CALL_KINDS:
            return (_call(item, is_new, said),)
        if item.kind == "message":
            phase = {"phase": said["phase"]} if said.get("phase") else {}
            parts = [(at, part) for at, part in enumerate(_objects(said.get("content")))]
            return [fragment for at, part in parts for fragment in self._content(item, at, part, phase)]
        if item.kind == "reasoning":
            out: list[Fragment] = []
            for channel in ("summary", "content"):
                for number, part in enumerate(_objects(said.get(channel))):
                    out.extend(item.read((channel, number), string(part.get("text")) or "", True))
            kept = {name: value for name, value in said.items() if value not in (None, "", [])}
            return [*out, ReasoningFragment("", item.key, kept)]
        return (OpaqueFragment(item.kind, said, item.key),)

    # ---- the response --------------------------------------------------------------------------

    def _on_status(self, payload: dict[str, Any], data: bytes) -> Sequence[Fragment]:
        response = payload.get("response")
        if not isinstance(response, dict):
            return ()
        return (OriginFragment(string(response.get("id")), string(response.get("model"))),)

    def _on_end(self, payload: dict[str, Any], data: bytes) -> Sequence[Fragment]:
        response = payload.get("response")
        response = response if isinstance(response, dict) else {}
        word = payload["type"].removeprefix("response.")
        if word in ("completed", "done"):
            word = status if (status := string(response.get("status"))) in _ENDINGS else "completed"
        return self._end(response, word)

    def _end(self, response: dict[str, Any], word: str) -> Sequence[Fragment]:
        """The final snapshot: what was missing, the usage, and how it ended; `word` outside of `_ENDINGS` is no end."""
        out: list[Fragment] = [OriginFragment(string(response.get("id")), string(response.get("model")))]
        output = response.get("output")
        for item, is_new, said in self._items.paired(output if isinstance(output, list) else ()):
            out.extend(self._whole_item(item, is_new, said))
        out.extend(_usage(response.get("usage")))
        if word not in _ENDINGS:
            return out
        if (error := _failure(response, word)) is not None:
            return [*out, FailureFragment(error)]
        stop, raw = self._stop_reason(response, word)
        return [*out, FinishFragment(stop, raw), DoneFragment(f"response.{word}")]

    def _stop_reason(self, response: Mapping[str, Any], word: str) -> tuple[StopReason, str]:
        if word == "completed":
            return "refusal" if self._refused else "end_turn", word
        details = response.get("incomplete_details")
        reason = string(details.get("reason")) if isinstance(details, dict) else None
        if reason is None:
            return "max_tokens", word
        return _INCOMPLETE.get(reason, "unknown"), reason


def _call(item: Item, is_new: bool, said: dict[str, Any]) -> CallFragment:
    free_text = item.kind == "custom_tool_call"
    arguments = argument_text(said.get("input" if free_text else "arguments"))
    extra = {name: value for name, value in said.items() if name not in _CALL_FIELDS and value is not None}
    return CallFragment(
        item.key,
        # The first id stays: another one, under a key in use, would be another call.
        id=item.call_id,
        name=item.name,
        arguments=arguments,
        whole=bool(arguments),
        opens=is_new,
        free_text=free_text,
        opaque=extra or None,
    )


def _failure(response: Mapping[str, Any], word: str) -> ServiceError | None:
    if word == "cancelled":
        return ServerError("the service cancelled the response", code=word, retryable=True, phase="body")
    if word == "failed" or response.get("error"):
        return in_payload({"type": "response.failed", "response": response})
    return None


def _usage(usage: Any) -> Sequence[Fragment]:
    if not isinstance(usage, dict):
        return ()
    read, made = usage.get("input_tokens_details"), usage.get("output_tokens_details")
    read, made = read if isinstance(read, dict) else {}, made if isinstance(made, dict) else {}
    return (
        UsageFragment(
            count(usage, "input_tokens"),
            count(usage, "output_tokens"),
            count(read, "cached_tokens"),
            count(read, "cache_write_tokens"),
            count(made, "reasoning_tokens"),
        ),
    )


def _objects(values: Any) -> list[dict[str, Any]]:
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def _decoder(options: DecodeOptions) -> Decoder:
    return with_text_quirks(ResponsesDecoder(options), options.quirks)


PROTOCOL = WireProtocol(
    name="responses",
    encode=encode,
    decoder=_decoder,
    history=HistoryRules(tool_call_ids="openai_64", free_text_tools=True),
)
