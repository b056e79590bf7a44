"""The README's examples run, and both languages give the same commands.

Conventions, each an HTML comment alone on the line before a fence (blank lines between are fine):

- A `python` fence runs as a program of its own, in an empty directory, against the scripted service.
  `<!-- no-run -->` before it leaves it out.
- A `bash` fence runs only with `<!-- test -->` before it, at the root of the repository, .venv/bin on the PATH.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.scripted_service import scripted_service

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
README_ZH = ROOT / "README.zh-CN.md"

_FENCE = re.compile(r"(?:^<!-- (?P<mark>[\w-]+) -->\n+)?^```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^```$", re.M | re.S)
_LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")


class Fence(NamedTuple):
    """One fenced block of a document."""

    language: str
    mark: str
    text: str
    line: int


def _fences(document: Path) -> list[Fence]:
    text = document.read_text("utf-8") if document.exists() else ""
    return [
        Fence(found["language"], found["mark"] or "", found["text"], text.count("\n", 0, found.start("language")) + 1)
        for found in _FENCE.finditer(text)
    ]


def _readable(fence: Fence) -> str:
    return f"line-{fence.line}"


PYTHON = [fence for fence in _fences(README) if fence.language == "python" and fence.mark != "no-run"]
BASH = [fence for fence in _fences(README) if fence.language == "bash" and fence.mark == "test"]


@pytest.fixture(scope="module")
def service() -> Iterator[dict[str, str]]:
    with scripted_service() as variables:
        yield variables


@pytest.fixture
def environment(service: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """No key, proxy or configuration of the person who runs the tests."""
    home = tmp_path / "home"
    home.mkdir()
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return {"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "NO_COLOR": "1", **service}


def _run(command: list[str], directory: Path, environment: dict[str, str], fence: Fence) -> None:
    done = subprocess.run(
        command,
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, f"README.md, line {fence.line}:\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("fence", PYTHON, ids=_readable)
def test_python_examples_run(fence: Fence, environment: dict[str, str], tmp_path: Path) -> None:
    directory = tmp_path / "work"
    directory.mkdir()
    (directory / "README.md").write_bytes(README.read_bytes())
    # As many lines above as in the document, so that a traceback points into it.
    (directory / "example.py").write_text("\n" * fence.line + fence.text, "utf-8")
    _run([sys.executable, "-W", "error", "example.py"], directory, environment, fence)


@pytest.mark.parametrize("fence", BASH, ids=_readable)
def test_marked_commands_run(fence: Fence, environment: dict[str, str]) -> None:
    _run(["bash", "-euo", "pipefail", "-c", fence.text], ROOT, environment, fence)


@pytest.mark.skipif(not README.read_text("utf-8").strip(), reason="README.md is empty")
def test_the_readme_shows_python_and_commands() -> None:
    assert PYTHON, "README.md has no python example that runs"
    assert BASH, "README.md has no bash fence marked <!-- test -->"


class _WithoutStrings(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant("") if isinstance(node.value, str) else node


def _meaning(fence: Fence) -> tuple[str, str]:
    """What must be the same in both languages: not comments, prompts or output."""
    if fence.language == "python":
        return "python", ast.unparse(_WithoutStrings().visit(ast.parse(fence.text)))
    if fence.language == "bash":
        commands = (re.sub(r"(^|\s+)#.*", "", re.sub(r'"[^"]*"', '""', line)) for line in fence.text.splitlines())
        return "bash", "\n".join(filter(None, commands))
    return fence.language, ""


@pytest.mark.skipif(not README_ZH.exists(), reason="there is no README.zh-CN.md")
def test_both_languages_show_the_same_examples() -> None:
    assert [_meaning(fence) for fence in _fences(README)] == [_meaning(fence) for fence in _fences(README_ZH)]


@pytest.mark.parametrize(
    "document", sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]), ids=lambda path: path.name
)
def test_links_inside_the_repository_lead_somewhere(document: Path) -> None:
    prose = _FENCE.sub("", document.read_text("utf-8"))
    assert [link for link in _LINK.findall(prose) if not (document.parent / link).exists()] == []
