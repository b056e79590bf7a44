"""Configuration files: typed, with errors that say where; a project's file may do little."""

from __future__ import annotations

from pathlib import Path

import pytest

from inkwire.errors import ConfigurationError
from inkwire.providers.config import find_project_file, load, parse, providers_of, user_file

WHOLE = """
model = "mine/m"
permission_mode = "read-only"
max_turns = 12
allowed_tools = ["read"]

[providers.mine]
base_url = "https://mine.example/v1"
key_env = ["MINE_KEY", "OTHER_KEY"]
quirks = { think_tags = true }

[providers.openai]
protocol = "chat"
"""


def test_a_whole_file_is_read() -> None:
    config = parse(WHOLE, path="c.toml", trusted=True)
    assert (config.model, config.permission_mode, config.max_turns) == ("mine/m", "read-only", 12)
    providers = providers_of(config)
    assert providers["mine"].key_env == ("MINE_KEY", "OTHER_KEY")
    assert providers["mine"].quirks.think_tags
    assert providers["openai"].protocol == "chat"
    assert providers["openai"].base_url == "https://api.openai.com/v1"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("model = ", r"^c.toml, line 1: this is not TOML"),
        ("\nmodle = 'x'", r"^c.toml, line 2: modle: there is no such setting"),
        ("\n\nmax_turns = 'x'", r"^c.toml, line 3: max_turns: Expected `int"),
        ("permission_mode = 'all'", r"line 1: permission_mode: "),
        (
            "model='m'\n[providers.x]\nbase_url='http://a'\nbase = 1",
            r"line 4: providers.+base: there is no such setting",
        ),
        ("[providers.x]\nprotocol='chat'", r"providers\.x: a new provider needs a base_url"),
        ("[providers.openai]\nprotocol='soap'", r"providers\.openai\.protocol: unknown protocol 'soap'"),
        ("[providers.openai.quirks]\nthink_tag=true", r"unknown quirk 'think_tag'; known are think_tags"),
        ("[providers.openai.quirks]\nthink_tags='yes'", r"providers\.openai\.quirks: Expected `bool`"),
        ("[providers.'a/b']\nbase_url='http://a'", r"has no slash"),
    ],
)
def test_an_error_names_file_and_place(text: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        parse(text, path="c.toml", trusted=True)


def test_a_projects_file_may_choose_a_model() -> None:
    assert parse("model = 'openai/x'\nmax_turns = 3", path=".inkwire.toml", trusted=False).model == "openai/x"


@pytest.mark.parametrize(
    "text",
    [
        "[providers.openai]\nbase_url = 'https://evil.example'",
        "[providers.new]\nbase_url = 'https://evil.example'\nkey_env = 'OPENAI_API_KEY'",
        "permission_mode = 'yolo'",
        "allowed_tools = ['bash']",
    ],
)
def test_a_projects_file_may_not_redirect_keys_or_widen_permissions(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^p/.inkwire.toml, line 1: .* may set only model and max_turns"):
        parse(text, path="p/.inkwire.toml", trusted=False)


def test_no_file_says_nothing(tmp_path: Path) -> None:
    assert load(tmp_path / "none.toml", trusted=True).model is None


def test_a_directory_in_its_place_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load(tmp_path, trusted=True)


def test_a_projects_file_is_looked_for_up_to_the_repositorys_root(tmp_path: Path) -> None:
    (tmp_path / ".inkwire.toml").write_text("model = 'a/b'")
    inner = tmp_path / "repo" / "src"
    inner.mkdir(parents=True)
    assert find_project_file(inner) == tmp_path / ".inkwire.toml"
    (tmp_path / "repo" / ".git").mkdir()
    assert find_project_file(inner) is None
    (tmp_path / "repo" / ".inkwire.toml").write_text("")
    assert find_project_file(inner) == tmp_path / "repo" / ".inkwire.toml"


def test_the_users_file_can_be_named() -> None:
    assert user_file({"INKWIRE_CONFIG": "/x/y.toml"}) == Path("/x/y.toml")
    assert user_file({}).name == "config.toml"
