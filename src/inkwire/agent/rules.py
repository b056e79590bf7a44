"""A rule as it is written in; whether it fits a call, out.

    bash(git status)         this command without further words
    bash(git log *)          with any further words; a `*` in the middle stands for one word
    edit(src/**/*.py)        paths in the workspace: `*` within a name, `**` over directories
    read                     every call of the tool; `mcp__github__*` every tool of that beginning

A shell rule is about one command, never about a line: the policy asks about each of them.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import PurePosixPath

import msgspec

from inkwire.agent.command_line import Command, Word
from inkwire.errors import ConfigurationError
from inkwire.tools.globs import Glob

__all__ = ["INTERPRETERS", "Rule", "evaluates", "for_command", "runs_others"]

_WRITTEN = re.compile(r"([\w.*-]+)(?:\((.*)\))?", re.DOTALL)


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


INTERPRETERS = _words(
    "python python2 python3 pypy pypy3 node deno bun perl ruby php lua luajit tclsh osascript pwsh powershell R",
    "Rscript sh bash zsh dash ksh ash fish csh tcsh awk gawk mawk sed ed ex vi vim emacs eval exec source . env xargs",
    "parallel sudo doas su ssh find fd docker podman kubectl npx pnpx bunx uvx pipx watch nohup timeout nice setsid",
    "stdbuf flock strace gdb busybox command builtin script time curl wget ftp rsync scp nc ncat socat tar trap alias",
)
"""Programs that run whatever they are told, or write where they are told: "always" is never offered for them."""

_DESTRUCTIVE = _words("rm rmdir mv cp dd tee ln chmod chown install truncate shred mkfs kill pkill killall")
"""Programs whose arguments say what is lost: a yes to one call is no yes to all."""
_RUNNERS = frozenset(
    {
        *(
            ("git", name)
            for name in ("config", "bisect", "rebase", "submodule", "filter-branch", "difftool", "mergetool")
        ),
        *((name, verb) for name in ("npm", "pnpm", "yarn") for verb in ("exec", "x", "dlx")),
        ("go", "run"),
        ("go", "generate"),
    }
)
"""Subcommands that run what they are told, or decide what others run."""
_WRAPPERS = _words(
    "env xargs parallel sudo doas nohup timeout nice setsid stdbuf flock strace busybox command builtin exec time",
    "watch find fd ionice chroot unshare npx uvx",
)
_SHELLS = _words("sh bash zsh dash ksh ash fish csh tcsh")
_EVALUATING = _words("test [ printf read declare typeset local export readonly let unset mapfile readarray wait")
"""Builtins that run a substitution which stands in a variable's name: `printf -v 'a[$(…)]'`."""
_SEARCHERS = _words("find fd")
"""Their computed words are nearly always names of files."""
_UNKNOWN = Word("…", static=False)
_INNER_WORD = re.compile(r"[$]?[\w./:@%+=,-]+|[$]")
_GLOB = re.compile(r"[*?\[]")
_WITH_SUBCOMMANDS = _words("git npm pnpm yarn cargo go pip uv poetry hatch make just gh brew apt systemctl")
_NESTED = {("npm", "run"), ("pnpm", "run"), ("yarn", "run"), ("uv", "run"), ("poetry", "run"), ("hatch", "run")}


class Rule(msgspec.Struct, frozen=True):
    """One rule, parsed."""

    text: str
    tool: str
    pattern: str | None = None

    @classmethod
    def parse(cls, text: str) -> Rule:
        """The rule; raises `ConfigurationError`."""
        found = _WRITTEN.fullmatch(text.strip())
        if found is None:
            raise ConfigurationError(f"not a rule: {text!r}; write a tool's name, `bash(git log *)` or `edit(src/**)`")
        pattern = found[2].strip() if found[2] is not None else None
        return cls(text.strip(), found[1], pattern if pattern not in ("", "*", "**") else None)

    def names(self, tool: str) -> bool:
        """Whether it is about that tool."""
        return fnmatch.fnmatchcase(tool, self.tool)

    def fits_command(self, command: Command) -> bool:
        """Whether the command is one that the rule names: word by word, so `git status-x` is no `git status`."""
        return self.pattern is None or _fits(self.pattern.split(), command.words, by_name=False)

    def forbids_command(self, command: Command) -> bool:
        """The same, seen strictly: in any directory, and behind `env`, `sudo` and the like."""
        if self.pattern is None:
            return True
        return any(_fits(self.pattern.split(), words, by_name=True) for words in _readings(command))

    def may_forbid_command(self, command: Command) -> bool:
        """Whether the command could turn out to be one that the rule names: what is computed may be any word."""
        wanted = self._words
        return not wanted or any(_may_fit(wanted, words) for words in _loose_readings(command))

    @property
    def _words(self) -> list[str]:
        words = self.pattern.split() if self.pattern is not None else []
        return words[:-1] if words[-1:] == ["*"] else words

    def forbids_path(self, path: str, *, is_directory: bool) -> bool:
        """The same as `fits_path`, seen strictly: a directory stands for all that is below it."""
        if self.pattern is None or self.fits_path(path):
            return True
        if not is_directory:
            return False
        base = PurePosixPath(*takewhile(lambda part: not _GLOB.search(part), PurePosixPath(self.pattern).parts))
        return self.fits_path(f"{path}/x") or base.is_relative_to(path) or not base.parts

    def fits_path(self, path: str) -> bool:
        """Whether the path, relative to the workspace, is one that the rule names."""
        return self.pattern is None or Glob(self.pattern).matches(path)


