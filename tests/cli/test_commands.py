"""The commands that need no model: help, version, config, models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inkwire.cli import COMMANDS
from tests.cli.command import inkwire
from tests.cli.loopback import loopback, status


def test_help_shows_examples_commands_options_and_exit_codes(tmp_path: Path) -> None:
    done = inkwire("--help", home=tmp_path)
    assert done.code == 0
    for words in ('inkwire -p "', "--model", "--permission-mode", "OPENAI_API_KEY", "130", *COMMANDS):
        assert words in done.out
    assert "[x>=" not in done.out
    assert max(map(len, done.out.splitlines())) <= 80


def test_help_asked_for_after_a_prompt_is_the_same(tmp_path: Path) -> None:
    assert inkwire("-p", "--help", home=tmp_path).out == inkwire("-h", home=tmp_path).out


def test_version(tmp_path: Path) -> None:
    done = inkwire("--version", home=tmp_path)
    assert (done.code, done.out.split()[0]) == (0, "inkwire")


def test_config_shows_values_and_origins_but_no_key(tmp_path: Path) -> None:
    (tmp_path / ".inkwire.toml").write_text('model = "openai/from-project"\n')
    secret = "sk-very-secret"
    done = inkwire("config", home=tmp_path, OPENAI_API_KEY=secret, OPENAI_BASE_URL="https://user:pw@gate.example/v1")
    assert done.code == 0
    assert "openai/from-project" in done.out
    assert ".inkwire.toml" in done.out
    assert any("openai key" in line and "set" in line and "OPENAI_API_KEY" in line for line in done.out.splitlines())
    assert "https://gate.example/v1" in done.out
    assert secret not in done.out + done.err
    assert "pw@" not in done.out


def test_config_as_json(tmp_path: Path) -> None:
    done = inkwire("config", "--json", home=tmp_path, INKWIRE_MODEL="openai/x")
    first = json.loads(done.out.splitlines()[0])
    assert first == {"name": "model", "value": "openai/x", "origin": "INKWIRE_MODEL"}


@pytest.mark.parametrize("text", ["[providers.openai]\nbase_url='http://evil'", "model = "])
def test_a_wrong_project_file_ends_with_2_and_its_place(tmp_path: Path, text: str) -> None:
    (tmp_path / ".inkwire.toml").write_text(text)
    done = inkwire("config", home=tmp_path)
    assert done.code == 2
    assert ".inkwire.toml, line 1" in done.err
    assert "Traceback" not in done.err


def test_models_lists_what_answers_and_shows_no_key(tmp_path: Path) -> None:
    body = b'{"object":"list","data":[{"id":"m-1"},{"id":"m\\u001b[2J-2"}]}'
    with loopback(status(200, body)) as service:
        done = inkwire("models", home=tmp_path, OPENAI_API_KEY="sk-secret", OPENAI_BASE_URL=service.url)
    assert done.code == 0
    assert "openai/m-1\n" in done.out
    assert "openai/m-2\n" in done.out
    assert "builtin/reader" in done.out
    assert "sk-secret" not in done.out + done.err


def test_models_says_why_a_provider_cannot_be_asked(tmp_path: Path) -> None:
    body = b'{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}'
    with loopback(status(401, body)) as service:
        done = inkwire("models", "openai", home=tmp_path, OPENAI_API_KEY="sk-x", OPENAI_BASE_URL=service.url)
    assert "Incorrect API key" in done.out


def test_models_of_an_unknown_provider(tmp_path: Path) -> None:
    done = inkwire("models", "opanai", home=tmp_path)
    assert done.code == 2
    assert "did you mean 'openai'" in done.err
