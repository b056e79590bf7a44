"""docs/contract.md: every test that it names exists, and every warning kind of the code is in its table."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CONTRACT = (ROOT / "docs" / "contract.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", CONTRACT)))
KINDS = set(re.findall(r"`(\w+)`", "".join(line for line in CONTRACT.split("## Warnings")[1].splitlines(True))))


@pytest.mark.parametrize(("file", "name"), NAMED, ids=[name for _, name in NAMED])
def test_the_test_that_shows_a_row_exists(file: str, name: str) -> None:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    found = {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
    assert name in found


def test_every_warning_kind_of_the_code_is_explained() -> None:
    said = set()
    for path in (ROOT / "src" / "inkwire").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args and isinstance(first := node.args[0], ast.Constant):
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                if name in ("WarningFragment", "_warn") and isinstance(first.value, str):
                    said.add(first.value)
    assert said
    assert said - KINDS == set()
