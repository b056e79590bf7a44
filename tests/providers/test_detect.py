"""Which model is used, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from inkwire.errors import ConfigurationError
from inkwire.providers.config import Config
from inkwire.providers.detect import Facts, LocalServer, choose, needs_probe

EVERYTHING: dict[str, Any] = {
    "flag": "a/flag",
    "environ": {"INKWIRE_MODEL": "a/variable", "ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": ""},
    "project": Config(model="a/project"),
    "project_file": Path("p/.inkwire.toml"),
    "user": Config(model="a/user"),
    "user_file": Path("u/config.toml"),
    "servers": (LocalServer("ollama", ("qwen3:8b", "b")),),
    "interactive": True,
}


def test_the_order_is_flag_variable_project_user_key_server_reader() -> None:
    facts = dict(EVERYTHING)
    expected: list[tuple[str, str, dict[str, Any]]] = [
        ("a/flag", "the flag -m", {"flag": None}),
        ("a/variable", "INKWIRE_MODEL", {"environ": {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": ""}}),
        ("a/project", "p/.inkwire.toml", {"project": Config()}),
        ("a/user", "u/config.toml", {"user": Config()}),
        ("anthropic/claude-sonnet-5-5", "ANTHROPIC_API_KEY is set", {"environ": {}}),
        ("ollama/qwen3:8b", "ollama answers on this machine", {"servers": ()}),
        ("builtin/reader", "no model was named, no key is set, no local server answers", {}),
    ]
    for model, origin, without in expected:
        choice = choose(Facts(**facts))
        assert (choice.model, choice.origin) == (model, origin)
        assert choice.fallback == (model == "builtin/reader")
        facts |= without


def test_without_a_person_there_is_no_fallback() -> None:
    with pytest.raises(ConfigurationError, match="-m builtin/reader"):
        choose(Facts(environ={}))


def test_a_key_alone_that_is_set_for_other_reasons_chooses_nothing() -> None:
    with pytest.raises(ConfigurationError):
        choose(Facts(environ={"GITHUB_TOKEN": "t", "OLLAMA_API_KEY": "o"}))


def test_a_server_without_models_is_no_choice() -> None:
    with pytest.raises(ConfigurationError):
        choose(Facts(environ={}, servers=(LocalServer("ollama", ()),)))


def test_servers_are_probed_only_when_nothing_else_decides() -> None:
    assert needs_probe(Facts(environ={}))
    assert not needs_probe(Facts(environ={}, flag="a/b"))
    assert not needs_probe(Facts(environ={"OPENAI_API_KEY": "k"}))
