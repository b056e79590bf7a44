"""The reader's rules: which file it asks for, and what it answers from the file."""

from __future__ import annotations

import json
from typing import Any

import pytest

from inkwire.local.reader import ReaderReply, reply_to

README = """# Notes

A small web app that keeps notes in SQLite.

## Requirements

- Python 3.11 or newer

## Installation

```sh
git clone https://example.org/notes.git
pip install -r requirements.txt
```

## Getting started

Start the server:

```console
$ uvicorn notes.app:app --port 8080
INFO: ready
```

Then open http://localhost:8080 in your browser.

## Tests

Run `pytest -q`.

## Configuration

Set `NOTES_DATABASE` to the file to use.

## License

MIT
"""

READ: list[dict[str, Any]] = [
    {"type": "function", "function": {"name": "read", "parameters": {"properties": {"path": {"type": "string"}}}}}
]


def numbered(text: str) -> str:
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(text.splitlines(), 1))


def after_reading(question: str, result: str | None = None, path: str = "README.md") -> str:
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": json.dumps({"path": path})}}
    return reply_to(
        [
            {"role": "user", "content": question},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": numbered(README) if result is None else result},
        ],
        READ,
    ).text


def ask(question: str) -> ReaderReply:
    return reply_to([{"role": "user", "content": question}], READ)


@pytest.mark.parametrize(
    ("question", "paths"),
    [
        ("Read README.md and tell me how to start this", ["README.md"]),
        ("读取 README.md,告诉我项目怎样启动", ["README.md"]),
        ("what does the readme say about ports?", ["README.md"]),
        ("看看`docs/安装 说明.md`怎么安装", ["docs/安装 说明.md"]),
        ("compare docs/a.md with ./src/app.py.", ["docs/a.md", "./src/app.py"]),
        ("which licence is in LICENSE?", ["LICENSE"]),
        ("How do I run this project?", ["README.md"]),
    ],
)
def test_the_named_file_is_read_first(question: str, paths: list[str]) -> None:
    assert [call.arguments for call in ask(question).calls] == [{"path": path} for path in paths]


@pytest.mark.parametrize(
    "question", ["hello", "who are you?", "write me a poem in Node.js 3.5", "你好", "see https://a.b/c.md"]
)
def test_anything_else_gets_an_introduction_that_names_the_ways_to_a_real_model(question: str) -> None:
    reply = ask(question)
    assert reply.calls == ()
    assert "OPENAI_API_KEY" in reply.text
    assert "inkwire models" in reply.text


@pytest.mark.parametrize("question", ["hello", "start? README.md"])
def test_the_first_line_says_that_it_is_no_language_model(question: str) -> None:
    assert "no language model" in ask(question).text.split("\n")[0]
    assert "no language model" in after_reading(question).split("\n")[0]
    assert "不是语言模型" in after_reading("怎样启动? README.md").split("\n")[0]


@pytest.mark.parametrize(
    ("question", "fact"),
    [
        ("Read README.md and tell me how to start this", "To start it: `uvicorn notes.app:app --port 8080`"),
        ("读取 README.md,告诉我项目怎样启动", "启动：`uvicorn notes.app:app --port 8080`"),
        ("How do I install it?", "To install it: `git clone https://example.org/notes.git`, then `pip install -r"),
        ("怎么运行测试?", "测试：`pytest -q`"),
        ("how are the tests run?", "To test it: `pytest -q`"),
        ("which port does it use?", "http://localhost:8080"),
        ("端口是多少?", "http://localhost:8080"),
        ("under what licence is it?", "Licence: MIT"),
        ("许可证是什么?", "许可证：MIT"),
        ("which python version is needed?", "Python 3.11 or newer"),
        ("what environment variables are there?", "NOTES_DATABASE"),
        ("summarize it", "keeps notes in SQLite"),
        ("where are the notes kept, in SQLite?", "keeps notes in SQLite"),
    ],
)
def test_the_answer_quotes_what_the_file_says(question: str, fact: str) -> None:
    assert fact in after_reading(question)


def test_running_the_tests_is_not_starting_the_project() -> None:
    assert "uvicorn" not in after_reading("how do I run the tests?")


def test_an_answer_carries_no_line_numbers_inside_its_quotes_but_says_where_they_stand() -> None:
    answer = after_reading("how do I start it?")
    assert "**Getting started** (lines 18–25)" in answer
    assert "\t" not in answer


def test_output_under_a_prompt_is_no_command() -> None:
    assert "`INFO" not in after_reading("how do I start it?")


def test_without_a_match_the_sections_are_named() -> None:
    answer = after_reading("how do I deploy it?")
    assert "found nothing" in answer
    assert "Getting started" in answer


def test_the_words_of_a_failed_read_are_passed_on() -> None:
    answer = after_reading("how do I start it?", "error: README.md does not exist")
    assert "README.md does not exist" in answer


def test_a_cut_file_is_answered_with_the_note_of_the_tool() -> None:
    answer = after_reading("how do I start it?", numbered(README) + "\n(31 of 900 lines; use offset)")
    assert "31 of 900 lines" in answer


def test_a_manifest_is_answered_by_its_lines() -> None:
    manifest = '{\n  "name": "web",\n  "scripts": {\n    "start": "node server.js",\n    "test": "vitest"\n  }\n}'
    answer = after_reading("how do I start it?", numbered(manifest), path="package.json")
    assert '"start": "node server.js"' in answer


def test_a_later_question_is_answered_from_what_was_read_before() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path":"README.md"}'}}
    reply = reply_to(
        [
            {"role": "user", "content": "read README.md"},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": numbered(README)},
            {"role": "assistant", "content": "..."},
            {"role": "user", "content": [{"type": "text", "text": "and which port?"}]},
        ],
        READ,
    )
    assert reply.calls == ()
    assert "8080" in reply.text


def test_without_a_read_tool_it_says_so() -> None:
    reply = reply_to([{"role": "user", "content": "read README.md"}], [])
    assert reply.calls == ()
    assert "No tool to read README.md" in reply.text


def test_the_path_goes_under_the_name_that_the_tool_gave_it() -> None:
    tools = [{"function": {"name": "read_file", "parameters": {"properties": {"limit": {}, "file_path": {}}}}}]
    reply = reply_to([{"role": "user", "content": "read README.md"}], tools)
    assert reply.calls[0].arguments == {"file_path": "README.md"}


@pytest.mark.parametrize(
    "odd",
    [{}, {"role": "tool"}, {"role": "assistant", "tool_calls": [{"function": {"name": "read", "arguments": "{"}}]}],
)
def test_odd_histories_are_survived(odd: dict[str, Any]) -> None:
    assert reply_to([odd, {"role": "user", "content": "hi"}, odd]).text
