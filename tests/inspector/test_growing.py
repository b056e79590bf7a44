"""A file that is still being written gives, in the end, what it gives when it is whole; nothing is told too early."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from inkwire.demo.scenarios import SCENARIOS
from inkwire.inspector.growing import GrowingFile
from inkwire.inspector.trace import Step, Tracer
from inkwire.recording import Exchange, read_recording

BODY = b"".join(read.data for read in SCENARIOS["read-readme"].exchanges()[0].reads)
URL = "http://x/v1/chat/completions"


def lines(*values: dict[str, Any]) -> bytes:
    return b"".join(msgspec.json.encode(value) + b"\n" for value in values)


def run() -> dict[str, Any]:
    return {"inkwire_recording": 1, "created": 1.0}


def request(number: int) -> dict[str, Any]:
    return {"exchange": number, "kind": "request", "at": 0.01 * number, "method": "POST", "url": URL, "body": "{}"}


def read(number: int, text: str) -> dict[str, Any]:
    return {"exchange": number, "kind": "read", "t": 0.2, "text": text}


def end(number: int) -> dict[str, Any]:
    return {"exchange": number, "kind": "end", "t": 0.3, "how": "eof"}


class Watched:
    """A growing file, and a tracer that follows it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = GrowingFile(path)
        self._tracer = Tracer(lines=False)
        self.exchanges: list[Exchange] = []

    def after(self, data: bytes, *, done: bool = False) -> list[Step]:
        with self._path.open("ab") as file:
            file.write(data)
        self.exchanges = list(self._file.look(done=done))
        return list(self._tracer.feed(self.exchanges, done=done))


@pytest.fixture
def file(tmp_path: Path) -> Watched:
    return Watched(tmp_path / "growing")


def told(steps: Iterable[Step]) -> list[tuple[str, int]]:
    return [(step.moment, step.exchange) for step in steps]


def test_a_file_that_is_not_there_or_empty_is_nothing_yet(file: Watched, tmp_path: Path) -> None:
    assert GrowingFile(tmp_path / "none").look(done=False) == ()
    assert file.after(b"") == []
    assert told(file.after(lines(run(), request(1)))) == []
    assert told(file.after(lines(read(1, "data: [DONE]\n\n"), end(1)))) == [("head", 1), ("frame", 1)]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_recording_in_pieces_is_the_recording(file: Watched, size: int, tmp_path: Path) -> None:
    whole = lines(
        run(), request(1), request(2), read(2, "b"), read(1, "a"), end(1), read(2, "c"), end(2), run(), request(1)
    )
    for at in range(0, len(whole), size):
        file.after(whole[at : at + size])
    assert file.exchanges == read_recording(whole)
    assert [exchange.run for exchange in file.exchanges] == [1, 1, 2]


def test_an_exchange_that_overlaps_the_next_is_not_over(file: Watched) -> None:
    piece = 'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'
    steps = file.after(lines(run(), request(1), read(1, piece), request(2), read(2, piece)))
    assert told(steps) == [("head", 1), ("frame", 1)]
    steps = file.after(lines(read(1, piece), end(1)))
    assert told(steps) == [("frame", 1), ("eof", 1), ("head", 2), ("frame", 2)]


def test_a_later_run_ends_what_an_earlier_one_left_open(file: Watched) -> None:
    piece = 'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'
    assert told(file.after(lines(run(), request(1), read(1, piece)))) == [("head", 1), ("frame", 1)]
    steps = file.after(lines(run(), request(1), read(1, piece)))
    assert told(steps) == [("unknown", 1), ("head", 2), ("frame", 2)]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_body_that_grows_ends_like_the_whole_one(file: Watched, size: int) -> None:
    steps = [step for at in range(0, len(BODY), size) for step in file.after(BODY[at : at + size])]
    assert not any(step.moment in ("eof", "unknown") for step in steps)
    steps += file.after(b"", done=True)
    whole = list(Tracer(lines=False).feed(read_recording(BODY)))
    assert steps[-1].message == whole[-1].message is not None or steps[-1].moment == whole[-1].moment
    assert [event for step in steps for event in step.events] == [event for step in whole for event in step.events]


def test_a_page_of_a_proxy_is_shown_when_nothing_else_comes(file: Watched) -> None:
    assert file.after(b"<html>\n") == []
    steps = [step for _ in range(12) for step in file.after(b"")]
    assert told(steps)[0] == ("head", 1)
    steps += file.after(b"<body>no</body>", done=True)
    assert steps[-1].error is not None


def test_a_body_of_json_is_not_taken_for_a_recording(file: Watched) -> None:
    body = json.dumps({"choices": [{"message": {"content": "inkwire_recording"}, "finish_reason": "stop"}]})
    steps = file.after(body.encode(), done=True)
    assert steps[-1].message is not None
    assert steps[-1].message.text == "inkwire_recording"
