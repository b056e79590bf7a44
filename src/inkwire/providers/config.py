"""The text of a configuration file in, typed settings out; every error names the file and the line or key.

The user's own file may set everything. A project's file comes with whatever was cloned, so it may choose a model and
a lower number of turns, but no addresses, headers or permissions: an address for a provider whose key is set would
send the key there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from inkwire.errors import ConfigurationError
from inkwire.protocols import NAMES
from inkwire.protocols.base import Quirks
from inkwire.providers.base import Auth, Provider
from inkwire.providers.catalog import CATALOG

__all__ = [
    "DEFAULT_MAX_TURNS",
    "PROJECT_FILE",
    "Config",
    "MCPEntry",
    "PermissionMode",
    "ProviderEntry",
    "find_project_file",
    "load",
    "parse",
    "providers_of",
    "user_file",
]

DEFAULT_MAX_TURNS = 1_000
"""Answers of the model in one run, where nothing says otherwise."""
PROJECT_FILE = ".inkwire.toml"
PermissionMode: TypeAlias = Literal["ask", "read-only", "auto", "yolo"]

_PROJECT_KEYS = ("model", "max_turns")
_AT_LINE = re.compile(r"line (\d+)")
_AT_KEY = re.compile(r" - at `\$\.?(.*?)`$")
_MOST_BYTES = 1024 * 1024


class ProviderEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `[providers.NAME]` table: a new provider, or the fields of a known one that differ."""

    base_url: str | None = None
    protocol: str | None = None
    key_env: str | tuple[str, ...] | None = None
    """The name of the environment variable that holds the key; keys themselves do not belong into a file."""
    key_optional: bool | None = None
    base_url_env: str | None = None
    auth: Auth | None = None
    quirks: dict[str, Any] | None = None
    headers: dict[str, str] | None = None
    default_model: str | None = None
    local: bool | None = None


class MCPEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One `[mcp.NAME]` table: a server whose tools the agent may use, by the command to start or by its address."""

    command: tuple[str, ...] = ()
    url: str = ""
    env: dict[str, str] = {}
    headers: dict[str, str] = {}
    tools: tuple[str, ...] = ()
    """Only these; empty: all."""
    trust_annotations: bool = False


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a configuration file says; None where it says nothing."""

    model: str | None = None
    permission_mode: PermissionMode | None = None
    max_turns: int | None = None
    max_cost: float | None = None
    max_time_seconds: float | None = None
    allowed_tools: tuple[str, ...] = ()
    denied_tools: tuple[str, ...] = ()
    """Rules that win over everything, `yolo` included: `bash(git push *)`, `write(secrets/*)`."""
    continuations: int = 0
    """How often an answer that was cut at the output limit is continued by itself, for each prompt."""
    context_window: int | None = None
    """In tokens; when the conversation fills it, a summary takes the place of its beginning."""
    sandbox: bool = False
    """Run `bash` in bubblewrap, where this machine has it."""
    mcp: dict[str, MCPEntry] = {}
    providers: dict[str, ProviderEntry] = {}


def user_file(environ: Mapping[str, str]) -> Path:
    """Where the user's file is: `INKWIRE_CONFIG`, else `config.toml` in the platform's configuration directory."""
    if named := environ.get("INKWIRE_CONFIG"):
        return Path(named)
    import platformdirs

    return Path(platformdirs.user_config_dir("inkwire", appauthor=False)) / "config.toml"


def find_project_file(directory: Path) -> Path | None:
    """The nearest `.inkwire.toml` from `directory` up to the root of its repository, or of the file system."""
    for place in (directory, *directory.parents):
        if (place / PROJECT_FILE).is_file():
            return place / PROJECT_FILE
        if (place / ".git").exists():
            return None
    return None


