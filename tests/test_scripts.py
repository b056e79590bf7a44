"""The scripts are sound, and what is in the repository belongs to no one machine."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPTS = [path for path in (ROOT / ".ci" / "run", *sorted((ROOT / "scripts").iterdir())) if path.is_file()]

# Folders of a person or a machine, and the hosts that packages come from.
_PRIVATE = re.compile(
    rb"/ro"
    rb"ot/|/ho"
    rb"me/[a-z]|/Us"
    rb"ers/[a-z]|/op"
    rb"t/(?:pypi|wheels)|files\.pythonhost"
    rb"ed|--ind"
    rb"ex-url"
)
_BINARY = {".png", ".gif", ".webp", ".woff2", ".gz"}


@cache
def _committed() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    return [path for name in listed.stdout.decode().split("\0") if name and (path := ROOT / name).is_file()]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_script_is_valid_bash(script: Path) -> None:
    checked = subprocess.run(["bash", "-n", script], capture_output=True, text=True, check=False)
    assert checked.stderr == ""


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_script_can_be_started_and_stops_at_errors(script: Path) -> None:
    if script.name.startswith("_"):  # sourced by the others
        return
    text = script.read_text("utf-8")
    assert os.access(script, os.X_OK)
    assert text.startswith("#!/usr/bin/env bash\n# ")
    assert "\nset -euo pipefail\n" in text


def test_lock_pins_every_package_once() -> None:
    lines = (ROOT / "requirements.lock").read_text("utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert [pin for pin in pins if not re.fullmatch(r"[\w.-]+==[\w.]+", pin)] == []
    names = [pin.partition("==")[0].lower() for pin in pins]
    assert len(set(names)) == len(names)


def test_no_file_names_a_private_folder_or_host() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {hit.group().decode()}"
        for path in _committed()
        if path.suffix not in _BINARY and (hit := _PRIVATE.search(path.read_bytes()))
    ]
    assert not found, "\n".join(found)


def test_text_files_end_with_one_newline() -> None:
    """Recorded bodies are bytes, so only source and prose."""
    texts = [path for path in _committed() if path.suffix in {".py", ".md", ".toml", ".css", ".js"}]
    assert [str(path.relative_to(ROOT)) for path in texts if not re.search(rb"(^|[^\n]\n)\Z", path.read_bytes())] == []


@pytest.mark.skipif(not (ROOT / ".venv" / ".stamp-runtime").is_file(), reason="it would install packages")
@pytest.mark.parametrize(
    ("place", "text", "falls_back"),
    [
        ("config/inkwire/config.toml", "", True),
        ("config/inkwire/config.toml", "max_turns = 3\n# model = 'x/y'\n", True),
        ("config/inkwire/config.toml", "model = 'openai/x'\n", False),
        (".inkwire.toml", "model = 'openai/x'\n", False),
        ("project/.inkwire.toml", "max_turns = 3\n", True),
    ],
)
def test_only_a_file_that_names_a_model_switches_the_fallback_off(
    tmp_path: Path, place: str, text: str, falls_back: bool
) -> None:
    directory = tmp_path / "project"
    directory.mkdir()
    file = tmp_path / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    variables = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config"), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [ROOT / "scripts" / "run", "hi"],
        cwd=directory,
        env=variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ("using builtin/reader" in done.stderr) == falls_back
    assert (done.returncode == 0) == falls_back
