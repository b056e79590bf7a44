"""`inkwire demo`: a scenario's name in, its steps on the terminal out, one key a step."""

from __future__ import annotations

import os
import shutil
import sys
import termios
import tty
from collections.abc import Mapping
from difflib import get_close_matches
from textwrap import fill

import click

from inkwire.cli.context import run
from inkwire.demo.render import Screen, list_scenarios
from inkwire.demo.scenarios import SCENARIOS, Scenario, recording_of
from inkwire.demo.steps import shown_steps
from inkwire.inspector.notes import Language, Words
from inkwire.terminal.style import style_for

__all__ = ["demo"]

_NARROWEST, _WIDEST = 60, 110
_HOW = Words(
    "inkwire demo NAME steps through one of them, on the real code:",
    "inkwire demo 名字:逐步观看其中一个,用的就是真实代码:",
)
_KEYS = Words("Enter next · a all · q quit ", "回车 下一步 · a 全部 · q 退出 ")
_END = Words("The end. Next: inkwire demo {}", "完。下一个:inkwire demo {}")
_LAST = Words("The end. That was the last one.", "完。这是最后一个。")


class _Scenario(click.Choice[str]):
    def get_invalid_choice_message(self, value: object, ctx: click.Context | None) -> str:
        """The name that was meant, if one is near, and all names in lines that can be read."""
        near = get_close_matches(str(value), SCENARIOS, 1)
        asked = f"; did you mean {near[0]}?" if near else "."
        return f"there is no {str(value)!r}{asked}\n" + fill(
            f"There are {', '.join(SCENARIOS)}.", initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False
        )


@click.command()
@click.option("--all", "at_once", is_flag=True, help="Print all steps at once, as without a terminal.")
@click.option("--lang", type=click.Choice(["en", "zh"]), help="The language; else the environment's.")
@click.option("--web", is_flag=True, help="Step through them in the browser, on the inspector's page.")
@click.option("--no-open", is_flag=True, help="With --web: only print the address; open no browser.")
@click.option("--recording", is_flag=True, help="Print the scenario's recording instead, for replay or decode.")
@click.argument("scenario", required=False, type=_Scenario(list(SCENARIOS)), metavar="[SCENARIO]")
def demo(scenario: str | None, at_once: bool, lang: Language | None, recording: bool, web: bool, no_open: bool) -> None:
    """See step by step how a streamed answer becomes one checked message.

    Without SCENARIO it lists them. They are recordings: no model is asked, and nothing is executed.
    """
    if web:
        sys.exit(run(_serve(scenario, lang, open_page=not no_open)))
    language = lang or _language(os.environ)
    style = style_for(sys.stdout)
    width = min(max(shutil.get_terminal_size().columns, _NARROWEST), _WIDEST)
    if scenario is None:
        click.echo(f"{_HOW.of(language)}\n")
        click.echo(list_scenarios(list(SCENARIOS.values()), style, language, width))
        return
    if recording:
        sys.stdout.buffer.write(recording_of(scenario))
        return
    is_stepped = not at_once and sys.stdin.isatty() and sys.stdout.isatty()
    _play(SCENARIOS[scenario], Screen(style, language, width), stepped=is_stepped)


async def _serve(scenario: str | None, language: Language | None, *, open_page: bool) -> int:
    from inkwire.cli.inspect import serve_page
    from inkwire.inspector.document import Look
    from inkwire.inspector.source import Source

    names = list(SCENARIOS)
    first = names.index(scenario) if scenario else 0
    about = tuple(each.about for each in SCENARIOS.values())
    look = Look("choose", language, about=about, first=first)
    return await serve_page([Source(name, SCENARIOS[name].exchanges()) for name in names], look, open_page=open_page)


def _play(scenario: Scenario, screen: Screen, *, stepped: bool) -> None:
    exchanges = scenario.exchanges()
    steps = shown_steps(exchanges)
    click.echo(screen.title(scenario))
    for number, step in enumerate(steps, 1):
        click.echo("\n" + screen.step(step, number, len(steps), attempts=len(exchanges)))
        if stepped and number < len(steps):
            key = _key(screen.language)
            if key == "q":
                return
            stepped = key != "a"
    click.echo("\n" + _farewell(scenario, screen.language))


def _key(language: Language) -> str:
    """`q`, `a`, or empty for the next step; the line that asks is taken back."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        # Drained, not flushed: what was typed ahead counts.
        tty.setcbreak(terminal, termios.TCSADRAIN)
        click.echo(click.style(_KEYS.of(language), dim=True), nl=False)
        while (pressed := os.read(terminal, 1)) and pressed not in b"\r\n qQaA\x04":
            pass
    except KeyboardInterrupt:
        pressed = b""
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        click.echo("\r\x1b[K", nl=False)
    return "q" if pressed in (b"", b"\x04") else pressed.decode().strip().lower()


def _farewell(scenario: Scenario, language: Language) -> str:
    names = list(SCENARIOS)
    later = names[names.index(scenario.name) + 1 :]
    return _END.of(language).format(later[0]) if later else _LAST.of(language)


def _language(environ: Mapping[str, str]) -> Language:
    """Chinese where the environment says so, by the rules of locales."""
    told = environ.get("LC_ALL") or environ.get("LC_MESSAGES") or environ.get("LANG") or ""
    return "zh" if told.lower().startswith("zh") else "en"
