"""Whatever the library says of a stream is said in Chinese, too; a service's own words are left alone."""

from __future__ import annotations

import re

import pytest

from inkwire.errors import ServiceError
from inkwire.inspector.reasons import in_chinese
from tests.inspector.test_trace import STREAMS, traced
from tests.streams import Stream

CHINESE = re.compile("[\u4e00-\u9fff]")


@pytest.mark.parametrize("stream", STREAMS, ids=[stream.name for stream in STREAMS])
def test_every_reason_of_a_stream_is_said_in_chinese(stream: Stream) -> None:
    reasons: list[str] = []
    for step in traced(stream):
        if step.message is not None:
            reasons += [call.refusal for call in step.message.calls if call.refusal is not None]
            reasons += [warning.detail for warning in step.message.warnings]
        if step.error is not None and not isinstance(step.error, ServiceError):
            reasons.append(step.error.message)
    for reason in reasons:
        assert CHINESE.search(in_chinese(reason) or ""), reason


def test_details_of_a_reason_are_said_in_chinese_too() -> None:
    reason = "the arguments are cut: the text ends before the object is closed (position 12)"
    assert in_chinese(reason) == "参数被截断:对象还没有闭合,文本就结束了(位置 12)"


@pytest.mark.parametrize("words", ["Overloaded", "", "the", "{0} {why}", "an array of things"])
def test_other_words_are_left_alone(words: str) -> None:
    assert in_chinese(words) is None


def test_what_a_stream_holds_is_quoted_not_translated() -> None:
    assert in_chinese("more text after the object: '{a} the call has no name'") == (
        "对象之后还有内容:'{a} the call has no name'"
    )
