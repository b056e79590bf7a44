"""A name in, a scenario's recording and what it is about out."""

from __future__ import annotations

from importlib.resources import files

import msgspec

from inkwire.inspector.notes import Words
from inkwire.recording import Exchange, read_recording

__all__ = ["SCENARIOS", "Scenario", "recording_of"]


class Scenario(msgspec.Struct, frozen=True):
    """One thing that happens to streams."""

    name: str
    about: Words
    """What to look at, in one line."""

    def exchanges(self) -> list[Exchange]:
        """What was recorded."""
        return read_recording(recording_of(self.name))


def recording_of(name: str) -> bytes:
    """The recording's file as it comes with the package."""
    return (files("inkwire.demo") / "scenarios" / f"{name}.jsonl").read_bytes()


_ALL = (
    Scenario(
        "read-readme",
        Words(
            "One call: half a path becomes whole arguments, and still nothing runs before message_end",
            "一次调用:半截路径拼成完整参数,但在 message_end 之前什么都不会执行",
        ),
    ),
    Scenario(
        "two-reads-interleaved",
        Words(
            "Two calls of the same tool whose arguments arrive in turns and never mix",
            "同一个工具的两次调用,参数交错到达,互不混淆",
        ),
    ),
    Scenario(
        "missing-finish-reason",
        Words(
            "The body ends in good order, every JSON parses, but no finish reason came: no message",
            "响应体正常读完,JSON 都能解析,却没有结束原因:不产出消息",
        ),
    ),
    Scenario(
        "user-cancel",
        Words(
            "The user cancels while the arguments arrive: it ends quietly, neither message nor error",
            "参数还在到达时用户取消:安静地结束,既没有消息也没有错误",
        ),
    ),
    Scenario(
        "broken-arguments",
        Words(
            "A finish reason came, but the arguments lack their last bracket: the call is refused",
            "收到了结束原因,但参数缺最后一个括号:这次调用被拒绝",
        ),
    ),
    Scenario(
        "cut-at-limit",
        Words(
            "The output limit cuts the answer: no call of it runs, not even the one that looks whole",
            "达到输出上限:这条回复里的调用都不执行,看上去完整的也不例外",
        ),
    ),
    Scenario(
        "damage-in-the-middle",
        Words(
            "One event is damaged, and without it the arguments would parse to another path",
            "中间一个事件损坏;跳过它,参数照样能解析,却指向另一个路径",
        ),
    ),
    Scenario(
        "retry-and-reset",
        Words(
            "Refused, asked again; lost in mid-answer, what was shown is void, asked again from the start",
            "被拒后重试;回答中途断线,已显示的作废,从头再问",
        ),
    ),
    Scenario(
        "crlf-and-split-characters",
        Words(
            "CRLF line ends, a keep-alive, a byte order mark, and a character cut in two by a read",
            "CRLF 换行、保活注释、字节序标记,还有一个汉字被拆在两次读取里",
        ),
    ),
    Scenario(
        "reasoning-with-signature",
        Words(
            "Anthropic's protocol: thinking with its signature, then a call, in the same events",
            "Anthropic 协议:带签名的思考,再加一次调用,事件完全相同",
        ),
    ),
)

SCENARIOS = {scenario.name: scenario for scenario in _ALL}
"""In the order in which to look at them."""
