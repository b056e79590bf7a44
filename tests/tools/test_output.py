"""Output within limits: head and tail, however it comes in."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from inkwire.tools import output
from inkwire.tools.output import HeadAndTail, clip

TEXTS = st.text(st.sampled_from("abé漢\n"), max_size=400)


def cut(data: bytes, sizes: list[int]) -> list[bytes]:
    pieces = []
    for size in sizes:
        pieces.append(data[:size])
        data = data[size:]
    return [*pieces, data]


@given(text=TEXTS, sizes=st.lists(st.integers(0, 60), max_size=12), room=st.integers(8, 200))
def test_cuts_do_not_matter_and_the_file_holds_everything(text: str, sizes: list[int], room: int) -> None:
    with TemporaryDirectory() as directory:
        found = []
        for pieces in ([text.encode()], cut(text.encode(), sizes)):
            buffer = HeadAndTail(room, 10_000, Path(directory) / "kept")
            for piece in pieces:
                buffer.feed(piece)
            shown = buffer.finish()
            if buffer.path is None:
                assert shown == text
            else:
                assert buffer.path.read_text() == text
                shown = shown.replace(str(buffer.path), "FILE")
            found.append(shown)
        assert found[0] == found[1]


@given(text=TEXTS)
def test_what_fits_is_not_touched(text: str) -> None:
    assert clip(text, 10_000, 10_000, None) == text


def test_many_lines_are_shortened_in_the_middle() -> None:
    text = clip("".join(f"{n}\n" for n in range(100)), 10_000, 10, None)
    assert text.splitlines()[:5] == ["0", "1", "2", "3", "4"]
    assert text.splitlines()[-1] == "99"
    assert "lines left out" in text


def test_what_has_no_end_does_not_fill_the_disk(tmp_path: Path) -> None:
    before, output.MAX_FILE_BYTES = output.MAX_FILE_BYTES, 1_000
    try:
        buffer = HeadAndTail(100, 100, tmp_path)
        for _ in range(100):
            buffer.feed(b"x" * 99)
        text = buffer.finish()
    finally:
        output.MAX_FILE_BYTES = before
    assert buffer.path is not None
    assert buffer.path.stat().st_size == 1_000
    assert "its first 1000 bytes are in" in text


def test_a_place_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "bytes left out …]" in clip("x" * 1_000, 100, 100, tmp_path / "file" / "below")


def test_old_output_is_removed(tmp_path: Path) -> None:
    old = tmp_path / "output-old.txt"
    old.write_text("x")
    os.utime(old, (0, 0))
    (tmp_path / "other.txt").write_text("x")
    os.utime(tmp_path / "other.txt", (0, 0))
    clip("x" * 1_000, 100, 100, tmp_path)
    assert not old.exists()
    assert (tmp_path / "other.txt").exists()
    assert len(list(tmp_path.iterdir())) == 2
