"""Permissions: deny wins, every part of a line must pass, and nobody at the keyboard is a no."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from inkwire.agent.approval import Approval, ApprovalRequest
from inkwire.agent.events import ToolStart
from inkwire.agent.policy import Mode, Policy
from inkwire.errors import ConfigurationError
from inkwire.tools.base import Tool, ToolContext
from inkwire.tools.builtin import BUILTIN
from inkwire.tools.edit import edit
from inkwire.tools.files import read, write
from inkwire.tools.shell import bash
from tests.agent.running import agent, of, results, run
from tests.scripted_model import ScriptedModel, call, message


def verdict(policy: Policy, tool: Tool, *, sandbox: bool = False, **arguments: Any) -> str:
    """What the policy says about a call in /work."""
    context = ToolContext(Path("/work"), sandbox=sandbox)
    return policy.decide(tool, arguments, tool.touches(arguments, context), context).verdict


def line(policy: Policy, command: str) -> str:
    """What the policy says about a shell line."""
    return verdict(policy, bash, command=command)


@pytest.mark.parametrize(
    ("mode", "reads", "writes", "guarded", "shell", "sandboxed"),
    [
        ("read-only", "allow", "deny", "deny", "deny", "allow"),
        ("ask", "allow", "ask", "ask", "ask", "ask"),
        ("auto", "allow", "allow", "ask", "ask", "allow"),
        ("yolo", "allow", "allow", "allow", "allow", "allow"),
    ],
)
def test_modes(mode: Mode, reads: str, writes: str, guarded: str, shell: str, sandboxed: str) -> None:
    policy = Policy(mode)
    assert verdict(policy, read, path="a") == reads
    assert verdict(policy, write, path="a", content="") == writes
    assert verdict(policy, write, path=".git/hooks/pre-commit", content="") == guarded
    assert line(policy, "make") == shell
    assert verdict(policy, bash, sandbox=True, command="make") == sandboxed


@pytest.mark.parametrize(
    "command",
    [
        "git status && rm x",
        "git status;rm x",
        "git status | tee out",
        "git status $(rm x)",
        "git status `rm x`",
        "git status > out",
        "git status-x",
        "git statusx",
        "git -c alias.status='!rm x' status",
        "A=1 git status",
        "A=1; git status",
        "PATH=. git status",
        "git stat*",
        "git $X",
        "/tmp/git status",
        "./git status",
        "git status\nrm x",
        "git status & rm x",
        "env git status",
        "sudo git status",
        "cat <<EOF\n$(rm x)\nEOF",
        "",
        "# nothing",
    ],
)
def test_an_allowed_command_allows_nothing_else(command: str) -> None:
    assert line(Policy("ask", allow=["bash(git status *)"]), command) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "git status -s",
        "git status && git status -s",
        "git status | head -5",
        "git status 2>&1 | head",
        "git status 2>/dev/null",
        "(git status)",
        "git status '$(rm x)'",
        "if git status; then head x; fi",
    ],
)
def test_a_line_of_allowed_commands_is_allowed(command: str) -> None:
    assert line(Policy("ask", allow=["bash(git status *)", "bash(head *)"]), command) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "rm x",
        "ls; rm x",
        "ls $(rm x)",
        "/bin/rm x",
        "sudo rm x",
        "env A=1 rm x",
        "timeout 5 rm x",
        "find . | xargs rm",
        "bash -c 'rm x'",
        "eval rm x",
        "'rm' x",
        "r\\m x",
        "ls | (rm x)",
        # What cannot be seen through is not let through, either.
        "$X x",
        "cat <<EOF\nEOF",
    ],
)
def test_deny_wins_in_every_mode(command: str) -> None:
    for mode in ("ask", "auto", "yolo"):
        policy = Policy(mode, allow=["bash"], deny=["bash(rm *)"])
        hidden = command.startswith(("$", "cat"))
        assert line(policy, command) == "deny" or (hidden and mode != "yolo")
    assert line(Policy("yolo", deny=["bash(rm *)"]), "ls rm") == "allow"


HIDDEN_PUSHES = [
    *("git push", "/usr/bin/git push -f", "X=1 git push", "git -C . push", "git -c a=b push", "git --no-pager push"),
    *("git $'push'", "git ${x:-push}", "git {push,origin}", "X=push; git $X", "git p*sh", "$GIT push", "g* push"),
    *("time git push", "time -p git push", "timeout 9 bash -c 'git push'", "env sh -c 'git push'", "env -S 'git push'"),
    *("nice -n 5 sh -c 'git push'", "echo push | xargs git", "echo . | xargs sh -c 'git push'", "sudo git push"),
    *("find . -exec sh -c 'git push' ';'", "find . -exec git push ';'", "busybox sh -c 'git push'"),
    *(
        "bash -c 'git push'",
        "bash -c -- 'git push'",
        "bash -c -x 'git push'",
        "sh <<< 'git push'",
        "echo git push | sh",
    ),
    *(
        "eval git push",
        "command eval 'git push'",
        "builtin eval 'git push'",
        "trap 'git push' EXIT",
        "watch 'git push'",
    ),
    *("sh -c 'cd x && git push'", "python3 -c 'import os; os.system(\"git push\")'", "printf -v 'a[$(git push)]' x"),
]


@pytest.mark.parametrize("command", HIDDEN_PUSHES)
def test_no_other_words_get_past_a_denial(command: str) -> None:
    deny = ["bash(git push *)"]
    assert line(Policy("yolo", deny=deny), command) == "deny"
    for allow in (["bash"], ["bash(git *)", "bash(echo *)", "bash(find *)", "bash(time *)"]):
        assert line(Policy("ask", allow=allow, deny=deny), command) != "allow"
        assert line(Policy("auto", allow=allow, deny=deny), command) != "allow"


@pytest.mark.parametrize(
    "command",
    [
        *(
            "git status",
            "git log push",
            "git commit -m push",
            "git stash push",
            "echo git push",
            "ls *.py",
            "cat $FILE",
        ),
        *("python3 setup.py push", "bash script.sh", "find . -name '*.py' -exec grep push {} +", "make push", "git"),
        *("timeout 9 pytest -q", "env A=1 git status", "npm run push", "X=1 make", "sh -c 'git status'"),
    ],
)
def test_a_denial_is_about_what_it_names(command: str) -> None:
    assert line(Policy("yolo", deny=["bash(git push *)"]), command) == "allow"


@pytest.mark.parametrize(
    "command",
    ["test -v 'a[$(touch x)]'", "printf -v 'a[$(touch x)]' x", "[ -v 'a[`touch x`]' ]", "read 'a[$(touch x)]'"],
)
def test_a_builtin_that_evaluates_a_word_is_not_allowed_unasked(command: str) -> None:
    allow = ["bash(test *)", "bash(printf *)", "bash([ *)", "bash(read *)"]
    assert line(Policy("ask", allow=allow), command) == "ask"
    assert line(Policy("ask", allow=allow), "test -f x") == "allow"


def test_a_denied_path_is_not_reached_by_searching_above_it(tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "secrets" / "k.txt").touch()
    (tmp_path / "alias").symlink_to(tmp_path / "src" / "real")
    (tmp_path / "src" / "real").touch()
    context = ToolContext(tmp_path)
    tools = {tool.name: tool for tool in BUILTIN}

    def verdict_of(name: str, rule: str, **arguments: Any) -> str:
        tool = tools[name]
        policy = Policy("yolo", deny=[rule])
        return policy.decide(tool, arguments, tool.touches(arguments, context), context).verdict

    for path in ("secrets", "secrets/", ".", "secrets/../secrets", "secrets/k.txt"):
        assert verdict_of("grep", "grep(secrets/**)", pattern="x", path=path) == "deny"
    assert verdict_of("grep", "grep(secrets/**)", pattern="x", path="src") == "allow"
    assert verdict_of("list", "list(secrets/**)", path="secrets") == "deny"
    assert verdict_of("glob", "glob(secrets/**)", pattern="secrets/*") == "deny"
    assert verdict_of("read", "read(alias)", path="alias") == "deny"
    assert verdict_of("read", "read(src/real)", path="alias") == "deny"
    assert verdict_of("read", "read(secrets/**)", path="src/real") == "allow"


def test_path_rules() -> None:
    policy = Policy("ask", allow=["edit(src/**/*.py)"], deny=["read(**/.env)"])
    assert verdict(policy, edit, path="src/a/b.py", edits=[]) == "allow"
    assert verdict(policy, edit, path="src/../c.py", edits=[]) == "ask"
    assert verdict(policy, read, path="sub/.env") == "deny"
    assert verdict(policy, read, path=".env") == "deny"


@pytest.mark.parametrize(
    ("command", "rules"),
    [
        ("git log -5", ("bash(git log *)",)),
        ("pytest -x", ("bash(pytest *)",)),
        ("npm run build", ("bash(npm run build *)",)),
        ("git log | head", ("bash(git log *)", "bash(head *)")),
        ("python x.py", ()),
        ("uv run python x.py", ()),
        ("uv run pytest -x", ("bash(uv run pytest *)",)),
        ("npm exec thing", ()),
        ("git", ("bash(git)",)),
        ("npm run", ("bash(npm run)",)),
        ("git config alias.x '!rm y'", ()),
        ("git log | tee out", ()),
        ("rm x", ()),
        ("python3.12 -c 'x'", ()),
        ("git log; bash x", ()),
        ("sudo ls", ()),
        ("find . -delete", ()),
        ("git -C / log", ()),
        ("ls > x", ()),
        ("$X", ()),
        ("A=1 ls", ()),
        ("cat <<EOF\nEOF", ()),
    ],
)
def test_always_is_offered_for_what_it_would_cover(command: str, rules: tuple[str, ...]) -> None:
    context = ToolContext(Path("/work"))
    policy = Policy("ask")
    decision = policy.decide(bash, {"command": command}, bash.touches({}, context), context)
    assert decision.rules == rules
    if rules:
        policy.remember(rules)
        assert line(policy, command) == "allow"


def test_bad_modes_and_rules_are_named() -> None:
    with pytest.raises(ConfigurationError, match="ask, read-only, auto, yolo"):
        Policy("yes")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="not a rule"):
        Policy(allow=["bash(git"])


WRITES = call("write", {"path": "a.txt", "content": "x"})


async def test_nobody_at_the_keyboard_is_a_no(tmp_path: Path) -> None:
    model = ScriptedModel(message(WRITES), message("ok"))
    events = await run(agent(model, *BUILTIN, workspace=tmp_path, policy=Policy("ask")))
    assert of(ToolStart, events) == []
    assert "denied by the permission mode" in results(model.requests[1].messages)[0].text
    assert "nobody is there" in results(model.requests[1].messages)[0].text
    assert list(tmp_path.iterdir()) == []


async def test_the_user_is_asked_once_and_always_is_remembered(tmp_path: Path) -> None:
    asked: list[ApprovalRequest] = []

    async def approve(request: ApprovalRequest) -> Approval:
        asked.append(request)
        return Approval(allowed=True, always=True)

    second = call("write", {"path": "b.txt", "content": "x"}, "c2")
    model = ScriptedModel(message(WRITES, second), message("ok"))
    await run(agent(model, *BUILTIN, workspace=tmp_path, policy=Policy("ask"), approve=approve))
    assert [each.arguments for each in asked] == [{"path": "a.txt", "content": "x"}]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.txt", "b.txt"]


async def test_a_no_says_by_whom_and_why(tmp_path: Path) -> None:
    async def approve(request: ApprovalRequest) -> Approval:
        return Approval(allowed=False, reason="not that file")

    model = ScriptedModel(message(WRITES), message("ok"))
    await run(agent(model, *BUILTIN, workspace=tmp_path, policy=Policy("ask"), approve=approve))
    assert "denied by the user: not that file" in results(model.requests[1].messages)[0].text


async def test_a_question_that_fails_is_a_no(tmp_path: Path) -> None:
    async def approve(request: ApprovalRequest) -> Approval:
        raise RuntimeError("no screen")

    model = ScriptedModel(message(WRITES), message("ok"))
    await run(agent(model, *BUILTIN, workspace=tmp_path, policy=Policy("ask"), approve=approve))
    assert "could not be asked: no screen" in results(model.requests[1].messages)[0].text


async def test_the_mode_that_counts_is_that_of_the_moment_it_runs(tmp_path: Path) -> None:
    policy = Policy("ask")

    async def approve(request: ApprovalRequest) -> Approval:
        policy.mode = "read-only"
        return Approval(allowed=True)

    model = ScriptedModel(message(WRITES), message("ok"))
    await run(agent(model, *BUILTIN, workspace=tmp_path, policy=policy, approve=approve))
    assert "denied by read-only mode" in results(model.requests[1].messages)[0].text
    assert list(tmp_path.iterdir()) == []


def test_the_question_names_the_files_that_a_line_writes() -> None:
    context = ToolContext(Path("/work"))
    arguments = {"command": "echo hi > x.txt && ls 2>/dev/null | wc -l >> y"}
    asked = Policy("ask").decide(bash, arguments, bash.touches(arguments, context), context)
    assert asked.verdict == "ask"
    assert asked.reason == "bash would run echo, ls, wc and write x.txt, y"
