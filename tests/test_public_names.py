"""`__all__` is the public face of a module: complete, true, and small where users look first."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path

import pytest

import inkwire

SOURCE = Path(__file__).parent.parent / "src"
MAX_PUBLIC_NAMES = 40


def _assigned(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return [statement.name]
        case ast.Assign():
            names = [node for target in statement.targets for node in ast.walk(target)]
            return [node.id for node in names if isinstance(node, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case _:
            return []


def _modules_with_all() -> list[str]:
    found = []
    for path in sorted((SOURCE / "inkwire").rglob("*.py")):
        body = ast.parse(path.read_text("utf-8")).body
        if any("__all__" in _assigned(statement) for statement in body):
            parts = path.relative_to(SOURCE).with_suffix("").parts
            found.append(".".join(parts).removesuffix(".__init__"))
    return found


def _defined(module: str) -> set[str]:
    path = inspect.getsourcefile(importlib.import_module(module))
    assert path is not None
    body = ast.parse(Path(path).read_text("utf-8")).body
    return {name for statement in body for name in _assigned(statement) if not name.startswith("_")}


@pytest.mark.parametrize("module", _modules_with_all())
def test_all_names_what_is_public(module: str) -> None:
    public = list(importlib.import_module(module).__all__)
    assert len(set(public)) == len(public), "a name twice"
    assert sorted(_defined(module) - set(public)) == [], "public, but not in __all__: add it or begin it with _"


@pytest.mark.parametrize("module", _modules_with_all())
def test_every_name_in_all_exists(module: str) -> None:
    loaded = importlib.import_module(module)
    assert [name for name in loaded.__all__ if not hasattr(loaded, name)] == []


def _public() -> list[str]:
    return list(getattr(inkwire, "__all__", ()))


def test_the_package_has_few_public_names() -> None:
    assert len(_public()) <= MAX_PUBLIC_NAMES


def test_every_public_class_and_function_explains_itself() -> None:
    values = {name: getattr(inkwire, name) for name in _public()}
    named = {name: value for name, value in values.items() if inspect.isclass(value) or inspect.isfunction(value)}
    assert [name for name, value in named.items() if not value.__doc__] == []
