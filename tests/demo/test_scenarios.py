"""The scenarios show on the real pipeline what they say, in both languages."""

from __future__ import annotations

import re

import pytest

from inkwire.demo.make import DIRECTORY, recordings
from inkwire.demo.notes import notes_of
from inkwire.demo.render import Screen, list_scenarios
from inkwire.demo.scenarios import SCENARIOS, recording_of
from inkwire.demo.steps import Step, steps_of
from inkwire.errors import IncompleteStreamError, ProtocolError
from inkwire.events import MessageEnd, ReasoningDelta, Retrying, StreamReset, TextDelta, ToolCallDelta
from inkwire.messages import ReasoningPart
from inkwire.terminal.style import Style

ALL = tuple(SCENARIOS)
MESSAGES = tuple(name for name in ALL if name not in ("missing-finish-reason", "user-cancel", "damage-in-the-middle"))


def steps(name: str) -> list[Step]:
    return steps_of(SCENARIOS[name].exchanges())


def test_the_shipped_files_are_what_the_code_makes() -> None:
    assert {path.stem for path in DIRECTORY.iterdir()} == set(ALL)
    assert {name: recording_of(name) for name in ALL} == recordings()


@pytest.mark.parametrize("name", ALL)
def test_the_loop_is_given_nothing_before_the_end(name: str) -> None:
    *before, last = steps(name)
    assert all(step.message is None and step.error is None for step in before)
    assert (last.message is not None) == (name in MESSAGES)


@pytest.mark.parametrize("name", MESSAGES)
def test_what_was_shown_is_what_is_held(name: str) -> None:
    found = steps(name)
    last = [step for step in found if step.attempt == found[-1].attempt]
    for index, part in enumerate(last[-1].held.parts):
        shown = "".join(
            event.json_delta if isinstance(event, ToolCallDelta) else event.text
            for step in last
            for event in step.events
            if isinstance(event, (TextDelta, ReasoningDelta, ToolCallDelta)) and event.index == index
        )
        assert shown == getattr(part, "raw_arguments", None) or shown == getattr(part, "text", None)


def test_read_readme_waits_for_half_an_event_and_then_runs_one_call() -> None:
    found = steps("read-readme")
    assert any(step.waiting and not step.events for step in found)
    assert [call.arguments for call in found[-1].held.executable_calls] == [{"path": "README.md"}]


def test_interleaved_calls_do_not_mix() -> None:
    message = steps("two-reads-interleaved")[-1].message
    assert message is not None
    assert [call.arguments for call in message.executable_calls] == [{"path": "README.md"}, {"path": "CHANGELOG.md"}]


def test_without_a_finish_reason_there_is_an_error_though_everything_parses() -> None:
    last = steps("missing-finish-reason")[-1]
    assert isinstance(last.error, IncompleteStreamError)
    assert last.held.calls[0].arguments == {"path": "README.md"}
    assert not last.held.executable_calls


def test_a_cancel_gives_neither_message_nor_error() -> None:
    last = steps("user-cancel")[-1]
    assert (last.moment, last.message, last.error) == ("cancelled", None, None)
    assert [note.law for note in notes_of(last)] == [2, 6]


@pytest.mark.parametrize("name", ["broken-arguments", "cut-at-limit"])
def test_the_gate_is_closed(name: str) -> None:
    message = steps(name)[-1].message
    assert message is not None
    assert message.calls
    assert not message.executable_calls


def test_damage_is_an_error_though_the_rest_would_parse() -> None:
    last = steps("damage-in-the-middle")[-1]
    assert isinstance(last.error, ProtocolError)
    assert [note.law for note in notes_of(last)] == [5]
    whole = b"".join(read.data for read in SCENARIOS["damage-in-the-middle"].exchanges()[0].reads)
    pieces = re.findall(rb'"arguments":"((?:[^"\\]|\\.)*)"', whole)
    assert b"".join(piece for piece in pieces if piece != b"old/") == rb"{\"path\":\"docs/README.md\"}"


def test_a_refusal_is_retried_and_a_loss_is_reset() -> None:
    found = steps("retry-and-reset")
    events = [
        event for step in found for event in step.events if isinstance(event, (Retrying, StreamReset, MessageEnd))
    ]
    assert [type(event) for event in events] == [Retrying, StreamReset, MessageEnd]
    assert isinstance(events[0], Retrying)
    assert events[0].delay_seconds == 2
    assert found[-1].held.text == "Start it with `make run`."


def test_a_character_in_two_reads_arrives_whole() -> None:
    found = steps("crlf-and-split-characters")
    assert found[-1].held.text == "好的,我来读。"
    screen = Screen(Style())
    assert "<E5 A5>" in screen.step(found[2], 3, 7)
    assert "␍␊" in screen.step(found[3], 4, 7)


def test_thinking_keeps_its_signature() -> None:
    part = steps("reasoning-with-signature")[-1].held.parts[0]
    assert isinstance(part, ReasoningPart)
    assert part.opaque


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", ALL)
def test_every_step_fits_the_screen_and_names_what_the_loop_has(name: str, language: str) -> None:
    screen = Screen(Style(), "zh" if language == "zh" else "en", 72)
    found = steps(name)
    pages = [screen.title(SCENARIOS[name]), *(screen.step(step, 1, 9, attempts=3) for step in found)]
    for line in "\n".join(pages).splitlines():
        assert sum(1 + ("⺀" <= char <= "￯") for char in line) <= 72
    label = "循环得到" if language == "zh" else "the loop"
    assert all(label in page for page in pages[1:])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_list_names_all(language: str) -> None:
    listed = list_scenarios(list(SCENARIOS.values()), Style(), "zh" if language == "zh" else "en", 80)
    assert all(name in listed for name in ALL)


def test_colours_change_no_word() -> None:
    step = steps("broken-arguments")[-1]
    painted = Screen(Style(colour=True)).step(step, 5, 5)
    assert painted != Screen(Style()).step(step, 5, 5)
    assert re.sub("\x1b\\[\\d+m", "", painted) == Screen(Style()).step(step, 5, 5)
