"""A step in, what there is to see in it out: the law that is at work, why something waits, why a call is refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from inkwire.errors import IncompleteStreamError, ProtocolError, ServiceError
from inkwire.events import (
    ReasoningDelta,
    Retrying,
    StreamReset,
    StreamWarning,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
)
from inkwire.fragments import (
    CallFragment,
    DoneFragment,
    FinishFragment,
    OriginFragment,
    ReasoningFragment,
    UsageFragment,
)
from inkwire.inspector.held import SeenPart

if TYPE_CHECKING:
    from inkwire.inspector.trace import Step

__all__ = ["NOTES", "Language", "Note", "Words", "notes_of"]

_MOST = 3

Language: TypeAlias = Literal["en", "zh"]


class Words(msgspec.Struct, frozen=True):
    """The same sentence in both languages."""

    en: str
    zh: str

    def of(self, language: Language) -> str:
        """The sentence in one of them."""
        return self.zh if language == "zh" else self.en


class Note(msgspec.Struct, frozen=True):
    """A law and what it does here; without a law, what happens."""

    law: int | None
    words: Words


def notes_of(step: Step, parts: Sequence[SeenPart]) -> list[str]:
    """The names of what there is to see, most important first; `parts` are what the layer holds after the step."""
    return list(dict.fromkeys(_notes(step, parts)))[:_MOST] or ["quiet"]


def _note(law: int | None, en: str, zh: str) -> Note:
    return Note(law, Words(en, zh))


NOTES: dict[str, Note] = {
    "answered": _note(
        None,
        "The answer begins. What follows arrives in reads, cut anywhere.",
        "回复开始了。接下来的内容一次次读到,可能断在任何地方。",
    ),
    "refused": _note(
        None,
        "The service answers no. This body is its error, not a stream of this protocol.",
        "服务拒绝了。这个响应体是它的错误说明,不是回复的流。",
    ),
    "asked_again": _note(
        None,
        "No answer had begun, so the same request may be sent again. Nothing was shown, nothing is lost.",
        "回答还没有开始,可以原样再问一次。什么都没显示过,也就什么都没丢。",
    ),
    "reset": _note(
        3,
        "An answer had begun and is lost. What was shown is void before anything new is shown; nothing is glued on.",
        "回答已经开始,却丢了。显示新内容之前先声明旧内容作废,不会把两次回答拼在一起。",
    ),
    "quiet": _note(None, "Read and kept; there is nothing new to show.", "已读取并保存;没有新的内容需要显示。"),
    "keep_alive": _note(
        1,
        "Bytes without a payload: a comment or white space that keeps the connection alive. It says nothing.",
        "没有数据的字节:用来保持连接的注释或空白,不表示任何内容。",
    ),
    "waits": _note(
        1,
        "What came ends in mid-event. Nothing is parsed yet: the bytes wait for the rest, even half a character.",
        "读到的内容断在事件中间。先不解析:这些字节留着等后续,半个汉字也不例外。",
    ),
    "joined": _note(
        1,
        "The rest of an event that was cut. Joined as bytes first, read as text after: the same as uncut.",
        "被切断的事件补齐了。先拼字节,再当文字读:和没切断时完全一样。",
    ),
    "starts": _note(
        4,
        "A call is being received. That announces it on the screen; nothing runs.",
        "开始接收一次调用。界面可以显示它;什么都不执行。",
    ),
    "nameless": _note(
        4,
        "A piece of a call whose name or id has not come. It is kept, and shown when the call can be announced.",
        "收到了调用的片段,但名称或 ID 还没到。先存着,等能宣布这次调用时再显示。",
    ),
    "kept_apart": _note(
        3,
        "Two calls are open. Each piece goes to the call that the wire names, never to the last one.",
        "有两次调用正在接收。每个片段归入协议指明的那一次,而不是最近的一次。",
    ),
    "grows": _note(
        3,
        "The pieces, joined, are the argument text. What is known of it so far is for the screen alone.",
        "片段拼起来就是参数文本。目前能看出的内容只供显示。",
    ),
    "looks_whole": _note(
        4,
        "The argument text parses by now. Still no message, so still no call: more could come, or a cut.",
        "参数文本已经能解析了。但还没有消息,也就没有可执行的调用:后面可能还有内容,也可能被截断。",
    ),
    "shown": _note(
        3, "New text is shown at once, and the same text is stored.", "新文字立刻显示,存下的也是同样的文字。"
    ),
    "thinks": _note(3, "Thinking is a part of its own, never mixed into the text.", "思考是单独的部分,不会混进正文。"),
    "signed": _note(
        3,
        "The signature is kept with the thinking: it must go back to the same service word for word.",
        "签名和思考一起保存:之后要原样交还给同一个服务。",
    ),
    "complete": _note(
        2,
        "The completion signal came. The layer reads on for late counts and calls before it hands out the message.",
        "结束信号到了。接入层还会读完后面的用量等内容,再交出消息。",
    ),
    "counts": _note(
        None,
        "Token counts are totals: of each kind the last one that is said counts.",
        "用量是总数:每一种都以最后一次报告的为准。",
    ),
    "origin": _note(
        None,
        "Who answers: the response's id and the model's name. Kept with the message; nothing to show yet.",
        "是谁在回答:响应的 ID 和模型名。随消息保存;还没有要显示的内容。",
    ),
    "runs": _note(
        4,
        "The message is whole and its calls are checked: now the loop has them, for schema and permission next.",
        "消息完整,调用也通过检查:现在交给循环,接着检查参数格式和权限。",
    ),
    "refuses": _note(
        4,
        "The loop has the message, but the gate is closed: the call gets an error result with the reason.",
        "循环拿到了消息,但闸门关着:这次调用得到一条写明原因的错误结果。",
    ),
    "answer": _note(2, "One ending: the complete message, once.", "只有一个结局:完整消息,只交一次。"),
    "no_signal": _note(
        2,
        "The end of the body is no completion signal. An error with the partial message, even if every JSON parses.",
        "响应体读完不等于回复完整。即使 JSON 都能解析,也只给出带有部分内容的错误。",
    ),
    "damage": _note(
        5,
        "One event cannot be decoded. Skipped, it might leave arguments that parse and mean something else: an error.",
        "有一个事件无法解码。跳过它,剩下的参数也许能解析,却是另一个意思:所以报错。",
    ),
    "service_error": _note(
        2,
        "The service's error inside the stream: the same typed error as if it had come as a status.",
        "服务在流里报了错:得到的错误类型和它用状态码报错时一样。",
    ),
    "failed": _note(
        2, "One ending: a typed error with what had arrived.", "只有一个结局:一个有类型的错误,带着已收到的内容。"
    ),
    "cancelled": _note(
        2,
        "The user cancelled: neither a message nor an error. Its connection is closed at once.",
        "用户取消了:没有消息,也没有错误。连接立刻关闭。",
    ),
    "interrupted": _note(
        6,
        "The text that was shown stays in history, marked interrupted; its calls do not.",
        "已显示的文字留在历史里,标记为中断;其中的调用不保留。",
    ),
    "recording_ends": _note(
        None,
        "The recording ends here, before the answer did. What came after is not known.",
        "录制到此为止,回答还没有结束。之后发生了什么不得而知。",
    ),
    "unread": _note(
        2,
        "Bytes after the end. The stream was over, so nobody reads them and nothing in them counts.",
        "结束之后的字节。流已经结束,没有人再读,其中的内容都不算数。",
    ),
    "warned": _note(
        5, "An oddity that is no error: it is told, not hidden.", "这是异常但不是错误:会说出来,不会藏起来。"
    ),
}
"""Name -> the law and its words, for every face that shows steps."""


def _notes(step: Step, parts: Sequence[SeenPart]) -> Iterator[str]:
    match step.moment:
        case "head":
            yield "answered"
            return
        case "cancelled":
            yield "cancelled"
            yield "interrupted"
            return
        case "refused":
            yield "refused"
            return
        case "unknown" if step.message is None:
            yield "recording_ends"
            return
        case "unread":
            yield "unread"
            return
    yield from _endings(step)
    kinds = {type(event) for event in step.events}
    if Retrying in kinds:
        yield "asked_again"
    if StreamReset in kinds:
        yield "reset"
    if StreamWarning in kinds:
        yield "warned"
    said = {type(fragment) for fragment in step.fragments}
    if step.message is None and step.error is None and said & {FinishFragment, DoneFragment}:
        yield "complete"
    yield from _growth(step, parts, kinds)
    if UsageFragment in said and step.message is None:
        yield "counts"
    if said == {OriginFragment}:
        yield "origin"
    if step.waiting:
        yield "waits"
    elif step.moment == "read":
        yield "keep_alive"
    elif step.frame is not None and step.end - step.start > len(step.received) > 0:
        yield "joined"


def _endings(step: Step) -> Iterator[str]:
    match step.error:
        case None:
            pass
        case IncompleteStreamError():
            yield "no_signal"
        case ProtocolError():
            yield "damage"
        case ServiceError():
            yield "service_error"
        case _:
            yield "failed"
    if step.message is not None:
        calls = step.message.calls
        yield "runs" if step.message.executable_calls else "refuses" if calls else "answer"


def _growth(step: Step, parts: Sequence[SeenPart], kinds: set[type]) -> Iterator[str]:
    if ToolCallStart in kinds:
        yield "starts"
    elif ToolCallDelta in kinds:
        grown = {event.index for event in step.events if isinstance(event, ToolCallDelta)}
        if step.message is None and any(parts[index].whole for index in grown):
            yield "looks_whole"
        yield "kept_apart" if sum(part.kind == "tool_call" for part in parts) > 1 else "grows"
    elif any(isinstance(fragment, CallFragment) for fragment in step.fragments) and any(
        part.kind == "tool_call" and not part.started for part in parts
    ):
        yield "nameless"
    if TextDelta in kinds:
        yield "shown"
    if ReasoningDelta in kinds:
        yield "thinks"
    elif any(isinstance(fragment, ReasoningFragment) and fragment.append for fragment in step.fragments):
        yield "signed"
