"""The child process of a local model: started, waited for, told about, ended. The child here is a script of ours."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from inkwire.errors import ConfigurationError
from inkwire.local.llama_server import TEMPLATE, LlamaServer

LOADS = 'import sys; print(\'{"address": "http://127.0.0.1:9"}\', flush=True); sys.stdin.read()'
FAILS = 'import sys; print("no such tensor", file=sys.stderr); print(\'{"error": "bad file"}\', flush=True)'
LATE = 'import sys, time; time.sleep(0.5); print(\'{"address": "http://127.0.0.1:9"}\', flush=True); sys.stdin.read()'
ECHOES = 'import sys, json; print(json.dumps({"address": sys.stdin.readline().strip()}), flush=True); sys.stdin.read()'
TELLS_ENVIRONMENT = 'import os, json; print(json.dumps({"error": " ".join(os.environ)}), flush=True)'
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
        target = running.target()
        assert (target.provider, target.model, target.base_url) == ("local", "small", "http://127.0.0.1:9/v1")
        assert target.quirks.think_tags
        assert running.target("anthropic").base_url == "http://127.0.0.1:9"
        with pytest.raises(ConfigurationError, match="gemini"):
            running.target("gemini")
        await running.start()
        assert running._child is child
    assert child.returncode == 0
    assert not running.running
    assert "small.gguf" in said[0]


@pytest.mark.parametrize(
    ("program", "word"),
    [(FAILS, "bad file\nno such tensor"), (DIES, "without a word"), ("print('hello')", "it said b'hello")],
)
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


async def test_a_long_wait_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inkwire.local.llama_server._REPORT_SECONDS", 0.05)
    said: list[str] = []
    async with server(tmp_path, LATE, said):
        assert any(words.startswith("still loading") for words in said)
        assert said[-1] == "the model is loaded"


async def test_a_wait_that_is_cancelled_leaves_no_child(tmp_path: Path) -> None:
    waiting = server(tmp_path, "import time; time.sleep(1000)")
    start = asyncio.create_task(waiting.start())
    while waiting._child is None:
        await asyncio.sleep(0.01)
    pid = waiting._child.pid
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_the_key_of_a_run_goes_to_the_child_and_to_the_target_alone(tmp_path: Path) -> None:
    async with server(tmp_path, ECHOES) as running:
        target = running.target()
    assert target.key
    assert target.base_url == f"{target.key}/v1"
    assert target.key not in repr(target).replace(target.base_url, "")
    assert target.key != server(tmp_path, ECHOES).target().key


async def test_the_child_gets_no_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with pytest.raises(ConfigurationError) as caught:
        await server(tmp_path, TELLS_ENVIRONMENT).start()
    assert "PATH" in str(caught.value)
    assert "OPENAI_API_KEY" not in str(caught.value)


async def test_a_missing_extra_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inkwire.local.llama_server.find_spec", lambda name: None)
    model = tmp_path / "small.gguf"
    model.write_bytes(b"GGUF")
    with pytest.raises(ConfigurationError, match=r"pip install 'inkwire\[local\]'"):
        await LlamaServer(model).start()


def test_the_template_is_in_the_package() -> None:
    assert "<|im_start|>" in TEMPLATE.read_text(encoding="utf-8")
