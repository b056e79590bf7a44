"""A Chromium that is already on this machine, and the inspector's page opened in it."""

from __future__ import annotations

import json
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


def recording(path: Path, pieces: list[str], *, seconds: float = 0.01) -> str:
    """A recording of a chat stream with these texts, then a call with the same texts in its argument."""
    lines: list[dict[str, Any]] = [
        {"inkwire_recording": 1, "created": 1},
        {"exchange": 1, "kind": "request", "method": "POST", "url": "http://x/v1/chat/completions", "body": "{}"},
        {"exchange": 1, "kind": "response", "t": 0.1, "status": 200, "headers": {"content-type": "text/event-stream"}},
    ]
    start = {"index": 0, "id": "c1", "function": {"name": "write", "arguments": '{"content":"'}}
    deltas: list[dict[str, Any]] = [{"content": piece} for piece in pieces]
    deltas += [{"tool_calls": [start]}]
    deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": json.dumps(piece)[1:-1]}}]} for piece in pieces]
    deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": '"}'}}]}]
    choices: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "tool_calls"})
    texts = [f"data: {json.dumps({'choices': [choice]})}\n\n" for choice in choices] + ["data: [DONE]\n\n"]
    for number, text in enumerate(texts):
        lines.append({"exchange": 1, "kind": "read", "t": 0.1 + seconds * number, "text": text})
    lines.append({"exchange": 1, "kind": "end", "t": 0.1 + seconds * len(texts), "how": "eof"})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def until(page: Page, true: str) -> None:
    """Waits for an expression to be true; the page's policy forbids `wait_for_function`."""
    for _ in range(1_500):
        if page.evaluate(true):
            return
        page.wait_for_timeout(20)
    raise AssertionError(true)
