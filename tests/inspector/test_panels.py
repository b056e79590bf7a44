"""What the panels show, in a real browser: exact, bounded, readable, with nothing hidden."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.inspector.browser import CHROMIUM, opened, panel, serving

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium was found, so the page was not tried in a browser"
)

FINISH = '{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1}}'


def call(arguments: str, index: int = 0) -> dict[str, Any]:
    return {"index": index, "id": f"c{index}", "function": {"name": "write", "arguments": arguments}}


def body(*deltas: dict[str, Any], end: str = FINISH) -> str:
    choices = [json.dumps({"choices": [{"index": 0, "delta": delta}]}) for delta in deltas]
    return "".join(f"data: {payload}\n\n" for payload in [*choices, *filter(None, [end]), "[DONE]"])


@contextmanager
def shown(browser: Browser, home: Path, content: str, fragment: str = "#step=999", **options: Any) -> Iterator[Page]:
    """The page on this body, at its last step or another."""
    path = home / "body.txt"
    path.write_text(content)
    with serving(home, "inspect", str(path)) as url, opened(browser, url + fragment, **options) as page:
        if fragment == "#step=999":
            page.keyboard.press("End")
        yield page


def elements(page: Page, selector: str = "*") -> int:
    return int(page.evaluate(f"document.querySelectorAll({selector!r}).length"))


def test_numbers_are_shown_as_they_are_written(browser: Browser, home: Path) -> None:
    arguments = '{"id":9007199254740993,"rate":1.10}'
    with shown(browser, home, body(call_delta(arguments)), "#step=2") as page:
        assert "9007199254740993" in page.locator("[data-panel=held] .tree").inner_text()
        assert "1.10" in page.locator("[data-panel=held] .tree").inner_text()
        page.keyboard.press("End")
        assert "9007199254740993" in page.locator("[data-panel=given] .verdict pre").inner_text()
        page.locator("[data-panel=given] details summary").click()
        message = json.loads(page.locator("[data-panel=given] .json").inner_text())
        assert message["parts"][0]["arguments"] == {"id": 9007199254740993, "rate": 1.1}
    payload = '{"choices":[{"index":0,"delta":{"content":"a"}}],"seed":12345678901234567890,"note":"1e2,[{"}'
    with shown(browser, home, f"data: {payload}\n\n", "#step=2") as page:
        page.locator("[data-panel=received] details summary").click()
        found = page.locator("[data-panel=received] .json").inner_text()
        assert json.loads(found) == json.loads(payload)


def call_delta(*arguments: str) -> dict[str, Any]:
    return {"tool_calls": [call(text, index) for index, text in enumerate(arguments)]}


def test_an_object_of_very_many_keys_costs_little_and_can_be_opened(browser: Browser, home: Path) -> None:
    keys = json.dumps({f"key{number}": number for number in range(20_000)})
    pieces = [keys[at : at + 20_000] for at in range(0, len(keys), 20_000)]
    with shown(browser, home, body(*(call_delta(piece) for piece in pieces))) as page:
        assert elements(page) < 6_000
        tree = page.locator("[data-panel=held] .tree")
        assert "key19999" in tree.inner_text()
        assert "key19500" not in tree.inner_text()
        tree.locator("button.more").click()
        assert "key19500" in tree.inner_text()


def test_very_many_calls_cost_little_and_can_be_opened(browser: Browser, home: Path) -> None:
    calls = call_delta(*(f'{{"n":{number}}}' for number in range(900)))
    with shown(browser, home, body(calls), "#step=2") as page:
        assert elements(page) < 6_000
        assert elements(page, "[data-panel=given] .event") <= 100
        held = page.locator("[data-panel=held]")
        assert held.locator(".part").count() <= 24
        held.locator(".others button.more").click()
        assert held.locator(".part").count() > 400
        page.keyboard.press("End")
        assert elements(page) < 6_000
        page.locator("[data-panel=given] .verdicts button.more").click()
        assert elements(page, "[data-panel=given] .verdict") > 400


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a\u200bb", "a‹U+200B›b"),
        ("a\u00adb", "a‹U+00AD›b"),
        ("a\U000e0041b", "a‹U+E0041›b"),
        ("a\u202eb\u2066", "a‹U+202E›b‹U+2066›"),
        ("a\u200db\u3164", "a‹U+200D›b‹U+3164›"),
        ("a\x1bb\x9bc", "a‹ESC›b‹9B›c"),
        ("👩\u200d💻 ❤\ufe0f 👋🏽", "👩\u200d💻 ❤\ufe0f 👋🏽"),
        ("می\u200cخواهم 你好。", "می\u200cخواهم 你好。"),
        ("1\u200d2 a1\ufe0f.txt 1\ufe0f\u20e3", "1‹U+200D›2 a1‹U+FE0F›.txt 1\ufe0f\u20e3"),
        ("葛\U000e0100 \u0600", "葛\U000e0100 \u0600"),
        ("❤\ufe0f\ufe0f", "❤\ufe0f‹U+FE0F›"),
    ],
)
def test_what_cannot_be_seen_is_told_and_what_belongs_to_the_script_is_left(
    browser: Browser, demo: str, text: str, told: str
) -> None:
    with opened(browser, demo) as page:
        assert page.evaluate("(text) => visible(text)", text) == told


CONTRAST = """(selector) => {
  const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = ([red, green, blue]) => [red, green, blue].map((each) => each / 255)
    .map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4))
    .reduce((sum, each, at) => sum + each * [0.2126, 0.7152, 0.0722][at], 0);
  const element = document.querySelector(selector);
  if (element === null) throw new Error(selector);
  let behind = element;
  let opacity = 1;
  for (let each = element; each; each = each.parentElement) opacity *= Number(getComputedStyle(each).opacity);
  while ((channels(getComputedStyle(behind).backgroundColor)[3] ?? 1) === 0) behind = behind.parentElement;
  const under = channels(getComputedStyle(behind).backgroundColor);
  const mixed = channels(getComputedStyle(element).color).map((each, at) => each * opacity + under[at] * (1 - opacity));
  const [one, other] = [light(mixed), light(under)].sort((a, b) => b - a);
  return (one + 0.05) / (other + 0.05);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_small_print_can_be_read(browser: Browser, demo: str, home: Path, scheme: Any) -> None:
    with opened(browser, f"{demo}#show=retry-and-reset&step=1", color_scheme=scheme) as page:
        while page.locator(".part.void .tag").count() == 0:
            page.keyboard.press("ArrowRight")
        for selector in (".part.void .chip", ".part.void .tag", ".part.void pre", ".status"):
            assert page.evaluate(CONTRAST, selector) >= 4.5, selector
        page.keyboard.press("End")
        for selector in (".function .number", ".function .row", ".function .row.lit", ".list .gap", ".panel .about"):
            assert page.evaluate(CONTRAST, selector) >= 4.5, selector
    with shown(browser, home, body(call_delta('{"a":1,"b":true}')), "#step=2", color_scheme=scheme) as page:
        for selector in (".tree .literal.new", ".tree .key", ".chip", ".fragments i"):
            assert page.evaluate(CONTRAST, selector) >= 4.5, selector
        page.keyboard.press("End")
        for selector in (".tree .literal", ".state", ".verdict.good b", ".ending.good", ".fact dt"):
            assert page.evaluate(CONTRAST, selector) >= 4.5, selector


