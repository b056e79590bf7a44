"""A shell line in; every command that it would run, with its redirections, out.

This reads bash's grammar only as far as is needed to name the commands: lists (`;`, `&`, newline), `&&`, `||`, pipes,
subshells, groups, `if`, `while`, `for`, substitutions (`$(…)`, backquotes, `<(…)`), quotes and redirections. Whatever
it does not know (here-documents, `case`, functions, arithmetic) makes the line not understood, which is never a yes.
What an expansion will become is not known either: such a word is not `static`, and no rule is matched by it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

__all__ = ["Command", "CommandLine", "Redirection", "Word", "parse"]

_MAX_LENGTH = 20_000
_MAX_DEPTH = 20
_OPENERS = frozenset({"if", "then", "elif", "else", "while", "until", "do", "!", "{", "time"})
_CLOSERS = frozenset({"fi", "done", "}"})
_UNKNOWN = frozenset({"case", "esac", "function", "coproc", "select", "[["})
_LONE = frozenset({"{", "[", "[["})
"""Words that are no pattern, though their characters begin one."""
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[[^\]]*\])?\+?=")
_REDIRECTION = re.compile(r"([0-9]*)(&>>|&>|>>|>\||>&|<<<|<<-?|<&|<>|>|<)")
_SEPARATOR = re.compile(r"&&|\|\||\|&|;|&|\||\n")
_RUNS_TEXT = re.compile(r"-[a-zA-Z]*c[a-zA-Z]*")
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash"})
_END_OF_WORD = frozenset(" \t\n;&|<>()")


class Word(NamedTuple):
    """One word; `text` is its value when it is static, else as it was written."""

    text: str
    static: bool = True


class Redirection(NamedTuple):
    """Where input comes from or output goes."""

    operator: str
    target: Word

    @property
    def writes(self) -> bool:
        """Whether it may create or change a file."""
        if self.operator in (">&", "<&") and self.target.static and re.fullmatch(r"[0-9]+-?|-", self.target.text):
            return False
        return ">" in self.operator and self.target != Word("/dev/null")


class Command(NamedTuple):
    """One command of a line, without what stands before it (`if`, `!`, assignments)."""

    words: tuple[Word, ...]
    redirections: tuple[Redirection, ...] = ()
    assigns: bool = False
    """Variables are set for it, or, without words, for all that follows."""

    @property
    def name(self) -> str | None:
        """The program's name without its directory; None when only the shell will know."""
        if not self.words or not self.words[0].static:
            return None
        return PurePosixPath(self.words[0].text).name


class CommandLine(NamedTuple):
    """All commands of a line, those in substitutions and in `sh -c '…'` included."""

    commands: tuple[Command, ...]
    understood: bool = True
    why: str = ""


class _Unknown(Exception):
    """Grammar that is not read here."""


def parse(line: str) -> CommandLine:
    """Every command of the line, as far as it is understood."""
    if len(line) > _MAX_LENGTH:
        return CommandLine((), False, f"it is longer than {_MAX_LENGTH} characters")
    if "\0" in line:
        return CommandLine((), False, "a NUL character")
    reader = _Reader(line, 0)
    try:
        reader.read_list(None)
    except _Unknown as why:
        return CommandLine(tuple(reader.commands), False, str(why))
    return CommandLine(tuple(reader.commands))


