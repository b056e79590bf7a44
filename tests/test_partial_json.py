"""What the partial JSON scanner promises: growth as it arrives, no broken character, the right verdict, linear cost."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from inkwire.partial_json import Growth, PartialJSON, classify


def cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def scan(pieces: list[str]) -> tuple[PartialJSON, list[Growth]]:
    scanner = PartialJSON()
    return scanner, [growth for piece in pieces for growth in scanner.feed(piece)]


def joined(growth: list[Growth]) -> list[tuple[str, str, Any]]:
    """Growth with neighbouring text joined: what must not depend on cuts."""
    out: list[tuple[str, str, Any]] = []
    for step in growth:
        if step.kind == "text" and out and out[-1][0] == "text":
            out[-1] = ("text", step.key, out[-1][2] + step.text)
        else:
            out.append((step.kind, step.key, step.text if step.kind == "text" else step.value))
    return out


def mended(value: Any) -> Any:
    """A value with lone halves of surrogate pairs replaced, as the scanner shows it."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [mended(item) for item in value]
    return {mended(k): mended(v) for k, v in value.items()} if isinstance(value, dict) else value


def test_a_path_is_known_at_once_and_content_grows() -> None:
    scanner = PartialJSON()
    assert scanner.feed('{"path": "a.py", "con') == [
        Growth("start", "path"),
        Growth("text", "path", "a.py"),
        Growth("end", "path", value="a.py"),
    ]
    assert scanner.feed('tent": "x = 1') == [Growth("start", "content"), Growth("text", "content", "x = 1")]
    assert scanner.feed("\\n") == [Growth("text", "content", "\n")]
    assert scanner.feed("y") == [Growth("text", "content", "y")]
    assert scanner.snapshot() == {"path": "a.py", "content": "x = 1\ny"}
    assert scanner.feed('"}') == [Growth("end", "content", value="x = 1\ny")]
    assert not scanner.incomplete
    assert scanner.broken is None


def test_scalars_and_nested_values_are_reported_when_whole() -> None:
    _, growth = scan(['{"n": 12', '.5, "b": tr', 'ue, "z": null, "o": {"s": "in', 'ner"}, "l": [1]}'])
    assert [(step.key, step.value) for step in growth if step.kind == "end"] == [
        ("n", 12.5),
        ("b", True),
        ("z", None),
        ("o", {"s": "inner"}),
        ("l", [1]),
    ]
    assert all(step.kind != "text" for step in growth)


def test_a_snapshot_holds_open_containers_as_far_as_they_came() -> None:
    scanner, _ = scan(['{"a": 1, "edits": [{"old": "x", "new": "y'])
    first = scanner.snapshot()
    assert first == {"a": 1, "edits": [{"old": "x", "new": "y"}]}
    scanner.feed('z"}]}')
    assert first == {"a": 1, "edits": [{"old": "x", "new": "y"}]}
    assert scanner.value == {"a": 1, "edits": [{"old": "x", "new": "yz"}]}


def test_a_key_that_comes_twice_starts_again_and_the_last_counts() -> None:
    scanner, growth = scan(['{"a": "one", "a": "tw'])
    assert [step.kind for step in growth] == ["start", "text", "end", "start", "text"]
    assert scanner.snapshot() == {"a": "tw"}


def test_the_view_of_something_that_is_no_object_is_empty() -> None:
    scanner, growth = scan(['["a", "b'])
    assert growth == []
    assert scanner.snapshot() == {}
    assert scanner.value == ["a", "b"]


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (['{"a":"\\ud83d', '\\ude00"}'], "\U0001f600"),
        (['{"a":"\\ud83d\\', 'ude00"}'], "\U0001f600"),
        (['{"a":"x\\u', "d8", "3d", "\\ude0", '0y"}'], "x\U0001f600y"),
        (['{"a":"\\ud83dx"}'], "\ufffdx"),
        (['{"a":"\\ud83d"}'], "\ufffd"),
        (['{"a":"\\ude00"}'], "\ufffd"),
        (['{"a":"\\ud83d\\ud83d\\ude00"}'], "\ufffd\U0001f600"),
        (['{"a":"\ud83d', '\ude00"}'], "\U0001f600"),
        (['{"a":"\ud83d', 'x"}'], "\ufffdx"),
        (['{"a":"\\u00e9\\/\\""}'], 'é/"'),
    ],
)
def test_halves_of_a_character_are_joined_and_never_shown(pieces: list[str], shown: str) -> None:
    scanner = PartialJSON()
    text = ""
    for piece in pieces:
        text += "".join(step.text for step in scanner.feed(piece))
        # A lone half could not be encoded.
        text.encode()
        json.dumps(scanner.snapshot(), ensure_ascii=False).encode()
    assert text == shown
    assert scanner.snapshot() == {"a": shown}


def test_raw_control_characters_in_a_string_are_taken() -> None:
    scanner, _ = scan(['{"a": "x\ny', "\t", '\r\n"}'])
    assert scanner.snapshot() == {"a": "x\ny\t\r\n"}
    assert classify('{"a":"x\ny"}') == ("complete", 11)