def test_an_error_shows_what_had_arrived(browser: Browser, demo: str) -> None:
    with opened(browser, f"{demo}#show=missing-finish-reason") as page:
        page.keyboard.press("End")
        partial = page.locator("[data-panel=given] .partial").inner_text()
        assert "I'll read it." in partial
        assert "a call that never runs read" in partial
        assert '{"path":"README.md"}' in partial


def test_an_empty_line_is_no_keep_alive(browser: Browser, home: Path) -> None:
    path = home / "blank.jsonl"
    reads = [": ping\n\n", "\n", body({"content": "a"})]
    lines: list[dict[str, Any]] = [{"inkwire_recording": 1}, {"exchange": 1, "kind": "request", "protocol": "chat"}]
    lines += [{"exchange": 1, "kind": "read", "t": 0.1, "text": text} for text in reads]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with serving(home, "inspect", str(path)) as url, opened(browser, f"{url}#step=2") as page:
        assert "keeps the connection alive" in page.locator(".position").inner_text()
        page.keyboard.press("ArrowRight")
        assert "an empty line" in page.locator(".position").inner_text()
        assert "↵" in panel(page, "received")


def test_reasons_are_chinese_on_the_chinese_page(browser: Browser, demo: str) -> None:
    with opened(browser, f"{demo}#show=broken-arguments") as page:
        page.keyboard.press("l")
        page.keyboard.press("End")
        assert "参数被截断:对象还没有闭合" in panel(page, "given")
        assert "参数被截断:对象还没有闭合" in panel(page, "issues")