class _Reader:
    """Reads one line, or the inside of a substitution."""

    def __init__(self, text: str, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise _Unknown("it is nested too deeply")
        self._text = text
        self._at = 0
        self._depth = depth
        self.commands: list[Command] = []

    def _peek(self, length: int = 1) -> str:
        return self._text[self._at : self._at + length]

    def read_list(self, closer: str | None) -> None:
        """Commands up to the closing bracket, or to the end."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise _Unknown("it is nested too deeply")
        while True:
            self._read_command()
            if self._at >= len(self._text):
                if closer is not None:
                    raise _Unknown(f"a closing {closer} is missing")
                break
            if self._peek() == ")":
                if closer != ")":
                    raise _Unknown("a closing bracket too many")
                self._at += 1
                break
            separator = _SEPARATOR.match(self._text, self._at)
            if separator is None or self._peek(2) == ";;":
                raise _Unknown(f"unexpected {self._peek()!r}")
            self._at = separator.end()
        self._depth -= 1

    def _read_command(self) -> None:
        words: list[Word] = []
        redirections: list[Redirection] = []
        while self._skip_blanks():
            if self._peek() == "(":
                if self._peek(2) == "((" or words:
                    raise _Unknown("arithmetic, an array or a function")
                self._at += 1
                self.read_list(")")
            elif self._peek(2) in ("<(", ">("):
                self._at += 2
                self.read_list(")")
                words.append(Word("<(…)", static=False))
            elif redirection := _REDIRECTION.match(self._text, self._at):
                redirections.append(self._read_redirection(redirection))
            elif self._peek() in ")\n;&|":
                break
            else:
                words.append(self._read_word())
        self._keep(words, redirections)

    def _skip_blanks(self) -> bool:
        """Go to the next word; False at the end."""
        while self._at < len(self._text):
            if self._peek() in " \t":
                self._at += 1
            elif self._peek(2) == "\\\n":
                self._at += 2
            elif self._peek() == "#":
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            else:
                return True
        return False

    def _read_redirection(self, found: re.Match[str]) -> Redirection:
        operator = found[2]
        if operator in ("<<", "<<-"):
            raise _Unknown("a here-document")
        self._at = found.end()
        if not self._skip_blanks() or self._peek() in "\n;&|()":
            raise _Unknown("a redirection without a target")
        return Redirection(operator, self._read_word())

    def _keep(self, words: list[Word], redirections: list[Redirection]) -> None:
        """Store the command that the words make, without reserved words and assignments."""
        while words and words[0].static and words[0].text in (_OPENERS | _CLOSERS):
            is_timed, words = words[0].text == "time", words[1:]
            while is_timed and words and words[0] in (Word("-p"), Word("--")):
                words = words[1:]
        if words and words[0].static and words[0].text in _UNKNOWN:
            raise _Unknown(f"`{words[0].text}`")
        if words and words[0] == Word("for"):
            words = []
        count = 0
        while count < len(words) and _ASSIGNMENT.match(words[count].text):
            count += 1
        command = Command(tuple(words[count:]), tuple(redirections), count > 0)
        if command.words or command.redirections or command.assigns:
            self.commands.append(command)
            self._look_inside(command)

    def _look_inside(self, command: Command) -> None:
        """The line that a shell or `eval` is given to run."""
        inner: tuple[Word, ...] = ()
        if command.name in _SHELLS:
            flags = [place for place, word in enumerate(command.words) if _RUNS_TEXT.fullmatch(word.text)]
            inner = command.words[flags[0] + 1 : flags[0] + 2] if flags else ()
        elif command.name == "eval":
            inner = command.words[1:]
        if not all(word.static for word in inner):
            raise _Unknown("a computed line")
        if inner:
            self._read_inside(" ".join(word.text for word in inner))

    def _read_inside(self, text: str) -> None:
        reader = _Reader(text, self._depth + 1)
        try:
            reader.read_list(None)
        finally:
            self.commands += reader.commands

    # Words

    def _read_word(self) -> Word:
        start = self._at
        pieces: list[str] = []
        static = True
        while self._at < len(self._text) and self._peek() not in _END_OF_WORD:
            if self._peek(2) == "\\\n":
                self._at += 2
                continue
            for text, is_static in self._read_piece(at_start=self._at == start):
                pieces.append(text)
                static = static and is_static
        raw = self._text[start : self._at]
        return Word("".join(pieces)) if static or raw in _LONE else Word(raw, static=False)

    def _read_piece(self, *, at_start: bool) -> Iterator[tuple[str, bool]]:
        character = self._peek()
        self._at += 1
        if character == "'":
            yield self._up_to("'"), True
        elif character == '"':
            yield from self._read_double_quotes()
        elif character == "\\":
            yield self._peek(), True
            self._at += 1
        elif character == "$":
            yield self._read_dollar()
        elif character == "`":
            yield self._read_backquotes()
        else:
            yield character, not (character in "*?[{" or (character == "~" and at_start))

    def _up_to(self, end: str) -> str:
        place = self._text.find(end, self._at)
        if place < 0:
            raise _Unknown(f"a closing {end} is missing")
        text = self._text[self._at : place]
        self._at = place + 1
        return text

    def _read_double_quotes(self, closer: str = '"') -> Iterator[tuple[str, bool]]:
        """Up to the closing quote, or the closing brace of `${…}`, expanding what expands there."""
        yield "", True
        while True:
            if self._at >= len(self._text):
                raise _Unknown(f"a closing {closer} is missing")
            character = self._peek()
            self._at += 1
            if character == closer:
                return
            if character == "\\":
                escaped = self._peek()
                self._at += 1
                yield (escaped if escaped in '$`"\\' else "" if escaped == "\n" else f"\\{escaped}"), True
            elif character == "$":
                yield self._read_dollar(in_quotes=True)
            elif character == "`":
                yield self._read_backquotes()
            elif closer == "}" and character in "'\"":
                # Whether a quote quotes in here depends on what is around the braces.
                raise _Unknown("quotes inside `${…}`")
            else:
                yield character, True

    def _read_dollar(self, *, in_quotes: bool = False) -> tuple[str, bool]:
        """What follows a `$`; the value is never known here."""
        following = self._peek()
        if self._peek(2) == "((" or following == "[":
            raise _Unknown("arithmetic")
        if following == "(":
            self._at += 1
            self.read_list(")")
        elif following == "{":
            self._at += 1
            for _ in self._read_double_quotes("}"):
                pass
        elif following == "'" and not in_quotes:
            self._at += 1
            self._skip_ansi_quotes()
        elif found := re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]").match(self._text, self._at):
            self._at = found.end()
        else:
            return "$", in_quotes or following != '"'
        return "", False

    def _skip_ansi_quotes(self) -> None:
        found = re.compile(r"(?:[^'\\]|\\.)*'", re.DOTALL).match(self._text, self._at)
        if found is None:
            raise _Unknown("a closing ' is missing")
        self._at = found.end()

    def _read_backquotes(self) -> tuple[str, bool]:
        found = re.compile(r"((?:[^`\\]|\\.)*)`", re.DOTALL).match(self._text, self._at)
        if found is None:
            raise _Unknown("a closing ` is missing")
        self._at = found.end()
        if "\\" in found[1]:
            raise _Unknown("backslashes inside backquotes")  # what they escape depends on the quotes around
        self._read_inside(found[1])
        return "", False
