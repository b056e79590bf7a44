"""Events become what a person reads, in order, safe, and never rewritten."""

from __future__ import annotations

from inkwire.agent.events import (
    AgentEvent,
    Failure,
    Notice,
    RunEnd,
    RunStart,
    ToolEnd,
    ToolOutput,
    ToolStart,
    TurnStart,
)
from inkwire.events import (
    MessageEnd,
    ReasoningDelta,
    Retrying,
    StreamReset,
    StreamWarning,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
)
from inkwire.messages import AssistantMessage, Usage
from inkwire.terminal.render import Renderer
from inkwire.terminal.style import Style

END = MessageEnd(AssistantMessage(()))


def screen(*events: AgentEvent, style: Style = Style()) -> str:  # noqa: B008 - a frozen value
    renderer = Renderer(style)
    return "".join(piece.text for event in events for piece in renderer.feed(event))


def test_text_is_shown_as_it_arrives_and_is_the_answer() -> None:
    renderer = Renderer()
    assert [(piece.text, piece.kind) for piece in renderer.feed(TextDelta(0, "Hel"))] == [("Hel", "answer")]
    assert [(piece.text, piece.kind) for piece in renderer.feed(TextDelta(0, "lo"))] == [("lo", "answer")]
    assert [(piece.text, piece.kind) for piece in renderer.feed(END)] == [("\n", "note")]


def test_a_calls_path_appears_while_its_arguments_arrive() -> None:
    renderer = Renderer()
    shown = []
    for event in (
        ToolCallStart(0, "c", "read"),
        ToolCallDelta(0, "c", '{"pa'),
        ToolCallDelta(0, "c", 'th":"REA'),
        ToolCallDelta(0, "c", 'DME.md","limit":1}'),
        END,
    ):
        shown.append("".join(piece.text for piece in renderer.feed(event)))
    assert shown == ["● read ", "", "REA", "DME.md\n", ""]


def test_interleaved_calls_have_a_line_each() -> None:
    text = screen(
        ToolCallStart(0, "a", "read"),
        ToolCallStart(1, "b", "read"),
        ToolCallDelta(0, "a", '{"path":"a'),
        ToolCallDelta(1, "b", '{"path":"b.md"}'),
        ToolCallDelta(0, "a", '.md"}'),
        END,
        ToolStart("a", "read", {"path": "a.md"}),
        ToolStart("b", "read", {"path": "b.md"}),
        ToolEnd("b", "read", "1\tx\n2\ty"),
        ToolEnd("a", "read", "1\tx"),
    )
    assert text == "● read a.md\n● read b.md\n  └ read b.md: 2 lines\n  └ read a.md: 1 x\n"


def test_a_calls_line_is_printed_once() -> None:
    text = screen(
        ToolCallStart(0, "c", "bash"), ToolCallDelta(0, "c", '{"command":"ls"}'), END, ToolStart("c", "bash", {})
    )
    assert text == "● bash ls\n"


def test_a_call_that_was_not_seen_arriving_is_shown_when_it_starts() -> None:
    assert screen(ToolStart("c", "read", {"path": "a\x1b[1m.md"})) == "● read a.md\n"


def test_a_refused_call_says_so() -> None:
    text = screen(ToolEnd("c", "bash", "the user said no", is_error=True, started=False))
    assert text == "  ✗ not run: the user said no\n"


def test_text_before_a_call_ends_its_line() -> None:
    text = screen(TextDelta(0, "I read it."), ToolCallStart(1, "c", "read"), ToolCallDelta(1, "c", '{"path":"x"}'), END)
    assert text == "I read it.\n● read x\n"


def test_escape_sequences_of_the_model_never_reach_the_screen_even_when_cut() -> None:
    text = screen(TextDelta(0, "a\x1b"), TextDelta(0, "[2J\x1b]52;c;"), TextDelta(0, "AAAA\x07b"), END)
    assert text == "ab\n"
    sly = screen(ToolCallStart(0, "c", "re\x1b[2Jad"), ToolCallDelta(0, "c", r'{"path":"x\u001b]0;t\u0007y"}'), END)
    assert sly == "● read xy\n"


def test_output_lines_are_shown_up_to_a_few() -> None:
    text = screen(ToolStart("c", "bash", {"command": "ls"}), *(ToolOutput("c", f"line {n}\n") for n in range(20)))
    assert text.count("line") == 8
    assert text.endswith("    …\n")


