"""The lines that are lit are the lines that ran."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import inkwire
from inkwire.demo.scenarios import SCENARIOS
from inkwire.inspector.trace import Step, Tracer


def lit(tracer: Tracer, step: Step) -> dict[str, set[str]]:
    """Function name -> the source of its lines that ran."""
    assert tracer.watch is not None
    assert step.lines is not None
    found: dict[str, set[str]] = {}
    for number, lines in tracer.watch.sets[step.lines]:
        function = tracer.watch.functions[number]
        source = function.source.split("\n")
        found[function.name] = {source[line - function.first].strip() for line in lines}
    return found


def test_a_text_lights_the_line_that_hands_it_out() -> None:
    tracer = Tracer()
    steps = list(tracer.feed(SCENARIOS["read-readme"].exchanges()))
    ran = lit(tracer, steps[1])
    assert "out.append(TextDelta(part.index, text))" in ran["Assembler._on_text"]
    assert "Assembler._on_call" not in ran
    assert any(name.startswith("SSEFramer.") for name in ran)


def test_a_waiting_read_lights_framing_alone() -> None:
    tracer = Tracer()
    steps = list(tracer.feed(SCENARIOS["read-readme"].exchanges()))
    waiting = next(step for step in steps if step.waiting)
    assert not any(name.startswith("Assembler.") for name in lit(tracer, waiting) if name != "Assembler.feed")


def test_the_end_lights_the_gate() -> None:
    tracer = Tracer()
    steps = list(tracer.feed(SCENARIOS["cut-at-limit"].exchanges()))
    ran = lit(tracer, steps[-1])
    assert "if stop not in _NORMAL:" in ran["refusal_of"]


@pytest.mark.parametrize("name", list(SCENARIOS))
def test_the_source_is_that_of_the_files(name: str) -> None:
    tracer = Tracer()
    list(tracer.feed(SCENARIOS[name].exchanges()))
    assert tracer.watch is not None
    root = Path(inkwire.__file__).parent
    for function in tracer.watch.functions:
        lines = (root / function.file).read_text(encoding="utf-8").split("\n")
        assert "\n".join(lines[function.first - 1 :]).startswith(function.source)


def test_another_tracer_is_put_back() -> None:
    def other(frame: FrameType, event: str, arg: Any) -> None:
        return None

    before = sys.gettrace()
    sys.settrace(other)
    try:
        list(Tracer().feed(SCENARIOS["read-readme"].exchanges()))
        assert sys.gettrace() is other
    finally:
        sys.settrace(before)