@pytest.mark.parametrize(
    ("text", "verdict", "position"),
    [
        ("", "incomplete", 0),
        ("  ", "incomplete", 2),
        ("{", "incomplete", 1),
        ('{"a', "incomplete", 3),
        ('{"a"', "incomplete", 4),
        ('{"a":', "incomplete", 5),
        ('{"a":1', "incomplete", 6),
        ('{"a":1,', "incomplete", 7),
        ('{"a":"x\\u12', "incomplete", 11),
        ('{"a":tru', "incomplete", 8),
        ("[1.", "incomplete", 3),
        ("-", "incomplete", 1),
        ("nul", "incomplete", 3),
        ("{}", "complete", 2),
        (' {"a":[1,-0.5e+3,true,false,null,"x"]} ', "complete", 39),
        ("12", "complete", 2),
        ('"x"', "complete", 3),
        ("{a:1}", "malformed", 1),
        ("{'a':1}", "malformed", 1),
        ('{"a" 1}', "malformed", 5),
        ('{"a":1,}', "malformed", 7),
        ('{"a":1 "b"', "malformed", 7),
        ("[1,]", "malformed", 3),
        ("[1}", "malformed", 2),
        ('{"a":1}}', "malformed", 7),
        ('{"a":1} x', "malformed", 8),
        ('{"a":trux', "malformed", 8),
        ('{"a":True}', "malformed", 5),
        ('{"a":NaN}', "malformed", 5),
        ('{"a":01}', "malformed", 6),
        ('{"a":1.}', "malformed", 7),
        ('{"a":+1}', "malformed", 5),
        ('{"a":"\\x"}', "malformed", 7),
        ('{"a":"\\u12g4"}', "malformed", 10),
        ("[" * 201, "malformed", 200),
        ("[" * 200, "incomplete", 200),
        ("1" * 5000, "malformed", 4300),
        ("<xml>", "malformed", 0),
    ],
)
def test_cut_text_and_malformed_text_are_told_apart(text: str, verdict: str, position: int) -> None:
    assert classify(text) == (verdict, position)
    for size in (1, 2, 3):
        scanner, _ = scan(cut(text, size))
        assert (scanner.broken is not None) == (verdict == "malformed")
        assert scanner.incomplete == (verdict == "incomplete")
        assert scanner.position == (position if verdict == "malformed" else None)


def test_what_was_known_before_the_damage_stays_and_nothing_more_is_read() -> None:
    scanner, growth = scan(['{"a": "x", oops', '"b": "y"}'])
    assert scanner.snapshot() == {"a": "x"}
    assert [step.key for step in growth] == ["a", "a", "a"]
    assert scanner.broken == "expected a key in double quotes, found 'o'"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), JSON, max_size=5), st.booleans(), st.sampled_from([None, 1]), st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_the_whole_text_gives_the_value_that_json_gives_and_every_beginning_is_incomplete(
    value: dict[str, Any], ascii_only: bool, indent: int | None, size: int
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    scanner, growth = scan(cut(text, size))
    assert scanner.value == value
    assert joined(growth) == joined(scan([text])[1])
    assert {step.key: step.value for step in growth if step.kind == "end"} == value
    assert classify(text) == ("complete", len(text))
    for end in range(len(text)):
        assert classify(text[:end]) == ("incomplete", end)


def is_json(text: str) -> bool:
    try:
        json.loads(text, strict=False, parse_constant=lambda name: 1 / 0)
    except (ValueError, ZeroDivisionError):
        return False
    return True


TOKENS = st.sampled_from(
    [
        *'{}[]:,"\\ \n',
        '"a"',
        '"a":',
        "\\u",
        "d83d",
        "\\ud83d",
        "\\ude00",
        "\ud83d",
        "\ude00",
        "true",
        "nul",
        "1",
        "-",
        "0",
        ".",
        "e",
        "x",
    ]
)


@given(st.lists(TOKENS, max_size=16).map("".join), st.integers(1, 4))
@example('{"a":"\\ud83d\ude00"}', 1)
@settings(max_examples=400, deadline=None)
def test_any_text_gets_the_verdict_of_json_and_the_same_view_however_it_is_cut(text: str, size: int) -> None:
    scanner, growth = scan(cut(text, size))
    whole, whole_growth = scan([text])
    assert (scanner.value, scanner.broken, scanner.position) == (whole.value, whole.broken, whole.position)
    assert joined(growth) == joined(whole_growth)
    assert (classify(text)[0] == "complete") == is_json(text)
    if is_json(text):
        assert scanner.value == mended(json.loads(text, strict=False))


@pytest.mark.parametrize(
    "make",
    [
        lambda n: cut(json.dumps({"content": "x" * n}), 4),
        lambda n: cut(json.dumps({"content": "a\n" * (n // 3)}), 4),
        lambda n: cut(json.dumps({"todos": [{"id": i} for i in range(n // 12)]}), 4),
        lambda n: cut("[" + "1" * 4000 + "," + " " * n, 1),
        lambda n: [json.dumps({"content": "a\n" * (n // 3)})],
    ],
    ids=["plain", "escapes", "nested", "number-and-blanks", "one-piece"],
)
def test_cost_grows_with_the_text(make: Any) -> None:
    def cpu_seconds(pieces: list[str]) -> float:
        start = time.process_time()
        scan(pieces)
        return time.process_time() - start

    small, large = make(20_000), make(160_000)
    base = min(cpu_seconds(small) for _ in range(3))
    # Eight times the text: linear is 8, quadratic is 64.
    assert min(cpu_seconds(large) for _ in range(2)) < 30 * base + 0.01
