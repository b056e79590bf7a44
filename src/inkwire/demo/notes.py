"""A step in, what it shows out: one sentence for each law that is at work in it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from inkwire.demo.scenarios import Words
from inkwire.demo.steps import Step
from inkwire.errors import IncompleteStreamError, ProtocolError
from inkwire.events import ReasoningDelta, Retrying, StreamReset, StreamWarning, TextDelta, ToolCallDelta, ToolCallStart
from inkwire.messages import ReasoningPart, ToolCall
from inkwire.partial_json import classify

__all__ = ["Note", "notes_of"]


class Note(msgspec.Struct, frozen=True):
    """A law and what it does here."""

    law: int | None
    words: Words


def notes_of(step: Step) -> list[Note]:
    """What there is to see, most important first; at most two."""
    return list(_notes(step))[:2] or [_QUIET]


def _note(law: int | None, en: str, zh: str) -> Note:
    return Note(law, Words(en, zh))


_ASKED = _note(
    None,
    "The request was answered with this status. What follows arrives in reads, cut anywhere.",
    "请求得到了这个状态码。接下来的内容一次次读到,可能断在任何地方。",
)
_REFUSED = _note(
    None,
    "The service refuses for now. No answer had begun, so the same request may be sent again.",
    "服务暂时拒绝。回答还没有开始,可以原样再问一次。",
)
_QUIET = _note(
    None,
    "Read and kept; there is nothing new to show.",
    "已读取并保存;没有新的内容需要显示。",
)
_WAITS = _note(
    1,
    "What came ends in mid-event. Nothing is parsed yet: the bytes wait for the rest, even half a character.",
    "读到的内容断在事件中间。先不解析:这些字节留着等后续,半个汉字也不例外。",
)
_STARTS = _note(
    4,
    "A call is being received. That announces it on the screen; nothing runs.",
    "开始接收一次调用。界面可以显示它;什么都不执行。",
)
_KEPT_APART = _note(
    3,
    "Two calls are open. Each piece goes to the call that the wire names, never to the last one.",
    "有两次调用正在接收。每个片段归入协议指明的那一次,而不是最近的一次。",
)
_GROWS = _note(
    3,
    "The pieces, joined, are the argument text. What is known of it so far is for the screen alone.",
    "片段拼起来就是参数文本。目前能看出的内容只供显示。",
)
_LOOKS_WHOLE = _note(
    4,
    "The argument text parses by now. Still no message, so still no call: more could come, or a cut.",
    "参数文本已经能解析了。但还没有消息,也就没有可执行的调用:后面可能还有内容,也可能被截断。",
)
_SHOWN = _note(3, "New text is shown at once, and the same text is stored.", "新文字立刻显示,存下的也是同样的文字。")
_THINKS = _note(3, "Thinking is a part of its own, never mixed into the text.", "思考是单独的部分,不会混进正文。")
_SIGNED = _note(
    3,
    "The signature is kept with the thinking: it must go back to the same service word for word.",
    "签名和思考一起保存:之后要原样交还给同一个服务。",
)
_COMPLETE = _note(
    2,
    "The completion signal came. The layer reads on for late counts and calls before it hands out the message.",
    "结束信号到了。接入层还会读完后面的用量等内容,再交出消息。",
)
_RUNS = _note(
    4,
    "The message is whole and its calls are checked: now the loop has them, for schema and permission next.",
    "消息完整,调用也通过检查:现在交给循环,接着检查参数格式和权限。",
)
_REFUSES = _note(
    4,
    "The loop has the message, but the gate is closed: the call gets an error result with the reason.",
    "循环拿到了消息,但闸门关着:这次调用得到一条写明原因的错误结果。",
)
_ANSWER = _note(2, "One ending: the complete message, once.", "只有一个结局:完整消息,只交一次。")
_NO_SIGNAL = _note(
    2,
    "The end of the body is no completion signal. An error with the partial message, even if every JSON parses.",
    "响应体读完不等于回复完整。即使 JSON 都能解析,也只给出带有部分内容的错误。",
)
_DAMAGE = _note(
    5,
    "One event cannot be decoded. Skipped, it might leave arguments that parse and mean something else: an error.",
    "有一个事件无法解码。跳过它,剩下的参数也许能解析,却是另一个意思:所以报错。",
)
_FAILED = _note(
    2, "One ending: a typed error with what had arrived.", "只有一个结局:一个有类型的错误,带着已收到的内容。"
)
_CANCELLED = _note(
    2,
    "The user cancelled: neither a message nor an error. Its connection is closed at once.",
    "用户取消了:没有消息,也没有错误。连接立刻关闭。",
)
_INTERRUPTED = _note(
    6,
    "The text that was shown stays in history, marked interrupted; its calls do not.",
    "已显示的文字留在历史里,标记为中断;其中的调用不保留。",
)
_RESET = _note(
    3,
    "An answer had begun and is lost. What was shown is void before anything new is shown; nothing is glued on.",
    "回答已经开始,却丢了。显示新内容之前先声明旧内容作废,不会把两次回答拼在一起。",
)
_WARNED = _note(5, "An oddity that is no error: it is told, not hidden.", "这是异常但不是错误:会说出来,不会藏起来。")


def _notes(step: Step) -> Iterator[Note]:
    if step.moment == "head":
        yield _ASKED
        return
    if step.moment == "cancelled":
        yield _CANCELLED
        yield _INTERRUPTED
        return
    yield from _endings(step)
    kinds = {type(event) for event in step.events}
    if Retrying in kinds:
        yield _REFUSED
    if StreamReset in kinds:
        yield _RESET
    if StreamWarning in kinds:
        yield _WARNED
    if step.complete and step.message is None and step.error is None:
        yield _COMPLETE
    yield from _growth(step, kinds)
    if step.waiting:
        yield _WAITS


def _endings(step: Step) -> Iterator[Note]:
    if isinstance(step.error, IncompleteStreamError):
        yield _NO_SIGNAL
    elif isinstance(step.error, ProtocolError):
        yield _DAMAGE
    elif step.error is not None:
        yield _FAILED
    if step.message is not None:
        calls = step.message.calls
        yield _RUNS if step.message.executable_calls else _REFUSES if calls else _ANSWER


def _growth(step: Step, kinds: set[type]) -> Iterator[Note]:
    if ToolCallStart in kinds:
        yield _STARTS
    elif ToolCallDelta in kinds:
        grown = {event.index for event in step.events if isinstance(event, ToolCallDelta)}
        calls = [step.held.parts[index] for index in grown]
        if any(isinstance(call, ToolCall) and classify(call.raw_arguments)[0] == "complete" for call in calls):
            yield _LOOKS_WHOLE
        yield _KEPT_APART if len(step.held.calls) > 1 else _GROWS
    if TextDelta in kinds:
        yield _SHOWN
    if ReasoningDelta in kinds:
        yield _THINKS
    elif b"signature_delta" in step.received and any(isinstance(part, ReasoningPart) for part in step.held.parts):
        yield _SIGNED
