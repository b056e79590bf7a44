"""The child process of a local model: started, waited for, told about, ended. The child here is a script of ours."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import pytest

from inkwire.errors import ConfigurationError
from inkwire.local.llama_server import TEMPLATE, LlamaServer
from inkwire.local.model_package import packaged_model

LOADS = 'import sys; print(\'{"address": "http://127.0.0.1:9"}\', flush=True); sys.stdin.read()'
FAILS = 'import sys; print("no such tensor", file=sys.stderr); print(\'{"error": "bad file"}\', flush=True)'
DIES = "raise SystemExit(3)"
DEAF = 'import time; print(\'{"address": "http://127.0.0.1:9"}\', flush=True); time.sleep(1000)'


def server(tmp_path: Path, program: str, said: list[str] | None = None) -> LlamaServer:
    model = tmp_path / "small.gguf"
    model.write_bytes(b"GGUF")
    told = said if said is not None else []
    return LlamaServer(model, progress=told.append, command=[sys.executable, "-c", program])


async def test_a_model_is_loaded_and_its_child_ended(tmp_path: Path) -> None:
    said: list[str] = []
    async with server(tmp_path, LOADS, said) as running:
        child = running._child
        assert child is not None
        assert running.target("small").base_url == "http://127.0.0.1:9/v1"
        assert running.target("small", "anthropic").base_url == "http://127.0.0.1:9"
        with pytest.raises(ConfigurationError, match="gemini"):
            running.target("small", "gemini")
    assert child.returncode == 0
    assert "small.gguf" in said[0]


@pytest.mark.parametrize(("program", "word"), [(FAILS, "bad file\nno such tensor"), (DIES, "without a word")])
async def test_a_model_that_cannot_be_loaded_says_why(tmp_path: Path, program: str, word: str) -> None:
    with pytest.raises(ConfigurationError, match=word):
        await server(tmp_path, program).start()


async def test_a_missing_file_is_told_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no such model file"):
        await LlamaServer(tmp_path / "none.gguf", command=["false"]).start()


async def test_a_child_that_does_not_listen_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inkwire.local.llama_server._PATIENCE_SECONDS", 0.05)
    running = server(tmp_path, DEAF)
    await running.start()
    child = running._child
    assert child is not None
    await running.aclose()
    await running.aclose()
    assert child.returncode is not None
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)


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


def test_the_template_is_in_the_package() -> None:
    assert "<|im_start|>" in TEMPLATE.read_text(encoding="utf-8")
