"""The review in a real browser: one board switched or three, verdicts and mistakes, all in reach without scrolling."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, ViewportSize, expect

from penumbra.core import GameRecord
from penumbra.interop.game_files import read_games
from penumbra.interop.history import write_record
from penumbra.rbc.player_view import pieces_of
from penumbra.review.frames import review_of
from penumbra.review.page import write_replay_page
from tests.server.browser import PHONE, Server, cell, clean_page, phase, serving
from tests.support import DATA

LAPTOP = ViewportSize(width=1440, height=900)


def told(problem: Exception) -> None:
    raise problem


RECORD: GameRecord = list(read_games(DATA / "real_games.jsonl", told))[4]  # its review has mistakes of both players
REVIEW: dict[str, Any] = review_of(RECORD)


@pytest.fixture(scope="module")
def server(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("games")) as server:
        yield server


@pytest.fixture(scope="module")
def game(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("game") / "game.json"
    write_record(path, RECORD)
    return path


def opened(page: Page, server: Server, game: Path) -> None:
    page.goto(f"{server.url}/#/review")
    page.locator("#game-file").set_input_files(game)
    expect(page.locator(".steps button")).to_have_count(len(REVIEW["steps"]), timeout=60_000)


def is_in_view(page: Page, element: Locator) -> bool:
    """Whether all of it is on the screen without scrolling the page."""
    box, size = element.bounding_box(), page.viewport_size
    assert box is not None and size is not None
    return box["y"] >= 0 and box["y"] + box["height"] <= size["height"] and box["x"] + box["width"] <= size["width"]


def test_the_board_is_switched_between_the_truth_and_the_views_and_remembers_it(
    browser: Browser, server: Server, game: Path
) -> None:
    with clean_page(browser, LAPTOP) as page:
        opened(page, server, game)
        for button, views in (
            ("Black's view", ["black"]),
            ("All three", ["truth", "white", "black"]),
            ("White's view", ["white"]),
        ):
            page.get_by_role("button", name=button).click()
            for view in ("truth", "white", "black"):
                expect(page.locator(f".view.{view}")).to_be_visible(visible=view in views)
        expect(page.locator('.view.white [role="gridcell"][data-square="e8"]')).to_have_attribute(
            "aria-label", "e8, black king 100 %"
        )
        page.goto(f"{server.url}/#/play")
        opened(page, server, game)
        expect(page.locator(".view.white")).to_be_visible()


@pytest.mark.parametrize("viewport", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_the_board_the_engine_and_the_curves_are_in_reach_without_scrolling(
    browser: Browser, server: Server, game: Path, viewport: ViewportSize
) -> None:
    with clean_page(browser, viewport) as page:
        opened(page, server, game)
        assert is_in_view(page, page.locator(".view.truth div.board"))
        assert is_in_view(page, page.get_by_role("button", name="Next blunder"))
        for name, inside in (
            ("Engine", page.get_by_role("button", name="Whole game")),
            ("Curves", page.locator(".curve svg").first),
        ):
            if viewport == PHONE:
                page.get_by_role("button", name=name, exact=True).click()
            assert is_in_view(page, inside), name
        assert page.evaluate("scrollX + scrollY") == 0
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_mistakes_are_listed_by_cost_and_lead_to_the_move_with_its_verdict(
    browser: Browser, server: Server, game: Path
) -> None:
    with clean_page(browser, LAPTOP) as page:
        opened(page, server, game)
        entries = page.locator(".mistakes button")
        worst = REVIEW["mistakes"]
        expect(entries).to_have_count(len([m for m in REVIEW["steps"] if is_told(m)]))
        expect(entries.first).to_contain_text(worst[0]["text"])
        entries.first.click()
        expect(page.get_by_role("slider", name="Step")).to_have_value(str(worst[0]["position"] + 1))
        expect(page.locator(".judged")).to_have_text(worst[0]["text"])
        expect(page.locator(".arrow.better")).to_have_count(1)

        page.keyboard.press("Home")
        expect(page.locator(".judged")).to_be_empty()
        grave = [i + 1 for i, step in enumerate(REVIEW["steps"]) if is_grave(step)]
        for position in grave[:3]:
            page.get_by_role("button", name="Next blunder").click()
            expect(page.get_by_role("slider", name="Step")).to_have_value(str(position))


def is_told(step: dict[str, Any]) -> bool:
    return "verdict" in step and bool(step["verdict"]["cost"] > 0 or step["verdict"]["true"])


def is_grave(step: dict[str, Any]) -> bool:
    return "verdict" in step and bool(step["verdict"]["cost"] >= 0.15 or step["verdict"]["true"])


def test_after_the_analysis_of_the_whole_game_the_move_that_loses_the_king_is_a_blunder(
    browser: Browser, server: Server, game: Path
) -> None:
    """Decisions as an analysis gives them, in which the loser was confident to the end."""
    steps = REVIEW["steps"]
    last = max(i for i, step in enumerate(steps) if step["type"] == "moved" and step["color"] == "black")
    decisions = []
    for i, step in enumerate(steps):
        kind = "sense" if step["type"] == "sensed" else "move"
        decisions.append(
            {
                "player": step["color"], "turn": i // 4 + 1, "step": kind, "action": "pass", "chosen": "pass",
                "played": "e2e4", "cost": None, "reason": "search", "value": 0.6, "states": 1, "particles": 1,
                "nodes": 1, "seconds": 0.1, "actions": [], "belief": {},
            }
        )  # fmt: skip

    def answer(route: Route) -> None:
        route.fulfill(content_type="application/x-ndjson", body="".join(json.dumps(d) + "\n" for d in decisions))

    def without_verdicts(route: Route) -> None:
        lines = [json.loads(line) for line in route.fetch().text().splitlines()]
        for line in lines:
            line.pop("verdict", None)
        route.fulfill(content_type="application/x-ndjson", body="".join(json.dumps(line) + "\n" for line in lines))

    with clean_page(browser, LAPTOP) as page:
        page.route("**/api/analyse", answer)
        page.route("**/api/review", without_verdicts)
        opened(page, server, game)
        page.get_by_role("button", name="Whole game").click()
        expect(page.locator(".mistakes button")).to_have_count(1)
        expect(page.locator(".mistakes button")).to_contain_text("The chance to win fell by 60 %; Penumbra would have")
        page.get_by_role("button", name="Next blunder").click()
        expect(page.get_by_role("slider", name="Step")).to_have_value(str(last + 1))


def test_an_uploaded_game_and_its_analysis_survive_a_reload_and_are_found_by_their_link(
    browser: Browser, server: Server, game: Path
) -> None:
    with clean_page(browser, LAPTOP) as page, clean_page(browser, LAPTOP) as other:
        opened(page, server, game)
        page.get_by_label("Time for each step").select_option("0.3")
        page.get_by_role("slider", name="Step").fill("5")
        page.get_by_role("button", name="Analyse this turn").click()
        expect(page.locator(".thought table")).to_be_visible(timeout=60_000)
        said = page.locator(".thought strong").first.inner_text()
        page.wait_for_url("**/5")
        link = page.url
        for reader in (page, other):
            reader.goto("about:blank")
            reader.goto(link)
            expect(reader.locator(".thought strong").first).to_have_text(said, timeout=60_000)
            expect(reader.get_by_role("slider", name="Step")).to_have_value("5")
        other.goto(f"{server.url}/#/review")
        expect(other.locator("#game-file")).to_be_attached()
        expect(other.get_by_text("Your files")).to_be_hidden()
        page.goto(f"{server.url}/#/games")
        expect(page.get_by_text("listed under")).to_be_visible()
        page.goto(f"{server.url}/#/review")
        mine = page.locator("section").filter(has_text="Your files").locator("li").first
        mine.get_by_role("button", name="Delete").click()
        mine.get_by_role("button", name="Really?").click()
        expect(page.get_by_text("The game is deleted.")).to_be_attached()
        number = link.split("/")[-2]
        assert page.request.get(f"{server.url}/api/games/{number}").status == 404


def test_a_mistake_is_retried_against_a_bot(browser: Browser, server: Server, game: Path) -> None:
    """From before the move, as the player who made it knew it."""
    worst = REVIEW["mistakes"][0]["position"]
    with clean_page(browser, LAPTOP) as page:
        page.goto(server.url)
        page.evaluate("""localStorage.setItem("penumbra.settings", '{"opponent": "random"}')""")
        opened(page, server, game)
        page.get_by_role("slider", name="Step").fill(str(len(REVIEW["steps"])))
        page.get_by_role("button", name="Retry from here").click()
        expect(page.locator(".fault").filter(has_text="over here")).to_be_visible()
        page.locator(".mistakes button").first.click()
        page.get_by_role("button", name="Retry from here").click()
        phase(page, "move")
        own = {
            square: piece for square, piece in pieces_of(REVIEW["steps"][worst - 1]["fen"]).items() if piece.islower()
        }
        for square in own:
            expect(cell(page, square)).to_have_attribute("aria-label", re.compile(f"^{square}, black"))
        page.reload()
        phase(page, "move")
        page.goto(f"{server.url}/#/games")
        expect(page.locator(".past-games li").first).to_contain_text(
            f"retried from turn {worst // 4 + 1} of another game"
        )


def test_whoever_played_black_here_has_black_at_the_bottom(browser: Browser, tmp_path: Path) -> None:
    for name, black_below in (("Person", True), ("Somebody", False)):
        record = GameRecord.from_bytes(RECORD.to_bytes())
        record.black_name = name
        path = tmp_path / f"{name}.html"
        write_replay_page(record, path)
        with clean_page(browser, LAPTOP) as page:
            page.goto(path.as_uri())
            first = page.locator('.view.truth [role="gridcell"]').first
            expect(first).to_have_attribute("data-square", "h1" if black_below else "a8")
            expect(page.locator(".mistakes button").first).to_contain_text(REVIEW["mistakes"][0]["text"])
            page.get_by_role("button", name="White's view").click()
            expect(page.locator(".view.white .states")).to_have_text("1 position possible")
            expect(page.locator(".view.white .ghost")).to_have_count(16)
