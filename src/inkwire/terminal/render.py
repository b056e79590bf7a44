"""The events of a run in, pieces of text out: what to write next, and whether it is the answer or about it.

Nothing already written is ever changed, so it works in a pipe, in a pager and in any terminal's scrollback. When an
attempt turns out void, a line says so under its text. Where the width is known, lines end between words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias, assert_never

import msgspec

from inkwire.agent.events import (
    AgentEvent,
    Compaction,
    MessageRecorded,
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
    RawEvent,
    ReasoningDelta,
    Retrying,
    StreamReset,
    StreamWarning,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
)
from inkwire.terminal.calls import CallLines
from inkwire.terminal.sanitize import Sanitizer, sanitize_code, sanitize_line
from inkwire.terminal.style import Meaning, Style
from inkwire.terminal.summary import advice, headline, outcome_line, result_line, statistics
from inkwire.terminal.wrap import Wrapper, wrap

__all__ = ["Kind", "Piece", "Renderer"]

Kind: TypeAlias = Literal["answer", "note"]

_MOST_OUTPUT_LINES = 8
_MOST_DIFF_LINES = 40


class Piece(msgspec.Struct, frozen=True):
    """Text to write next."""

    text: str
    kind: Kind = "note"
    """`answer` is the model's visible text; everything else is about the run."""


