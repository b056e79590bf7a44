"""A search as JSON on the command line in; matching lines, as ripgrep prints them, out. Runs as a child process.

Where there is no ripgrep. Python's `re` cannot be interrupted, and a pattern can take it for ever; a process can be
killed.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from inkwire.tools.globs import Glob, walk

__all__ = ["main", "search"]

_SNIFFED = 8192
_MAX_FILE_BYTES = 64 * 1024 * 1024
_MAX_COLUMNS = 500


def main(written: str) -> int:
    """Print what is found; 0 with matches, 1 without, 2 for a pattern that is none."""
    options = json.loads(written)
    count = 0
    try:
        for line in search(options):
            sys.stdout.write(f"{line}\n")
            count += 1
            if count > options["limit"]:
                break
    except re.error as error:
        sys.stdout.write(f"not a regular expression: {error}\n")
        return 2
    sys.stdout.flush()
    return 0 if count else 1


def search(options: dict[str, Any]) -> Iterator[str]:
    """`path:line:text` for each match, `path-line-text` for the lines around it, `--` between groups."""
    pattern = re.escape(options["pattern"]) if options["literal"] else options["pattern"]
    wanted = re.compile(pattern, re.IGNORECASE if options["ignore_case"] else 0)
    for path, shown in _files(options):
        text = _text(path)
        if text is not None:
            yield from _matches(wanted, text, shown, options["context"])


def _files(options: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    top, above = Path(options["top"]), Path(options["workspace"])
    if top.is_file():
        yield top, options["shown"]
        return
    glob = options["glob"]
    named = Glob(glob if not glob or "/" in glob else f"**/{glob}") if glob else None
    prefix = "" if options["shown"] in ("", ".") else f"{options['shown']}/"
    for found in walk(top, above=above):
        if not found.is_directory and (named is None or named.matches(found.path)):
            yield top / found.path, f"{prefix}{found.path}"


def _text(path: Path) -> str | None:
    """The file's text; None for what is no text file or lies behind a link."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_FILE_BYTES:
            return None
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read()
    finally:
        os.close(descriptor)
    return None if b"\0" in data[:_SNIFFED] else data.decode("utf-8", "replace")


def _matches(wanted: re.Pattern[str], text: str, shown: str, around: int) -> Iterator[str]:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    last = -1
    for number, line in enumerate(lines):
        if not wanted.search(line):
            continue
        start = max(number - around, last + 1)
        if around and last >= 0 and start > last + 1:
            yield "--"
        for before in range(start, number):
            yield _line(shown, "-", before, lines[before])
        if number > last:
            yield _line(shown, ":", number, line)
            last = number
        for after in range(number + 1, min(number + around + 1, len(lines))):
            if wanted.search(lines[after]):
                break
            yield _line(shown, "-", after, lines[after])
            last = after


def _line(shown: str, mark: str, number: int, text: str) -> str:
    text = text.rstrip("\r")
    short = (
        text if len(text) <= _MAX_COLUMNS else f"{text[:_MAX_COLUMNS]}… ({len(text) - _MAX_COLUMNS} more characters)"
    )
    return f"{shown}{mark}{number + 1}{mark}{short}"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
