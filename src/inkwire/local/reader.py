"""A conversation in, the built-in reader's reply out: a call of `read`, or an answer quoted from what it returned.

The reader is no language model. It knows the questions of `reader_topics`, looks for the file a question names, asks
for it through the same tool as any model, and quotes the headings, paragraphs and commands that match. It says so in
the first line of every answer. Questions may be English or Chinese; the answer follows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from inkwire.local.reader_answer import answer_from
from inkwire.local.reader_document import Document
from inkwire.local.reader_topics import asked_topics

__all__ = ["ReaderCall", "ReaderReply", "reply_to"]

_READ_NAMES = ("read", "read_file", "view", "open_file")
_PATH = re.compile(
    r"[`\"'“「『](?P<quoted>[^`\"'”」』\n]{1,200}\.[A-Za-z]\w{0,7})[`\"'”」』]"
    r"|(?<![\w.@/:-])(?P<plain>(?:[A-Za-z0-9_.~+-]+/)*[A-Za-z0-9_+-][A-Za-z0-9_.+-]*\.[A-Za-z][A-Za-z0-9]{0,7})(?![\w/])"
    r"|(?<![\w/])(?P<bare>(?:[A-Za-z0-9_.+-]+/)*(?:Makefile|Dockerfile|Justfile|Procfile|LICEN[CS]E|COPYING|NOTICE))\b"
)
_README = re.compile(r"\breadme\b|说明文件|自述文件", re.IGNORECASE)
_NO_FILES = frozenset({"node.js", "vue.js", "next.js", "nuxt.js", "react.js", "express.js", "e.g", "i.e", "asp.net"})
_PROJECT = re.compile(r"\bproject|\brepo|\bthis (?:app|program|package|code)|\bit\b|项目|仓库|工程|程序", re.IGNORECASE)
_SELF = re.compile(
    r"\bwho are you|\bwhat are you|\bwhich model|\bwhat model|你是谁|你是什么|什么模型|哪个模型", re.IGNORECASE
)
_CJK = re.compile(r"[\u3400-\u9fff]")
_MOST_FILES = 4

_INTRODUCTION = """I am the built-in reader: fixed rules, no language model.
I read a file of this workspace and quote the parts that answer a question about it: how to start, install, test or \
build it, its port, version, licence or settings. Try: Read README.md and tell me how to start the project.

To talk to a real model, do one of these:
- set a provider's key, for example OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY;
- start a local server (Ollama, LM Studio, llama.cpp or vLLM): it is found by itself;
- name one: inkwire -m provider/model, or --base-url URL --protocol chat -m custom/NAME.
`inkwire models` lists what can be reached from here."""

_INTRODUCTION_ZH = """我是内置阅读器：只有固定的规则，不是语言模型。
我会读取工作区里的一个文件，并引用其中能回答问题的部分：怎样启动、安装、测试、构建，以及端口、版本、许可证和配置。\
例如：读取 README.md，告诉我项目怎样启动。

