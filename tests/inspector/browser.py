"""A Chromium that is already on this machine, and the inspector's page opened in it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from tests.cli.command import COMMAND, environment

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
"""For a closed network and a container."""


@contextmanager
def serving(home: Path, *arguments: str) -> Iterator[str]:
    """The address that `inkwire ARGUMENTS` prints; it is ended afterwards."""
    process = subprocess.Popen(
        [*COMMAND, *arguments, "--no-open"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**environment(home), "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1]
    finally:
        process.kill()
        process.communicate()


@contextmanager
def opened(browser: Browser, url: str, **options: Any) -> Iterator[Page]:
    """The page when all of it is loaded; whatever it complains of, or asks elsewhere, fails the test."""
    context = browser.new_context(**{"viewport": {"width": 1440, "height": 1000}, "locale": "en-US", **options})
    page = context.new_page()
    faults: list[str] = []
    page.on("console", lambda message: faults.extend((message.text,)))
    page.on("pageerror", lambda error: faults.extend((str(error),)))
    page.on("dialog", lambda dialog: faults.extend((dialog.message,)))
    own = url.split("#")[0]
    page.on("request", lambda request: faults.extend(() if request.url.startswith(own) else (request.url,)))
    try:
        page.goto(url)
        page.wait_for_selector("html[data-loaded=yes]")
        yield page
    finally:
        context.close()
    assert not faults


def panel(page: Page, name: str) -> str:
    """What a panel shows."""
    return page.locator(f"[data-panel={name}]").first.inner_text()


def steps(page: Page) -> tuple[int, int]:
    """The number of the step that is shown, and how many there are."""
    number, of = page.evaluate("[app.first.at + 1, app.first.trace.length]")
    return number, of
