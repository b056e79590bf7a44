"""Two recordings side by side, in a real browser: they move together, and every difference is found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from inkwire.demo.scenarios import recording_of
from tests.inspector.browser import CHROMIUM, opened, recording, serving, until

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium was found, so the page was not tried in a browser"
)


@contextmanager
def pair(browser: Browser, home: Path, directory: Path, one: bytes, other: bytes) -> Iterator[Page]:
    """The page with two recordings side by side."""
    paths = [directory / "one.jsonl", directory / "other.jsonl"]
    for path, content in zip(paths, (one, other), strict=True):
        path.write_bytes(content)
    with serving(home, "inspect", *map(str, paths)) as url, opened(browser, url) as page:
        yield page


def both(page: Page) -> list[int]:
    """The numbers of the two steps that are shown."""
    return list(page.evaluate("app.views.map((view) => view.at + 1)"))


def test_two_recordings_are_shown_where_they_differ(browser: Browser, home: Path, tmp_path: Path) -> None:
    names = ("read-readme", "missing-finish-reason")
    for name in names:
        (tmp_path / f"{name}.jsonl").write_bytes(recording_of(name))
    with serving(home, "inspect", *(str(tmp_path / f"{name}.jsonl") for name in names)) as url:
        with opened(browser, url) as page:
            assert page.locator("main.pair .column").count() == 2
            page.keyboard.press("d")
            columns = page.locator("main.pair .column").all_inner_texts()
            assert "may run" in columns[0]
            assert "IncompleteStreamError" in columns[1]
            assert all("different here" in column for column in columns)


def test_linked_recordings_move_until_both_are_at_their_ends(browser: Browser, home: Path, tmp_path: Path) -> None:
    short, long = recording_of("missing-finish-reason"), recording_of("read-readme")
    with pair(browser, home, tmp_path, short, long) as page:
        for _ in range(9):
            page.keyboard.press("ArrowRight")
        assert both(page) == [5, 8]
        for _ in range(3):
            page.keyboard.press("ArrowLeft")
        assert both(page) == [5, 5]
        page.keyboard.press("Home")
        page.keyboard.press("e")
        assert both(page) == [5, 5]
        page.keyboard.press("e")
        assert both(page) == [5, 8]
        page.keyboard.press("Home")
        page.locator("[data-action=speed]").select_option("64")
        page.locator("[data-action=play]").click()
        until(page, "app.views[1].at === 7")
        page.get_by_text("▷ Play").wait_for()
        page.keyboard.press("/")
        page.keyboard.type("prompt_tokens")
        assert page.locator(".found").first.inner_text() == "first: not found · second: 1 of 1"
        assert both(page)[1] == 7
        until(page, "location.hash.endsWith('other=7')")
        page.reload()
        until(page, "app.views[1].at === 6")


def test_unlinked_recordings_move_alone_by_keyboard(browser: Browser, home: Path, tmp_path: Path) -> None:
    with pair(browser, home, tmp_path, recording_of("missing-finish-reason"), recording_of("read-readme")) as page:
        page.locator("[data-action=link]").focus()
        page.keyboard.press("Space")
        page.keyboard.press("ArrowRight")
        assert both(page) == [2, 1]
        marked = page.locator("[aria-current=true]")
        assert marked.locator("kbd").is_visible()
        while page.evaluate("document.activeElement !== app.views[1].timeline.range"):
            page.keyboard.press("Tab")
        for _ in range(9):
            page.keyboard.press("ArrowRight")
        assert both(page) == [2, 8]
        assert page.evaluate("document.activeElement === app.views[1].timeline.range")
        assert marked.get_attribute("aria-label") == "other.jsonl"
        page.locator("[data-action=link]").click()
        page.keyboard.press("ArrowLeft")
        assert both(page) == [1, 7]
        assert marked.count() == 0


def test_every_difference_is_found_however_the_wire_was_cut(browser: Browser, home: Path, tmp_path: Path) -> None:
    text = "The port is 8080, and what follows is the same in both of them; the colour is red, and so on to the end."
    changed = text.replace("8080", "443").replace("red", "green")
    parts = [Path(recording(tmp_path / "a", [text[:50], text[50:]])), Path(recording(tmp_path / "b", list(changed)))]
    with pair(browser, home, tmp_path, *(part.read_bytes() for part in parts)) as page:
        assert "4 differences" in page.locator(".toolbar").inner_text()
        seen = [both(page)]
        for number, what in enumerate(["text", "text", "call", "call"], 1):
            page.keyboard.press("d")
            seen.append(both(page))
            assert f"difference {number} of 4: {what}" in page.locator(".toolbar").inner_text()
            assert f"difference {number} of 4" in page.locator("[role=status]").inner_text()
        assert [steps[0] for steps in seen[1:]] == [2, 3, 5, 6]
        page.keyboard.press("d")
        assert both(page) == seen[4]
        page.keyboard.press("D")
        assert both(page) == seen[3]
        until(page, f"location.hash === '#step={seen[3][0]}&other={seen[3][1]}'")
    cut = Path(recording(tmp_path / "c", list(text)))
    with pair(browser, home, tmp_path, parts[0].read_bytes(), cut.read_bytes()) as page:
        assert "no difference" in page.locator(".toolbar").inner_text()


@pytest.mark.parametrize(
    ("name", "old", "new", "what"),
    [
        ("read-readme", r"_tokens\":19", r"_tokens\":20", "token counts"),
        ("retry-and-reset", '"status":429', '"status":503', "HTTP status"),
        ("retry-and-reset", "slow down", "come back", "ending"),
        ("cut-at-limit", r"\"length\"", r"\"content_filter\"", "which calls may run"),
        ("read-readme", r"DME.md\\\"}", r"DME.md\\\"", "which calls may run"),
        ("read-readme", "data: [DONE]", r"data: {x\n\ndata: [DONE]", "ending"),
        ("read-readme", r"\"choices\":[],", r"\"choices\":[{\"index\":1,\"delta\":{\"content\":\"b\"}}],", "warning"),
    ],
)
def test_differences_are_not_in_the_texts_alone(
    browser: Browser, home: Path, tmp_path: Path, name: str, old: str, new: str, what: str
) -> None:
    one = recording_of(name)
    other = one.replace(old.encode(), new.encode())
    assert one != other
    with pair(browser, home, tmp_path, one, other) as page:
        found = page.evaluate("app.comparison.all.flatMap(({ what }) => [...what].map((each) => say(each)))")
        assert what in found
