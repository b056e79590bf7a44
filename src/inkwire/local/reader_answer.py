"""Documents and a question in, the answer's text out: quoted lines with where they stand.

A block is chosen by the headings above it and by its own lines; the answer leads with the commands or facts found,
then quotes the sections they come from, so that a reader can check.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from inkwire.local.reader_document import Block, Document
from inkwire.local.reader_topics import TOPICS, Topic, asked_topics

__all__ = ["answer_from"]

_MOST_LINES = 40
_MOST_FACTS = 6
_SHELLS = frozenset({"", "sh", "bash", "zsh", "shell", "console", "shell-session", "powershell", "bat", "cmd"})
_STOP_WORDS = re.compile(
    r"\b(?:the|and|for|with|what|which|where|when|who|how|does|this|that|these|those|from|into|about|tell|show|read|files?"
    r"|please|can|you|could|would|should|there|have|has|are|was|were|will|not|its?|project|give|find|says?|use[ds]?|using"
    r"|any|all|our)\b"
)
_STOP_PAIRS = re.compile(
    r"读取|告诉我?|项目|怎样|怎么|如何|什么|这个|那个|一下|请问|文件|里面|哪里|哪些|是否|的|了|吗|呢"
)


def answer_from(documents: Sequence[Document], question: str, *, chinese: bool) -> str:
    """The answer to `question` from the documents; its first line says who answers and from what."""
    names = ("、" if chinese else ", ").join(document.path for document in documents)
    first = (
        f"内置阅读器（固定规则，不是语言模型）读了 {names}："
        if chinese
        else f"Built-in reader (fixed rules, no language model), from {names}:"
    )
    return "\n\n".join([first, *(_about(document, question, chinese=chinese) for document in documents)])


def _about(document: Document, question: str, *, chinese: bool) -> str:
    if not document.blocks:
        words = document.note or ("空文件" if chinese else "the file is empty")
        return (
            f"{document.path} 没有读到内容：{words}"
            if chinese
            else f"Nothing could be read from {document.path}: {words}"
        )
    topics = asked_topics(_without_paths(question, document.path))
    specific = [topic for topic in topics if topic.name != "about"]
    answered = [(topic, chosen) for topic in specific if (chosen := _blocks_about(document, topic))]
    if answered:
        return _topics_answer(document, answered, chinese=chinese)
    if not topics and (found := _by_words(document, question)):
        return _quote(document, found, chinese=chinese)
    return _overview(document, chinese=chinese, missed=bool(specific))


def _without_paths(question: str, path: str) -> str:
    """The question without the file's own name: `start.md` does not ask how to start."""
    return question.replace(path, " ")


def _topics_answer(document: Document, answered: Sequence[tuple[Topic, Sequence[Block]]], *, chinese: bool) -> str:
    """What answers each topic in a line, then the sections it all stands in, each once."""
    everything = list(dict.fromkeys(block for _, chosen in answered for block in chosen))
    parts: list[str] = []
    for topic, chosen in answered:
        if facts := _facts(chosen, topic):
            parts.append(_lead(topic, facts, chinese=chinese))
        if topic.name == "start" and (install := _install_first(document, everything)):
            label = "如果还没有安装，先执行：" if chinese else "If it is not installed yet, first: "
            parts.append(label + _join(install, chinese=chinese))
    return "\n\n".join([*dict.fromkeys(parts), _quote(document, everything, chinese=chinese)])


def _blocks_about(document: Document, topic: Topic) -> list[Block]:
    """The sections named after the topic and, where they lack an answering line, the blocks that have one."""
    named = [block for block in document.blocks if block.kind != "heading" and _named_after(block, topic)]
    answering = [block for block in document.blocks if block.kind != "heading" and _answers(block, topic)]
    if not document.prose:
        return answering
    if topic.commands and any(block.kind == "code" for block in answering):
        answering = [block for block in answering if block.kind == "code" or block in named]
    if not any(block in answering for block in named):
        return answering or named
    near = {block.trail for block in answering if block in named}
    return [block for block in document.blocks if block.kind != "heading" and block in named and block.trail in near]


def _named_after(block: Block, topic: Topic) -> bool:
    return any(re.search(topic.headings, name, re.IGNORECASE) for name in block.trail[1:] or block.trail)


def _answers(block: Block, topic: Topic) -> bool:
    return any(_answering(line, topic) for line in block.text.split("\n"))


def _answering(line: str, topic: Topic) -> bool:
    return bool(re.search(topic.lines, line, re.IGNORECASE))


def _facts(chosen: Iterable[Block], topic: Topic) -> list[str]:
    """What answers: commands from code, else those that prose quotes; for other topics the lines themselves."""
    ranked = sorted(chosen, key=lambda block: block.kind != "code") if topic.commands else list(chosen)
    found: list[str] = []
    for block in ranked:
        if topic.commands and block.kind == "code":
            found += _commands(block, topic)
        elif topic.commands:
            found += [code for code in re.findall(r"`([^`]+)`", block.text) if _answering(code, topic)]
        else:
            found += [_bare(line) for line in block.text.split("\n") if _answering(line, topic)]
    return list(dict.fromkeys(found))[:_MOST_FACTS]


