"""The pictures of the page in the documents: `python -m tests.server.screenshots docs/pictures`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, expect

from tests.server.browser import DESKTOP, PHONE, Server, cell, chromium, clean_page, phase, serving, start_game
from tests.support import DATA

GAME = DATA / "paper_game.json"
LOOKS = {
    "desktop-light": (DESKTOP, False),
    "desktop-dark": (DESKTOP, True),
    "phone-light": (PHONE, False),
    "phone-dark": (PHONE, True),
}


def play(page: Page, server: Server) -> None:
    """Some turns against Hunter, and a sense about to be made."""
    start_game(page, server, "hunter")
    for sense, start, end in (("d6", "e2", "e4"), ("e6", "g1", "f3"), ("c6", "f1", "c4"), ("f6", "d2", "d3")):
        phase(page, "sense")
        cell(page, sense).click()
        phase(page, "move")
        cell(page, start).click()
        cell(page, end).click()
    phase(page, "sense")
    cell(page, "e6").hover()


def review(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/#/review")
    page.locator("#game-file").set_input_files(GAME)
    expect(page.locator(".steps button").nth(20)).to_be_visible()
    page.get_by_role("slider", name="Step").fill("17")
    page.get_by_role("button", name="Whole game").click()
    page.get_by_label("Time for each step").select_option("0.3")
    expect(page.locator(".analysis .fault")).to_be_empty(timeout=120_000)
    page.evaluate("scrollTo(0, 0)")


def watch(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/#/watch")
    page.get_by_role("button", name="Start the game").click()
    expect(page.locator(".boards")).to_be_visible()
    page.wait_for_timeout(12_000)
    page.get_by_role("button", name="Pause").click()
    page.wait_for_timeout(1_000)


def take(browser: Browser, server: Server, folder: Path) -> None:
    for name, scene in {"play": play, "review": review, "watch": watch}.items():
        for look, (viewport, dark) in LOOKS.items():
            with clean_page(browser, viewport, dark) as page:
                scene(page, server)
                path = folder / f"{name}-{look}.png"
                page.screenshot(path=path)
                Image.open(path).convert("RGB").quantize(128).save(path, optimize=True)
                print(path, path.stat().st_size)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as games, serving(Path(games)) as server, chromium() as browser:
        take(browser, server, Path(sys.argv[1]))
