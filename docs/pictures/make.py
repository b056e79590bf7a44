"""The pictures of the documents, taken from the real page: `python docs/pictures/make.py` writes them anew.

Needs the development environment and a Chromium on this machine.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from playwright.async_api import Browser, async_playwright

from inkwire.demo.scenarios import SCENARIOS
from inkwire.inspector.document import Look
from inkwire.inspector.server import InspectorServer
from inkwire.inspector.source import Source

HERE = Path(__file__).parent
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
STEPS = {
    "half-a-path": ("read-readme", 4),
    "whole-but-no-message": ("read-readme", 5),
    "the-message": ("read-readme", 8),
    "two-calls": ("two-reads-interleaved", 6),
    "no-finish-reason": ("missing-finish-reason", 5),
    "cut-at-the-limit": ("cut-at-limit", 7),
    "damage": ("damage-in-the-middle", 3),
    "reset": ("retry-and-reset", 8),
    "half-a-character": ("crlf-and-split-characters", 3),
}
"""Picture -> the scenario and the step that it shows."""


async def main() -> None:
    """Takes every picture in both languages, the last one of the whole page."""
    names = list(SCENARIOS)
    sources = [Source(name, SCENARIOS[name].exchanges()) for name in names]
    about = tuple(SCENARIOS[name].about for name in names)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        async with InspectorServer(sources, look=Look("choose", about=about)) as server:
            for language, locale in (("en", "en-US"), ("zh", "zh-CN")):
                for picture, (scenario, step) in STEPS.items():
                    url = f"{server.url}#show={scenario}&step={step}"
                    await take(browser, url, HERE / f"{picture}.{language}.png", locale)
                url = f"{server.url}#show=two-reads-interleaved&step=7"
                await take(browser, url, HERE / f"inspector.{language}.png", locale, whole=True)
        await browser.close()


async def take(browser: Browser, url: str, path: Path, locale: str, *, whole: bool = False) -> None:
    """One picture: the step with its three panels, or the whole page."""
    size = {"width": 1440 if whole else 1120, "height": 920}
    context = await browser.new_context(
        viewport=size,  # type: ignore[arg-type]
        locale=locale,
        color_scheme="light",
    )
    page = await context.new_page()
    await page.goto(url)
    await page.wait_for_selector("html[data-loaded=yes]")
    if whole:
        await page.screenshot(path=path)
    else:
        await page.evaluate("document.querySelectorAll('.panels .body').forEach((body) => body.style.height = 'auto')")
        boxes = [await page.locator(place).bounding_box() for place in (".now", ".panels")]
        top, below = boxes
        assert top is not None
        assert below is not None
        height = below["y"] + below["height"] - top["y"] + 8
        await page.screenshot(
            path=path, clip={"x": top["x"] - 8, "y": top["y"], "width": top["width"] + 16, "height": height}
        )
    await context.close()


if __name__ == "__main__":
    asyncio.run(main())
