"""A GGUF file in, a target whose requests a real model on this machine answers, out (extra `local`).

llama.cpp's own server runs in a child process, which is started, waited for with progress, and ended with us: its
standard input is a pipe that only we hold. It answers on loopback and asks for a key that is made for each run, because
every web page in a browser here may send requests to loopback, too. Source: the xllamacpp package; llama.cpp's server
documentation.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from inkwire.errors import ConfigurationError
from inkwire.providers.base import Target
from inkwire.providers.catalog import CATALOG
from inkwire.tools.process import child_environment

__all__ = ["TEMPLATE", "LlamaServer"]

TEMPLATE = Path(__file__).parent / "fence.jinja"
"""A chat template whose form of a call llama.cpp turns into real tool calls, for Qwen-like models."""

_CONTEXT = 16_384
_PROTOCOL_PATHS = {"chat": "/v1", "responses": "/v1", "anthropic": ""}
_TAIL_BYTES = 2_000
_REPORT_SECONDS = 5.0
"""How often the wait for a large file is told."""
_PATIENCE_SECONDS = 5.0
"""How long the child may take to end by itself."""


class _Answer(msgspec.Struct, frozen=True):
    """The child's one line."""

    address: str = ""
    error: str = "it ended without a word"


class LlamaServer:
    """llama.cpp's server for one GGUF file; an async context manager.

    `template`: a chat template in place of the file's own. `progress` is told in words what is waited for. `command`
    starts another child than ours, for tests.
    """

    def __init__(
        self,
        model: Path,
        *,
        template: Path | None = None,
        progress: Callable[[str], None] = lambda words: None,
        command: list[str] | None = None,
    ) -> None:
        self._model = model
        self._template = template
        self._progress = progress
        self._command = command
        self._key = secrets.token_urlsafe(24)
        self._child: asyncio.subprocess.Process | None = None
        self._log: asyncio.Task[bytes] | None = None
        self._address = ""

    @property
    def running(self) -> bool:
        """The child is there, as far as is known."""
        return self._child is not None and self._child.returncode is None

    def target(self, protocol: str = "chat") -> Target:
        """Where requests go while the server runs.

        Raises `ConfigurationError` for a protocol that it does not speak.
        """
        path = _PROTOCOL_PATHS.get(protocol)
        if path is None:
            raise ConfigurationError(f"a local model speaks {', '.join(_PROTOCOL_PATHS)}, not {protocol!r}")
        quirks = CATALOG["local"].quirks
        return Target("local", self._model.stem, self._address + path, protocol, key=self._key, quirks=quirks)

    async def start(self) -> None:
        """Load the model; does nothing when it is loaded.

        Raises `ConfigurationError` when the extra or the file is missing, or the file cannot be loaded.
        """
        if self.running:
            return
        if not self._model.is_file():
            raise ConfigurationError(f"no such model file: {self._model}")
        self._progress(f"loading {self._model.name} ({self._model.stat().st_size / 2**20:,.0f} MiB) …")
        child = self._child = await self._spawn()
        try:
            answer = await self._answer(child)
        except BaseException:
            child.kill()
            await self.aclose()
            raise
        if not answer.address:
            await self.aclose()
            said = self._log.result().decode("utf-8", "replace") if self._log is not None else ""
            raise ConfigurationError(f"cannot load {self._model}: {answer.error}\n{said}".rstrip())
        self._address = answer.address
        self._progress("the model is loaded")

    async def aclose(self) -> None:
        """End the child; idempotent."""
        child, self._child = self._child, None
        if child is None:
            return
        assert child.stdin is not None
        child.stdin.close()
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await child.wait()
        except TimeoutError:
            child.kill()
            await child.wait()
        if self._log is not None:
            await asyncio.wait([self._log])

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _spawn(self) -> asyncio.subprocess.Process:
        child = await asyncio.create_subprocess_exec(
            *self._arguments(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=child_environment(os.environ),
            # Ctrl-C goes to the whole group of the terminal; it is to cancel an answer, not to end the server.
            start_new_session=True,
        )
        assert child.stdin is not None
        assert child.stderr is not None
        # Not as an argument: those are there for everyone on the machine to see.
        child.stdin.write(f"{self._key}\n".encode())
        self._log = asyncio.ensure_future(_tail(child.stderr))
        return child

    async def _answer(self, child: asyncio.subprocess.Process) -> _Answer:
        """What the child says when the model is loaded, or cannot be."""
        assert child.stdout is not None
        reading = asyncio.ensure_future(child.stdout.readline())
        waited = 0.0
        try:
            while not (await asyncio.wait([reading], timeout=_REPORT_SECONDS))[0]:
                waited += _REPORT_SECONDS
                self._progress(f"still loading, {waited:.0f} s …")
        finally:
            reading.cancel()
        line = reading.result()
        try:
            return msgspec.json.decode(line, type=_Answer) if line else _Answer()
        except msgspec.MsgspecError:
            return _Answer(error=f"it said {line[:200]!r}")

    def _arguments(self) -> list[str]:
        if self._command is not None:
            return self._command
        if find_spec("xllamacpp") is None:
            raise ConfigurationError("a local model needs an extra: pip install 'inkwire[local]'")
        template = [str(self._template)] if self._template is not None else []
        # -P: a json.py in the directory that is worked on is not ours to run.
        child = [sys.executable, "-P", "-m", "inkwire.local.llama_child"]
        return [*child, str(self._model), self._model.stem, str(_CONTEXT), *template]


async def _tail(stream: asyncio.StreamReader) -> bytes:
    """Reads to the end, keeps the last of it."""
    kept = b""
    while data := await stream.read(65_536):
        kept = (kept + data)[-_TAIL_BYTES:]
    return kept
