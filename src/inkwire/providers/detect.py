"""What is known of the flags, files, keys and local servers in; the model to use, and why, out.

The first that says something counts: the flag, `INKWIRE_MODEL`, the project's file, the user's file, a key in the
environment in the catalog's order, a local server that answers, and at last, for a person at a terminal only, the
built-in reader: in a script a misspelt key must never look like success.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from inkwire.errors import ConfigurationError
from inkwire.providers.base import Provider
from inkwire.providers.config import Config, providers_of
from inkwire.providers.resolve import key_variable

__all__ = ["FALLBACK", "Choice", "Facts", "LocalServer", "choose", "needs_probe", "nothing_found"]

FALLBACK = "builtin/reader"


class LocalServer(msgspec.Struct, frozen=True):
    """A server on this machine that answered, with the models it has, best first."""

    provider: str
    models: tuple[str, ...]


class Facts(msgspec.Struct, frozen=True):
    """Everything the choice of a model depends on."""

    environ: Mapping[str, str]
    flag: str | None = None
    project: Config = Config()
    project_file: Path | None = None
    user: Config = Config()
    user_file: Path | None = None
    servers: tuple[LocalServer, ...] = ()
    interactive: bool = False


class Choice(msgspec.Struct, frozen=True):
    """A model's name and where it came from, in words for the user."""

    model: str
    origin: str
    fallback: bool = False
    """Nothing else was there: it must be announced."""


def choose(facts: Facts) -> Choice:
    """The model to use.

    Raises `ConfigurationError` that says what to set when there is none.
    """
    found = _said(facts) or _keyed(facts) or _served(facts)
    if found is not None:
        return found
    if facts.interactive:
        return Choice(FALLBACK, "no model was named, no key is set, no local server answers", fallback=True)
    raise ConfigurationError(nothing_found())


def needs_probe(facts: Facts) -> bool:
    """Whether it must be known which local servers answer."""
    return _said(facts) is None and _keyed(facts) is None


def nothing_found() -> str:
    """What to do when there is no model."""
    return (
        "no model: nothing names one, no provider's key is set and no local server answers. Do one of these:\n"
        "  - set a key, for example OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY\n"
        "  - name a model: -m provider/model, or INKWIRE_MODEL\n"
        "  - start Ollama, LM Studio, llama.cpp or vLLM on this machine\n"
        "  - or try it without any model: -m builtin/reader (fixed rules)"
    )


def _said(facts: Facts) -> Choice | None:
    said = (
        (facts.flag, "the flag -m"),
        (facts.environ.get("INKWIRE_MODEL"), "INKWIRE_MODEL"),
        (facts.project.model, str(facts.project_file)),
        (facts.user.model, str(facts.user_file)),
    )
    return next((Choice(model, origin) for model, origin in said if model), None)


def _keyed(facts: Facts) -> Choice | None:
    for provider in providers_of(facts.user).values():
        variable = key_variable(provider, facts.environ)
        if variable and provider.default_model and not provider.local:
            return Choice(f"{provider.name}/{provider.default_model}", f"{variable} is set")
    return None


def _served(facts: Facts) -> Choice | None:
    known: Mapping[str, Provider] = providers_of(facts.user)
    for server in facts.servers:
        if server.models and server.provider in known:
            return Choice(f"{server.provider}/{server.models[0]}", f"{server.provider} answers on this machine")
    return None
