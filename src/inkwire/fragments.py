"""What a decoder reports: what the wire said, under the wire's own key. Order, starts and ends are the assembler's.

A key is whatever the protocol uses to say which part it means: an index, an item id, a running number. `None` means
that the wire gave none; then text goes on with the part that is last, and a call follows the rules in `assembler`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, TypeAlias

import msgspec

from inkwire.errors import ModelError
from inkwire.messages import StopReason

__all__ = [
    "CallFragment",
    "DoneFragment",
    "FailureFragment",
    "FinishFragment",
    "Fragment",
    "Key",
    "OpaqueFragment",
    "OriginFragment",
    "ReasoningFragment",
    "RestartFragment",
    "TextFragment",
    "UsageFragment",
    "WarningFragment",
]

Key: TypeAlias = Hashable


class TextFragment(msgspec.Struct, frozen=True, gc=False):
    """A piece of visible text.

    `whole`: the part's authoritative text; only what the pieces lacked is added (Responses' `*.done` events).
    """

    text: str
    key: Key = None
    opaque: Mapping[str, Any] | None = None
    whole: bool = False


class ReasoningFragment(msgspec.Struct, frozen=True, gc=False):
    """A piece of thinking text; `opaque` is merged into the part (strings under `append` keys are joined)."""

    text: str
    key: Key = None
    opaque: Mapping[str, Any] | None = None
    append: Mapping[str, str] | None = None
    """Opaque strings that arrive in pieces, such as a signature: appended, equal repeats of the whole ignored."""
    whole: bool = False


class CallFragment(msgspec.Struct, frozen=True, gc=False):
    """A piece of a call: any of id, name and arguments; '' and None both mean absent."""

    key: Key = None
    id: str | None = None
    name: str | None = None
    arguments: str = ""
    whole: bool = False
    """`arguments` is the authoritative text of the whole call, not a piece (a `done` event, an object)."""
    opens: bool = False
    """The wire says that a new call begins here, whatever its key (`content_block_start`, `output_item.added`)."""
    free_text: bool = False
    opaque: Mapping[str, Any] | None = None


class OpaqueFragment(msgspec.Struct, frozen=True, gc=False):
    """A block that only its provider understands. With a known key it is merged into that part's `opaque`."""

    kind: str
    opaque: Mapping[str, Any]
    key: Key = None


class UsageFragment(msgspec.Struct, frozen=True, gc=False):
    """Token counts so far, as totals; per field the last one that is not None counts."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


class OriginFragment(msgspec.Struct, frozen=True, gc=False):
    """Who answers: the response's id and the model's name; the first non-empty value of each stays."""

    response_id: str | None = None
    model: str | None = None


class FinishFragment(msgspec.Struct, frozen=True, gc=False):
    """A finish reason: the message is whole, though more may be read."""

    stop_reason: StopReason
    raw: str | None


class DoneFragment(msgspec.Struct, frozen=True, gc=False):
    """The last thing that matters has come (`[DONE]`, `message_stop`, `done: true`): reading stops here."""

    signal: str = ""


class RestartFragment(msgspec.Struct, frozen=True, gc=False):
    """The service begins its answer anew inside the same stream (a second `message_start`)."""

    reason: str


class FailureFragment(msgspec.Struct, frozen=True, gc=False):
    """The service's error inside the stream, or damage: what came before it stays, nothing comes after."""

    error: ModelError


class WarningFragment(msgspec.Struct, frozen=True, gc=False):
    """An oddity; `damage` means that a piece of the stream is lost, so no call of it may run."""

    kind: str
    detail: str = ""
    damage: bool = False


Fragment: TypeAlias = (
    TextFragment
    | ReasoningFragment
    | CallFragment
    | OpaqueFragment
    | UsageFragment
    | OriginFragment
    | FinishFragment
    | DoneFragment
    | RestartFragment
    | WarningFragment
    | FailureFragment
)
