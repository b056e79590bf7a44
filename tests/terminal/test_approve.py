"""A person says yes to what they saw whole, and to nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkwire.agent.approval import Approval, ApprovalRequest
from inkwire.terminal.approve import meaning_of, question, unclear
from inkwire.terminal.style import Style

REQUEST = ApprovalRequest("c", "bash", {"command": "rm -rf build", "timeout": 5}, "it changes files", ("bash(rm *)",))


def test_the_question_shows_tool_arguments_reason_and_rule() -> None:
    text = question(REQUEST, Style())
    for words in ("bash wants to run", "    rm -rf build", "timeout: 5", "it changes files", "bash(rm *)"):
        assert words in text


def test_nothing_of_a_long_command_is_hidden() -> None:
    command = "echo ok " + "x" * 5000 + "\nrm -rf ~"
    text = question(ApprovalRequest("c", "bash", {"command": command}, ""), Style())
    assert command.replace("\n", "\n    ") in text


def test_control_characters_of_a_command_are_neutralised() -> None:
    text = question(ApprovalRequest("c", "bash", {"command": "rm x\r\x1b[1A\x1b[2Kecho hello\u202e"}, ""), Style())
    assert "\x1b" not in text
    assert "\r" not in text
    assert "\u202e" not in text
    assert "rm x" in text


@pytest.mark.parametrize(
    ("answer", "approval"),
    [
        ("y", Approval(True)),
        (" Yes ", Approval(True)),
        ("a", Approval(True, always=True)),
        ("n", Approval(False)),
        ("", Approval(False)),
        ("use make clean instead", Approval(False, reason="use make clean instead")),
    ],
)
def test_answers(answer: str, approval: Approval) -> None:
    assert meaning_of(answer, REQUEST) == approval


def test_always_is_a_no_where_it_was_not_offered() -> None:
    request = ApprovalRequest("c", "bash", {"command": "python x.py"}, "")
    assert "always" not in question(request, Style())
    assert meaning_of("a", request) == Approval(False)


@given(st.text())
def test_only_four_words_are_a_yes(answer: str) -> None:
    assert meaning_of(answer, REQUEST).allowed == (answer.strip().lower() in ("y", "yes", "a", "always"))


def test_text_of_several_lines_begins_on_a_line_of_its_own() -> None:
    request = ApprovalRequest("c", "write", {"path": "a.py", "content": "def f():\n    return 1\n"}, "why", ())
    shown = question(request, Style())
    assert "    content:\n    def f():\n        return 1\n" in shown
    assert "Enter" in shown


@pytest.mark.parametrize("answer", ["/quit", "/help me", "quit", "yea", " Yess "])
def test_what_is_no_choice_and_no_sentence_is_asked_again(answer: str) -> None:
    assert unclear(answer, REQUEST)


@pytest.mark.parametrize("answer", ["y", "No", "", "a", "ALWAYS", "use make clean instead", "不要删除"])
def test_a_choice_or_a_reason_is_an_answer(answer: str) -> None:
    assert unclear(answer, REQUEST) == ""


def test_always_is_asked_again_where_it_was_not_offered() -> None:
    assert "not offered" in unclear("a", ApprovalRequest("c", "bash", {"command": "python x.py"}, ""))
