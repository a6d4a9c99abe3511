"""The page at full size, in `make evidence`: a killed server, a phone, a whole game, accessibility, speed."""

from __future__ import annotations

import os
import random
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, CDPSession, Page, ViewportSize, expect

from penumbra.arena.game_loop import play_strictly
from penumbra.interop.history import write_record
from penumbra.players.opponents.random_player import RandomPlayer
from tests.server.browser import (
    DESKTOP,
    PHONE,
    Server,
    cell,
    clean_page,
    phase,
    serving,
    start_game,
)
from tests.server.figures import note
from tests.support import ROOT

pytestmark = pytest.mark.evidence

AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
GAME = ROOT / "tests" / "data" / "paper_game.json"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path / "games") as server:
        yield server


def test_a_killed_server_is_noticed_and_the_game_goes_on_after_its_restart(browser: Browser, server: Server) -> None:
    context = browser.new_context()
    page = context.new_page()
    start_game(page, server)
    cell(page, "e7").click()
    phase(page, "move")
    server.stop(signal.SIGKILL)
    expect(page.get_by_role("alert").filter(has_text="lost")).to_be_visible()
    server.start()
    expect(page.get_by_role("alert").filter(has_text="lost")).to_be_hidden(timeout=15_000)
    phase(page, "move")
    cell(page, "e2").click()
    cell(page, "e4").click()
    phase(page, "sense")
    expect(cell(page, "e4")).to_have_attribute("aria-label", "e4, white pawn")
    context.close()


def test_a_phone_senses_by_two_taps_and_moves_by_taps(browser: Browser, server: Server) -> None:
    with clean_page(browser, PHONE, touch=True) as page:
        start_game(page, server)
        phase(page, "sense")
        cell(page, "d7").tap()
        expect(page.locator(".banner")).to_have_text("Tap d7 again to sense there")
        expect(page.locator(".window.preview")).to_have_count(1)
        cell(page, "e7").tap()
        cell(page, "e7").tap()
        phase(page, "move")
        cell(page, "e2").tap()
        cell(page, "e4").tap()
        phase(page, "sense")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the phone"


@pytest.mark.parametrize("color", ["White", "Black"])
def test_a_whole_game(browser: Browser, server: Server, color: str) -> None:
    rng = random.Random(color)
    with clean_page(browser) as page:
        start_game(page, server, "random", color)
        for _ in range(400):
            if phase(page, "sense", "over") == "over":
                break
            page.wait_for_timeout(520)  # a sense where a piece has just been put would be a double click
            cell(page, rng.choice("bcdefg") + rng.choice("234567")).click()
            phase(page, "move")
            move_somewhere(page, rng)
        expect(page.locator(".banner")).to_have_text(re.compile("You win|You lose|A draw"))
        expect(page.locator(".why li")).not_to_have_count(0, timeout=20_000)
        page.get_by_role("button", name="Review the game").click()
        expect(page.locator(".boards")).to_be_visible()


