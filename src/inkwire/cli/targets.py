"""A model's name in, the target of its requests out; servers inside this process are started when they are named."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from msgspec.structs import replace

from inkwire.cli.context import choose_model
from inkwire.cli.options import AgentOptions
from inkwire.errors import ConfigurationError, InkwireError
from inkwire.local.llama_server import TEMPLATE, LlamaServer
from inkwire.local.model_package import MODEL_NAME, packaged_model
from inkwire.local.reader_server import ReaderServer
from inkwire.providers.base import Target
from inkwire.providers.detect import FALLBACK, Choice, Facts
from inkwire.providers.resolve import resolve, split_model

__all__ = ["Targets"]

_LOCAL = "local"


class Targets:
    """What the client asks for the target of a model; close it with the client."""

    def __init__(self, options: AgentOptions, facts: Facts) -> None:
        self._options = options
        self._facts = facts
        self._reader: ReaderServer | None = None
        self._local: tuple[str, LlamaServer] | None = None

    async def first(self) -> Choice:
        """The model to begin with, under its full name.

        Raises `ConfigurationError` when there is none, or it cannot be used.
        """
        if self._options.base_url is not None and self._options.model is None:
            choice = await self._listed(self._options.base_url)
        else:
            choice = await choose_model(self._facts)
        return replace(choice, model=await self.prepare(choice.model))

    async def prepare(self, model: str) -> str:
        """Makes sure that the model can be asked, and gives its full name.

        Raises `ConfigurationError` when it cannot.
        """
        if split_model(model)[0] == split_model(FALLBACK)[0] and self._options.base_url is None:
            if model != FALLBACK:
                raise ConfigurationError(f"{model!r}: the only built-in model is {FALLBACK}")
            self._reader = self._reader or ReaderServer()
            await self._reader.start()
        if split_model(model)[0] == _LOCAL and self._options.base_url is None:
            return await self._load(split_model(model)[1])
        target = self(model)
        return f"{target.provider}/{target.model}"

    def __call__(self, model: str) -> Target:
        """The target of a model; for the built-in reader, the one that runs here."""
        if model == FALLBACK and self._reader is not None:
            return self._reader.target
        if self._local is not None and model == f"{_LOCAL}/{self._local[0]}":
            return self._local[1].target(self._options.protocol or "chat")
        return resolve(
            model,
            environ=self._facts.environ,
            base_url=self._options.base_url,
            protocol=self._options.protocol,
            config=self._facts.user,
        )

    async def aclose(self) -> None:
        """Stops what was started."""
        if self._reader is not None:
            await self._reader.aclose()
        if self._local is not None:
            await self._local[1].aclose()

    async def _load(self, name: str) -> str:
        """Starts a model of this machine, and gives its full name: a GGUF file, or the one that packages carry."""
        if not name:
            raise ConfigurationError(f"no model after {_LOCAL + '/'!r}: write {_LOCAL}/PATH, the path of a GGUF file")
        if self._local is not None and self._local[0] == name and self._local[1].running:
            return f"{_LOCAL}/{name}"
        if name == MODEL_NAME:
            import platformdirs

            cache = Path(platformdirs.user_cache_dir("inkwire", appauthor=False)) / "models"
            # In a thread: over a gigabyte is read, for some seconds.
            path, template = await asyncio.to_thread(packaged_model, cache, progress=_bar), TEMPLATE
        else:
            path, template = _path(name), None
        server = LlamaServer(path, template=template, progress=_say)
        await server.start()
        # Only now: a model that cannot be loaded leaves the one before as it is.
        before, self._local = self._local, (name, server)
        if before is not None:
            await before[1].aclose()
        return f"{_LOCAL}/{name}"

    async def _listed(self, base_url: str) -> Choice:
        """The first model that an address lists, when the user gave an address and no name."""
        from inkwire.local.probe import models_at

        if said := self._facts.environ.get("INKWIRE_MODEL") or self._facts.user.model:
            return Choice(said, "the environment or the user's file")
        try:
            names = await models_at(self("custom/any"))
        except InkwireError as error:
            raise ConfigurationError(f"no model: name one with -m custom/NAME ({error})") from error
        if not names:
            raise ConfigurationError(f"no model: {base_url} lists none; name one with -m custom/NAME")
        return Choice(f"custom/{names[0]}", f"the first that {base_url} lists")


def _path(name: str) -> Path:
    return Path(name).expanduser()


def _say(words: str) -> None:
    print(f"inkwire: {words}", file=sys.stderr)  # noqa: T201


def _bar(done: int, total: int) -> None:
    """How far the joining or the checking of the model is, on one line of a terminal."""
    if sys.stderr.isatty():
        filled = 30 * done // total
        end = "\n" if done == total else ""
        line = f"\rchecking the model [{'#' * filled}{'.' * (30 - filled)}] {100 * done // total:3d} %"
        print(line, end=end, file=sys.stderr, flush=True)  # noqa: T201
    elif done == total:
        _say("the model is checked")