def _commands(block: Block, topic: Topic) -> list[str]:
    """The commands of a code block: all of a short shell block that answers, else the answering lines."""
    lines = [line for line in block.text.split("\n") if line.strip() and not line.lstrip().startswith("#")]
    prompted = [line for line in lines if re.match(r"\s*[$%>] ", line)]
    lines = prompted or lines
    answering = [line for line in lines if _answering(line, topic)]
    whole = bool(answering) and len(lines) <= _MOST_FACTS and block.language.lower() in _SHELLS
    return [_bare(line) for line in (lines if whole else answering)]


def _bare(line: str) -> str:
    """A line without its bullet, number or prompt, and without the comment behind it."""
    line = re.sub(r"^\s*(?:[-*+]|\d+\.|[$>%])\s+", "", line)
    return re.sub(r"\s{2,}#\s.*$", "", line).strip()


def _lead(topic: Topic, facts: Sequence[str], *, chinese: bool) -> str:
    if topic.commands:
        return f"{topic.label_zh}：{_join(facts, chinese=True)}" if chinese else f"To {topic.label} it: {_join(facts)}"
    label = f"{topic.label_zh}：" if chinese else f"{topic.label.capitalize()}: "
    return label + facts[0] if len(facts) == 1 else "\n".join([label.rstrip(), *(f"- {fact}" for fact in facts)])


def _join(commands: Sequence[str], *, chinese: bool = False) -> str:
    quoted = [f"`{command}`" for command in commands]
    return ("，然后 " if chinese else ", then ").join(quoted)


def _install_first(document: Document, chosen: Sequence[Block]) -> list[str]:
    """The install commands that stand outside the chosen blocks."""
    topic = next(topic for topic in TOPICS if topic.name == "install")
    elsewhere = [block for block in document.blocks if block not in chosen and block.kind == "code"]
    lines = (_bare(line) for block in elsewhere for line in block.text.split("\n") if _answering(line, topic))
    return list(dict.fromkeys(lines))[:_MOST_FACTS]


def _by_words(document: Document, question: str) -> list[Block]:
    """The blocks that share the most words with the question, at most three, in the file's order."""
    wanted = _words(_without_paths(question, document.path))
    scored = [
        (sum(word in haystack for word in wanted), block)
        for block in document.blocks
        if block.kind != "heading"
        for haystack in [" ".join([*block.trail, block.text]).lower()]
    ]
    best = max((score for score, _ in scored), default=0)
    if best == 0:
        return []
    top = [block for score, block in sorted(scored, key=lambda pair: -pair[0]) if score == best][:3]
    return sorted(top, key=lambda block: block.line)


def _words(text: str) -> set[str]:
    """The words that carry meaning, without their endings; of Chinese text, every pair of neighbours."""
    english = re.findall(r"[a-z][a-z0-9_-]{2,}", _STOP_WORDS.sub(" ", text.lower()))
    stems = {re.sub(r"(?:ing|ed|es|s)$", "", word) for word in english}
    runs = re.findall(r"[\u3400-\u9fff]+", _STOP_PAIRS.sub(" ", text))
    return {stem for stem in stems if len(stem) >= 3} | {run[n : n + 2] for run in runs for n in range(len(run) - 1)}


def _overview(document: Document, *, chinese: bool, missed: bool) -> str:
    """The opening of the file and the names of its sections."""
    opening = next((block for block in document.blocks if block.kind != "heading"), document.blocks[0])
    parts = []
    if missed:
        parts.append("没有找到与问题相符的内容。" if chinese else "I found nothing in it that matches the question.")
    parts.append(_quote(document, [opening], chinese=chinese))
    if document.headings:
        parts.append(("各部分：" if chinese else "Sections: ") + ("、" if chinese else ", ").join(document.headings))
    return "\n\n".join(parts)


def _quote(document: Document, chosen: Sequence[Block], *, chinese: bool) -> str:
    """The blocks under the names of their sections, with line numbers, cut at a comfortable length."""
    pieces: list[str] = []
    trail: tuple[str, ...] | None = None
    left = _MOST_LINES
    for block in sorted(chosen, key=lambda block: block.line):
        if block.trail != trail:
            trail = block.trail
            pieces.append(_place(document, [other for other in chosen if other.trail == trail], chinese=chinese))
        lines = block.text.split("\n")
        shown = lines[: max(left, 1)]
        left -= len(shown)
        body = "\n".join(shown) + ("\n…" if len(shown) < len(lines) else "")
        pieces.append(f"```{block.language}\n{body}\n```" if block.kind == "code" else body)
        if left <= 0:
            break
    if document.note:
        pieces.append(f"({document.note})")
    return "\n\n".join(pieces)


def _place(document: Document, blocks: Sequence[Block], *, chinese: bool) -> str:
    first, last = min(block.line for block in blocks), max(block.last_line for block in blocks)
    name = blocks[0].trail[-1] if blocks[0].trail else document.path
    if chinese:
        return f"**{name}**（第 {first} 行）" if first == last else f"**{name}**（第 {first}–{last} 行）"
    return f"**{name}** (line {first})" if first == last else f"**{name}** (lines {first}–{last})"
