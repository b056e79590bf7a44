"""How a run ended, as an exit code and in words."""

from __future__ import annotations

import pytest

from inkwire.agent.events import Failure, RunEnd
from inkwire.terminal.summary import exit_code, headline, outcome_line, result_line, statistics


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (RunEnd("completed"), 0),
        (RunEnd("completed", truncated=True), 1),
        (RunEnd("max_turns"), 1),
        (RunEnd("cancelled"), 130),
        (RunEnd("failed", error=Failure("remote", "no", status=401, retryable=False)), 1),
        (RunEnd("failed", error=Failure("remote", "busy", status=503, retryable=True)), 75),
        (RunEnd("failed", error=Failure("incomplete", "cut")), 1),
    ],
)
def test_exit_codes(end: RunEnd, code: int) -> None:
    assert exit_code(end) == code


def test_a_completed_run_needs_no_words_and_every_other_has_some() -> None:
    assert outcome_line(RunEnd("completed")) is None
    for outcome in ("max_turns", "max_tokens", "max_cost", "max_time", "cancelled", "failed"):
        assert outcome_line(RunEnd(outcome))


def test_unknown_numbers_are_left_out() -> None:
    assert statistics(RunEnd("completed", turns=1, duration_seconds=0.24)) == "1 turn · 0.2 s"


def test_a_price_that_is_not_complete_says_so() -> None:
    assert statistics(RunEnd("completed", cost=0.5)).endswith("$0.5000 or more")


@pytest.mark.parametrize(
    ("result", "is_error", "words"),
    [
        ("", False, "(no output)"),
        ("one", False, "one"),
        ("one\ntwo", False, "2 lines"),
        ("boom\ntrace", True, "boom (+1 line)"),
    ],
)
def test_results_are_a_few_words(result: str, is_error: bool, words: str) -> None:
    assert result_line(result, is_error=is_error) == words


def test_the_headline_is_what_a_call_is_about() -> None:
    assert headline({"content": "x", "path": "a.md"}) == "a.md"
    assert headline("free text") == "free text"
    assert headline({"odd": 1}) == headline(None) == ""


def test_damage_in_mid_stream_is_not_blamed_on_the_address() -> None:
    words = outcome_line(RunEnd("failed", error=Failure("protocol", "a payload is no JSON")))
    assert words is not None
    assert words.startswith("a payload is no JSON\n")
    assert "address" not in words


def test_the_services_own_words_come_before_what_may_be_wrong() -> None:
    words = outcome_line(RunEnd("failed", error=Failure("remote", "every exchange has been served", status=404)))
    assert words is not None
    assert words.startswith("every exchange has been served\nIf that does not say why, ")
