"""`inkwire config`: every setting with its value and where that came from; of a key only whether it is set."""

from __future__ import annotations

from collections.abc import Iterator

import click
import msgspec

from inkwire.cli.context import choose_model, gather, run
from inkwire.errors import ConfigurationError
from inkwire.providers.config import DEFAULT_MAX_TURNS, providers_of
from inkwire.providers.detect import Facts
from inkwire.providers.resolve import address_of, key_variable
from inkwire.terminal.sanitize import sanitize_line

__all__ = ["Setting", "config", "settings"]


class Setting(msgspec.Struct, frozen=True):
    """One line of the list."""

    name: str
    value: str
    origin: str


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object a line.")
def config(as_json: bool) -> None:
    """Show which value came from where. Keys are never shown, only that they are set."""
    rows = run(_all())
    if as_json:
        for row in rows:
            click.echo(msgspec.json.encode(row))
        return
    widths = [max(len(getattr(row, field)) for row in rows) for field in ("name", "value")]
    for row in rows:
        click.echo(f"{row.name:<{widths[0]}}  {row.value:<{min(widths[1], 60)}}  {row.origin}".rstrip())


async def _all() -> list[Setting]:
    facts = gather(interactive=True)
    try:
        choice = await choose_model(facts)
        model = Setting("model", sanitize_line(choice.model), choice.origin)
    except ConfigurationError as error:
        model = Setting("model", "(none)", str(error).partition("\n")[0])
    return [model, *settings(facts)]


def settings(facts: Facts) -> Iterator[Setting]:
    """Files, limits, permissions, keys, addresses and proxies, each with its origin."""
    yield _file("user file", str(facts.user_file), exists=bool(facts.user_file and facts.user_file.is_file()))
    yield _file("project file", str(facts.project_file or "(none)"), exists=facts.project_file is not None)
    yield Setting("permission mode", facts.user.permission_mode or "ask", _origin(facts, facts.user.permission_mode))
    turns = facts.project.max_turns or facts.user.max_turns
    origin = str(facts.project_file) if facts.project.max_turns else _origin(facts, facts.user.max_turns)
    yield Setting("max turns", str(turns or DEFAULT_MAX_TURNS), origin)
    user = facts.user
    limits: dict[str, object] = {
        "max cost": user.max_cost,
        "max time": None if user.max_time_seconds is None else f"{user.max_time_seconds:g} s",
        "context window": user.context_window,
        "continuations": user.continuations or None,
        "sandbox": "yes" if user.sandbox else None,
    }
    for name, value in limits.items():
        if value is not None:
            yield Setting(name, str(value), str(facts.user_file))
    for name, rules in (("allowed", user.allowed_tools), ("denied", user.denied_tools)):
        for rule in rules:
            yield Setting(name, sanitize_line(rule), str(facts.user_file))
    for name, server in user.mcp.items():
        where = " ".join(server.command) or _without_password(server.url)
        yield Setting(f"mcp {name}", sanitize_line(where), str(facts.user_file))
        yield from _entry(f"mcp {name}", server, ("command", "url"), str(facts.user_file))
    for provider in providers_of(facts.user).values():
        where = str(facts.user_file) if provider.name in facts.user.providers else ""
        if variable := key_variable(provider, facts.environ):
            yield Setting(f"{provider.name} key", "set", variable)
        moved = provider.base_url_env if provider.base_url_env and facts.environ.get(provider.base_url_env) else None
        if moved or where:
            yield Setting(f"{provider.name} address", sanitize_line(_address(facts, provider.name)), moved or where)
        if provider.name in user.providers:
            yield from _entry(provider.name, user.providers[provider.name], ("base_url",), where)
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "NO_COLOR"):
        if value := facts.environ.get(name) or facts.environ.get(name.lower()):
            yield Setting(name.lower().replace("_", " "), "set" if "@" in value else sanitize_line(value), name)


def _entry(name: str, entry: msgspec.Struct, told: tuple[str, ...], origin: str) -> Iterator[Setting]:
    """What a table of the file sets and is not told yet; of headers and variables only the names."""
    silent = type(entry)()
    for field, value in msgspec.structs.asdict(entry).items():
        if field in told or value == getattr(silent, field):
            continue
        if field == "quirks":
            value = [f"{quirk} = {setting}" for quirk, setting in value.items()]
        if isinstance(value, bool):
            value = "yes" if value else "no"
        words = value if isinstance(value, str) else ", ".join(value)
        yield Setting(f"{name} {field.replace('_', ' ')}", sanitize_line(words), origin)


def _address(facts: Facts, name: str) -> str:
    try:
        return _without_password(address_of(providers_of(facts.user)[name], facts.environ))
    except ConfigurationError as error:
        return f"wrong: {error}"


def _without_password(address: str) -> str:
    scheme, _, rest = address.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


def _file(name: str, path: str, *, exists: bool) -> Setting:
    return Setting(name, sanitize_line(path), "read" if exists else "not there")


def _origin(facts: Facts, value: object) -> str:
    return str(facts.user_file) if value is not None else "default"
