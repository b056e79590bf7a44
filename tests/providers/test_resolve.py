"""A name becomes a target, or an error that says what to set."""

from __future__ import annotations

from typing import Any

import pytest

from inkwire.errors import ConfigurationError
from inkwire.providers import resolve
from inkwire.providers.config import Config, ProviderEntry

KEYS = {"OPENAI_API_KEY": "sk-1", "OPENROUTER_API_KEY": "or-1", "GOOGLE_API_KEY": "g-1", "AZURE_OPENAI_API_KEY": "az-1"}


def test_the_first_slash_cuts() -> None:
    target = resolve("openrouter/a/b:free", environ=KEYS)
    assert (target.provider, target.model) == ("openrouter", "a/b:free")
    assert target.base_url == "https://openrouter.ai/api/v1"
    assert (target.auth, target.key, target.protocol) == ("bearer", "or-1", "chat")


def test_the_second_key_variable_counts_when_the_first_is_not_set() -> None:
    target = resolve("gemini/g", environ={**KEYS, "GEMINI_API_KEY": "  "})
    assert (target.auth, target.key) == ("x-goog-api-key", "g-1")


def test_a_key_loses_the_space_around_it() -> None:
    assert resolve("openai/x", environ={"OPENAI_API_KEY": " sk-1\n"}).key == "sk-1"


@pytest.mark.parametrize("key", ["sk\r\nX-Evil: 1", "“sk-1”"])
def test_a_key_that_no_header_can_carry_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY holds characters") as caught:
        resolve("openai/x", environ={"OPENAI_API_KEY": key})
    assert key not in str(caught.value)


def test_a_targets_repr_hides_its_key() -> None:
    assert "sk-1" not in repr(resolve("openai/x", environ=KEYS))


@pytest.mark.parametrize(
    ("model", "environ", "words"),
    [
        ("opanai/gpt", KEYS, r"unknown provider 'opanai' .*did you mean 'openai'"),
        ("zzzz/gpt", KEYS, r"unknown provider 'zzzz' .*; known are openai, "),
        ("gpt-6-sol", KEYS, r"names no provider: write provider/model, for example openai/gpt-6-sol"),
        ("openai/", KEYS, r"no model after"),
        ("anthropic/claude", KEYS, r"no key for anthropic: set ANTHROPIC_API_KEY"),
        ("moonshot/kimi", {}, r"set MOONSHOT_API_KEY or KIMI_API_KEY"),
        ("azure/gpt", KEYS, r"set AZURE_OPENAI_ENDPOINT or give --base-url"),
        ("custom/x", {}, r"set INKWIRE_BASE_URL or give --base-url"),
        ("builtin/reader", {}, r"served by inkwire itself"),
        ("openai/x", {**KEYS, "OPENAI_BASE_URL": "ftp://x"}, r"OPENAI_BASE_URL: 'ftp://x' is no address"),
        ("openai/x", {**KEYS, "OPENAI_BASE_URL": "http://x:99999/"}, r"is no address"),
    ],
)
def test_what_is_missing_is_said(model: str, environ: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        resolve(model, environ=environ)


@pytest.mark.parametrize(
    ("model", "environ", "address"),
    [
        ("openai/x", {**KEYS, "OPENAI_BASE_URL": "http://localhost:1/v1/"}, "http://localhost:1/v1"),
        ("openai/x", {"OPENAI_BASE_URL": "http://localhost:1/v1"}, "http://localhost:1/v1"),
        (
            "azure/x",
            {**KEYS, "AZURE_OPENAI_ENDPOINT": "https://a.openai.azure.com/"},
            "https://a.openai.azure.com/openai/v1",
        ),
        ("azure/x", {**KEYS, "AZURE_OPENAI_ENDPOINT": "https://a.example/p"}, "https://a.example/p"),
        ("bedrock/x", {}, "https://bedrock-runtime.us-east-1.amazonaws.com"),
        ("bedrock/x", {"AWS_DEFAULT_REGION": "eu-west-1"}, "https://bedrock-runtime.eu-west-1.amazonaws.com"),
        ("ollama/x", {}, "http://127.0.0.1:11434"),
        ("ollama/x", {"OLLAMA_HOST": "0.0.0.0"}, "http://127.0.0.1:11434"),
        ("ollama/x", {"OLLAMA_HOST": "box:99"}, "http://box:99"),
        ("ollama/x", {"OLLAMA_HOST": ":99"}, "http://127.0.0.1:99"),
        ("ollama/x", {"OLLAMA_HOST": "https://box"}, "https://box"),
    ],
)
def test_the_address_comes_from_variable_or_catalog(model: str, environ: dict[str, str], address: str) -> None:
    assert resolve(model, environ=environ).base_url == address


def test_a_given_address_and_protocol_win() -> None:
    target = resolve("openai/x", environ=KEYS, base_url="https://gate.example/v1/", protocol="chat")
    assert (target.base_url, target.protocol, target.key) == ("https://gate.example/v1", "chat", "sk-1")


def test_with_an_address_any_name_is_a_custom_model() -> None:
    target = resolve("meta/llama-x", environ=KEYS, base_url="http://127.0.0.1:9/v1")
    assert (target.provider, target.model, target.auth, target.key) == ("custom", "meta/llama-x", "none", None)


def test_an_unknown_protocol_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="unknown protocol 'soap'; known are chat"):
        resolve("openai/x", environ=KEYS, protocol="soap")


def test_bedrock_signs_unless_it_has_a_bearer_key() -> None:
    assert resolve("bedrock/x", environ={}).auth == "sigv4"
    assert resolve("bedrock/x", environ={"AWS_BEARER_TOKEN_BEDROCK": "b"}).auth == "bearer"


def test_local_servers_need_no_key_but_take_one() -> None:
    assert resolve("vllm/x", environ={}).auth == "none"
    assert resolve("vllm/x", environ={"VLLM_API_KEY": "v"}).auth == "bearer"


def test_the_users_entries_are_over_the_catalog() -> None:
    entries: dict[str, Any] = {
        "openai": ProviderEntry(protocol="chat", quirks={"think_tags": True}),
        "mine": ProviderEntry(base_url="https://mine.example/v1", key_env="MINE_KEY"),
    }
    config = Config(providers=entries)
    target = resolve("openai/x", environ=KEYS, config=config)
    assert target.protocol == "chat"
    assert target.quirks.think_tags
    assert target.quirks.developer_role, "what the entry does not say stays"
    assert resolve("mine/x", environ={"MINE_KEY": "m"}, config=config).key == "m"
    with pytest.raises(ConfigurationError, match="set MINE_KEY"):
        resolve("mine/x", environ={}, config=config)
