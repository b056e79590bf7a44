"""The scenarios show on the real pipeline what they say, in both languages."""

from __future__ import annotations

import re

import pytest

from inkwire.demo.make import DIRECTORY, recordings
from inkwire.demo.render import Screen, list_scenarios
from inkwire.demo.scenarios import SCENARIOS, recording_of
from inkwire.demo.steps import Shown, shown_steps
from inkwire.errors import IncompleteStreamError, ProtocolError
from inkwire.events import MessageEnd, ReasoningDelta, Retrying, StreamReset, TextDelta, ToolCallDelta
from inkwire.inspector.notes import NOTES
from inkwire.messages import AssistantMessage
from inkwire.terminal.style import Style

ALL = tuple(SCENARIOS)
MESSAGES = tuple(name for name in ALL if name not in ("missing-finish-reason", "user-cancel", "damage-in-the-middle"))


def steps(name: str) -> list[Shown]:
    return shown_steps(SCENARIOS[name].exchanges())


def test_the_shipped_files_are_what_the_code_makes() -> None:
    assert {path.stem for path in DIRECTORY.iterdir()} == set(ALL)
    assert {name: recording_of(name) for name in ALL} == recordings()


@pytest.mark.parametrize("name", ALL)
def test_the_loop_is_given_nothing_before_the_end(name: str) -> None:
    *before, last = steps(name)
    if last.step.moment == "unread":
        last = before.pop()
    assert all(shown.step.message is None and (shown.step.error is None or shown.asked_again) for shown in before)
    assert (last.step.message is not None) == (name in MESSAGES)


@pytest.mark.parametrize("name", MESSAGES)
def test_what_was_shown_is_what_is_held(name: str) -> None:
    found = steps(name)
    last = [shown for shown in found if shown.step.attempt == found[-1].step.attempt]
    for index, part in enumerate(last[-1].parts):
        shown = "".join(
            event.json_delta if isinstance(event, ToolCallDelta) else event.text
            for each in last
            for event in each.step.events
            if isinstance(event, (TextDelta, ReasoningDelta, ToolCallDelta)) and event.index == index
        )
        assert shown == part.text


def message_of(name: str) -> AssistantMessage:
    message = steps(name)[-1].step.message
    assert message is not None
    return message


def test_read_readme_waits_for_half_an_event_and_then_runs_one_call() -> None:
    assert any(shown.step.waiting and not shown.step.events for shown in steps("read-readme"))
    assert [call.arguments for call in message_of("read-readme").executable_calls] == [{"path": "README.md"}]


def test_interleaved_calls_do_not_mix() -> None:
    calls = message_of("two-reads-interleaved").executable_calls
    assert [call.arguments for call in calls] == [{"path": "README.md"}, {"path": "CHANGELOG.md"}]


def test_without_a_finish_reason_there_is_an_error_though_everything_parses() -> None:
    last = steps("missing-finish-reason")[-1]
    assert isinstance(last.step.error, IncompleteStreamError)
    assert last.parts[1].text == '{"path":"README.md"}'
    assert last.step.error.partial is not None
    assert not last.step.error.partial.executable_calls


def test_a_cancel_gives_neither_message_nor_error() -> None:
    last = steps("user-cancel")[-1].step
    assert (last.moment, last.message, last.error) == ("cancelled", None, None)
    assert [NOTES[name].law for name in last.notes] == [2, 6]


@pytest.mark.parametrize("name", ["broken-arguments", "cut-at-limit"])
def test_the_gate_is_closed(name: str) -> None:
    message = message_of(name)
    assert message.calls
    assert not message.executable_calls


def test_damage_is_an_error_though_the_rest_would_parse() -> None:
    failed = next(shown.step for shown in steps("damage-in-the-middle") if shown.step.error is not None)
    assert isinstance(failed.error, ProtocolError)
    assert [NOTES[name].law for name in failed.notes] == [5]
    whole = b"".join(read.data for read in SCENARIOS["damage-in-the-middle"].exchanges()[0].reads)
    pieces = re.findall(rb'"arguments":"((?:[^"\\]|\\.)*)"', whole)
    assert b"".join(piece for piece in pieces if piece != b"old/") == rb"{\"path\":\"docs/README.md\"}"


def test_a_refusal_is_retried_and_a_loss_is_reset() -> None:
    found = steps("retry-and-reset")
    kinds = (Retrying, StreamReset, MessageEnd)
    events = [event for shown in found for event in shown.step.events if isinstance(event, kinds)]
    assert [type(event) for event in events] == [Retrying, StreamReset, MessageEnd]
    assert isinstance(events[0], Retrying)
    assert events[0].delay_seconds == 2
    assert [part.text for part in next(shown for shown in found if shown.is_void and shown.parts).parts] == [
        "The project is started with mak"
    ]
    assert [part.text for part in found[-1].parts] == ["Start it with `make run`."]


def test_a_character_in_two_reads_arrives_whole() -> None:
    found = steps("crlf-and-split-characters")
    assert [part.text for part in found[-1].parts] == ["好的,我来读。"]
    screen = Screen(Style())
    assert "<E5 A5>" in screen.step(found[2], 3, 7)
    assert "␍␊" in screen.step(found[3], 4, 7)


def test_thinking_keeps_its_signature() -> None:
    part = steps("reasoning-with-signature")[-1].parts[0]
    assert part.kind == "reasoning"
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
