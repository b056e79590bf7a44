"""An edit changes what it was asked to change and no other byte, whatever the file's encoding."""

from __future__ import annotations

from pathlib import Path

import pytest

from inkwire.tools.edit import edit
from inkwire.tools.files import read, write
from tests.tools.calling import refusal, use


def edits(old: str, new: str) -> list[dict[str, str]]:
    return [{"old_text": old, "new_text": new}]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"\xef\xbb\xbfcaf\xe9\nsecond\n", b"\xef\xbb\xbfcaf\xe9\n2nd \xc3\xbc\n"),
        (b"gr\xc3\xb6\xc3\x9fe \xff\nsecond\n", b"gr\xc3\xb6\xc3\x9fe \xff\n2nd \xc3\xbc\n"),
        (b"caf\xe9\nsecond\n", b"caf\xe9\n2nd \xfc\n"),
        (b"\xff\xfea\x00\x00\xd8\n\x00" + "second\n".encode("utf-16-le"), None),
        (b"a\r\nsecond\r\n", b"a\r\n2nd \xc3\xbc\r\n"),
    ],
    ids=["marked", "mixed", "latin-1", "utf-16 with half a pair", "crlf"],
)
async def test_other_bytes_stay(tmp_path: Path, before: bytes, after: bytes | None) -> None:
    path = tmp_path / "file.txt"
    path.write_bytes(before)
    result = await use(edit, tmp_path, path="file.txt", edits=edits("second", "2nd ü"))
    wanted = after if after is not None else before.replace("second".encode("utf-16-le"), "2nd ü".encode("utf-16-le"))
    assert path.read_bytes() == wanted
    assert (result.display or "").encode()
    assert (await use(read, tmp_path, path="file.txt")).text.encode()


async def test_a_latin_file_is_replaced_whole_by_any_text(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_bytes(b"caf\xe9\n")
    await use(write, tmp_path, path="file.txt", content="größe 日本\n")
    assert path.read_text("utf-8") == "größe 日本\n"


async def test_a_name_that_is_too_long_is_told(tmp_path: Path) -> None:
    assert "cannot be written" in await refusal(write, tmp_path, path="x" * 300, content="")


@pytest.mark.timeout(20)
async def test_a_long_text_that_is_not_there_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("a " * 50_000)
    assert "is not in" in await refusal(edit, tmp_path, path="file.txt", edits=edits("a  " * 6_000 + "b", "c"))
