"""read and write: what is shown, what is kept, and that nothing outside is reached."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from inkwire.messages import ImagePart
from inkwire.tools.edit import edit
from inkwire.tools.files import read, write
from inkwire.tools.search import grep, list_directory
from tests.tools.calling import context, refusal, use

OUTSIDE = [
    "../secret.txt",
    "/etc/passwd",
    "../../../../../../etc/passwd",
    "link_out/secret.txt",
    "link_file",
    "sub/../../secret.txt",
    "link_twice",
    "~/../../etc/passwd",
]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    inside = tmp_path / "work"
    (inside / "sub").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("secret")
    (inside / "link_out").symlink_to(tmp_path)
    (inside / "link_file").symlink_to(tmp_path / "secret.txt")
    (inside / "link_twice").symlink_to("link_file")
    (inside / "link_in").symlink_to("a.txt")
    (inside / "loop").symlink_to("loop")
    (inside / "a.txt").write_text("one\ntwo\nthree\n")
    return inside


async def test_lines_are_numbered(workspace: Path) -> None:
    assert (await use(read, workspace, path="a.txt")).text == "1\tone\n2\ttwo\n3\tthree"
    assert (await use(read, workspace, path="link_in")).text.startswith("1\tone")
    assert (await use(read, workspace, path=str(workspace / "a.txt"))).text.startswith("1\tone")


async def test_a_range_says_where_to_go_on(workspace: Path) -> None:
    text = (await use(read, workspace, path="a.txt", offset=2, limit=1)).text
    assert text == "2\ttwo\n(lines 2 to 2 of 3; go on with offset=3)"
    assert "has 3 lines; there is no line 9" in await refusal(read, workspace, path="a.txt", offset=9)


async def test_a_long_file_is_shown_in_pieces(workspace: Path) -> None:
    (workspace / "long.txt").write_text("x" * 100 + "\n" + ("y" * 90 + "\n") * 5_000)
    text = (await use(read, workspace, path="long.txt")).text
    assert len(text) < 60_000
    assert "of 5001; go on with offset=" in text
    (workspace / "wide.txt").write_text("z" * 5_000_000)
    assert "more characters" in (await use(read, workspace, path="wide.txt")).text


async def test_images_are_shown_and_other_binaries_named(workspace: Path) -> None:
    (workspace / "i.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(20))
    (workspace / "b.bin").write_bytes(b"\x7fELF\0\0")
    result = await use(read, workspace, path="i.png")
    assert result.parts == (ImagePart("image/png", b"\x89PNG\r\n\x1a\n" + bytes(20)),)
    assert "binary file of 6 bytes" in await refusal(read, workspace, path="b.bin")


async def test_what_is_no_file_is_named(workspace: Path) -> None:
    os.mkfifo(workspace / "pipe")
    assert "did you mean a.txt" in await refusal(read, workspace, path="a.tx")
    assert "is a directory" in await refusal(read, workspace, path="sub")
    assert "no regular file" in await refusal(read, workspace, path="pipe")
    assert "cannot be" in await refusal(read, workspace, path="loop")
    assert "NUL" in await refusal(read, workspace, path="a\0b")
    assert await refusal(read, workspace, path="n" * 5_000_000)


@pytest.mark.parametrize("path", OUTSIDE)
async def test_no_tool_leaves_the_workspace(workspace: Path, path: str) -> None:
    before = (workspace.parent / "secret.txt").read_bytes()
    assert "outside the workspace" in await refusal(read, workspace, path=path)
    assert "outside the workspace" in await refusal(write, workspace, path=path, content="x")
    replacement = [{"old_text": "secret", "new_text": "x"}]
    assert "outside the workspace" in await refusal(edit, workspace, path=path, edits=replacement)
    assert "outside the workspace" in await refusal(list_directory, workspace, path=path)
    assert "outside the workspace" in await refusal(grep, workspace, path=path, pattern="x")
    assert (workspace.parent / "secret.txt").read_bytes() == before
    assert sorted(each.name for each in workspace.parent.iterdir()) == ["secret.txt", "work"]


async def test_write_makes_directories_and_shows_the_difference(workspace: Path) -> None:
    result = await use(write, workspace, path="new/deep/b.txt", content="hello\n")
    assert result.text == "Created new/deep/b.txt: 6 bytes, 1 lines"
    assert "+hello" in result.display
    result = await use(write, workspace, path="a.txt", content="one\n2\n")
    assert "-two" in result.display
    assert (workspace / "a.txt").read_text() == "one\n2\n"


async def test_write_keeps_mode_line_ends_and_encoding(workspace: Path) -> None:
    script = workspace / "run.sh"
    script.write_bytes(b"#!/bin/sh\r\necho\r\n")
    script.chmod(0o755)
    await use(write, workspace, path="run.sh", content="#!/bin/sh\nls\n")
    assert script.read_bytes() == b"#!/bin/sh\r\nls\r\n"
    assert stat.S_IMODE(script.stat().st_mode) == 0o755
    (workspace / "u.txt").write_bytes("\ufeffé".encode("utf-16-le"))
    await use(write, workspace, path="u.txt", content="è")
    assert (workspace / "u.txt").read_bytes() == "\ufeffè".encode("utf-16-le")


async def test_an_edit_that_cannot_be_written_leaves_the_old_file(workspace: Path) -> None:
    (workspace / "l.txt").write_bytes("é\n".encode("latin-1"))
    changes = [{"old_text": "é", "new_text": "漢"}]
    assert "latin-1" in await refusal(edit, workspace, path="l.txt", edits=changes)
    assert (workspace / "l.txt").read_bytes() == "é\n".encode("latin-1")
    assert [each.name for each in workspace.iterdir() if each.name.startswith(".")] == []


async def test_read_only_is_enforced_where_it_happens(workspace: Path) -> None:
    place = context(workspace, read_only=True)
    assert "read-only" in await refusal(write, place, path="a.txt", content="x")


async def test_kept_output_may_be_read_but_not_written(workspace: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "o.txt").write_text("whole")
    place = context(workspace, overflow_directory=kept)
    assert "whole" in (await use(read, place, path=str(kept / "o.txt"))).text
    assert "outside" in await refusal(write, place, path=str(kept / "o.txt"), content="x")
