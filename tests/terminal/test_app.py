"""What the terminal does around the conversation."""

from __future__ import annotations

import asyncio
import os
import signal

from inkwire.terminal.app import _until_interrupt


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
