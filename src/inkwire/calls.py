"""Call fragments in; calls, each with its own id, name and argument text, out.

Which call does a fragment belong to? Services disagree on everything but this: a new call says its name. In order:

1. The wire says that a call opens: a new call, and its key points there from now on.
2. A known id that is not the key's own: the call with that id.
3. A known key: that call. But another id together with a name opens a new call under the same key (servers that number
   every call 0); another id without a name is an id that rotates, hence a continuation. A name without an id, when the
   call's text is already one object and the fragment brings another whole one, opens a new call, too.
4. An unknown key: a new call, even if the id was seen before (two calls, one id).
5. No key: a known id; else a new id or a name opens a call; else the call opened last goes on. A name that is repeated
   opens one only when the last call's object is whole.

Sources of the deviations: the golden streams in tests/streams/chat and the cases in tests/cases/assembly.json.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from inkwire.arguments import parse_arguments
from inkwire.events import Event, ToolCallDelta, ToolCallStart
from inkwire.fragments import CallFragment, Key
from inkwire.messages import ArgumentsError
from inkwire.partial_json import PartialJSON, classify
from inkwire.surrogates import mend_surrogates

__all__ = ["CallBook", "OpenCall", "tail"]

_EMPTY = ("", "{}", "null")
_SURE_SIZE = 3
"""Two equal pieces shorter than this (`{` and `{`) may also be what a model wrote."""
_RESEND_RATIO = 4
"""A re-sent object may be written with other white space, up to this many times shorter than the first."""


class OpenCall:
    """One call while it arrives."""

    __slots__ = (
        "_held",
        "_late",
        "_repeats",
        "_scanned",
        "_scanner",
        "dropped",
        "free_text",
        "id",
        "index",
        "name",
        "opaque",
        "pieces",
        "replaced",
        "shown_name",
        "size",
        "snapshot",
        "started",
        "wholes",
        "wire_id",
    )

    def __init__(self, index: int) -> None:
        self.index = index
        self.id = ""
        self.wire_id = ""
        self.name = ""
        self.free_text = False
        self.opaque: dict[str, Any] = {}
        self.started = False
        self.shown_name = ""
        self.replaced = False
        self.dropped = ""
        self.size = 0
        self.pieces: list[str] = []
        self._held: list[str] = []
        self.wholes: list[str] = []
        self._late: list[str] = []
        self.snapshot: str | None = None
        """The last piece, while it may be that each piece holds all text so far, and may be that each goes on."""
        self._scanner = PartialJSON()
        self._scanned = 0
        self._repeats = False
        """It is certain that pieces hold all text so far."""

    @property
    def shown(self) -> str:
        """The argument text that was handed out, or will be with the start."""
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""

    def add(self, text: str, out: list[Event]) -> None:
        """Take a piece of argument text, and show it if the call was announced."""
        if self.wholes:
            self._late.append(text)  # the whole is there already: what comes now repeats it, or goes on
            return
        if self.snapshot is not None:
            self._add_to_either(text, out)
        elif self.size and len(text) >= self.size and self._is_cumulative(text):
            if text := text[self.size :]:
                self._show(text, out)
        else:
            self._show(text, out)

    def _show(self, text: str, out: list[Event]) -> None:
        self.size += len(text)
        self.pieces.append(text)
        if self.started:
            out.append(ToolCallDelta(self.index, self.id, text))
        else:
            self._held.append(text)

    def _is_cumulative(self, text: str) -> bool:
        # `{"x` + `{"x…` is no JSON, so no valid stream is hurt when the second replaces the first. But `{"x":` +
        # `{"x":…` may be an object in an object: such a piece goes on with the text, until more of them come.
        shown = self.shown
        if not shown.startswith("{") or not text.startswith(shown) or (len(shown) < _SURE_SIZE and text == shown):
            return False
        if not self._repeats:
            self._repeats = classify(shown + text)[0] == "malformed"
            self.snapshot = None if self._repeats else text
        return self._repeats

    def _add_to_either(self, text: str, out: list[Event]) -> None:
        """Take a piece that goes on with the text, or holds all of it: the one that is JSON counts."""
        assert self.snapshot is not None
        if not text.startswith(self.snapshot):
            if self._repeats:
                text = self.snapshot + text  # neither reading holds: all of it is shown, so that the parse refuses it
            self.snapshot = None
        elif self._repeats or classify(self.shown + text)[0] == "malformed":
            self._repeats, self.snapshot = True, text
            return  # what was shown is void, and told to be at the end
        else:
            self.snapshot = text
        self._show(text, out)

    def add_whole(self, text: str, out: list[Event]) -> None:
        """Take the authoritative text: shown as far as it goes on with what was shown, else kept for the end."""
        if not self.size:
            if text:
                self._show(text, out)
        elif text.strip() in _EMPTY:
            return  # a later empty object never replaces fuller arguments
        elif len(text) > self.size and text.startswith(self.shown):
            self._show(text[self.size :], out)
        if text.strip():
            self.wholes.append(text)

    def start(self, call_id: str, out: list[Event]) -> None:
        """Announce the call, then show what was held back."""
        self.id, self.started, self.shown_name = call_id, True, self.name
        out.append(ToolCallStart(self.index, call_id, self.name))
        if self._held:
            out.append(ToolCallDelta(self.index, call_id, "".join(self._held)))
            self._held.clear()

    def take_name(self, name: str, known_names: frozenset[str]) -> None:
        """A name, whole or in pieces: equal is ignored, an extension replaces, else it is appended before arguments."""
        if not self.name or (name != self.name and name.startswith(self.name)):
            self.name = name
        elif name != self.name and not self.size and self.name not in known_names:
            self.name += name

    def is_whole(self) -> bool:
        """Whether the text so far is one whole JSON value; each character is looked at once, in all questions."""
        self._scanner.feed(tail(self.pieces, self.size - self._scanned))
        self._scanned = self.size
        return self._scanner.broken is None and not self._scanner.incomplete

    def holds_object(self, like: str) -> bool:
        """Whether the text so far is one whole object; asked only when `like` is about as long, to stay linear."""
        if not like.startswith("{") or not self.size or self.size > _RESEND_RATIO * len(like):
            return False
        return bool(parse_arguments(self.shown)[0])

    def repeats(self, text: str) -> bool:
        """Whether `text` is the whole arguments once more, as a JSON value."""
        if not text.startswith("{") or not self.size or self.size > _RESEND_RATIO * len(text):
            return False
        mine = parse_arguments(self.shown)[0]
        return mine is not None and parse_arguments(text)[0] == mine

    def arguments(self) -> tuple[dict[str, Any] | str | None, ArgumentsError | None, str]:
        """The authoritative parse: (value, error, raw text); sets `replaced` when it is not what was shown."""
        shown = self.shown
        if self.free_text:
            chosen = self.wholes[-1] if self.wholes else shown
            self.replaced = chosen != shown
            return chosen, None, chosen
        first: tuple[ArgumentsError | None, str] | None = None
        mine = parse_arguments(shown)
        for text in self._candidates(shown):
            value, error, dropped = mine if text == shown else parse_arguments(text)
            if value is not None:
                if shown and value == mine[0]:
                    text = shown
                self.replaced, self.dropped = text != shown, dropped
                if more := self._contradiction(value, text, dropped):
                    why = f"more text after the object: {more[:60]!r}"
                    return None, ArgumentsError("malformed", why, len(text)), text
                return value, None, text
            first = first or (error, text)
        error, text = first or (None, shown)
        self.replaced = text != shown
        return None, error, text

    def _contradiction(self, value: dict[str, Any], text: str, dropped: str) -> str:
        """What came besides this reading of the arguments and does not say the same; empty when there is nothing."""
        if self._repeats and dropped:
            return dropped  # that pieces repeat was told from the text; to drop a part of it, too, would be a guess
        late = "".join(self._late).strip()
        if not late or text.strip() in (late, (self.shown + late).strip()) or parse_arguments(late)[0] in (value, {}):
            return ""
        return late

    def _candidates(self, shown: str) -> Iterator[str]:
        late = "".join(self._late)
        # An empty object says nothing against fuller arguments, whichever comes first.
        yield from (whole for whole in reversed(self.wholes) if not (late and whole.strip() in _EMPTY))
        if self._repeats and self.snapshot is not None:
            yield self.snapshot
            return
        if late:
            yield late
            yield shown + late
        if shown or not self.wholes:
            yield shown


class CallBook:
    """All calls of one message, found by the rules above; they take their places in the message's list of parts."""

    def __init__(self, parts: list[Any], tools: frozenset[str], new_id: Callable[[int], str]) -> None:
        self._parts = parts
        self._tools = tools
        self._new_id = new_id
        self._by_key: dict[Key, OpenCall] = {}
        self._by_id: dict[str, OpenCall] = {}
        self._ids: set[str] = set()
        self.calls: list[OpenCall] = []
        self.longest_name = 0

    def feed(self, fragment: CallFragment, out: list[Event]) -> bool:
        """Take a fragment; False when it says nothing of any call (a ghost)."""
        call = self._by_key.get(fragment.key)  # nothing is kept under None
        if call is None or fragment.id or fragment.name or not call.started or fragment.whole or fragment.opaque:
            return self._feed_any(fragment, call, out)
        if text := fragment.arguments:  # the common case, and the only one worth being quick about
            size = call.size
            if len(text) >= size or call.wholes or call.snapshot is not None:
                call.add(text, out)
            else:
                call.size = size + len(text)
                call.pieces.append(text)
                out.append(ToolCallDelta(call.index, call.id, text))
        return True

    def _feed_any(self, fragment: CallFragment, known: OpenCall | None, out: list[Event]) -> bool:
        wire_id = _present(fragment.id)
        name = _present(fragment.name)
        call = self._locate(fragment, known, wire_id, name)
        if call is None:
            if not (wire_id or name or fragment.arguments or fragment.opens):
                return False
            call = self._open()
        if fragment.key is not None:
            self._by_key[fragment.key] = call
        if wire_id:
            self._by_id.setdefault(wire_id, call)
            call.wire_id = call.wire_id or wire_id
        is_resend = bool((wire_id or name) and call.repeats(fragment.arguments))
        if name:
            call.take_name(name, self._tools)
            self.longest_name = max(self.longest_name, len(call.name))
        call.free_text = call.free_text or fragment.free_text
        _merge(call.opaque, fragment.opaque)
        if fragment.whole:
            call.add_whole(fragment.arguments, out)
        elif fragment.arguments and not is_resend:
            call.add(fragment.arguments, out)
        self._announce(call, out)
        return True

    def _locate(self, fragment: CallFragment, known: OpenCall | None, wire_id: str, name: str) -> OpenCall | None:
        """The call that the fragment belongs to; None when it opens one. The rules' numbers are the module's."""
        if fragment.opens:
            return None  # 1
        if fragment.key is None:
            return self._locate_without_key(fragment, wire_id, name)
        if known is None:
            return None  # 4
        if wire_id and wire_id != known.wire_id and wire_id in self._by_id:
            return self._by_id[wire_id]  # 2
        if wire_id and known.wire_id and wire_id != known.wire_id and name:
            return None  # 3: a new call under a key in use
        if name and not wire_id and known.name and known.holds_object(fragment.arguments):
            return known if known.repeats(fragment.arguments) else None  # 3: another whole object
        return known

    def _locate_without_key(self, fragment: CallFragment, wire_id: str, name: str) -> OpenCall | None:
        last = self.calls[-1] if self.calls else None
        if wire_id:
            known = self._by_id.get(wire_id)
            if known is None and last is not None and not last.wire_id and self._is_late_id(last, name):
                return last
            return known
        if last is None or not name:
            return last
        if not last.name:
            return last  # the name comes late
        # A name again with each piece: none opens a call before the last one's object is whole, and what starts no
        # object never does. Should it have been another call, the text is no JSON any more and is refused.
        if name != last.name:
            return None
        may_open = fragment.arguments.lstrip()[:1] in ("", "{") and last.is_whole()
        return None if may_open and not last.repeats(fragment.arguments) else last

    def _is_late_id(self, last: OpenCall, name: str) -> bool:
        """Whether an id that is new may be that of the last call, which has none, and not open a call."""
        return (not last.started and not name) or (name in ("", last.name) and not last.is_whole())

    def _open(self) -> OpenCall:
        call = OpenCall(len(self._parts))
        self._parts.append(call)
        self.calls.append(call)
        return call

    def _announce(self, call: OpenCall, out: list[Event]) -> None:
        if call.started or not call.name:
            return
        settled = not self._tools or call.name in self._tools or call.size
        if call.wire_id and settled:
            call.start(self._unique(call.wire_id), out)
        elif call.size:
            call.start(self._generated(), out)

    def finish(self, out: list[Event]) -> None:
        """Announce what was held back to the end."""
        for call in self.calls:
            if not call.started:
                call.start(self._unique(call.wire_id) if call.wire_id else self._generated(), out)

    def _unique(self, wanted: str) -> str:
        taken, number = wanted, 2
        while taken in self._ids:
            taken, number = f"{wanted}_{number}", number + 1
        self._ids.add(taken)
        return taken

    def _generated(self) -> str:
        return self._unique(self._new_id(len(self._ids)))


def tail(pieces: Sequence[str], size: int) -> str:
    """The last `size` characters of the pieces."""
    taken: list[str] = []
    for piece in reversed(pieces):
        if size <= 0:
            break
        taken.append(piece[-size:])
        size -= len(piece)
    return "".join(reversed(taken))


def _present(value: str | None) -> str:
    """The value without white space; the literal "null" (seen from Mistral) counts as absent."""
    value = mend_surrogates((value or "").strip())
    return "" if value == "null" else value


def _merge(into: dict[str, Any], more: Mapping[str, Any] | None) -> None:
    for key, value in (more or {}).items():
        if value not in (None, "", {}, []) or key not in into:
            into[key] = value