class Renderer:
    """Turns the events of runs into pieces; one for a whole conversation.

    Without `text` and `reasoning` the model's words only count for the statistics. `columns` gives the screen's width,
    0 when there is none.
    """

    def __init__(
        self,
        style: Style = Style(),  # noqa: B008 - a frozen value
        *,
        text: bool = True,
        reasoning: bool = True,
        columns: Callable[[], int] = lambda: 0,
    ) -> None:
        self._style = style
        self._columns = columns
        self._wrapper = Wrapper(columns)
        self._shows_text = text
        self._shows_reasoning = reasoning
        self._calls = CallLines(style)
        self._safe = Sanitizer()
        self._mode: Literal["none", "text", "reasoning"] = "none"
        self._at_line_start = True
        self._shown_in_attempt = False
        self._output_lines: dict[str, int] = {}
        self._told: set[str] = set()
        """Kinds and words of the notices of this run, so that its end does not say them again."""
        self._labels: dict[str, str] = {}
        """What the calls of this turn are about, to tell their results apart."""
        self._run_started: float | None = None
        self._first_token_seconds: float | None = None

    def feed(self, event: AgentEvent, now: float = 0.0) -> list[Piece]:
        """What the event adds to the screen; `now` is a clock's reading in seconds."""
        pieces = []
        for piece in self._render(event, now):
            if piece.text:
                pieces.append(piece)
                # Before the next piece is made: it asks where the cursor stands.
                self._at_line_start = piece.text.endswith("\n")
        return pieces

    def _render(self, event: AgentEvent, now: float) -> Iterator[Piece]:
        match event:
            case TextDelta():
                self._token(now)
                yield from self._text(event)
            case ReasoningDelta():
                self._token(now)
                yield from self._thinking(event)
            case ToolCallStart():
                self._token(now)
                yield from self._switch("none")
                yield from self._line_start(unless=self._calls.open)
                yield Piece(self._calls.start(event.id, event.name))
            case ToolCallDelta():
                yield Piece(self._calls.delta(event.id, event.json_delta))
            case Retrying() | StreamReset() | StreamWarning():
                yield from self._trouble(event)
            case MessageEnd():
                yield from self._message_end()
            case ToolStart() | ToolOutput() | ToolEnd():
                yield from self._tool(event)
            case RunStart():
                self._run_started, self._first_token_seconds = now, None
                self._told.clear()
            case TurnStart():
                self._shown_in_attempt = False
                self._labels.clear()
            case Notice():
                self._told.add(event.kind)
                self._told.add(event.text)
                yield from self._line(f"{self._style.mark('⚠')} {sanitize_line(event.text, 400)}", "warning")
            case Compaction():
                sizes = f"{event.tokens_before:,} to {event.tokens_after:,} tokens"
                yield from self._line(f"The conversation so far was summarised ({sizes}).", "dim")
            case RunEnd():
                yield from self._run_end(event)
            case MessageRecorded() | RawEvent():
                pass
            case _:
                assert_never(event)

    def _token(self, now: float) -> None:
        self._shown_in_attempt = True
        if self._first_token_seconds is None and self._run_started is not None:
            self._first_token_seconds = now - self._run_started

    def _text(self, event: TextDelta) -> Iterator[Piece]:
        if not self._shows_text:
            return
        yield Piece(self._calls.close())
        yield from self._switch("text")
        yield Piece(self._wrapper.feed(self._safe.feed(event.text)), "answer")

    def _thinking(self, event: ReasoningDelta) -> Iterator[Piece]:
        if not self._shows_reasoning:
            return
        yield Piece(self._calls.close())
        yield from self._switch("reasoning")
        yield Piece(self._style.paint(self._wrapper.feed(self._safe.feed(event.text)), "dim"))

    def _switch(self, mode: Literal["none", "text", "reasoning"]) -> Iterator[Piece]:
        """Ends what was being written, if something else begins."""
        if mode == self._mode:
            return
        if self._mode != "none":
            self._safe.finish()
            word = self._wrapper.finish()
            yield Piece(word, "answer") if self._mode == "text" else Piece(self._style.paint(word, "dim"))
            # The end of the answer's line is no part of the answer.
            yield from self._line_start()
            if self._mode == "reasoning":
                yield Piece("\n")
        self._mode = mode

    def _line_start(self, *, unless: bool = False) -> Iterator[Piece]:
        if not self._at_line_start and not unless:
            yield Piece("\n")

    def _line(self, text: str, meaning: Meaning, *, wraps: bool = True) -> Iterator[Piece]:
        yield from self._switch("none")
        yield Piece(self._calls.close())
        yield from self._line_start()
        yield Piece(self._style.paint(wrap(text, self._columns()) if wraps else text, meaning) + "\n")

    def _message_end(self) -> Iterator[Piece]:
        yield from self._switch("none")
        yield Piece(self._calls.close())
        yield from self._line_start()

    def _trouble(self, event: Retrying | StreamReset | StreamWarning) -> Iterator[Piece]:
        match event:
            case Retrying(attempt=attempt, delay_seconds=delay, reason=reason):
                wait = f" in {delay:.1f} s" if delay else ""
                again = f"{self._style.mark('↻')} {sanitize_line(reason)}; attempt {attempt}{wait}"
                yield from self._line(again, "warning")
            case StreamReset(attempt=attempt, reason=reason):
                yield from self._switch("none")
                self._calls.void()
                yield from self._line_start()
                above = "the answer above is void" if self._shown_in_attempt else "the answer is void"
                words = f"{sanitize_line(reason)}: {above}. Asking again (attempt {attempt}):"
                yield from self._line(f"{self._style.mark('✗')} {words}", "void")
                self._shown_in_attempt = False
            case StreamWarning(kind=kind, detail=detail):
                words = f"{kind}: {detail}" if detail else kind
                yield from self._line(f"{self._style.mark('⚠')} {sanitize_line(words)}", "dim")

    def _tool(self, event: ToolStart | ToolOutput | ToolEnd) -> Iterator[Piece]:
        match event:
            case ToolStart(call_id=call_id, name=name, arguments=arguments):
                self._output_lines[call_id] = 0
                self._labels[call_id] = sanitize_line(f"{name} {headline(arguments)}", 80)
                if not self._calls.knows(call_id):
                    yield from self._line_start()
                    yield Piece(self._calls.whole(name, arguments))
            case ToolOutput(call_id=call_id, text=text):
                yield from self._output(call_id, text)
            case ToolEnd():
                yield from self._tool_end(event)

    def _output(self, call_id: str, text: str) -> Iterator[Piece]:
        """The first lines of what a running call writes."""
        for line in text.splitlines():
            shown = self._output_lines.get(call_id, 0)
            self._output_lines[call_id] = shown + 1
            if shown < _MOST_OUTPUT_LINES:
                yield from self._line(f"    {sanitize_line(line)}", "dim", wraps=False)
            elif shown == _MOST_OUTPUT_LINES:
                yield from self._line(f"    {self._style.mark('…')}", "dim")

    def _tool_end(self, event: ToolEnd) -> Iterator[Piece]:
        self._output_lines.pop(event.call_id, None)
        if event.started:
            words = result_line(event.result, is_error=event.is_error)
        else:
            words = f"not run: {result_line(event.result, is_error=True).removeprefix('Not run: ')}"
        failed = event.is_error or not event.started
        label = f"{self._labels.get(event.call_id, event.name)}: " if len(self._labels) > 1 else ""
        mark = self._style.mark("✗" if failed else "└")
        yield from self._line(f"  {mark} {label}{words}", "bad" if failed else "dim")
        if event.display and not event.is_error:
            yield from self._display(event.display)

    def _display(self, display: str) -> Iterator[Piece]:
        """A diff in its colours, or whatever else the tool wants a person to see."""
        lines = display.splitlines()
        for line in lines[:_MOST_DIFF_LINES]:
            meaning: Meaning = "good" if line.startswith("+") else "bad" if line.startswith("-") else "dim"
            yield from self._line(f"    {sanitize_code(line)}", meaning, wraps=False)
        if len(lines) > _MOST_DIFF_LINES:
            left = len(lines) - _MOST_DIFF_LINES
            yield from self._line(f"    {self._style.mark('…')} {left} more {'line' if left == 1 else 'lines'}", "dim")

    def _run_end(self, end: RunEnd) -> Iterator[Piece]:
        yield from self._message_end()
        for warning in end.warnings:
            if warning in self._told:
                continue  # said when it happened
            yield from self._line(f"{self._style.mark('⚠')} {sanitize_line(warning, 400)}", "warning")
        words = outcome_line(end)
        if end.truncated and "truncated" in self._told:
            words = None
        elif end.error is not None and end.error.detail in self._told:
            words = advice(end.error) or "The run ends here."
        if words is not None:
            failed = end.outcome == "failed"
            mark = self._style.mark("✗" if failed else "⚠")
            yield from self._line(f"{mark} {words}", "bad" if failed else "warning")
        separator = f" {self._style.mark('·')} "
        yield from self._line(statistics(end, self._first_token_seconds, separator), "dim")