def test_a_diff_is_coloured_and_cut() -> None:
    diff = "+new\n-old\n" + " same\n" * 60
    text = screen(ToolEnd("c", "edit", "done", display=diff), style=Style(colour=True))
    assert "\x1b[32m    +new\x1b[0m" in text
    assert "\x1b[31m    -old\x1b[0m" in text
    assert "22 more lines" in text


def test_a_reset_voids_what_is_above() -> None:
    text = screen(
        TurnStart(1), TextDelta(0, "The answ"), StreamReset(2, "the connection was lost"), TextDelta(0, "42"), END
    )
    assert text == ("The answ\n✗ the connection was lost: the answer above is void. Asking again (attempt 2):\n42\n")


def test_a_reset_forgets_half_a_call() -> None:
    text = screen(
        ToolCallStart(0, "c", "read"),
        ToolCallDelta(0, "c", '{"path":"REA'),
        StreamReset(2, "lost"),
        ToolCallStart(0, "c", "read"),
        ToolCallDelta(0, "c", '{"path":"b"}'),
        END,
    )
    assert text.startswith("● read REA\n✗ lost")
    assert text.endswith("● read b\n")


def test_a_message_that_ends_inside_a_call_ends_the_line() -> None:
    text = screen(
        ToolCallStart(0, "c", "read"), ToolCallDelta(0, "c", '{"path":"REA'), RunEnd("failed", duration_seconds=1)
    )
    assert text.startswith("● read REA\n")


def test_retries_warnings_and_notices_have_a_line_of_their_own() -> None:
    text = screen(
        TextDelta(0, "x"),
        Retrying(2, 0.5, "status 503"),
        StreamWarning("orphan_delta", "a piece without a call"),
        Notice("limit", "Two turns are left."),
    )
    assert text == (
        "x\n↻ status 503; attempt 2 in 0.5 s\n⚠ orphan_delta: a piece without a call\n⚠ Two turns are left.\n"
    )


def test_reasoning_is_dimmed_and_set_apart() -> None:
    text = screen(ReasoningDelta(0, "hm"), TextDelta(1, "yes"), END, style=Style(colour=True))
    assert text == "\x1b[2mhm\x1b[0m\n\nyes\n"
    quiet = Renderer(reasoning=False)
    assert quiet.feed(ReasoningDelta(0, "hm")) == []


def test_statistics_and_time_to_first_token() -> None:
    renderer = Renderer()
    renderer.feed(RunStart("r", "m"), 10.0)
    renderer.feed(TextDelta(0, "x"), 10.4)
    renderer.feed(END, 11.0)
    end = RunEnd(
        "completed",
        turns=2,
        usage=Usage(1234, 56, cache_read_tokens=900),
        tool_calls=1,
        cost=0.0123,
        cost_complete=True,
        duration_seconds=3.21,
    )
    line = "".join(piece.text for piece in renderer.feed(end, 13.0))
    assert line == (
        "2 turns · 1 tool call · 1,234 tokens in (900 cached), 56 out · first token 0.4 s · 3.2 s · $0.0123\n"
    )


def test_a_cut_answer_says_how_to_go_on() -> None:
    assert "Send another message" in screen(RunEnd("completed", truncated=True, turns=1))


def test_the_end_of_a_run_is_told_once() -> None:
    limit = RunEnd("max_turns", turns=1, warnings=("The run stopped: the limit of 1 turn is reached.",))
    assert screen(RunStart("m", "s"), limit) == (
        "⚠ The run stopped: the limit of 1 turn is reached.\n"
        "⚠ Send another message to go on; --max-turns sets the limit.\n"
        "1 turn · 0.0 s\n"
    )
    words = "The model gave an empty answer twice."
    failed = RunEnd("failed", turns=1, warnings=(words,), error=Failure("empty", words))
    shown = screen(RunStart("m", "s"), Notice("empty", words), failed)
    assert shown == f"⚠ {words}\n✗ The run ends here.\n1 turn · 0.0 s\n"


def test_a_failure_says_what_was_seen_and_what_to_do() -> None:
    text = screen(RunEnd("failed", error=Failure("remote", "Incorrect API key", status=401)))
    assert text.startswith("✗ Incorrect API key\nCheck the provider's key")


def test_without_unicode_all_marks_are_ascii() -> None:
    text = screen(
        ToolStart("c", "read", {"path": "a"}),
        ToolEnd("c", "read", "x"),
        StreamReset(2, "lost"),
        RunEnd("cancelled", turns=1),
        style=Style(unicode=False),
    )
    assert text.isascii()
