"""Runs the command as a person or a script would: in a process of its own, with an environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

COMMAND = [sys.executable, "-c", "import inkwire.cli; inkwire.cli.main(prog_name='inkwire')"]


class Result(NamedTuple):
    """What came out."""

    code: int
    out: str
    err: str


def environment(home: Path, **variables: str) -> dict[str, str]:
    """No keys, no settings, and every local server's address where nobody listens."""
    nowhere = "http://127.0.0.1:1"
    names = ("OLLAMA_HOST", "LMSTUDIO_BASE_URL", "LLAMACPP_BASE_URL", "VLLM_BASE_URL", "SGLANG_BASE_URL")
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT") if name in os.environ}
    places = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "config"), "XDG_STATE_HOME": str(home / "state")}
    places |= {"XDG_DATA_HOME": str(home / "data"), "XDG_CACHE_HOME": str(home / "cache")}
    return {**kept, **places, "PYTHONUTF8": "1", **dict.fromkeys(names, nowhere), **variables}


def inkwire(*arguments: str, home: Path, stdin: str = "", cwd: Path | None = None, **variables: str) -> Result:
    """The exit code and both outputs of `inkwire ARGUMENTS`."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environment(home, **variables),
        cwd=cwd or home,
        timeout=60,
        check=False,
    )
    return Result(done.returncode, done.stdout, done.stderr)
