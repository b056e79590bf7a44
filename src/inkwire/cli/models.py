"""`inkwire models`: what can be reached from here, by asking every provider that has a key and every local server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import click
import msgspec

from inkwire.cli.context import gather, run
from inkwire.errors import InkwireError
from inkwire.local.model_package import MODEL_NAME, is_installed
from inkwire.providers.base import Provider
from inkwire.providers.config import providers_of
from inkwire.providers.detect import FALLBACK, Facts
from inkwire.providers.resolve import key_variable, resolve
from inkwire.terminal.sanitize import sanitize_line

__all__ = ["Reach", "models"]

_LOCAL = "local"
_MOST_SHOWN = 12


class Reach(msgspec.Struct, frozen=True):
    """What asking one provider gave."""

    provider: str
    models: tuple[str, ...] = ()
    problem: str = ""


@click.command()
@click.argument("provider", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one provider a line.")
@click.option("--timeout", "timeout_seconds", default=5.0, show_default=True, help="Seconds to wait for each list.")
def models(provider: str | None, as_json: bool, timeout_seconds: float) -> None:
    """List the models that can be reached: of PROVIDER, or of all that have a key or run on this machine."""
    reached = run(_reach_all(provider, timeout_seconds))
    for reach in reached:
        if as_json:
            click.echo(msgspec.json.encode(reach))
        else:
            click.echo("\n".join(_lines(reach, everything=provider is not None)))
    if not as_json and provider is None:
        click.echo(f"{FALLBACK}\n  always there: fixed rules, no language model")
        if not reached:
            click.echo(
                "\nNo provider's key is set and no local server answers. Set a key such as OPENAI_API_KEY, or start "
                "Ollama, LM Studio, llama.cpp or vLLM."
            )


async def _reach_all(name: str | None, timeout_seconds: float) -> list[Reach]:
    facts = gather()
    asked = list(_asked(facts, name))
    found = await asyncio.gather(*(_reach(facts, provider, timeout_seconds) for provider in asked))
    # A local server that is simply not running is no news, unless it was asked for.
    return [reach for reach, provider in zip(found, asked, strict=True) if name or reach.models or not provider.local]


def _asked(facts: Facts, name: str | None) -> Iterator[Provider]:
    known = providers_of(facts.user)
    if name is not None:
        if name not in known:
            # Says what is known.
            resolve(f"{name}/any", environ=facts.environ, config=facts.user)
        yield known[name]
        return
    for provider in known.values():
        moved = provider.base_url_env and facts.environ.get(provider.base_url_env)
        keyed = key_variable(provider, facts.environ) is not None or (provider.name == "custom" and moved)
        carried = provider.name == _LOCAL and is_installed()
        if provider.local or carried or (keyed and not provider.embedded):
            yield provider


async def _reach(facts: Facts, provider: Provider, timeout_seconds: float) -> Reach:
    from inkwire.local.probe import models_at

    if provider.name == _LOCAL:
        if is_installed():
            return Reach(provider.name, (MODEL_NAME,))
        return Reach(provider.name, problem=f"any GGUF file: -m {_LOCAL}/PATH, with the extra `local`")
    if provider.embedded:
        return Reach(provider.name, (FALLBACK.partition("/")[2],))
    if provider.protocol == "bedrock":
        return Reach(provider.name, problem="no list to ask; see the model catalog of the AWS console")
    try:
        target = resolve(f"{provider.name}/any", environ=facts.environ, config=facts.user)
        return Reach(provider.name, await models_at(target, timeout_seconds=timeout_seconds))
    except InkwireError as error:
        return Reach(provider.name, problem=str(error))


def _lines(reach: Reach, *, everything: bool) -> Iterator[str]:
    if reach.problem:
        yield f"{reach.provider}\n  {sanitize_line(reach.problem)}"
        return
    shown = reach.models if everything else reach.models[:_MOST_SHOWN]
    for name in shown:
        yield f"{reach.provider}/{sanitize_line(name)}"
    if len(shown) < len(reach.models):
        yield f"  … and {len(reach.models) - len(shown)} more: inkwire models {reach.provider}"
