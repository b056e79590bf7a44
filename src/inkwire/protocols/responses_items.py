"""What an event of Responses says of its item in; the item that it means, out.

Services are careless with the two names of an item: an `output_index` that is always 0 or missing, item ids that are
missing, the same for all, or new with every event. So an item is known by both, and by its kind:

    id and place name one item                     that one
    they name two                                  the one with the id; the one at the place if it has the id too
    the id alone is known                          that one
    the place alone is known, and the id is new    that one (ids rotate), unless it was closed: then a new item
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import Any

from inkwire.fragments import Fragment, ReasoningFragment, WarningFragment
from inkwire.protocols.values import string

__all__ = ["CALL_KINDS", "Item", "ItemBook"]

CALL_KINDS = ("function_call", "custom_tool_call")
_DIFFERS = (WarningFragment("text_differs", "the final reasoning text differs from the pieces shown"),)


class Item:
    """One output item while it arrives."""

    __slots__ = (
        "_paragraph",
        "_paragraphs",
        "_sizes",
        "announced",
        "call_id",
        "done",
        "id",
        "index",
        "key",
        "kind",
        "name",
    )

    def __init__(self, key: int, kind: str) -> None:
        self.key = key
        self.kind = kind
        self.id: str | None = None
        self.index: int | None = None
        self.call_id: str | None = None
        self.name: str | None = None
        self.announced = False
        self.done = False
        self._paragraphs: dict[tuple[str, int], list[str]] = {}
        self._sizes: dict[tuple[str, int], int] = {}
        self._paragraph: tuple[str, int] | None = None

    def read(self, place: tuple[str, int], text: str, whole: bool) -> Sequence[Fragment]:
        """A piece of one paragraph of a reasoning item, or all of it: of the whole only what was not shown.

        `place` is the paragraph's channel (`summary` or `content`) and number; a blank line parts the paragraphs.
        """
        pieces = self._paragraphs.setdefault(place, [])
        size = self._sizes.get(place, 0)
        if whole and text:
            if len(text) < size:
                return _DIFFERS  # before the pieces are joined: that is for a whole that is as long
            shown = "".join(pieces)
            pieces[:] = [shown]
            if text == shown:
                return ()
            if not text.startswith(shown) or (shown and self._paragraph != place):
                return _DIFFERS
            text = text[len(shown) :]
        if not text:
            return ()
        pieces.append(text)
        self._sizes[place] = size + len(text)
        parted = self._paragraph not in (None, place)
        self._paragraph = place
        return (ReasoningFragment(f"\n\n{text}" if parted else text, self.key),)


class ItemBook:
    """All items of one response, in order of first appearance."""

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._by_id: dict[tuple[str, str], Item] = {}
        self._by_place: dict[tuple[str, int | None], Item] = {}
        self._by_call: dict[str, Item] = {}

    def announce(self, index: int | None, said: dict[str, Any]) -> tuple[Item, bool]:
        """The item that `output_item.added` names, and whether it is new: an index in use opens a new item."""
        kind, item_id, call_id = _names(said)
        known = self._by_id.get((kind, item_id)) if item_id else self._by_place.get((kind, index))
        is_same = known is not None and known.index == index and _may_be(known, call_id)
        # Its deltas came first, or it is announced twice.
        if known is not None and is_same and (not known.announced or (item_id and not known.done)):
            known.announced = True
            return self._note(known, said), False
        item = self._new(kind, index, item_id)
        item.announced = True
        return self._note(item, said), True

    def find(self, kind: str, index: int | None, item_id: str | None) -> Item:
        """The item that a delta or a `done` of its content means; a new one if it was never announced."""
        return self._known(kind, index, item_id) or self._new(kind, index, item_id)

    def finished(self, index: int | None, said: dict[str, Any]) -> tuple[Item, bool]:
        """The item that `output_item.done` means, and whether it is new."""
        kind, item_id, call_id = _names(said)
        item = self._known(kind, index, item_id)
        if item is not None and not _may_be(item, call_id):
            is_named = item.id is not None and item.id == item_id and not item.done
            item = self._by_call.get(call_id or "", item if is_named else None)
        is_new = item is None
        item = self._note(item or self._new(kind, index, item_id), said)
        item.done = True
        return item, is_new

    def paired(self, output: Sequence[Any]) -> Iterator[tuple[Item, bool, dict[str, Any]]]:
        """The items of the final snapshot beside those that are known: by call id, by id, then by kind in order."""
        snapshot = [said for said in output if isinstance(said, dict)]
        by_name: dict[tuple[str, str, str], deque[Item]] = defaultdict(deque)
        for item in self._items:
            for role, name in (("call", item.call_id), ("id", item.id)):
                if name:
                    by_name[role, item.kind, name].append(item)
        taken: dict[int, Item] = {}
        used: set[int] = set()
        for at, said in enumerate(snapshot):
            kind, item_id, call_id = _names(said)
            candidates = (by_name.get(("call", kind, call_id or "")), by_name.get(("id", kind, item_id or "")))
            match = _first_unused(candidates, used)
            if match is not None and _may_be(match, call_id):
                taken[at] = match
                used.add(match.key)
        rest: dict[str, deque[Item]] = defaultdict(deque)
        for item in self._items:
            if item.key not in used:
                rest[item.kind].append(item)
        for at, said in enumerate(snapshot):
            kind, item_id, _ = _names(said)
            known = taken.get(at)
            if known is None and rest[kind] and _same_name(rest[kind][0], said):
                known = rest[kind].popleft()
            yield self._note(known or self._new(kind, at, item_id), said), known is None, said

    def _known(self, kind: str, index: int | None, item_id: str | None) -> Item | None:
        named = self._by_id.get((kind, item_id)) if item_id else None
        placed = self._by_place.get((kind, index))
        if named is not None and placed is not None and placed is not named and placed.id == item_id:
            return placed
        if named is not None or placed is None:
            return named
        return None if item_id and placed.done else placed

    def _new(self, kind: str, index: int | None, item_id: str | None) -> Item:
        item = Item(len(self._items), kind)
        item.index, item.id = index, item_id
        self._items.append(item)
        self._by_place[kind, index] = item
        if item_id:
            self._by_id[kind, item_id] = item
        return item

    def _note(self, item: Item, said: dict[str, Any]) -> Item:
        if item.call_id is None and (call_id := string(said.get("call_id"))):
            item.call_id = call_id
            self._by_call.setdefault(call_id, item)
        item.name = item.name or string(said.get("name"))
        return item


def _names(said: dict[str, Any]) -> tuple[str, str | None, str | None]:
    return string(said.get("type")) or "message", string(said.get("id")), string(said.get("call_id"))


def _may_be(item: Item, call_id: str | None) -> bool:
    return call_id is None or item.call_id in (None, call_id)


def _same_name(item: Item, said: dict[str, Any]) -> bool:
    name = string(said.get("name"))
    return item.kind not in CALL_KINDS or name is None or item.name in (None, name)


def _first_unused(queues: Sequence[deque[Item] | None], used: set[int]) -> Item | None:
    for queue in queues:
        while queue:
            item = queue.popleft()
            if item.key not in used:
                return item
    return None
