"""`inkwire replay` as a person uses it: one command prints what the next one needs."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.command import COMMAND, environment, inkwire

STREAMS = Path(__file__).parent.parent / "streams"


@contextmanager
def replaying(home: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    process = subprocess.Popen(
        [*COMMAND, "replay", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**environment(home), "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert process.stdout is not None
        said = ""
        while "Ctrl-C" not in said and (line := process.stdout.readline()):
            said += line
        yield process, said
    finally:
        process.kill()
        process.communicate()


def test_the_printed_command_talks_to_it_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    body = STREAMS / "chat" / "llamacpp_disconnect" / "body.txt"
    with replaying(tmp_path, str(body), "--speed", "0") as (process, said):
        command = re.search(r"^ +inkwire (.*)$", said, re.MULTILINE)
        assert command is not None
        done = inkwire("-p", "--no-session", *shlex.split(command[1]), home=tmp_path)
        assert done.out
        process.send_signal(signal.SIGINT)
        _, log = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "POST /v1/chat/completions  200  exchange 1" in log
    assert "OPENAI_BASE_URL=http://127.0.0.1:" in said


def test_each_protocol_is_told_its_own_address(tmp_path: Path) -> None:
    body = STREAMS / "anthropic" / "llamacpp_text" / "body.txt"
    with replaying(tmp_path, str(body)) as (_, said):
        assert re.search(r"--base-url http://127\.0\.0\.1:\d+ --protocol anthropic", said)
        assert re.search(r"ANTHROPIC_BASE_URL=http://127\.0\.0\.1:\d+ ", said)


def test_what_is_broken_on_purpose_is_said_at_the_start(tmp_path: Path) -> None:
    body = str(STREAMS / "chat" / "llamacpp_disconnect" / "body.txt")
    with replaying(tmp_path, body, "--fault", "429:3", "--fault", "cut") as (_, said):
        assert "Broken on purpose: 429:3, cut (the first answer only; --every breaks all)" in said
    with replaying(tmp_path, body, "--fault", "stall", "--every") as (_, said):
        assert "Broken on purpose: stall (every answer)" in said


def test_a_page_in_place_of_a_stream_is_served_as_it_was_recorded(tmp_path: Path) -> None:
    capture = tmp_path / "capture"
    capture.write_bytes(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>please log in</html>")
    with replaying(tmp_path, str(capture)) as (_, said):
        command = re.search(r"^ +inkwire (.*)$", said, re.MULTILINE)
        assert command is not None
        done = inkwire("-p", "--no-session", *shlex.split(command[1]), home=tmp_path)
        assert done.code == 1
        assert "please log in" in done.err


@pytest.mark.parametrize(
    ("content", "arguments", "words"),
    [
        ("data: x\n\n", ["--fault", "explode"], "cut:N"),
        ("data: x\n\n", ["--speed", "nan"], "no pace"),
        ("data: x\n\n", ["--speed", "inf"], "no pace"),
        ("", [], "no answer"),
        ('{"inkwire_recording":1}\n', [], "no answer"),
        ('{"log":{"entries":[]}}', [], "content"),
    ],
)
def test_what_cannot_be_served_ends_with_2_in_words(
    tmp_path: Path, content: str, arguments: list[str], words: str
) -> None:
    (tmp_path / "file").write_text(content)
    done = inkwire("replay", "file", *arguments, home=tmp_path)
    assert done.code == 2
    assert words in done.err
    assert "Traceback" not in done.err


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("data: x\n\n")
    with replaying(tmp_path, str(tmp_path / "file")) as (_, said):
        port = re.search(r"127\.0\.0\.1:(\d+)", said)
        assert port is not None
        done = inkwire("replay", "file", "--port", port[1], home=tmp_path)
    assert (done.code, "cannot listen" in done.err) == (1, True)


def test_decode_tells_how_long_a_refusal_asks_to_wait(tmp_path: Path) -> None:
    refusal = 'HTTP/1.1 429 Too Many\r\nRetry-After: 20\r\n\r\n{"error":{"message":"slow down"}}'
    assert '"retry_after":20' in inkwire("decode", "-", home=tmp_path, stdin=refusal).out


@pytest.mark.parametrize("text", ['{"log":{"entries":[]}}', '{"inkwire_recording":1}\n'])
def test_decode_says_that_a_recording_holds_nothing(tmp_path: Path, text: str) -> None:
    done = inkwire("decode", "-", home=tmp_path, stdin=text)
    assert done.code == 2
    assert "Traceback" not in done.err


def test_decode_takes_the_exchange_that_is_named(tmp_path: Path) -> None:
    def lines(number: int, text: str) -> str:
        chunk = f'data: {{"choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":"stop"}}]}}\\n\\n'
        escaped = chunk.replace('"', '\\"')
        return (
            f'{{"exchange":{number},"kind":"request","url":"http://h/v1/chat/completions"}}\n'
            f'{{"exchange":{number},"kind":"read","t":1,"text":"{escaped}"}}\n'
        )

    recording = '{"inkwire_recording":1}\n' + lines(1, "first") + lines(2, "second")
    assert '"second"' in inkwire("decode", "-", home=tmp_path, stdin=recording).out
    assert '"first"' in inkwire("decode", "--exchange", "1", "-", home=tmp_path, stdin=recording).out
    assert inkwire("decode", "--exchange", "3", "-", home=tmp_path, stdin=recording).code == 2
