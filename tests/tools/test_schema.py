"""Arguments: fitting ones are never touched, slips are put right, the rest is explained."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest

from inkwire.errors import ConfigurationError, ToolError
from inkwire.tools.base import tool
from inkwire.tools.schema import ForeignArguments, TypedArguments, narrow


@dataclass
class Place:
    line: int
    column: int = 1


def function(
    name: Annotated[str, "The name."],
    count: int = 1,
    ratio: float | None = None,
    tags: list[str] | None = None,
    places: list[Place] | None = None,
    mode: Literal["a", "b"] = "a",
    flag: bool = False,
) -> None:
    """Does it."""


TYPED = TypedArguments(function)
FOREIGN = ForeignArguments(
    {
        "properties": {
            "count": {"type": "integer"},
            "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "deep": {"type": "object", "properties": {"list": {"type": "array", "items": {"type": "number"}}}},
        },
        "required": ["count"],
    }
)


def test_the_signature_is_the_schema() -> None:
    schema = TYPED.schema
    assert schema["required"] == ["name"]
    assert schema["properties"]["name"] == {"type": "string", "description": "The name."}
    assert "title" not in str(schema)


@pytest.mark.parametrize(
    ("slip", "right"),
    [
        ({"count": "42"}, {"count": 42}),
        ({"count": 3.0}, {"count": 3}),
        ({"ratio": "1.5"}, {"ratio": 1.5}),
        ({"tags": "one"}, {"tags": ["one"]}),
        ({"tags": '["a", "b"]'}, {"tags": ["a", "b"]}),
        ({"places": [{"line": "3"}]}, {"places": [Place(3)]}),
        ({"flag": "true"}, {"flag": True}),
        ({"count": None}, {"count": 1}),
    ],
)
def test_slips_are_put_right(slip: dict[str, Any], right: dict[str, Any]) -> None:
    checked = TYPED.validate({"name": "x", **slip})
    assert {key: checked[key] for key in right} == right


def test_what_fits_is_not_touched() -> None:
    assert TYPED.validate({"name": "42", "tags": ["1"]})["name"] == "42"
    assert FOREIGN.validate({"count": 1, "either": "7"}) == {"count": 1, "either": "7"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "- name: received nothing; expected a value: it is required"),
        ({"name": 7}, "- name: received integer 7; expected a valid string"),
        ({"name": "x", "places": [{"line": "z"}]}, '- places.0.line: received string "z"; expected a valid integer'),
        ({"name": "x", "mode": "c"}, "expected 'a' or 'b'"),
        ({"name": "x", "nmae": 1}, "expected one of: name, count, ratio"),
    ],
)
def test_complaints_name_path_received_and_expected(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ToolError) as caught:
        TYPED.validate(arguments)
    assert words in str(caught.value)


def test_a_foreign_schema_is_checked_and_narrowed() -> None:
    assert FOREIGN.validate({"count": "5"}) == {"count": 5}
    with pytest.raises(ToolError, match=r"deep\.list\.1: received string \"x\"; expected number"):
        FOREIGN.validate({"count": 1, "deep": {"list": [1, "x"]}})


def test_a_large_value_is_shown_short() -> None:
    with pytest.raises(ToolError) as caught:
        TYPED.validate({"name": "x", "count": "y" * 5_000_000})
    assert len(str(caught.value)) < 500


def test_references_are_followed_and_circles_end() -> None:
    schema = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}
    assert narrow({"x": 1}, schema) == {"x": 1}


def test_a_parameter_without_a_type_is_a_mistake_of_the_programmer() -> None:
    @tool
    def untyped(x) -> None:  # type: ignore[no-untyped-def]
        """Nothing."""

    with pytest.raises(ConfigurationError, match="parameter x"):
        _ = untyped.definition


def test_pydantic_is_loaded_when_a_schema_is_needed_and_not_before() -> None:
    code = "import sys, inkwire.tools.builtin, inkwire.agent.agent; print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "False\n"
