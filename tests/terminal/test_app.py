"""What the terminal does around the conversation."""

from __future__ import annotations

import asyncio
import io
import os
import signal

from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from inkwire.agent.approval import Approval, ApprovalRequest
from inkwire.terminal.app import App, _until_interrupt


async def test_ctrl_c_ends_the_loading_of_a_model_and_not_the_program() -> None:
    ended = []

    async def load() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("closed")

    asyncio.get_running_loop().call_later(0.01, os.kill, os.getpid(), signal.SIGINT)
    assert not await _until_interrupt(load())
    assert ended == ["closed"]


async def test_work_that_ends_by_itself_is_done() -> None:
    async def load() -> None:
        await asyncio.sleep(0)

    assert await _until_interrupt(load())


async def test_a_command_in_the_question_is_neither_a_reason_nor_a_yes() -> None:
    out = io.StringIO()
    request = ApprovalRequest("c", "bash", {"command": "make"}, "why", ())
    with create_pipe_input() as typed, create_app_session(input=typed, output=DummyOutput()):
        typed.send_text("/quit\ry\r")
        assert await App(out=out).approve(request) == Approval(allowed=True)
    assert "Commands work at the prompt" in out.getvalue()
