"""Every command of a line is found; what is not understood says so."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inkwire.agent.command_line import parse

BASH = shutil.which("bash") or "bash"


def names(line: str) -> list[str | None]:
    """The programs of a line, in the order in which they are read."""
    return [command.name for command in parse(line).commands if command.words]


@pytest.mark.parametrize(
    "line",
    [
        "git status && rm x",
        "git status;rm x",
        "git status|rm x",
        "git status |& rm x",
        "git status & rm x",
        "git status\nrm x",
        "git status || rm x",
        "git status $(rm x)",
        "git status `rm x`",
        'git status "$(rm x)"',
        'git status "`rm x`"',
        "git status <(rm x)",
        "git status > >(rm x)",
        "git status ${y:-$(rm x)}",
        "(git status; rm x)",
        "{ git status; rm x; }",
        "if git status; then rm x; fi",
        "while git status; do rm x; done",
        "for f in $(git status); do rm x; done",
        "git status; 'rm' x",
        "git status; r''m x",
        "git status; r\\m x",
        "git status; \\\nrm x",
        "git status; /bin/rm x",
        "git status; ! rm x",
        "git status; bash -c 'rm x'",
        "git status; bash -ec 'rm x'",
        "git status; eval rm x",
        "git status; eval 'rm x'",
        "git status; A=1 rm x",
        "git status; A=$(rm x)",
        "git status > $(rm x)",
        "git status 2>&1; rm x",
        "git status # comment\nrm x",
        "git status # it's\nrm x # it's",
    ],
)
def test_the_second_command_is_seen(line: str) -> None:
    found = parse(line)
    assert found.understood, found.why
    assert {"git", "rm"} <= set(names(line))


@pytest.mark.parametrize(
    "line",
    [
        "cat <<EOF\nx\nEOF",
        "case x in x) rm x;; esac",
        "f() { rm x; }",
        "function f { rm x; }",
        "echo $((1 + 1))",
        "((x = 1))",
        "a=(rm x)",
        "echo 'open",
        'echo "open',
        "echo $(open",
        "echo `open",
        "echo )",
        "echo \0",
        "[[ a && b ]]",
        "echo " + "x" * 30_000,
        "echo " + "$(" * 50 + ")" * 50,
        "echo >",
        'bash -c "$X"',
        "eval $X",
        "eval rm $(x)",
        'echo "${x:-\'}" ; rm y; echo "\'}"',
        'echo "`echo \\"\'\\" ; rm y`"',
    ],
)
def test_what_is_not_read_is_not_understood(line: str) -> None:
    assert not parse(line).understood


@pytest.mark.parametrize("line", ["$X y", "{rm,-rf,x}", "r* x", "~/x y", "$'rm' x", '$"rm" x', "`echo rm` x", "r$Y x"])
def test_a_computed_name_has_no_name(line: str) -> None:
    assert None in names(line)


def test_a_dollar_before_a_quote_inside_quotes_is_a_dollar() -> None:
    assert names('echo "$\'" ; rm y; echo "\'"') == ["echo", "rm", "echo"]


@pytest.mark.parametrize(
    ("line", "writes"),
    [
        ("ls > out", True),
        ("ls >> out", True),
        ("ls &> out", True),
        ("ls >| out", True),
        ("ls <> out", True),
        ("ls >& out", True),
        ("ls 2> err", True),
        ("ls > /dev/null", False),
        ("ls 2>&1", False),
        ("ls 2>&-", False),
        ("ls < in", False),
        ("ls <<< word", False),
    ],
)
def test_redirections_that_write_are_known(line: str, writes: bool) -> None:
    (command,) = parse(line).commands
    assert any(each.writes for each in command.redirections) == writes


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash here")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pieces=st.lists(
        st.sampled_from(
            [
                "ok",
                "bad",
                " ",
                ";",
                "&&",
                "|",
                "'",
                '"',
                "`",
                "$(",
                ")",
                "(",
                "\\",
                "\n",
                "$",
                "{",
                "}",
                "#",
                "${x:-",
                "&",
                "!",
            ]
        ),
        min_size=1,
        max_size=14,
    )
)
def test_no_line_that_bash_runs_hides_a_command(pieces: list[str], tmp_path: Path) -> None:
    """`ok` and `bad` are programs; if the line is understood and names only `ok`, bash must not have run `bad`."""
    for name in ("ok", "bad"):
        program = tmp_path / name
        if not program.exists():
            program.write_text(f"#!/bin/sh\n: > {tmp_path}/ran-{name}\n")
            program.chmod(0o755)
    line = "ok " + "".join(pieces)
    found = parse(line)
    if not found.understood or "bad" in names(line) or None in names(line):
        return
    (tmp_path / "ran-bad").unlink(missing_ok=True)
    subprocess.run(
        [BASH, "--norc", "-c", line],
        env={"PATH": str(tmp_path)},
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=20,
    )
    assert not (tmp_path / "ran-bad").exists(), line
