"""The catalog is data that holds together."""

from __future__ import annotations

import pytest

from inkwire.protocols import NAMES
from inkwire.providers import CATALOG, Provider
from inkwire.providers.resolve import address_of

ENTRIES = pytest.mark.parametrize("entry", CATALOG.values(), ids=CATALOG.keys())


@ENTRIES
def test_every_entry_names_its_source_and_a_known_protocol(entry: Provider) -> None:
    assert entry.source
    assert entry.protocol in NAMES


@ENTRIES
def test_every_entry_has_an_address_or_a_way_to_give_one(entry: Provider) -> None:
    address = address_of(entry, {})
    assert address.startswith(("https://", "http://127.0.0.1:")) or entry.base_url_env or entry.embedded
    assert not address.endswith("/")
    assert "{" not in address


@ENTRIES
def test_keys_go_over_the_network_only_with_tls(entry: Provider) -> None:
    assert entry.local or not entry.base_url.startswith("http://")


def test_names_and_key_variables_are_no_ones_twice() -> None:
    variables = [variable for entry in CATALOG.values() for variable in entry.key_env]
    assert len(set(variables)) == len(variables)
    assert all("/" not in name for name in CATALOG)


@pytest.mark.parametrize(
    "name",
    "openai azure anthropic gemini bedrock openrouter deepseek moonshot qwen zai minimax mistral groq cerebras xai "  # noqa: SIM905
    "together fireworks github ollama lmstudio llamacpp vllm sglang custom builtin local".split(),
)
def test_the_known_world_is_there(name: str) -> None:
    assert name in CATALOG