要使用真正的模型，任选一种方法：
- 设置服务商的密钥，例如 OPENAI_API_KEY、ANTHROPIC_API_KEY、GEMINI_API_KEY 或 OPENROUTER_API_KEY；
- 启动本机的服务（Ollama、LM Studio、llama.cpp 或 vLLM），它会被自动发现；
- 直接指定：inkwire -m 服务商/模型，或 --base-url 地址 --protocol chat -m custom/模型名。
运行 `inkwire models` 可以查看当前能用的模型。"""


class ReaderCall(msgspec.Struct, frozen=True):
    """A call of a tool that was offered."""

    name: str
    arguments: dict[str, Any]


class ReaderReply(msgspec.Struct, frozen=True):
    """What the reader says: text, and with it the calls whose results it needs first."""

    text: str
    calls: tuple[ReaderCall, ...] = ()


class _Result(msgspec.Struct, frozen=True):
    path: str
    text: str
    fresh: bool
    """It came after the last question."""


def reply_to(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = ()) -> ReaderReply:
    """The reply to a Chat Completions conversation (`messages` and `tools` as the wire has them)."""
    question = _last_question(messages)
    chinese = bool(_CJK.search(question))
    results = _results(messages)
    fresh = [Document.of(result.path, result.text) for result in results if result.fresh]
    if fresh:
        return ReaderReply(answer_from(fresh, question, chinese=chinese))
    if _SELF.search(question):
        return _introduction(chinese)
    paths = _paths(question)
    if not paths and results and (asked_topics(question) or _is_question(question)):
        return ReaderReply(answer_from([Document.of(results[-1].path, results[-1].text)], question, chinese=chinese))
    if not paths and asked_topics(question) and _PROJECT.search(question):
        paths = ["README.md"]
    if not paths:
        return _introduction(chinese)
    return _read(paths, tools, chinese=chinese)


def _introduction(chinese: bool) -> ReaderReply:
    return ReaderReply(_INTRODUCTION_ZH if chinese else _INTRODUCTION)


def _read(paths: Sequence[str], tools: Sequence[Mapping[str, Any]], *, chinese: bool) -> ReaderReply:
    tool = _read_tool(tools)
    names = ("、" if chinese else ", ").join(paths)
    if tool is None:
        why = (
            f"这次没有提供读取文件的工具，所以我看不到 {names}。"
            if chinese
            else f"No tool to read {names} was offered to me."
        )
        return ReaderReply(f"{why}\n\n{_introduction(chinese).text}")
    name, field = tool
    text = (
        f"内置阅读器（固定规则，不是语言模型）：先读取 {names}。"
        if chinese
        else (f"Built-in reader (fixed rules, no language model): reading {names} first.")
    )
    return ReaderReply(text, tuple(ReaderCall(name, {field: path}) for path in paths))


def _read_tool(tools: Sequence[Mapping[str, Any]]) -> tuple[str, str] | None:
    """The offered tool that reads a file, and the name of its path argument."""
    offered = {str(function.get("name")): function for tool in tools if (function := tool.get("function"))}
    for name in _READ_NAMES:
        if function := offered.get(name):
            properties = (function.get("parameters") or {}).get("properties") or {}
            field = next((key for key in properties if "path" in key or "file" in key), "path")
            return name, field
    return None


def _paths(question: str) -> list[str]:
    """The files that the question names, each once; a bare "readme" means README.md."""
    found = [match.group("quoted") or match.group("plain") or match.group("bare") for match in _PATH.finditer(question)]
    named = [path for path in found if path.lower() not in _NO_FILES and "://" not in path]
    if not named and _README.search(question):
        named = ["README.md"]
    return list(dict.fromkeys(named))[:_MOST_FILES]


def _is_question(text: str) -> bool:
    return bool(
        re.search(
            r"[?？]|\b(?:how|what|which|where|when|who|does|is|tell|show)\b|吗|呢|怎|如何|哪|多少|告诉", text, re.I
        )
    )


def _last_question(messages: Sequence[Mapping[str, Any]]) -> str:
    return next((_text(message) for message in reversed(messages) if message.get("role") == "user"), "")


def _results(messages: Sequence[Mapping[str, Any]]) -> list[_Result]:
    """What `read` returned so far, oldest first, with the path that its call asked for."""
    last_user = max((n for n, message in enumerate(messages) if message.get("role") == "user"), default=-1)
    paths: dict[str, str] = {}
    found: list[_Result] = []
    for number, message in enumerate(messages):
        for call in message.get("tool_calls") or ():
            if (path := _path_of(call)) is not None:
                paths[str(call.get("id"))] = path
        if message.get("role") == "tool" and (path := paths.get(str(message.get("tool_call_id")))) is not None:
            found.append(_Result(path, _text(message), number > last_user))
    return found


def _path_of(call: Mapping[str, Any]) -> str | None:
    function = call.get("function") or {}
    if function.get("name") not in _READ_NAMES:
        return None
    try:
        arguments = msgspec.json.decode(str(function.get("arguments") or "{}"))
    except msgspec.DecodeError:
        return None
    values = arguments.values() if isinstance(arguments, dict) else ()
    return next((value for value in values if isinstance(value, str)), None)


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""