def load(path: Path, *, trusted: bool) -> Config:
    """The settings in the file at `path`; empty when there is none.

    Raises `ConfigurationError` when it cannot be read or says something that is not allowed.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return Config()
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read: {error.strerror or error}") from error
    if len(raw) > _MOST_BYTES:
        raise ConfigurationError(f"{path}: larger than {_MOST_BYTES} bytes; a configuration file is short")
    return parse(raw.decode("utf-8", "replace"), path=str(path), trusted=trusted)


def parse(text: str, *, path: str, trusted: bool) -> Config:
    """The settings in `text`; `trusted` is false for a project's file.

    Raises `ConfigurationError` that names `path` and the line or key.
    """
    try:
        config = msgspec.toml.decode(text, type=Config)
    except msgspec.ValidationError as error:
        raise ConfigurationError(_where(str(error), text, path)) from error
    except msgspec.DecodeError as error:
        found = _AT_LINE.search(str(error))
        line = int(found[1]) if found else len(text.splitlines())
        raise ConfigurationError(f"{path}, line {line}: this is not TOML: {error}") from error
    if not trusted:
        _refuse_untrusted(text, path)
    for name, entry in config.providers.items():
        _check_entry(name, entry, path)
    return config


def _where(message: str, text: str, path: str) -> str:
    """msgspec's message with its `$.a.b` turned into a key and, where it can be found, a line."""
    found = _AT_KEY.search(message)
    words = message[: found.start()] if found else message
    keys = found[1].split(".") if found and found[1] else []
    if unknown := re.search(r"unknown field `(.+?)`", words):
        keys.append(unknown[1])
        words = "there is no such setting"
    line = _line_of(keys, text)
    place = f"{path}, line {line}" if line else path
    return f"{place}: {'.'.join(keys) or 'the file'}: {words}"


def _line_of(keys: list[str], text: str) -> int | None:
    """The line of the innermost key, searched below its table's header; None when it is not found."""
    start = 0
    lines = text.splitlines()
    for key in (re.sub(r"\[.*\]$", "", key) for key in keys):
        pattern = re.compile(rf"^\s*(?:\[.*\b{re.escape(key)}\b.*\]|[\"']?{re.escape(key)}[\"']?\s*[=.])")
        found = next((number for number in range(start, len(lines)) if pattern.match(lines[number])), None)
        if found is not None:
            start = found
    return start + 1 if lines and keys else None


def _refuse_untrusted(text: str, path: str) -> None:
    for key in msgspec.toml.decode(text):
        if key not in _PROJECT_KEYS:
            raise ConfigurationError(
                f"{path}, line {_line_of([key], text)}: {key}: a project's file may set only "
                f"{' and '.join(_PROJECT_KEYS)}, because it comes with the project and could send your keys elsewhere; "
                f"if you want this, put it into your own configuration (see `inkwire config`)"
            )


def _check_entry(name: str, entry: ProviderEntry, path: str) -> None:
    where = f"{path}: providers.{name}"
    if "/" in name:
        raise ConfigurationError(f"{where}: a provider's name has no slash")
    if name not in CATALOG and not entry.base_url:
        raise ConfigurationError(f"{where}: a new provider needs a base_url")
    if entry.protocol is not None and entry.protocol not in NAMES:
        raise ConfigurationError(f"{where}.protocol: unknown protocol {entry.protocol!r}; known are {', '.join(NAMES)}")
    unknown = sorted(set(entry.quirks or {}) - set(Quirks.__struct_fields__))
    if unknown:
        known = ", ".join(Quirks.__struct_fields__)
        raise ConfigurationError(f"{where}.quirks: unknown quirk {unknown[0]!r}; known are {known}")
    try:
        _apply(name, entry)
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"{where}.quirks: {error}") from error


def providers_of(config: Config) -> dict[str, Provider]:
    """The catalog with the entries of the user's configuration over it."""
    return {**CATALOG, **{name: _apply(name, entry) for name, entry in config.providers.items()}}


def _apply(name: str, entry: ProviderEntry) -> Provider:
    base = CATALOG.get(name) or Provider(name, "", "chat", source="configuration")
    changes = {field: value for field in entry.__struct_fields__ if (value := getattr(entry, field)) is not None}
    if "key_env" in changes:
        changes["key_env"] = (entry.key_env,) if isinstance(entry.key_env, str) else entry.key_env
    if entry.quirks is not None:
        changes["quirks"] = msgspec.convert({**msgspec.to_builtins(base.quirks), **entry.quirks}, Quirks)
    return msgspec.structs.replace(base, **changes)