def move_somewhere(page: Page, rng: random.Random) -> None:
    movable = page.locator(".cells .draggable")
    movable.nth(rng.randrange(movable.count())).click()
    targets = page.evaluate(
        """() => [...document.querySelectorAll('.mark.target')].map((dot) => {
            const box = dot.getBoundingClientRect();
            const at = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
            return at.dataset.square;
        })"""
    )
    cell(page, rng.choice(targets)).click()
    if page.locator("dialog.promotion").count():
        page.get_by_role("button", name="queen", exact=True).click()
    phase(page, "sense", "waiting", "over")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_there_is_no_serious_fault_of_accessibility(
    browser: Browser, server: Server, dark: bool, viewport: ViewportSize
) -> None:
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: make page")
    with clean_page(browser, viewport, dark) as page:
        page.goto(server.url)
        expect(page.get_by_role("button", name="Start the game")).to_be_visible()
        check_accessibility(page, "setup")
        start_game(page, server)
        phase(page, "sense")
        cell(page, "e7").click()
        phase(page, "move")
        cell(page, "e2").click()
        page.get_by_text("Aids").click()
        page.get_by_role("button", name="Ghosts").click()
        check_accessibility(page, "play")
        page.get_by_role("button", name="Rules").click()
        check_accessibility(page, "rules")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Resign").click()
        page.get_by_role("button", name="Really resign?").click()
        phase(page, "over")
        expect(page.locator(".why li")).not_to_have_count(0, timeout=20_000)
        check_accessibility(page, "over")
        for name in ("games", "learn", "learn/1"):
            page.goto(f"{server.url}/#/{name}")
            expect(page.locator(".past-games, .lessons, div.board").first).to_be_visible()
            check_accessibility(page, name)
        page.goto(f"{server.url}/#/play")
        page.get_by_text("Play a friend").click()
        check_accessibility(page, "a friend")
        page.get_by_role("button", name="Make a link").click()
        phase(page, "invited")
        check_accessibility(page, "a link")
        with clean_page(browser, viewport, dark) as guest:
            guest.goto(page.url)
            expect(guest.get_by_role("heading", name="You are invited")).to_be_visible()
            check_accessibility(guest, "invitation")
        page.goto(f"{server.url}/#/practice")
        phase(page, "sense", "move")
        check_accessibility(page, "practice")
        page.goto(f"{server.url}/#/review")
        page.locator("#game-file").set_input_files(GAME)
        expect(page.locator(".boards")).to_be_visible()
        page.keyboard.press("End")
        check_accessibility(page, "review")
        page.goto(f"{server.url}/#/watch")
        page.get_by_role("button", name="Start the game").click()
        expect(page.locator(".boards")).to_be_visible()
        check_accessibility(page, "watch")


def check_accessibility(page: Page, name: str) -> None:
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run()")
    serious = [
        f"{name}: {fault['id']}: {fault['help']}: {[node['target'] for node in fault['nodes']][:4]}"
        for fault in found["violations"]
        if fault["impact"] in ("serious", "critical")
    ]
    assert not serious
    assert len(found["passes"]) > 10


def test_the_first_page_is_painted_within_a_second(browser: Browser, server: Server) -> None:
    times = []
    for _ in range(5):
        with clean_page(browser) as page:
            page.goto(server.url)
            expect(page.get_by_role("button", name="Start the game")).to_be_visible()
            times.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
    note("first contentful paint, ms", sorted(round(t) for t in times))
    assert sorted(times)[2] < 1_000


def test_a_long_game_scrubs_at_thirty_frames_a_second(browser: Browser, server: Server, tmp_path: Path) -> None:
    game = next(
        game for seed in range(100) if (game := play_strictly(RandomPlayer(seed), RandomPlayer(seed + 1))).plies >= 200
    )
    path = tmp_path / "long.json"
    write_record(path, game.record())
    with clean_page(browser) as page:
        page.goto(f"{server.url}/#/review")
        page.locator("#game-file").set_input_files(path)
        began = time.monotonic()
        expect(page.locator(".steps button")).to_have_count(2 * game.plies, timeout=300_000)
        seconds = round(time.monotonic() - began, 1)
        note("review of a random game", {"moves": game.plies, "seconds until all sets are there": seconds})
        devtools = page.context.new_cdp_session(page)
        devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
        before = busy(devtools)
        frames = page.evaluate(
            """() => new Promise((resolve) => {
                const scrubber = document.querySelector('.scrubber');
                const last = Number(scrubber.max);
                const times = [];
                let position = 0;
                const frame = (now) => {
                    times.push(now);
                    if (position > last) { resolve(times); return; }
                    scrubber.value = String(position++);
                    scrubber.dispatchEvent(new Event('input'));
                    requestAnimationFrame(frame);
                };
                requestAnimationFrame(frame);
            })"""
        )
        work = 1_000 * (busy(devtools) - before) / len(frames)
        rate = 1_000 * (len(frames) - 1) / (frames[-1] - frames[0])
        load = os.getloadavg()[0] / (os.cpu_count() or 1)
        figures = {"frames a second": round(rate, 1), "work a frame, ms": round(work, 1), "load": round(load, 1)}
        note("scrubbing", figures)
        assert work < 1_000 / 30
        assert rate >= 30 or load > 1, "too slow, and nothing else keeps the machine busy"


def busy(devtools: CDPSession) -> float:
    """Seconds of processor time that the page's main thread has used."""
    metrics = devtools.send("Performance.getMetrics")["metrics"]
    return float(next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration"))
