"""A GGUF file in, a target whose requests a real model on this machine answers, out (extra `local`).

llama.cpp's own server runs in a child process, which is started, waited for with progress, and ended with us: its
standard input is a pipe that only we hold. Source: the xllamacpp package; llama.cpp's server documentation.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

from inkwire.errors import ConfigurationError
from inkwire.providers.base import Target

__all__ = ["TEMPLATE", "LlamaServer"]

TEMPLATE = Path(__file__).parent / "fence.jinja"
"""A chat template whose form of a call llama.cpp turns into real tool calls, for Qwen-like models."""

_CONTEXT = 16_384
_PROTOCOL_PATHS = {"chat": "/v1", "responses": "/v1", "anthropic": ""}
_TAIL_BYTES = 2_000
_PATIENCE_SECONDS = 5.0
"""How long the child may take to end by itself."""


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
        self._child: asyncio.subprocess.Process | None = None
        self._log: asyncio.Task[bytes] | None = None
        self._address = ""

    def target(self, name: str, protocol: str = "chat") -> Target:
        """Where requests for `local/NAME` go while the server runs."""
        path = _PROTOCOL_PATHS.get(protocol)
        if path is None:
            raise ConfigurationError(f"a local model speaks {', '.join(_PROTOCOL_PATHS)}, not {protocol!r}")
        return Target("local", name, self._address + path, protocol, auth="none")

    async def start(self) -> None:
        """Load the model; does nothing when it is loaded.

        Raises `ConfigurationError` when the extra or the file is missing, or the file cannot be loaded.
        """
        if self._child is not None:
            return
        if not self._model.is_file():
            raise ConfigurationError(f"no such model file: {self._model}")
        self._progress(f"loading {self._model.name} ({self._model.stat().st_size / 2**20:,.0f} MiB) …")
        self._child = await asyncio.create_subprocess_exec(
            *self._arguments(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert self._child.stdout is not None
        assert self._child.stderr is not None
        self._log = asyncio.ensure_future(_tail(self._child.stderr))
        line = await self._child.stdout.readline()
        answer = json.loads(line) if line else {"error": "it ended without a word"}
        if "address" not in answer:
            await self.aclose()
            said = (await self._log).decode("utf-8", "replace")
            raise ConfigurationError(f"cannot load {self._model}: {answer['error']}\n{said}".rstrip())
        self._address = answer["address"]
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

    def _arguments(self) -> list[str]:
        if self._command is not None:
            return self._command
        if find_spec("xllamacpp") is None:
            raise ConfigurationError("a local model needs an extra: pip install 'inkwire[local]'")
        template = [str(self._template)] if self._template is not None else []
        child = [sys.executable, "-m", "inkwire.local.llama_child"]
        return [*child, str(self._model), self._model.stem, str(_CONTEXT), *template]


async def _tail(stream: asyncio.StreamReader) -> bytes:
    """Reads to the end, keeps the last of it."""
    kept = b""
    while data := await stream.read(65_536):
        kept = (kept + data)[-_TAIL_BYTES:]
    return kept
