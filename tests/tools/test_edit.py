"""edit: exact, unique, all or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from inkwire.tools.edit import edit
from tests.tools.calling import refusal, use


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.py"
    path.write_text("def a():\n    return 1\n\n\ndef b():\n    return 1\n")
    return path


async def test_several_edits_at_once(file: Path) -> None:
    edits = [
        {"old_text": "def b", "new_text": "def c"},
        {"old_text": "def a():\n    return 1", "new_text": "def a(): ..."},
    ]
    result = await use(edit, file.parent, path="a.py", edits=edits)
    assert file.read_text() == "def a(): ...\n\n\ndef c():\n    return 1\n"
    assert result.text == "Edited a.py: 2 edits, +2 -3 lines"
    assert "-def b():\n+def c():\n" in result.display


async def test_what_is_there_twice_is_not_guessed(file: Path) -> None:
    before = file.read_bytes()
    words = await refusal(edit, file.parent, path="a.py", edits=[{"old_text": "return 1", "new_text": "return 2"}])
    assert "2 times (lines 2, 6)" in words
    assert file.read_bytes() == before
    every = [{"old_text": "return 1", "new_text": "return 2", "replace_all": True}]
    await use(edit, file.parent, path="a.py", edits=every)
    assert file.read_text().count("return 2") == 2


async def test_all_or_nothing(file: Path) -> None:
    before = file.read_bytes()
    edits = [{"old_text": "def a", "new_text": "def z"}, {"old_text": "nowhere", "new_text": "x"}]
    assert "edit 2 of 2: old_text is not in a.py" in await refusal(edit, file.parent, path="a.py", edits=edits)
    overlap = [{"old_text": "def a()", "new_text": "x"}, {"old_text": "a():\n", "new_text": "y"}]
    assert "overlaps" in await refusal(edit, file.parent, path="a.py", edits=overlap)
    assert file.read_bytes() == before


async def test_a_difference_in_white_space_is_located(file: Path) -> None:
    edits = [{"old_text": "def b():\n\treturn 1", "new_text": "x"}]
    assert "white space alone begins in line 5" in await refusal(edit, file.parent, path="a.py", edits=edits)


@pytest.mark.parametrize("content", [b"a\r\nb\r\nc\r\n", b"\xef\xbb\xbfa\r\nb\r\nc", b"a\rb\rc\r"])
async def test_line_ends_and_marks_are_kept(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "f").write_bytes(content)
    await use(edit, tmp_path, path="f", edits=[{"old_text": "a\nb", "new_text": "x\ny"}])
    assert (tmp_path / "f").read_bytes() == content.replace(b"a", b"x").replace(b"b", b"y")


async def test_mixed_line_ends_stay_mixed(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a\r\nb\nc\r\n")
    await use(edit, tmp_path, path="f", edits=[{"old_text": "b\n", "new_text": "x\n"}])
    assert (tmp_path / "f").read_bytes() == b"a\r\nx\nc\r\n"


async def test_edits_that_change_nothing_are_told(file: Path) -> None:
    words = await refusal(edit, file.parent, path="a.py", edits=[{"old_text": "def a", "new_text": "def a"}])
    assert "change nothing" in words
    assert "empty" in await refusal(edit, file.parent, path="a.py", edits=[{"old_text": "", "new_text": "x"}])
    assert "empty" in await refusal(edit, file.parent, path="a.py", edits=[])
