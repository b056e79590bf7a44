"""A step in, the lines that a terminal shows of it out.

received   the bytes of this read, as they came          given   what the agent loop has: nothing, until message_end
events     what was handed out for showing               law     which promise is at work
held       what the layer keeps
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator

import msgspec

from inkwire.demo.scenarios import Scenario
from inkwire.demo.steps import HeldPart, Shown
from inkwire.events import (
    Event,
    MessageEnd,
    RawEvent,
    ReasoningDelta,
    Retrying,
    StreamReset,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
)
from inkwire.inspector.notes import NOTES, Language, Words
from inkwire.messages import AssistantMessage
from inkwire.partial_json import PartialJSON
from inkwire.terminal.sanitize import sanitize
from inkwire.terminal.style import Meaning, Style

__all__ = ["Screen", "list_scenarios"]

_MOST_LINES = 5
_MOST_NOTES = 2
_LABELS = {
    "received": Words("received", "收到"),
    "events": Words("shown", "显示"),
    "held": Words("held", "暂存"),
    "given": Words("the loop", "循环得到"),
    "law": Words("law", "定律"),
}
_MOMENTS = {
    "again": Words("the client asks again", "客户端再次请求"),
    "head": Words("the answer begins", "开始应答"),
    "read": Words("a read", "一次读取"),
    "frame": Words("one event", "一个事件"),
    "refused": Words("the service says no", "服务拒绝"),
    "eof": Words("the body ends", "响应体结束"),
    "lost": Words("the connection is lost", "连接断开"),
    "cancelled": Words("the user cancels", "用户取消"),
    "unknown": Words("the recording ends", "录制到此为止"),
    "unread": Words("bytes nobody reads", "没有人读的字节"),
}
_RECORDED = Words("A recording: no model is asked, nothing is executed.", "这是录好的数据:不连接模型,不执行任何工具。")
_NOTHING = Words("nothing: no message_end yet", "什么都没有:还没有 message_end")
_NEVER = Words("nothing, and nothing will come", "什么都没有,以后也不会有")
_EMPTY = Words("nothing yet", "还没有内容")
_WAIT = Words("{} bytes wait for the rest of their event", "{} 字节还不是完整事件,等待后续")
_MORE = Words("… {} bytes in all", "…… 共 {} 字节")
_VOID = Words("void", "作废")
_KNOWN = Words("so far", "目前可见")
_ATTEMPT = Words("attempt {}", "第 {} 次请求")
_RUNS = Words("may run", "可以执行")
_REFUSED = Words("refused", "拒绝执行")
_AGAIN = Words("nothing: the call is asked again", "什么都没有:同一调用会再问一次")
_ERROR = Words("an error with what had arrived", "一个错误,带着已收到的内容")
_KINDS = {"text": Words("text", "文字"), "reasoning": Words("thinking", "思考"), "tool_call": Words("call", "调用")}


class Screen(msgspec.Struct, frozen=True):
    """How to show steps."""

    style: Style
    language: Language = "en"
    width: int = 100

    def title(self, scenario: Scenario) -> str:
        """The lines before the first step."""
        about = _wrapped(scenario.about.of(self.language), self.width)
        name = self.style.paint(scenario.name, "bold")
        return "\n".join([name, *about, self.style.paint(_RECORDED.of(self.language), "dim")])

    def step(self, shown: Shown, number: int, total: int, *, attempts: int = 1) -> str:
        """One step, its heading first."""
        lines = [self._heading(shown, number, total, attempts)]
        lines += self._row("received", self._received(shown))
        lines += self._row("events", [self._event(event) for event in shown.step.events])
        lines += self._row("held", list(self._held(shown)))
        lines += self._row("given", list(self._given(shown)))
        for note in (NOTES[name] for name in shown.step.notes[:_MOST_NOTES]):
            words = note.words.of(self.language)
            label = f"{_LABELS['law'].of(self.language)} {note.law}" if note.law else ""
            lines += self._row("law", [(words, None)], label)
        return "\n".join(lines)

    def _heading(self, shown: Shown, number: int, total: int, attempts: int) -> str:
        step = shown.step
        words = [f"{number}/{total}", _MOMENTS[step.moment].of(self.language), f"{step.seconds:.2f} s"]
        if attempts > 1:
            words.insert(1, _ATTEMPT.of(self.language).format(step.attempt))
        text = f" {' · '.join(words)} ".replace("·", self.style.mark("·"))
        rule = self.style.mark("─")
        left = max(self.width - _columns(text) - 2, 0)
        return self.style.paint(rule * 2, "dim") + self.style.paint(text, "bold") + self.style.paint(rule * left, "dim")

    def _row(self, kind: str, cells: list[tuple[str, Meaning | None]], label: str | None = None) -> Iterator[str]:
        """The cells under their label, wrapped; no cells, no row."""
        margin = max(_columns(words.of(self.language)) for words in _LABELS.values()) + 2
        name = _LABELS[kind].of(self.language) if label is None else label
        for text, meaning in cells:
            for line in _wrapped(text, self.width - margin, at_spaces=kind != "received"):
                yield self.style.paint(_padded(name, margin), "dim") + (
                    self.style.paint(line, meaning) if meaning else line
                )
                name = ""

    def _received(self, shown: Shown) -> list[tuple[str, Meaning | None]]:
        step = shown.step
        if step.moment == "head":
            return [(f"HTTP {shown.status}", "bad" if shown.status >= 300 else None)]
        lines = _visible(step.received).split("\n") if step.received else []
        cells: list[tuple[str, Meaning | None]] = [(line, None) for line in lines if line]
        room = self.width - 12
        if len(cells) > _MOST_LINES or any(_columns(line) > 3 * room for line, _ in cells):
            cells = [(_clipped(line, 2 * room), meaning) for line, meaning in cells[:_MOST_LINES]]
            cells.append((_MORE.of(self.language).format(len(step.received)), "dim"))
        if step.waiting:
            cells.append((_WAIT.of(self.language).format(step.waiting), "warning"))
        return cells

    def _event(self, event: Event) -> tuple[str, Meaning | None]:
        match event:
            case TextDelta() | ReasoningDelta():
                return f"{_tag(event)}  {event.index}  {_quoted(event.text)}", None
            case ToolCallStart():
                return f"{_tag(event)}  {event.index}  {_safe(event.name)}  {_safe(event.id)}", "call"
            case ToolCallDelta():
                return f"{_tag(event)}  {event.index}  {_safe(event.json_delta)}", "call"
            case MessageEnd():
                return _tag(event), "good"
            case Retrying():
                return f"{_tag(event)}  {event.delay_seconds:g} s  {_safe(event.reason)}", "warning"
            case StreamReset():
                return f"{_tag(event)}  {_safe(event.reason)}", "warning"
            case RawEvent():
                return f"{_tag(event)}  {_safe(event.data)}", None
            case _:
                return f"{_tag(event)}  {event.kind}  {_safe(event.detail)}", "warning"

    def _held(self, shown: Shown) -> Iterator[tuple[str, Meaning | None]]:
        if not shown.parts:
            yield _EMPTY.of(self.language), "dim"
        for index, part in enumerate(shown.parts):
            text = self._part(index, part)
            yield (f"{text}  ({_VOID.of(self.language)})", "dim") if shown.is_void else (text, None)
            if part.kind == "tool_call" and shown.step.message is None and (known := _known(part)):
                yield f"   {_KNOWN.of(self.language)}: {known}", "dim"

    def _part(self, index: int, part: HeldPart) -> str:
        if part.kind not in _KINDS:
            return f"{index}  {_safe(part.kind)}"
        kind = _KINDS[part.kind].of(self.language)
        if part.kind == "tool_call":
            return f"{index}  {kind} {_safe(part.name)} {_safe(part.id)}  {_safe(part.text)}"
        signed = f"  {_safe(json.dumps(part.opaque))}" if part.opaque else ""
        return f"{index}  {kind}  {_quoted(part.text)}{signed}"

    def _given(self, shown: Shown) -> Iterator[tuple[str, Meaning | None]]:
        step = shown.step
        if step.error is not None and shown.asked_again:
            yield _AGAIN.of(self.language), "dim"
            yield _clipped(_safe(f"{type(step.error).__name__}: {step.error.message}"), 3 * (self.width - 12)), "dim"
        elif step.error is not None:
            yield f"{type(step.error).__name__}: {_ERROR.of(self.language)}", "bad"
            yield _clipped(_safe(step.error.message), 3 * (self.width - 12)), "dim"
        elif step.moment == "cancelled":
            yield _NEVER.of(self.language), "dim"
        elif step.message is None:
            yield _NOTHING.of(self.language), "dim"
        else:
            yield f"message_end  {step.message.stop_reason}", "good"
            yield from self._verdicts(step.message)

    def _verdicts(self, message: AssistantMessage) -> Iterator[tuple[str, Meaning | None]]:
        for call in message.calls:
            if call.executable:
                arguments = _safe(json.dumps(call.arguments, ensure_ascii=False))
                yield f"{_safe(call.name)} {_safe(call.id)} {arguments}  {_RUNS.of(self.language)}", "good"
            else:
                why = _safe(call.refusal or "")
                yield f"{_safe(call.name)} {_safe(call.id)}  {_REFUSED.of(self.language)}: {why}", "bad"


def list_scenarios(scenarios: list[Scenario], style: Style, language: Language, width: int) -> str:
    """Each scenario in one line or two."""
    margin = max(len(scenario.name) for scenario in scenarios) + 2
    lines = []
    for scenario in scenarios:
        name = style.paint(scenario.name, "bold") + " " * (margin - len(scenario.name))
        first, *rest = _wrapped(scenario.about.of(language), max(width - margin - 2, 20))
        lines += [f"  {name}{first}", *(" " * (margin + 2) + line for line in rest)]
    return "\n".join(lines)


def _known(call: HeldPart) -> str:
    """What can be told of arguments that still arrive; empty when nothing can."""
    scanner = PartialJSON()
    scanner.feed(call.text)
    known = scanner.snapshot() if scanner.incomplete else {}
    return _safe(json.dumps(known, ensure_ascii=False)) if known else ""


def _visible(data: bytes) -> str:
    """The bytes as text: line ends as pictures where they are two characters, halves of characters as their bytes."""
    text = data.decode("utf-8", "surrogateescape")
    text = re.sub("[\udc80-\udcff]+", lambda found: f"<{_hex(found[0])}>", text)
    if "\r" in text:
        text = text.replace("\r", "␍").replace("\n", "␊\n")
    return sanitize(text.replace("\ufeff", "<EF BB BF>"))


def _hex(escaped: str) -> str:
    return escaped.encode("utf-8", "surrogateescape").hex(" ").upper()


def _tag(event: Event) -> str:
    return str(event.__struct_config__.tag)


def _quoted(text: str) -> str:
    return _safe(json.dumps(text, ensure_ascii=False))


def _safe(text: str) -> str:
    return " ".join(sanitize(text).split("\n"))


def _columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _padded(text: str, columns: int) -> str:
    return text + " " * max(columns - _columns(text), 1 if text else columns)


def _clipped(text: str, columns: int) -> str:
    return text if _columns(text) <= columns else _wrapped(text, columns)[0] + "…"


def _wrapped(text: str, columns: int, *, at_spaces: bool = True) -> list[str]:
    """The text in lines of at most so many columns, cut at spaces where there are any; bytes anywhere."""
    lines: list[str] = []
    while _columns(text) > columns:
        end, used = 0, 0
        for char in text:
            used += 2 if unicodedata.east_asian_width(char) in "WF" else 1
            if used > columns:
                break
            end += 1
        space = text.rfind(" ", end // 2, end + 1) if at_spaces else -1
        end = space if space > 0 else max(end, 1)
        lines.append(text[:end].rstrip())
        text = text[end:].lstrip() if space > 0 else text[end:]
    return [*lines, text]
