"""`inkwire -p` against a service on loopback that does what real ones do: answers, cuts, stalls, fails."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import COMMAND, Result, environment, inkwire
from tests.cli.loopback import DONE, HEAD, Loopback, Step, call, event, loopback, status, text


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "project"
    directory.mkdir()
    (directory / "README.md").write_text("# Demo\n\n## Start\n\n```sh\nmake run\n```\n")
    (directory / "b.md").write_text("second\n")
    return directory


def ask(service: Loopback, project: Path, *arguments: str, stdin: str = "") -> Result:
    where = ("--base-url", service.url, "--protocol", "chat", "-m", "custom/scripted")
    return inkwire("-p", *where, *arguments, home=project.parent, cwd=project, stdin=stdin)


def results(request: dict[str, Any]) -> list[str]:
    return [message["content"] for message in request["messages"] if message["role"] == "tool"]


def test_the_answer_is_on_standard_output_and_the_rest_is_not(project: Path) -> None:
    with loopback(text("Hel", "lo.")) as service:
        done = ask(service, project, "hi")
    assert (done.code, done.out) == (0, "Hello.\n")
    assert "1 turn" in done.err
    assert service.requests[0]["messages"][-1]["content"] == "hi"


def test_words_without_a_flag_are_a_prompt_and_a_pipe_means_print(project: Path) -> None:
    with loopback(text("ok")) as service:
        done = inkwire(
            "fix",
            "the",
            "bug",
            "--base-url",
            service.url,
            "-m",
            "custom/x",
            home=project.parent,
            cwd=project,
            stdin="log\n",
        )
    assert (done.code, done.out) == (0, "ok\n")
    assert service.requests[0]["messages"][-1]["content"] == "fix the bug\n\nlog"


def test_a_call_is_run_and_its_result_goes_back(project: Path) -> None:
    first: list[Step] = [
        HEAD,
        call(0, "", name="read"),
        call(0, '{"path":"REA'),
        call(0, 'DME.md"}'),
        event({}, "tool_calls"),
        DONE,
    ]
    with loopback(first, text("make run")) as service:
        done = ask(service, project, "how does it start?")
    assert (done.code, done.out) == (0, "make run\n")
    assert "read README.md" in done.err
    assert "make run" in results(service.requests[1])[0]


def test_interleaved_calls_keep_their_arguments(project: Path) -> None:
    first: list[Step] = [
        HEAD,
        call(0, "", name="read"),
        call(1, "", name="read"),
        call(0, '{"path":"REA'),
        call(1, '{"path":"b'),
        call(0, 'DME.md"}'),
        call(1, '.md"}'),
        event({}, "tool_calls"),
        DONE,
    ]
    with loopback(first, text("both")) as service:
        assert ask(service, project, "read both").out == "both\n"
    one, two = results(service.requests[1])
    assert "# Demo" in one
    assert "second" in two


@pytest.mark.parametrize("finish_reason", ["length", "tool_calls"])
def test_half_a_call_never_runs(project: Path, finish_reason: str) -> None:
    path = '{"path":"REA' if finish_reason == "tool_calls" else '{"path":"README.md"}'
    first: list[Step] = [HEAD, call(0, "", name="read"), call(0, path), event({}, finish_reason), DONE]
    with loopback(first, text("sorry")) as service:
        ask(service, project, "read it")
    assert "# Demo" not in json.dumps(service.requests[1:])
    assert len(results(service.requests[1])) == 1


def test_a_server_killed_in_mid_call_is_asked_again_from_the_start(project: Path) -> None:
    dead: list[Step] = [HEAD, event({"content": "Let me"}), call(0, "", name="read"), call(0, '{"path":"REA'), "reset"]
    with loopback(dead, text("all well")) as service:
        done = ask(service, project, "read it")
    assert (done.code, done.out) == (0, "all well\n")
    assert "void" in done.err
    assert service.requests[0]["messages"] == service.requests[1]["messages"]


@pytest.mark.parametrize("end", ["reset", "close"])
def test_a_server_that_always_dies_in_mid_answer_is_a_failure_with_what_had_arrived(project: Path, end: Step) -> None:
    with loopback([HEAD, event({"content": "Half an ans"}), end]) as service:
        done = ask(service, project, "hi")
    assert done.code == 75
    assert done.out == "Half an ans\n"
    assert "Traceback" not in done.err


def test_an_answer_cut_by_its_limit_says_so_and_is_no_success(project: Path) -> None:
    with loopback(text("Half", finish_reason="length")) as service:
        done = ask(service, project, "hi")
    assert (done.code, done.out) == (1, "Half\n")
    assert "Send another message" in done.err


@pytest.mark.parametrize(
    ("script", "code", "words"),
    [
        (status(200, b"<!doctype html><html>Welcome to nginx</html>", "text/html"), 1, "html"),
        (status(401, b'{"error":{"message":"Incorrect API key provided"}}'), 1, "Incorrect API key provided"),
        (status(404, b'{"error":{"message":"model not found"}}'), 1, "model not found"),
        (
            status(429, b'{"error":{"message":"slow down"}}', extra="retry-after: 1000\r\n"),
            75,
            "slow down",
        ),
    ],
)
def test_refusals_are_told_in_the_services_words(project: Path, script: list[Step], code: int, words: str) -> None:
    with loopback(script) as service:
        done = ask(service, project, "hi")
    assert (done.code, done.out) == (code, "")
    assert words in done.err.lower() or words in done.err
    assert "Traceback" not in done.err


def test_nobody_there_is_told_with_the_address(project: Path) -> None:
    done = inkwire(
        "-p", "hi", "-m", "custom/x", "--base-url", "http://127.0.0.1:1/v1", home=project.parent, cwd=project
    )
    assert done.code == 75
    assert "127.0.0.1" in done.err


def test_without_any_model_it_says_what_to_set_and_does_not_pretend(project: Path) -> None:
    done = inkwire("-p", "hi", home=project.parent, cwd=project)
    assert (done.code, done.out) == (2, "")
    for words in ("OPENAI_API_KEY", "-m provider/model", "builtin/reader"):
        assert words in done.err


@pytest.mark.parametrize(
    ("model", "words"),
    [("opanai/gpt", "did you mean 'openai'"), ("openai/gpt", "set OPENAI_API_KEY"), ("builtin/x", "only")],
)
def test_a_model_that_cannot_be_used_ends_with_2(project: Path, model: str, words: str) -> None:
    done = inkwire("-p", "hi", "-m", model, home=project.parent, cwd=project)
    assert (done.code, done.out) == (2, "")
    assert words in done.err


def test_no_prompt_at_all_is_wrong_usage(project: Path) -> None:
    done = inkwire("-p", home=project.parent, cwd=project)
    assert (done.code, done.out) == (2, "")
    assert "nothing to do" in done.err


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Read README.md and tell me how to start this", "To start it: `make run`"),
        ("读取 README.md,告诉我项目怎样启动", "启动：`make run`"),
    ],
)
def test_the_built_in_reader_does_real_work_when_it_is_named(project: Path, question: str, words: str) -> None:
    done = inkwire("-p", question, "-m", "builtin/reader", home=project.parent, cwd=project)
    assert done.code == 0
    assert words in done.out
    assert re.search("no language model|不是语言模型", done.out.splitlines()[0])
    assert "read README.md" in done.err


def test_json_and_stream_json(project: Path) -> None:
    with loopback(text("Hel", "lo.")) as service:
        whole = ask(service, project, "hi", "--output-format", "json")
        lines = ask(service, project, "hi", "--output-format", "stream-json").out.splitlines()
    end = json.loads(whole.out)
    assert (end["type"], end["outcome"], end["text"], end["turns"]) == ("run_end", "completed", "Hello.", 1)
    events = [json.loads(line) for line in lines]
    assert (events[0]["type"], events[-1]["type"]) == ("run_start", "run_end")
    assert "".join(each["text"] for each in events if each["type"] == "text_delta") == "Hello."


@pytest.mark.parametrize("before", [[], [event({"content": "Half an answ"})]], ids=["before", "in the middle of"])
def test_ctrl_c_ends_it_with_130(project: Path, before: Sequence[Step]) -> None:
    record = project.parent / "record.jsonl"
    with loopback([HEAD, *before, "stall"]) as service:
        process = subprocess.Popen(
            [*COMMAND, "-p", "hi", "--base-url", service.url, "-m", "custom/x", "--record", str(record)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(project.parent),
            cwd=project,
            encoding="utf-8",
        )
        assert service.stalled.wait(30)
        deadline = time.monotonic() + 30
        # What was sent has not arrived yet on a busy machine.
        while before and "Half an answ" not in record.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out == ("Half an answ\n" if before else "")
    assert "Interrupted" in err
    assert "Traceback" not in err


def test_without_a_person_a_question_is_a_no(project: Path) -> None:
    arguments = json.dumps({"path": "new.txt", "content": "x"})
    first: list[Step] = [HEAD, call(0, "", name="write"), call(0, arguments), event({}, "tool_calls"), DONE]
    with loopback(first, text("refused")) as service:
        done = ask(service, project, "write it")
    assert done.code == 0
    assert not (project / "new.txt").exists()
    with loopback(first, text("written")) as service:
        ask(service, project, "write it", "--permission-mode", "auto")
    assert (project / "new.txt").read_text() == "x"


def test_only_the_tools_that_are_named_are_offered(project: Path) -> None:
    with loopback(text("ok")) as service:
        ask(service, project, "hi", "--tools", "read")
        ask(service, project, "hi", "--tools", "none")
        wrong = ask(service, project, "hi", "--tools", "raed")
    assert [tool["function"]["name"] for tool in service.requests[0]["tools"]] == ["read"]
    assert "tools" not in service.requests[1]
    assert wrong.code == 2
    assert "raed" in wrong.err


def test_the_turn_limit_ends_it_with_1(project: Path) -> None:
    first: list[Step] = [HEAD, call(0, "", name="read"), call(0, '{"path":"b.md"}'), event({}, "tool_calls"), DONE]
    with loopback(first) as service:
        done = ask(service, project, "hi", "--max-turns", "1")
    assert done.code == 1
    assert "--max-turns" in done.err


def test_instructions_can_be_replaced_and_added_to(project: Path) -> None:
    with loopback(text("ok")) as service:
        ask(service, project, "hi", "--system-prompt", "Be brief.", "--append-system-prompt", "In Latin.")
    assert service.requests[0]["messages"][0] == {"role": "system", "content": "Be brief.\n\nIn Latin."}
