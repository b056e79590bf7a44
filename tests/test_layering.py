"""Imports point down: every module under src/inkwire against the table in layers.py."""

from __future__ import annotations

import ast
import graphlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.layers import FIRST_WITH_ASYNCIO, HEAVY, LAYERS, NARROWER, SOCKET_MODULES, SOCKET_ROOMS

SOURCE = Path(__file__).parent.parent / "src" / "inkwire"
RANK = {name: rank for rank, row in enumerate(LAYERS) for name in row}


class Import(NamedTuple):
    """One imported module, and where that is written."""

    importer: str
    """Dotted, without `inkwire.`; the package's own file is `__init__`."""
    target: str
    """Own modules as `inkwire.x.y`."""
    line: int
    when_loaded: bool
    """At module level and not for type checkers alone."""

    def __str__(self) -> str:
        return f"{self.importer} (line {self.line}) imports {self.target}"


def _modules() -> dict[str, Path]:
    """Dotted name -> file; a package's `__init__.py` goes by the name of the package."""
    names = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        if parts[-1] == "__init__" and len(parts) > 1:
            parts = parts[:-1]
        names[".".join(parts)] = path
    return names


MODULES = _modules()


def _room(module: str) -> str:
    return module.partition(".")[0]


def _within(module: str, places: tuple[str, ...]) -> bool:
    return any(module == place or module.startswith(f"{place}.") for place in places)


def _inside(target: str) -> str:
    """`inkwire.a.b` -> `a.b`, `inkwire` -> `__init__`."""
    return target.removeprefix("inkwire").removeprefix(".") or "__init__"


def _is_put_off(node: ast.AST) -> bool:
    """Whether what is inside does not run when the module is loaded."""
    if isinstance(node, ast.If):
        return ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def _statements(node: ast.AST, when_loaded: bool) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, when_loaded
        else:
            yield from _statements(child, when_loaded and not _is_put_off(child))


def _base(statement: ast.ImportFrom, importer: str, path: Path) -> str:
    """The absolute name after `from`."""
    if not statement.level:
        return statement.module or ""
    package = ["inkwire", *importer.split(".")]
    up = statement.level - (path.name == "__init__.py")
    return ".".join([*package[: len(package) - up], *filter(None, [statement.module])])


def _targets(statement: ast.Import | ast.ImportFrom, importer: str, path: Path) -> Iterator[str]:
    if isinstance(statement, ast.Import):
        yield from (alias.name for alias in statement.names)
        return
    base = _base(statement, importer, path)
    for alias in statement.names:
        full = f"{base}.{alias.name}"
        is_module = full.startswith("inkwire.") and _inside(full) in MODULES
        yield full if is_module else base


def _imports() -> list[Import]:
    return [
        Import(module, target, statement.lineno, when_loaded)
        for module, path in MODULES.items()
        for statement, when_loaded in _statements(ast.parse(path.read_text("utf-8")), True)
        for target in dict.fromkeys(_targets(statement, module, path))
    ]


IMPORTS = _imports()
OWN = [each for each in IMPORTS if _within(each.target, ("inkwire",))]


def test_every_module_has_a_layer() -> None:
    unknown = sorted({_room(module) for module in MODULES} - RANK.keys())
    assert not unknown, f"not in the table of tests/layers.py: {unknown}; add each to the layer it belongs to"


def test_imports_point_down() -> None:
    wrong = [
        str(each)
        for each in OWN
        if RANK.get(_room(_inside(each.target)), -1) > RANK.get(_room(each.importer), len(LAYERS))
    ]
    assert not wrong, "these import a higher layer of tests/layers.py:\n" + "\n".join(wrong)


def test_own_modules_that_are_imported_exist() -> None:
    missing = [str(each) for each in OWN if _inside(each.target) not in MODULES]
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("room", NARROWER)
def test_room_imports_only_what_it_may(room: str) -> None:
    wrong = [
        str(each) for each in OWN if _room(each.importer) == room and not _within(_inside(each.target), NARROWER[room])
    ]
    assert not wrong, f"{room} may import {NARROWER[room]}:\n" + "\n".join(wrong)


def test_modules_do_not_import_in_a_circle() -> None:
    graph: dict[str, set[str]] = {module: set() for module in MODULES}
    for each in OWN:
        if each.when_loaded and _inside(each.target) != each.importer:
            graph[each.importer].add(_inside(each.target))
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        pytest.fail("import cycle: " + " <- ".join(error.args[1]))


def test_only_the_rooms_with_sockets_import_sockets() -> None:
    wrong = [
        str(each)
        for each in IMPORTS
        if _within(each.target, SOCKET_MODULES) and not _within(each.importer, SOCKET_ROOMS)
    ]
    assert not wrong, f"sockets are for {SOCKET_ROOMS}:\n" + "\n".join(wrong)


def test_what_decides_knows_no_event_loop() -> None:
    wrong = [
        str(each)
        for each in IMPORTS
        if _within(each.target, ("asyncio",)) and RANK.get(_room(each.importer), 0) < RANK[FIRST_WITH_ASYNCIO]
    ]
    assert not wrong, f"no asyncio below {FIRST_WITH_ASYNCIO}:\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    "statement",
    ["", "[getattr(inkwire, name) for name in getattr(inkwire, '__all__', ())]"],
    ids=["import", "every public name"],
)
def test_import_inkwire_loads_nothing_heavy(statement: str) -> None:
    code = f"import sys, inkwire\n{statement}\nsys.stdout.write(' '.join({set(HEAVY)!r} & sys.modules.keys()))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert loaded.stdout == "", f"loaded too early: {loaded.stdout}"
