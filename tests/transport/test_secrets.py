"""No key is seen in a text that people read."""

from __future__ import annotations

import pytest

from inkwire.transport.secrets import scrubbed


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("cannot reach https://h/v1?key=abc123&alt=sse", "cannot reach https://h/v1?key=***&alt=sse"),
        ("https://h/?a=1&api_key=abc", "https://h/?a=1&api_key=***"),
        ("proxy http://joe:pw@h:1 refused", "proxy http://***@h:1 refused"),
        ("nothing to hide in a//b", "nothing to hide in a//b"),
    ],
)
def test_keys_in_addresses_are_left_out(text: str, clean: str) -> None:
    assert scrubbed(text) == clean


def test_a_known_key_is_left_out_wherever_it_is_quoted() -> None:
    assert scrubbed("Incorrect API key provided: sk-abcdef.", "sk-abcdef") == "Incorrect API key provided: ***."


def test_a_placeholder_for_a_key_leaves_sentences_alone() -> None:
    assert scrubbed("none of the models answered", "none") == "none of the models answered"
