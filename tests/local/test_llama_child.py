"""The child process itself, with a stand-in for llama.cpp: one line when it is loaded, no life without its parent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

STAND_IN = """
import sys, time
from types import SimpleNamespace
class CommonParams:
    def __init__(self):
        self.model, self.cpuparams, self.cpuparams_batch = SimpleNamespace(), SimpleNamespace(), SimpleNamespace()
class Server:
    def __init__(self, params):
        print("loading tensors")
        if params.model.path == "broken":
            raise RuntimeError("no such tensor")
        if params.model.path == "slow":
            time.sleep(1000)
        assert params.hostnames == ["127.0.0.1"]
        self.listening_address = f"http://127.0.0.1:9/{params.api_keys[0]}/{min(params.model_alias)}/{params.n_ctx}"
"""
CHILD = [sys.executable, "-P", "-m", "inkwire.local.llama_child"]
PARENT = """
import subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, start_new_session=True)
child.stdin.write(b"key\\n")
child.stdin.flush()
child.wait()
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "xllamacpp.py").write_text(STAND_IN)
    return {**os.environ, "PYTHONPATH": str(tmp_path)}


@pytest.mark.parametrize(
    ("model", "answer"),
    [
        ("model.gguf", {"address": "http://127.0.0.1:9/key/small/4096"}),
        ("broken", {"error": "RuntimeError: no such tensor"}),
    ],
)
def test_one_line_tells_how_the_loading_went_and_the_end_of_input_ends_it(
    environment: dict[str, str], model: str, answer: dict[str, str]
) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*CHILD, model, "small", "4096"], env=environment, stdin=pipe, stdout=pipe, stderr=pipe
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(b"key\n")
        child.stdin.flush()
        assert json.loads(child.stdout.readline()) == answer
        assert child.poll() is None
        rest, printed = child.communicate()
        assert (rest, child.returncode) == (b"", 0)
        assert b"loading tensors" in printed


@pytest.mark.parametrize("model", ["model.gguf", "slow"])
def test_a_killed_parent_takes_the_child_with_it(environment: dict[str, str], model: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, *CHILD, model, "small", "4096"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as parent:
        assert parent.stderr is not None
        assert parent.stdout is not None
        while b"loading tensors" not in parent.stderr.readline():
            pass
        parent.send_signal(signal.SIGKILL)
        # Only the child holds the other end now: it is gone when this ends.
        parent.stdout.read()
