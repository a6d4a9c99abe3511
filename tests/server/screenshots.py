"""The pictures of the page in the documents: `python -m tests.server.screenshots docs/pictures [SCENE ...]`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, expect

from penumbra.review.puzzles.puzzle import read_puzzles, shipped
from tests.server.browser import (
    DESKTOP,
    PHONE,
    SIDEWAYS,
    Server,
    cell,
    chromium,
    clean_page,
    phase,
    serving,
    start_game,
)
from tests.support import DATA

PUZZLES = [puzzle for found in read_puzzles(shipped()).values() for puzzle in found]
LOOKS = {
    "desktop-light": (DESKTOP, False),
    "desktop-dark": (DESKTOP, True),
    "phone-light": (PHONE, False),
    "phone-dark": (PHONE, True),
    "sideways-light": (SIDEWAYS, False),
}
TAKEN = {  # by scene: which looks
    "ladder": ("desktop-light", "phone-dark"),
    "lesson": ("desktop-dark", "phone-light"),
    "play": ("desktop-light", "desktop-dark", "phone-light", "phone-dark", "sideways-light"),
    "games": ("desktop-light", "phone-dark"),
    "friend": ("desktop-light", "phone-dark"),
    "practice": ("desktop-light", "phone-dark"),
    "review": ("desktop-light", "desktop-dark", "phone-light", "phone-dark"),
    "watch": ("desktop-light", "desktop-dark", "phone-light", "phone-dark"),
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


def practice(page: Page, server: Server) -> None:
    """A puzzle that asks for a sense, answered."""
    puzzle = max((p for p in PUZZLES if p.kind == "king" and len(p.states) < 40), key=lambda p: p.difficulty)
    page.goto(f"{server.url}/#/practice/{puzzle.id}")
    phase(page, "sense")
    cell(page, puzzle.solutions[0]).click()
    phase(page, "over")


def ladder(page: Page, server: Server) -> None:
    """Whom one can play."""
    page.goto(server.url)
    expect(page.locator(".ladder")).to_be_visible()
    page.get_by_role("button", name="I know the game").click()


def lesson(page: Page, server: Server) -> None:
    """The first lesson, after its sense."""
    page.goto(f"{server.url}/#/learn/1")
    phase(page, "sense")
    cell(page, "d5").click()
    phase(page, "move")


def games(page: Page, server: Server) -> None:
    """Two games, one of them over."""
    play(page, server)
    page.get_by_role("button", name="Resign").click()
    page.get_by_role("button", name="Really resign?").click()
    phase(page, "over")
    start_game(page, server, "attacker", "Black")
    page.goto(f"{server.url}/#/games")
    expect(page.locator(".past-games li")).to_have_count(2)


def friend(page: Page, server: Server) -> None:
    """A link to pass on, before anybody has followed it."""
    page.goto(server.url)
    page.get_by_text("Play a friend").click()
    page.get_by_role("button", name="Make a link").click()
    phase(page, "invited")


def review(page: Page, server: Server) -> None:
    """A mistake, and what Penumbra would have done."""
    page.goto(f"{server.url}/#/review")
    with tempfile.NamedTemporaryFile("w", suffix=".json") as game:
        game.write((DATA / "real_games.jsonl").read_text().splitlines()[4])
        game.flush()
        page.locator("#game-file").set_input_files(game.name)
        expect(page.locator(".steps button")).to_have_count(46, timeout=120_000)
    page.get_by_role("slider", name="Step").fill("41")
    phone = page.get_by_role("button", name="Engine", exact=True)
    if phone.is_visible():
        phone.click()
    page.get_by_label("Time for each step").select_option("0.3")
    page.get_by_role("button", name="Analyse this turn").click()
    expect(page.locator(".thought table")).to_be_visible(timeout=240_000)
    page.get_by_role("button", name="White's view").click()
    if phone.is_visible():
        page.get_by_role("button", name="Mistakes", exact=True).click()
    page.evaluate("scrollTo(0, 0)")


def watch(page: Page, server: Server) -> None:
    page.goto(f"{server.url}/#/watch")
    page.get_by_role("button", name="Start the game").click()
    expect(page.locator(".boards")).to_be_visible()
    page.wait_for_timeout(12_000)
    page.get_by_role("button", name="Pause").click()
    page.wait_for_timeout(1_000)


SCENES = {
    "ladder": ladder,
    "lesson": lesson,
    "play": play,
    "games": games,
    "friend": friend,
    "practice": practice,
    "review": review,
    "watch": watch,
}


def take(browser: Browser, server: Server, folder: Path, scenes: Sequence[str]) -> None:
    for name in scenes:
        for look in TAKEN[name]:
            viewport, dark = LOOKS[look]
            with clean_page(browser, viewport, dark) as page:
                SCENES[name](page, server)
                path = folder / f"{name}-{look}.png"
                page.screenshot(path=path)
                Image.open(path).convert("RGB").quantize(128).save(path, optimize=True)
                print(path, path.stat().st_size)


if __name__ == "__main__":
    folder, *scenes = sys.argv[1:]
    with tempfile.TemporaryDirectory() as data, serving(Path(data)) as server, chromium() as browser:
        take(browser, server, Path(folder), scenes or list(SCENES))
