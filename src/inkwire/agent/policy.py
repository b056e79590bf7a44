"""A checked call in; allow, ask or deny, by whom and why, out.

    mode        reads     writes in the workspace    shell                         elsewhere
    read-only   allow     deny                       deny, unless sandboxed        deny
    ask         allow     ask                        ask                           ask
    auto        allow     allow                      ask; allow when sandboxed     ask
    yolo        allow     allow                      allow                         allow

Order: a deny rule wins over everything; then read-only; then yolo; then allow rules; then the mode. Of a shell line
every command must pass, those in pipes, lists and substitutions too, and every file it redirects into. File tools stay
in the workspace in every mode (their accesses see to that). A mode may change while a run is under way; it counts from
the next call.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from inkwire.agent.command_line import Command, CommandLine, parse
from inkwire.agent.dispatch import Decision
from inkwire.agent.rules import Rule, evaluates, for_command
from inkwire.errors import ConfigurationError
from inkwire.tools.base import Access, Tool, ToolContext

__all__ = ["MODES", "Mode", "Policy"]

Mode: TypeAlias = Literal["ask", "read-only", "auto", "yolo"]
MODES: tuple[Mode, ...] = get_args(Mode)

_ALLOW = Decision("allow")
# Whoever writes here decides what later commands do.
_GUARDED = (".git", ".hg", ".svn", ".inkwire")


class Policy:
    """What an agent may do."""

    def __init__(self, mode: Mode = "ask", *, allow: Iterable[str] = (), deny: Iterable[str] = ()) -> None:
        """Rules as text (see `rules`); raises `ConfigurationError` for a mode or rule that is none."""
        if mode not in MODES:
            raise ConfigurationError(f"unknown permission mode {mode!r}; there are: {', '.join(MODES)}")
        self.mode: Mode = mode
        self._allow = [Rule.parse(each) for each in allow]
        self._deny = [Rule.parse(each) for each in deny]

    @property
    def read_only(self) -> bool:
        """Whether nothing may be changed."""
        return self.mode == "read-only"

    @property
    def allowed(self) -> tuple[str, ...]:
        """The allow rules, those of "always" included."""
        return tuple(rule.text for rule in self._allow)

    def remember(self, rules: Sequence[str]) -> None:
        """Allow these from now on."""
        self._allow += [Rule.parse(each) for each in rules if each not in self.allowed]

    def decide(
        self, tool: Tool, arguments: Mapping[str, Any], accesses: tuple[Access, ...], context: ToolContext
    ) -> Decision:
        """The verdict on a call whose arguments fit; asks nobody and changes nothing."""
        line = parse(str(arguments.get(tool.command, ""))) if tool.command is not None else None
        paths = _relative(accesses, context.workspace)
        denied = self._denied(tool, line, [*paths, *_as_given(arguments, context.workspace)], context.workspace)
        if denied is not None:
            return denied
        doubt = self._doubt(tool, line)
        if doubt is not None and self.mode == "yolo":
            return doubt
        if self.mode == "read-only" and tool.writes:
            if tool.command is not None and context.sandbox:
                return _ALLOW
            return Decision("deny", "read-only mode", f"{tool.name} can change things")
        if doubt is None and (self.mode == "yolo" or self._allowed(tool, line, paths)):
            return _ALLOW
        if not tool.writes:
            return _ALLOW
        if doubt is None and self.mode == "auto" and self._is_harmless(tool, accesses, paths, context):
            return _ALLOW
        return Decision("ask", "the user", _reason(tool, line, paths), _always(tool, line, paths))

    def _denied(self, tool: Tool, line: CommandLine | None, paths: Sequence[str], workspace: Path) -> Decision | None:
        for rule in self._deny:
            if not rule.names(tool.name):
                continue
            if line is None:
                hit = rule.pattern is None or any(
                    rule.forbids_path(path, is_directory=(workspace / path).is_dir()) for path in paths
                )
            else:
                hit = rule.pattern is None or any(rule.forbids_command(command) for command in line.commands)
            if hit:
                return Decision("deny", f"the rule {rule.text}")
        return None

    def _doubt(self, tool: Tool, line: CommandLine | None) -> Decision | None:
        """The denial of a line of which it cannot be told whether a rule forbids it: then nothing allows it unasked."""
        for rule in self._deny if line is not None else ():
            assert line is not None
            if not rule.names(tool.name):
                continue
            if not line.understood or any(rule.may_forbid_command(command) for command in line.commands):
                why = line.why or "what it would run is not known before it runs"
                return Decision("deny", f"the rule {rule.text}", f"the line cannot be checked against it: {why}")
        return None

    def _allowed(self, tool: Tool, line: CommandLine | None, paths: Sequence[str]) -> bool:
        rules = [rule for rule in self._allow if rule.names(tool.name)]
        if any(rule.pattern is None for rule in rules):
            return True
        if line is None:
            return bool(paths) and all(any(rule.fits_path(path) for rule in rules) for path in paths)
        return (
            line.understood
            and bool(line.commands)
            and all(
                _is_plain(command) and any(rule.fits_command(command) for rule in rules) for command in line.commands
            )
        )

    def _is_harmless(
        self, tool: Tool, accesses: tuple[Access, ...], paths: Sequence[str], context: ToolContext
    ) -> bool:
        if tool.command is not None:
            return context.sandbox
        inside = all(each.path is not None and Path(each.path).is_relative_to(context.workspace) for each in accesses)
        return bool(accesses) and inside and not any(_is_guarded(path) for path in paths)


def _always(tool: Tool, line: CommandLine | None, paths: Sequence[str]) -> tuple[str, ...]:
    """The rules that a yes for ever would add; none when they would allow more than is seen."""
    if line is None:
        return () if any(_is_guarded(path) for path in paths) else (tool.name,)
    if not line.understood:
        return ()
    rules = [for_command(tool.name, command) for command in line.commands]
    known = [rule for rule in dict.fromkeys(rules) if rule is not None]
    return tuple(known) if known and None not in rules else ()


def _relative(accesses: tuple[Access, ...], workspace: Path) -> list[str]:
    """The paths of the accesses, inside the workspace relative to it."""
    paths = [Path(each.path) for each in accesses if each.path is not None]
    return [str(path.relative_to(workspace) if path.is_relative_to(workspace) else path) for path in paths]


def _as_given(arguments: Mapping[str, Any], workspace: Path) -> list[str]:
    """The path as the call names it, before links are followed."""
    given = arguments.get("path")
    if not isinstance(given, str):
        return []
    path = Path(os.path.normpath(workspace / given))
    return [str(path.relative_to(workspace))] if path.is_relative_to(workspace) else []


def _is_plain(command: Command) -> bool:
    return not command.assigns and not evaluates(command) and not any(each.writes for each in command.redirections)


def _is_guarded(path: str) -> bool:
    return any(part in _GUARDED for part in Path(path).parts)


def _reason(tool: Tool, line: CommandLine | None, paths: Sequence[str]) -> str:
    if line is not None and not line.understood:
        return f"{tool.name} would run a line that is not understood ({line.why})"
    if line is not None:
        names = list(dict.fromkeys(command.name or "a computed command" for command in line.commands))
        targets = [each.target.text for command in line.commands for each in command.redirections if each.writes]
        written = f" and write {', '.join(dict.fromkeys(targets))}" if targets else ""
        return f"{tool.name} would run {', '.join(names) or 'nothing'}{written}"
    guarded = [path for path in paths if _is_guarded(path)]
    if guarded:
        return f"{tool.name} would change {guarded[0]}, which decides what later commands do"
    return f"{tool.name} would change {', '.join(paths)}" if paths else f"{tool.name} can change things"
