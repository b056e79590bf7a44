"""The told steps build the tree that the scanner knows."""

from __future__ import annotations

import itertools
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from inkwire.inspector.known import KnownJSON, Op
from inkwire.partial_json import PartialJSON

_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
)


class Built:
    """The tree that the steps build, as the page builds it."""

    def __init__(self) -> None:
        self.root: Any = None
        self._open: list[Any] = []
        self._keys: list[str] = []
        self._text: list[str] | None = None

    def apply(self, op: Op) -> None:
        match op:
            case "{" | "[":
                container: Any = {} if op == "{" else []
                self._put(container)
                self._open.append(container)
                self._keys.append("")
            case "}" | "]":
                self._open.pop()
                self._keys.pop()
            case ("k", key):
                self._keys[-1] = key
            case ("s",):
                self._text = []
                self._put("")
            case ("t", text):
                assert self._text is not None
                self._text.append(text)
                self._replace("".join(self._text))
            case ("e",):
                self._text = None
            case ("n", written):
                self._put(json.loads(written))
            case ("v", value):
                self._put(value)

    def _put(self, value: Any) -> None:
        if not self._open:
            self.root = value
        elif isinstance(self._open[-1], dict):
            self._open[-1][self._keys[-1]] = value
        else:
            self._open[-1].append(value)

    def _replace(self, value: str) -> None:
        if not self._open:
            self.root = value
        elif isinstance(self._open[-1], dict):
            self._open[-1][self._keys[-1]] = value
        else:
            self._open[-1][-1] = value


def follow(text: str, cuts: list[int]) -> None:
    places = sorted({cut % (len(text) + 1) for cut in cuts} | {0, len(text)})
    known, scanner, built = KnownJSON(), PartialJSON(), Built()
    for start, end in itertools.pairwise(places):
        scanner.feed(text[start:end])
        for op in known.grow(text[start:end]):
            built.apply(op)
        if scanner.broken is None and not scanner._number:
            assert built.root == scanner.value
        assert (known.broken, known.incomplete) == (scanner.broken, scanner.incomplete)


@given(_VALUES, st.lists(st.integers(0, 500), max_size=12), st.booleans())
def test_the_steps_build_what_the_scanner_knows(value: Any, cuts: list[int], ascii_only: bool) -> None:
    follow(json.dumps(value, ensure_ascii=ascii_only), cuts)


@given(st.text(alphabet='{}[]":,\\u0d8 1truefalsn-e.', max_size=60), st.lists(st.integers(0, 60), max_size=6))
def test_text_that_is_no_json_breaks_nothing(text: str, cuts: list[int]) -> None:
    known = KnownJSON()
    built = Built()
    places = sorted({cut % (len(text) + 1) for cut in cuts} | {0, len(text)})
    for start, end in itertools.pairwise(places):
        for op in known.grow(text[start:end]):
            built.apply(op)
    assert known.whole == (known.broken is None and not known.incomplete)


def test_a_string_deep_inside_is_told_while_it_comes() -> None:
    known = KnownJSON()
    known.grow('{"edits":[{"old":"a')
    assert known.grow("bc") == (("t", "bc"),)
    assert known.grow('d"}') == (("t", "d"), ("e",), "}")


def test_a_number_is_told_as_it_is_written() -> None:
    ops = KnownJSON().grow('{"id":9007199254740993,"cost":1.10,"big":1e999,"ok":true}')
    assert [op for op in ops if op[0] in "nv"] == [
        ("n", "9007199254740993"), ("n", "1.10"), ("n", "1e999"), ("v", True)
    ]  # fmt: skip
