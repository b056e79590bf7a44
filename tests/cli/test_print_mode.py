"""What a script gets: the answer alone on standard output, once it is the answer."""

from __future__ import annotations

import io
import json

from inkwire.agent.events import AgentEvent, Failure, RunEnd, RunStart, ToolEnd, ToolStart, TurnStart
from inkwire.cli.options import OutputFormat
from inkwire.cli.print_mode import Printer, read_prompt
from inkwire.events import MessageEnd, StreamReset, TextDelta
from inkwire.messages import AssistantMessage

END = MessageEnd(AssistantMessage(()))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def printed(
    *events: AgentEvent, output_format: OutputFormat = "text", out: io.StringIO | None = None
) -> tuple[str, str, int]:
    out, err = out or io.StringIO(), io.StringIO()
    printer = Printer(output_format, out, err)
    for event in events:
        printer.feed(event, 0.0)
    return out.getvalue(), err.getvalue(), printer.exit_code


RUN: tuple[AgentEvent, ...] = (
    RunStart("r", "a/b"),
    TurnStart(1),
    TextDelta(0, "I look."),
    END,
    ToolStart("c", "read", {"path": "x"}),
    ToolEnd("c", "read", "1\ty"),
    TurnStart(2),
    TextDelta(0, "It is y."),
    END,
    RunEnd("completed", "It is y.", turns=2, tool_calls=1),
)


def test_into_a_pipe_goes_only_the_last_answer() -> None:
    out, err, code = printed(*RUN)
    assert (out, code) == ("It is y.\n", 0)
    assert "* read x" in err
    assert "2 turns" in err
    assert "I look." not in err


def test_on_a_terminal_the_text_streams() -> None:
    out, _, _ = printed(*RUN, out=Terminal())
    assert out == "I look.\nIt is y.\n"


def test_void_text_never_reaches_a_script() -> None:
    out, _, _ = printed(
        TurnStart(1),
        TextDelta(0, "Wrong"),
        StreamReset(2, "lost"),
        TextDelta(0, "Right"),
        END,
        RunEnd("completed", "Right"),
    )
    assert out == "Right\n"


def test_what_had_arrived_of_a_failed_answer_is_printed_and_called_a_failure() -> None:
    failure = Failure("incomplete", "the stream ended before its completion signal", retryable=True)
    out, err, code = printed(TurnStart(1), TextDelta(0, "Half an"), RunEnd("failed", error=failure))
    assert (out, code) == ("Half an\n", 75)
    assert "the stream ended before its completion signal" in err


def test_a_cut_answer_is_no_success() -> None:
    out, err, code = printed(TextDelta(0, "Half"), END, RunEnd("completed", "Half", truncated=True))
    assert (out, code) == ("Half\n", 1)
    assert "Send another message" in err


def test_text_is_made_safe_and_json_is_exact() -> None:
    end = RunEnd("completed", "a\x1b[31mb")
    assert printed(end)[0] == "ab\n"
    assert json.loads(printed(end, output_format="json")[0])["text"] == "a\x1b[31mb"


def test_stream_json_is_one_event_a_line() -> None:
    out, _, _ = printed(*RUN, output_format="stream-json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert len(lines) == len(RUN)
    assert (lines[0]["type"], lines[-1]["type"]) == ("run_start", "run_end")


def test_an_answer_without_text_prints_nothing() -> None:
    assert printed(RunEnd("completed"))[0] == ""


def test_words_and_standard_input_are_one_prompt() -> None:
    def piped(text: str) -> io.TextIOWrapper:
        return io.TextIOWrapper(io.BytesIO(text.encode()))

    assert read_prompt("explain", piped("line 1\nline 2\n")) == "explain\n\nline 1\nline 2"
    assert read_prompt("", piped("alone\n")) == "alone"
    assert read_prompt("alone", piped("")) == "alone"
    assert read_prompt("words", Terminal("never read")) == "words"