def test_the_panels_of_two_recordings_stand_side_by_side(browser: Browser, home: Path, tmp_path: Path) -> None:
    paths = [tmp_path / "one", tmp_path / "a recording with a very long name that takes two lines of its column"]
    for path, content in zip(paths, ("a", "b" * 2_000), strict=True):
        path.write_text(body({"content": content}))
    with (
        serving(home, "inspect", *map(str, paths)) as url,
        opened(browser, f"{url}#step=2", viewport={"width": 900, "height": 900}) as page,
    ):
        for name in ("received", "held", "given"):
            tops = [box["y"] for each in page.locator(f"[data-panel={name}]").all() if (box := each.bounding_box())]
            assert len(tops) == 2
            assert abs(tops[0] - tops[1]) < 1


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_phone_shows_all_three_panels_at_once(browser: Browser, demo: str, language: str) -> None:
    address = f"{demo}#show=two-reads-interleaved&step=6"
    with opened(browser, address, viewport={"width": 390, "height": 844}) as page:
        if language == "zh":
            page.keyboard.press("l")
        assert page.evaluate("scrollY") == 0
        moves = page.locator(".moves").bounding_box()
        given = page.locator("[data-panel=given]").bounding_box()
        now = page.locator(".now").bounding_box()
        assert moves is not None
        assert given is not None
        assert now is not None
        assert now["y"] >= 0
        assert given["y"] + given["height"] <= moves["y"]
        before = page.evaluate("scrollY")
        page.keyboard.press("ArrowRight")
        assert page.evaluate("scrollY") == before


def test_what_is_new_in_a_long_tree_is_in_sight(browser: Browser, home: Path) -> None:
    keys = json.dumps({f"key{number}": number for number in range(400)})
    content = body(
        call_delta(keys[:3_000]), {"tool_calls": [{"index": 0, "function": {"arguments": keys[3_000:3_100]}}]}
    )
    with shown(browser, home, content, "#step=3") as page:
        tree = page.locator("[data-panel=held] .tree")
        box, new = tree.bounding_box(), tree.locator(".new").last.bounding_box()
        assert box is not None
        assert new is not None
        assert box["y"] <= new["y"]
        assert new["y"] + new["height"] <= box["y"] + box["height"]


def test_a_key_that_comes_again_is_seen_where_it_grows(browser: Browser, home: Path) -> None:
    with shown(browser, home, body(call_delta('{"a":1,"b":2,"a":{"x":"lo')), "#step=2") as page:
        assert page.locator(".tree .caret").count() == 1
    many = json.dumps({f"key{number}": number for number in range(1_000)})[:-1] + ',"key5":"again'
    with shown(browser, home, body(call_delta(many)), "#step=2") as page:
        tree = page.locator("[data-panel=held] .tree")
        assert "key5: again" in tree.inner_text()
        while tree.locator("button.more").count():
            tree.locator("button.more").click()
        keys = tree.locator(".key").all_inner_texts()
        assert keys == [f"key{number}" for number in range(1_000)]


