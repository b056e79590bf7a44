"""A reason in the library's own words in, the same in Chinese out; what a service said stays as it said it."""

from __future__ import annotations

import re

__all__ = ["in_chinese"]

_LONGEST = 2_000
"""Characters of what the library says; what is longer, a service said."""
_REASONS = r"""
the answer was cut at the output limit, so no call of it is known to be whole
    回答在输出上限处被截断,其中的调用都不能确定完整
the answer was cut at the end of the context window, so no call of it is known to be whole
    回答在上下文窗口末尾被截断,其中的调用都不能确定完整
the answer was stopped by the provider's content filter
    回答被服务方的内容过滤中止
the model refused to answer
    模型拒绝回答
the turn was paused by the provider and is not over
    这一轮被服务方暂停,还没有结束
the answer stopped for a reason that is not known to be a normal one(?P<why> \(.*\))?
    回答因未知的原因结束,不能当作正常结束{why}
a piece of the stream was lost, so no call of it is known to be whole
    流里丢了一段内容,其中的调用都不能确定完整
the stream gave no reason to stop, so no call of it is known to be whole
    流没有给出结束原因,其中的调用都不能确定完整
the answer did not arrive whole
    回答没有完整到达
the call has no name
    这次调用没有名称
the arguments are cut: (?P<why>.*) \(position (?P<at>\d+)\)
    参数被截断:{why}(位置 {at})
the arguments are not one JSON object: (?P<why>.*) \(position (?P<at>\d+)\)
    参数不是一个 JSON 对象:{why}(位置 {at})
the text ends before the object is closed
    对象还没有闭合,文本就结束了
more text after the object: (?P<what>.*)
    对象之后还有内容:{what}
nested deeper than (?P<depth>\d+) levels
    嵌套超过 {depth} 层
(?P<kind>an array|a string|a number|a boolean|null), expected one JSON object
    这是{kind},应为一个 JSON 对象
an array
    数组
a string
    字符串
a number
    数字
a boolean
    布尔值
(?P<why>.*) near (?P<what>'.*'|\".*\")
    在 {what} 附近:{why}
the stream ended without its completion signal, so the answer may be cut
    流没有结束信号就结束了,回答可能被截断
the connection was lost in mid-answer
    回答到一半,连接断了
the answer broke off: (?P<why>.*)
    回答中断:{why}
no answer came: (?P<why>.*)
    没有收到回答:{why}
(?P<what>.*)\. A lost piece could change what a tool does, so the stream is refused.*
    有一段数据无法读取({what})。丢失的内容可能改变工具的行为,所以拒绝这个流
expected a stream of the (?P<name>\S+) protocol, but the service sent (?P<what>.*)
    应为 {name} 协议的流,服务却发来:{what}
expected a stream of the (?P<name>\S+) protocol, got (?P<what>.*)
    应为 {name} 协议的流,收到的却是:{what}
expected events of the (?P<name>\S+) protocol, but the service speaks (?P<other>[^:]+): .*
    应为 {name} 协议的事件,服务用的却是 {other}:请改用该协议,或检查地址
(?P<what>.*) is longer than the limit of (?P<size>[\d,]+) bytes(?P<more>.*)
    {what} 超过 {size} 字节的上限{more}
a payload is no JSON \((?P<why>[^()]*(?:\([^()]*\))?)\)(?P<what>: .*)?
    数据不是 JSON({why}){what}
a payload is (?P<kind>an array|a string|a number|a boolean|null), not an object(?P<what>: .*)?
    数据是{kind},不是对象{what}
a payload is nested deeper than (?P<depth>\d+) levels
    数据嵌套超过 {depth} 层
(?P<name>[\w.]+) without (?:a|an) (?P<field>\S+?)(?P<what>: .*)?
    {name} 缺少 {field}{what}
(?P<why>\S+): the model's call was malformed
    {why}:模型发出的调用格式有误
the model's own call was malformed(?P<why> \(.*\))?
    模型发出的调用格式有误{why}
the service cancelled the response
    服务取消了这次响应
the service ended the answer with (?:finish|stop) reason (?P<why>.*)
    服务以 {why} 为由结束了回答
the service ran out of resources in mid-answer
    回答到一半,服务的资源用尽
the service's inference failed(?P<why> \(.*\))?
    服务推理失败{why}
damaged AWS event stream: (?P<why>.*)
    AWS 事件流损坏:{why}
the message is longer than (?P<size>[\d,]+) characters; .*
    消息超过 {size} 个字符的上限
more than (?P<most>[\d,]+) calls in one message; .*
    一条消息里的调用超过 {most} 次
the body ends in mid-payload: (?P<what>.*)
    响应体断在数据中间:{what}
the input of a (?P<what>\S+) block is no JSON
    {what} 块的输入不是 JSON
block (?P<name>\S+): a piece is no base64
    第 {name} 块:有一段不是 base64
a call fragment without id, name and arguments
    一个调用片段,没有 ID、名称和参数
arguments came for a call that has neither a name nor an id
    收到了参数,所属的调用却没有名称也没有 ID
the end mark came without any reason to stop
    有结束标记,却没有结束原因
the service said that it calls a tool, but sent no call
    服务说要调用工具,却没有发来调用
the final text of part (?P<part>\d+) differs from the pieces shown
    第 {part} 部分的最终文字和显示过的片段不同
the final reasoning text differs from the pieces shown
    最终的思考文字和显示过的片段不同
the answer has no content
    回答没有内容
the answer is reasoning only
    回答只有思考
the text holds (?P<what>.*): a call that its server did not recognise
    正文里有 {what}:一次没有被服务端识别的调用
the final arguments of (?P<what>.*) differ from the pieces
    {what} 的最终参数和显示过的片段不同
(?P<what>.*) besides the arguments of (?P<name>.*) was dropped
    {name} 的参数之外有 {what},已舍去
the call announced as (?P<what>.*) turned out to be (?P<name>.*)
    宣布为 {what} 的调用,其实是 {name}
the service sent more than one choice; only the first counts
    服务给了多个候选,只取第一个
only the first candidate is read
    只读第一个候选
lines outside of any event look like a lost payload: (?P<what>.*)
    事件之外的内容像是丢失的数据:{what}
the service began its answer anew(?P<why> \(.*\))?
    服务从头开始回答{why}
"""
"""Pairs of lines: a pattern, and the words with its named details."""
_LINES = _REASONS.strip().split("\n")
_COMPILED = tuple(
    (re.compile(pattern, re.DOTALL), words.strip()) for pattern, words in zip(_LINES[::2], _LINES[1::2], strict=True)
)


def in_chinese(reason: str) -> str | None:
    """The reason in Chinese, its details too where they are the library's; None for words that are not."""
    for pattern, words in _COMPILED if len(reason) <= _LONGEST else ():
        if found := pattern.fullmatch(reason):
            details = {name: text and (in_chinese(text) or text) for name, text in found.groupdict("").items()}
            return words.format(**details)
    return None
