"""The page in a real browser: each scenario to its end, by keyboard, in two languages, hostile, from disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from inkwire.demo.scenarios import SCENARIOS, recording_of
from tests.cli.command import inkwire
from tests.inspector.browser import CHROMIUM, opened, panel, recording, serving, steps, until

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium was found, so the page was not tried in a browser"
)

NOTHING = "Nothing yet: no message_end"
LAST = {
    "read-readme": ("The complete message, once", "may run", '{"path":"README.md"}'),
    "two-reads-interleaved": ("may run", '{"path":"README.md"}', '{"path":"CHANGELOG.md"}'),
    "missing-finish-reason": ("An error, with what had arrived", "IncompleteStreamError"),
    "user-cancel": ("Nothing, and nothing will come.",),
    "broken-arguments": ("The complete message, once", "refused", "the arguments are cut"),
    "cut-at-limit": ("message_end max_tokens", "refused", "cut at the output limit"),
    "damage-in-the-middle": ("An error, with what had arrived", "ProtocolError"),
    "retry-and-reset": ("The complete message, once", "message_end end_turn"),
    "crlf-and-split-characters": ("The complete message, once", "message_end end_turn"),
    "reasoning-with-signature": ("may run", '{"path":"README.md"}'),
}
"""What the loop has been given when a scenario is over."""


@pytest.mark.parametrize("name", list(SCENARIOS))
def test_a_scenario_is_stepped_to_its_end_and_nothing_is_given_before(browser: Browser, demo: str, name: str) -> None:
    with opened(browser, f"{demo}#show={name}&step=1") as page:
        number, of = steps(page)
        assert number == 1
        ended = False
        while number < of:
            if not ended:
                given = panel(page, "given")
                ended = NOTHING not in given
                assert not ended or "asked again" in given or number >= of - 1
                ended = ended and "asked again" not in given
            page.keyboard.press("ArrowRight")
            assert steps(page) == (number + 1, of)
            number += 1
        given = panel(page, "given")
        assert all(words in given for words in LAST[name])
        assert page.locator(".note").count() >= 1


def test_the_string_is_complete_and_yet_there_is_no_message(browser: Browser, demo: str) -> None:
    with opened(browser, f"{demo}#show=read-readme&step=4") as page:
        assert '{"path":"REA' in panel(page, "held")
        assert "not whole yet" in panel(page, "held")
        assert "tool_call_start" in panel(page, "given")
        page.keyboard.press("ArrowRight")
        assert '{"path":"README.md"}' in panel(page, "held")
        assert "parses as a whole" in panel(page, "held")
        assert page.locator("[data-panel=held] .arguments mark").first.inner_text() == 'DME.md"}'
        assert NOTHING in panel(page, "given")
        assert "Still no message" in panel(page, "notes")
        page.keyboard.press("End")
        assert "may run" in panel(page, "given")


def test_interleaved_calls_stay_apart(browser: Browser, demo: str) -> None:
    with opened(browser, f"{demo}#show=two-reads-interleaved&step=6") as page:
        calls = page.locator("[data-panel=held] .part.tool_call")
        assert '{"path":"REA' in calls.nth(0).inner_text()
        assert '{"path":"CHANGE' in calls.nth(1).inner_text()
        assert "CHANGE" not in calls.nth(0).inner_text()


def test_a_reset_voids_what_was_held(browser: Browser, demo: str) -> None:
    with opened(browser, f"{demo}#show=retry-and-reset&step=1") as page:
        page.keyboard.press("r")
        assert "retrying" in panel(page, "given")
        page.keyboard.press("r")
        assert "stream_reset" in panel(page, "given")
        assert "void" in page.locator("[data-panel=held] .part.void").inner_text()
        page.keyboard.press("End")
        assert "started with mak" not in panel(page, "held")


def test_bytes_wait_as_bytes(browser: Browser, demo: str) -> None:
    with opened(browser, f"{demo}#show=crlf-and-split-characters&step=3") as page:
        assert "‹E5 A5›" in panel(page, "received")
        assert "69 bytes wait" in panel(page, "received")
        page.keyboard.press("ArrowRight")
        assert "好的" in panel(page, "received")
        assert "‹CR›" in panel(page, "received")


def test_the_code_that_ran_is_shown(browser: Browser, demo: str) -> None:
    with opened(browser, f"{demo}#show=read-readme&step=2") as page:
        lit = page.locator("[data-panel=code] .row.lit").all_inner_texts()
        assert any("TextDelta(part.index, text)" in line for line in lit)
        page.locator("[data-panel=code] input[type=checkbox]").check()
        assert page.locator("[data-panel=code] .row").count() > len(lit) * 1.5


def test_chinese_and_back(browser: Browser, demo: str) -> None:
    with opened(browser, f"{demo}#show=missing-finish-reason&step=1", locale="zh-CN") as page:
        assert "本次收到" in panel(page, "received")
        assert "尚未产出 message_end" in panel(page, "given")
        assert page.locator("html").get_attribute("lang") == "zh-CN"
        page.keyboard.press("End")
        assert "一个错误" in panel(page, "given")
        page.keyboard.press("l")
        assert "An error" in panel(page, "given")


def test_the_keyboard_alone_reaches_everything(browser: Browser, demo: str) -> None:
    with opened(browser, f"{demo}#show=cut-at-limit&step=1") as page:
        page.keyboard.press("c")
        assert steps(page)[0] == 3
        page.keyboard.press("e")
        assert steps(page)[0] == steps(page)[1]
        page.keyboard.press("Home")
        page.keyboard.press("w")
        assert page.locator(".issue.refused").count() == 2
        page.keyboard.press("/")
        page.keyboard.type("docs/")
        assert "1 of 1" in page.locator(".found").inner_text()
        assert steps(page)[0] == 4
        page.keyboard.press("Escape")
        page.keyboard.press("?")
        assert page.locator("dialog[open]").count() == 1
        page.keyboard.press("Escape")
        colour = "getComputedStyle(document.documentElement).backgroundColor"
        before = page.evaluate(colour)
        page.keyboard.press("t")
        assert before != page.evaluate(colour)
        for _ in range(40):  # every control can be reached and shows that it has the focus
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement !== null")


def test_it_plays_to_the_end(browser: Browser, demo: str) -> None:
    with opened(browser, f"{demo}#show=read-readme&step=1") as page:
        page.locator("select").nth(1).select_option("64")
        page.locator("[data-action=play]").click()
        page.get_by_text("step 8 of 8", exact=True).wait_for()
        page.get_by_text("▷ Play").wait_for()  # it has stopped


def test_a_filter_leaves_what_was_asked_for(browser: Browser, demo: str) -> None:
    with opened(browser, f"{demo}#show=read-readme&step=1") as page:
        page.locator(".filter select").select_option("call")
        assert page.locator(".list .row").count() == 2


@pytest.mark.parametrize("width", [390, 820, 1440])
@pytest.mark.parametrize("name", list(SCENARIOS))
def test_it_fits_any_width(browser: Browser, demo: str, name: str, width: int) -> None:
    with opened(browser, f"{demo}#show={name}&step=1", viewport={"width": width, "height": 844}) as page:
        page.keyboard.press("End")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_hostile_content_stays_text(browser: Browser, home: Path, tmp_path: Path) -> None:
    hostile = "<script>document.title='pwned'</script><img src=x onerror=alert(1)>\x1b[31m\u202e\"'</pre>"
    with serving(home, "inspect", recording(tmp_path / "<b>hostile.jsonl", [hostile, "&lt;", hostile])) as url:
        with opened(browser, url) as page:
            for _ in range(steps(page)[1]):
                page.keyboard.press("ArrowRight")
            assert "pwned" not in page.title()
            assert page.locator("#app script, #app img, #app b.hostile").count() == 0
            page.keyboard.press("Home")
            page.keyboard.press("ArrowRight")
            assert "‹ESC›" in panel(page, "given")
            assert "\u202e" not in panel(page, "given")


def test_a_long_recording_keeps_the_page_small(browser: Browser, home: Path, tmp_path: Path) -> None:
    with serving(
        home, "inspect", recording(tmp_path / "long.jsonl", [f"word {number} " for number in range(2_500)])
    ) as url:
        with opened(browser, url) as page:
            assert steps(page)[1] > 5_000
            for key in ("End", "Home", "PageDown", "End"):
                page.keyboard.press(key)
                assert page.evaluate("document.querySelectorAll('*').length") < 3_000
            assert "may run" in panel(page, "given")


def test_the_exported_file_works_from_disk_without_a_network(browser: Browser, home: Path, tmp_path: Path) -> None:
    source = tmp_path / "recording.jsonl"
    source.write_bytes(recording_of("missing-finish-reason"))
    done = inkwire("inspect", str(source), "--export", str(tmp_path / "page.html"), home=home)
    assert done.code == 0
    with opened(browser, (tmp_path / "page.html").as_uri(), offline=True) as page:
        page.keyboard.press("End")
        assert "IncompleteStreamError" in panel(page, "given")
        assert page.locator("[data-panel=code] .row.lit").count() > 0


def test_a_plain_body_and_a_har_open_too(browser: Browser, home: Path) -> None:
    body = Path(__file__).parent.parent / "streams" / "chat" / "two_reads_interleaved" / "body.txt"
    with serving(home, "inspect", str(body)) as url:
        with opened(browser, url) as page:
            page.keyboard.press("End")
            assert "may run" in panel(page, "given")
            assert "no times recorded" in page.locator(".times").inner_text()


def test_what_the_server_answers_is_told_from_its_end(browser: Browser, demo: str) -> None:
    page = browser.new_page(locale="en-US")
    page.route("**/chunk/**", lambda route: route.fulfill(status=500, body="no"))
    page.goto(demo)
    page.get_by_text("The server answered with status 500").wait_for()
    page.keyboard.press("l")
    page.get_by_text("500").wait_for()
    page.unroute_all()
    page.route("**/chunk/**", lambda route: route.abort())
    page.reload()
    page.keyboard.press("l")
    page.get_by_text("The program that served this page has ended").wait_for()
    page.close()


def test_the_address_is_obeyed_and_written_with_care(browser: Browser, demo: str) -> None:
    for asked in ("1.5", "-2", "1e9", "9999", "two", ""):
        with opened(browser, f"{demo}#show=read-readme&step={asked}") as page:
            assert steps(page) == (1, 8)
    with opened(browser, f"{demo}#show=read-readme&step=2") as page:
        page.evaluate("location.hash = 'show=user-cancel&step=3'")
        until(page, "app.first.trace.name === 'user-cancel' && app.first.at === 2")
        page.evaluate("location.hash = 'show=nonsense&step=2.5'")
        page.evaluate(
            "void (history.replaceState = () => { window.written = (window.written ?? 0) + 1; throw new Error(); })"
        )
        page.evaluate("for (let number = 0; number < 200; number += 1) app.move(number % 2 ? -1 : 1)")
        until(page, "window.written >= 1")
        assert page.evaluate("window.written") == 1
        page.keyboard.press("ArrowLeft")
        assert steps(page)[0] == 2


def test_the_focus_stays_where_it_was(browser: Browser, demo: str) -> None:
    with opened(browser, f"{demo}#show=read-readme&step=1") as page:
        focused = "document.activeElement.dataset.action ?? document.activeElement.className"
        page.locator(".scrubber").focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowUp")
        assert (page.evaluate(focused), steps(page)[0]) == ("scrubber", 3)
        for name in ("language", "speed", "search", "end"):
            page.locator(f"[data-action={name}]").focus()
            page.evaluate("app.changeLanguage()")
            assert page.evaluate(focused) == name
        page.locator(".panel.held").focus()
        page.keyboard.press("l")
        assert page.evaluate(focused) == "panel held"
        page.keyboard.press("Home")
        page.locator("[data-panel=received] summary").first.focus()
        page.keyboard.press("End")
        assert page.evaluate("document.activeElement.closest('.panel.received') !== null")
        page.locator("[data-action=choose]").focus()
        page.locator("[data-action=choose]").select_option("2")
        until(page, "app.chosen === 2 && app.first.trace.done")
        assert page.evaluate(focused) == "choose"


def test_search_reads_everything_and_keeps_its_count(browser: Browser, demo: str) -> None:
    for name, words, step in [
        ("read-readme", "event-stream; charset", 1),
        ("read-readme", "tell me how", 1),
        ("broken-arguments", "the arguments are cut", None),
        ("missing-finish-reason", "without its completion signal", 5),
        ("crlf-and-split-characters", "好的", 4),
    ]:
        with opened(browser, f"{demo}#show={name}&step=1") as page:
            page.keyboard.press("/")
            page.keyboard.type(words)
            assert " of " in page.locator(".found").inner_text()
            assert steps(page)[0] == (step or steps(page)[1])
            page.keyboard.press("Escape")
            page.keyboard.press("l")
            assert "共" in page.locator(".found").inner_text()


def test_names_for_those_who_listen_are_in_the_language_chosen(browser: Browser, demo: str) -> None:
    with opened(browser, f"{demo}#show=read-readme&step=1") as page:
        page.get_by_role("toolbar", name="Steps, jumps and search").wait_for()
        page.get_by_role("img", name="Timeline: the bar of a step").wait_for()
        page.keyboard.press("l")
        page.get_by_role("toolbar", name="步骤、跳转和搜索").wait_for()
        page.get_by_role("img", name="时间线").wait_for()
        page.get_by_role("slider", name="步骤").wait_for()


def test_the_verdict_of_several_calls_counts_them(browser: Browser, home: Path, tmp_path: Path) -> None:
    lines: list[bytes] = []
    for number, name in enumerate(("read-readme", "damage-in-the-middle", "read-readme"), 1):
        first, *rest = recording_of(name).splitlines()
        lines += [first] * (number == 1)
        lines += [line.replace(b'{"exchange":1,', b'{"exchange":%d,' % number) for line in rest]
    path = tmp_path / "calls.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    with serving(home, "inspect", str(path)) as url, opened(browser, url) as page:
        assert page.locator(".verdict-line.bad").inner_text() == "3 calls: 2 messages, 1 error"
        page.get_by_role("navigation", name="3 calls of the model").wait_for()