def test_opening_more_keeps_the_place_of_the_keyboard(browser: Browser, home: Path) -> None:
    calls = call_delta(*(f'{{"n":{number}}}' for number in range(900)))
    with shown(browser, home, body(calls), "#step=2") as page:
        for list_ in ("[data-panel=given] .events", "[data-panel=held] .others"):
            page.locator(f"{list_} button.more").focus()
            while page.locator(f"{list_} button.more").count():
                assert page.evaluate("document.activeElement.className") == "more"
                page.keyboard.press("Enter")
            assert page.evaluate("document.activeElement.dataset.panel") in list_
        assert elements(page, "[data-panel=given] .event") == 1_800
        assert page.locator("[data-panel=held] .part").count() == 900
        assert page.locator("[data-panel=held] .others .part").first.get_attribute("data-part") == "0"


def test_long_final_arguments_can_be_opened(browser: Browser, home: Path) -> None:
    with shown(browser, home, body(call_delta(json.dumps({"text": "a" * 2_000 + "THE END"})))) as page:
        verdict = page.locator("[data-panel=given] .verdict pre")
        assert "THE END" not in verdict.inner_text()
        verdict.locator("button.more").click()
        assert "THE END" in verdict.inner_text()


def test_a_text_is_not_cut_inside_a_character(browser: Browser, demo: str) -> None:
    with opened(browser, demo) as page:
        assert page.evaluate("shortened('a😀b', 2)") == "a…"
        assert page.evaluate("longText('😀'.repeat(4_001), 0).lastChild.data.length") == 4_000
        assert page.evaluate("longText('😀'.repeat(4_000) + 'a', 0).lastChild.data.isWellFormed()")


def test_a_cut_request_is_indented_as_far_as_it_goes(browser: Browser, home: Path) -> None:
    text = json.dumps({"seed": 12345678901234567890, "messages": [{"content": "b" * 70_000}]})
    path = home / "cut.jsonl"
    lines: list[dict[str, Any]] = [{"inkwire_recording": 1}]
    lines += [
        {"exchange": 1, "kind": "request", "protocol": "chat", "method": "POST", "url": "http://x/", "body": text}
    ]
    lines += [{"exchange": 1, "kind": "response", "t": 0.1, "status": 200, "headers": {}}]
    lines += [{"exchange": 1, "kind": "read", "t": 0.1, "text": body({"content": "a"})}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with serving(home, "inspect", str(path)) as url, opened(browser, f"{url}#step=1") as page:
        page.get_by_text("request body").click()
        found = page.locator("[data-panel=received] .json").inner_text()
        assert '  "seed": 12345678901234567890,' in found
        assert "the page has no more of it" in found


def test_no_word_of_the_program_s_inside_is_shown(browser: Browser, demo: str) -> None:
    with opened(browser, f"{demo}#show=read-readme&step=2", locale="zh-CN") as page:
        told = page.locator(".fragments li").all_inner_texts()
        while page.evaluate("app.first.at + 1 < app.first.trace.length"):
            page.keyboard.press("ArrowRight")
            told += page.locator(".fragments li i").all_inner_texts()
            told += page.locator(".fragments li b").all_inner_texts()
        assert {"调用的片段", "位置", "参数字符串", "协议原文"} <= set(told)
        assert not {"call", "key", "arguments", "raw", "whole", "opens", "finish", "done"} & set(told)


def test_the_group_of_panels_is_named_in_the_language_that_is_chosen(browser: Browser, demo: str) -> None:
    with opened(browser, demo) as page:
        page.keyboard.press("l")
        assert page.locator(".panels").get_attribute("aria-label") == "一步"
