"""list, glob and grep, with ripgrep and without."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from inkwire.tools.globs import Glob, walk
from inkwire.tools.search import glob, grep, list_directory
from tests.tools.calling import context, refusal, use

WITH = [False, pytest.param(True, marks=pytest.mark.skipif(not shutil.which("rg"), reason="no ripgrep here"))]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    files = {
        ".gitignore": "*.log\nbuild/\n!keep.log\n/only_top.txt\n",
        "a.py": "import os\nneedle = 1\nlast\n",
        "sub/b.py": "x\nNeedle\n",
        "sub/.gitignore": "c.txt\n",
        "sub/c.txt": "needle\n",
        "sub/only_top.txt": "needle here\n",
        "only_top.txt": "needle\n",
        "x.log": "needle\n",
        "keep.log": "needle\n",
        "build/out.txt": "needle\n",
        ".git/config": "needle\n",
        "-dash.txt": "needle --flag\n",
        "bin": "needle\0",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "link").symlink_to("/etc")
    return tmp_path


@pytest.fixture(params=WITH, ids=["python", "ripgrep"])
def place(tree: Path, request: pytest.FixtureRequest) -> object:
    return context(tree) if request.param else context(tree, environ={"PATH": "/nonexistent"})


async def test_grep_finds_and_honours_gitignore(place: object) -> None:
    result = await use(grep, place, pattern="needle")  # type: ignore[arg-type]
    assert result.text.splitlines() == [
        "-dash.txt:1:needle --flag",
        "a.py:2:needle = 1",
        "keep.log:1:needle",
        "sub/only_top.txt:1:needle here",
    ]


async def test_grep_takes_a_place_names_and_case(place: object) -> None:
    found = await use(grep, place, pattern="NEEDLE", path="sub", glob="*.py", ignore_case=True)  # type: ignore[arg-type]
    assert found.text == "sub/b.py:2:Needle"
    assert (await use(grep, place, pattern="needle", path="a.py")).text == "a.py:2:needle = 1"  # type: ignore[arg-type]


async def test_a_pattern_is_never_an_option(place: object) -> None:
    assert (await use(grep, place, pattern="--flag")).text == "-dash.txt:1:needle --flag"  # type: ignore[arg-type]
    assert "no line fits" in (await use(grep, place, pattern="--version-")).text  # type: ignore[arg-type]


async def test_grep_shows_lines_around(place: object) -> None:
    found = await use(grep, place, pattern="needle =", context_lines=1)  # type: ignore[arg-type]
    assert found.text.splitlines() == ["a.py-1-import os", "a.py:2:needle = 1", "a.py-3-last"]


async def test_grep_says_when_there_is_more_and_when_the_pattern_is_none(place: object) -> None:
    assert "more than 1 lines" in (await use(grep, place, pattern="needle", limit=1)).text  # type: ignore[arg-type]
    assert await refusal(grep, place, pattern="(")  # type: ignore[arg-type]
    assert (await use(grep, place, pattern="needle = (", literal=True)).text.startswith("(no line")  # type: ignore[arg-type]


async def test_a_file_of_the_workspace_is_not_imported_by_the_search(tree: Path) -> None:
    (tree / "re.py").write_text("raise SystemExit(9)\n")
    (tree / "json.py").write_text("raise SystemExit(9)\n")
    found = await use(grep, context(tree, environ={"PATH": "/nonexistent"}), pattern="needle =")
    assert found.text == "a.py:2:needle = 1"


async def test_glob_finds_by_name(tree: Path) -> None:
    assert (await use(glob, tree, pattern="*.py")).text.splitlines() == ["a.py", "sub/b.py"]
    assert (await use(glob, tree, pattern="sub/*")).text.splitlines() == [
        "sub/.gitignore",
        "sub/b.py",
        "sub/only_top.txt",
    ]
    assert (await use(glob, tree, pattern="b.py", path="sub")).text == "sub/b.py"
    assert "no file" in (await use(glob, tree, pattern="*.rs")).text


async def test_list_shows_one_directory(tree: Path) -> None:
    names = (await use(list_directory, tree)).text.splitlines()
    assert "sub/" in names
    assert "x.log" in names
    assert "read it instead" in await refusal(list_directory, tree, path="a.py")


@pytest.mark.parametrize(
    ("glob_text", "path", "fits"),
    [
        ("**/*.py", "a.py", True),
        ("**/*.py", "x/y/a.py", True),
        ("src/**", "src/a/b", True),
        ("src/*", "src/a/b", False),
        ("[ab].txt", "a.txt", True),
        ("[!ab].txt", "a.txt", False),
        ("a?c", "a/c", False),
        ("[z-a]", "[z-a]", True),
        ("a.b", "axb", False),
        ("src/**", "src", False),
        ("**", "a/b/c", True),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("a/**/b", "a/x/y/c", False),
        ("**/a/**/b", "x/a/y/a/b", True),
        ("*a*b", "xaxbxb", True),
        ("*a*b", "xaxbx", False),
        ("a*a", "a", False),
        ("*.tar.*", "x.tar.gz", True),
        ("a**b", "axyb", True),
        ("*", ".env", True),
        ("*a" * 12 + "b", "a" * 60, False),
        ("**/x/" * 20 + "y", "x/" * 60 + "z", False),
    ],
)
def test_globs(glob_text: str, path: str, fits: bool) -> None:
    assert Glob(glob_text).matches(path) == fits


def test_a_walk_below_the_top_honours_the_rules_above(tree: Path) -> None:
    (tree / "sub" / "y.log").write_text("")
    assert [each.path for each in walk(tree / "sub", above=tree)] == [".gitignore", "b.py", "only_top.txt"]


@pytest.mark.timeout(20)
async def test_a_gitignore_cannot_hold_up_a_walk(tmp_path: Path) -> None:
    (tmp_path / ("a" * 60)).touch()
    (tmp_path / ".gitignore").write_text("*a" * 12 + "b\n" + "**/x/" * 30 + "y\n")
    assert [found.path for found in walk(tmp_path)] == [".gitignore", "a" * 60]
    (tmp_path / ".gitignore").unlink()
    os.mkfifo(tmp_path / ".gitignore")
    assert "a" * 60 in [found.path for found in walk(tmp_path)]


def test_a_gitignore_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("*\n")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "a").touch()
    (inside / ".gitignore").symlink_to(outside)
    assert "a" in [found.path for found in walk(inside)]