def _readings(command: Command) -> Iterator[tuple[Word, ...]]:
    yield command.words
    if command.name in _WRAPPERS:
        for place in range(1, len(command.words)):
            yield command.words[place:]


def _loose_readings(command: Command) -> Iterator[tuple[Word, ...]]:
    """Everything that the command may run: itself, what it wraps, and what stands in a text that it is given."""
    yield command.words
    if not (runs_others(command) or command.name in _EVALUATING):
        return
    words = command.words
    if command.name in ("xargs", "parallel"):
        words = (*words, _UNKNOWN)
    for place in range(1, len(words)):
        if words[place].static or command.name not in _SEARCHERS:
            yield words[place:]
    if command.name in _SHELLS and not any(not word.text.startswith("-") for word in words[1:]):
        yield (_UNKNOWN,)  # it runs what it reads
    if any(redirection.operator == "<<<" for redirection in command.redirections):
        yield (_UNKNOWN,)
    for word in words[1:]:
        if word.static:
            inner = tuple(Word(text, not text.startswith("$")) for text in _INNER_WORD.findall(word.text))
            yield from (inner[place:] for place in range(len(inner)) if inner[place].static)


def _may_fit(wanted: list[str], words: tuple[Word, ...]) -> bool:
    """Whether the words may be the wanted ones, once options are read and what is computed is known."""
    if not words:
        return False
    if not words[0].static:
        return True
    if wanted[0] not in ("*", words[0].text, words[0].text.rpartition("/")[2]):
        return False
    left, loose = list(wanted[1:]), False
    for word in words[1:]:
        if not left:
            return True
        if not word.static:
            return True
        if left[0] in ("*", word.text):
            left.pop(0)
        elif word.text.startswith("-"):
            loose = True  # it may take the next word, and what is wanted comes later
        elif not loose:
            return False
    return not left


def _fits(pattern: list[str], words: tuple[Word, ...], *, by_name: bool) -> bool:
    is_open = pattern[-1:] == ["*"]
    wanted = pattern[:-1] if is_open else pattern
    if len(words) < len(wanted) or (len(words) > len(wanted) and not is_open):
        return False
    for place, (want, word) in enumerate(zip(wanted, words, strict=False)):
        text = word.text.rpartition("/")[2] if by_name and place == 0 and "/" not in want else word.text
        if not word.static or (want != "*" and want != text):
            return False
    return True


def evaluates(command: Command) -> bool:
    """Whether a builtin may run a substitution inside a word that looks like plain text."""
    return command.name in _EVALUATING and any("$(" in word.text or "`" in word.text for word in command.words)


def runs_others(command: Command) -> bool:
    """Whether the program runs what its arguments say."""
    name = command.name
    return name is None or name in INTERPRETERS or re.fullmatch(r"(python|pypy|node|ruby|perl)[\d.]+", name) is not None


def for_command(tool: str, command: Command) -> str | None:
    """The rule that "always" stands for; None when there is none that is safe to offer."""
    if runs_others(command) or command.assigns or any(each.writes for each in command.redirections):
        return None
    kept = _telling(command)
    texts = [word.text for word in kept]
    plain = all(word.static and re.fullmatch(r"[\w./:@+-]+", word.text) for word in kept)
    if not plain or any(text.startswith("-") for text in texts[1:]):
        return None
    if command.name in _DESTRUCTIVE or tuple(texts[:2]) in _RUNNERS or any(text in INTERPRETERS for text in texts[1:]):
        return None
    rest = " *" if len(kept) == _depth(command) else ""  # `git` alone says nothing of `git push`
    return f"{tool}({' '.join(texts)}{rest})"


def _telling(command: Command) -> tuple[Word, ...]:
    """The words that say what kind of command it is: `pytest`, `git log`, `npm run build`."""
    return command.words[: _depth(command)]


def _depth(command: Command) -> int:
    if command.name not in _WITH_SUBCOMMANDS:
        return 1
    return 3 if tuple(word.text for word in command.words[:2]) in _NESTED else 2
