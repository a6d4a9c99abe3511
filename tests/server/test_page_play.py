"""The page in play: nothing is lost by haste, the next turn is planned, the past looked at, hints are asked for."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, WebSocketRoute, expect

from tests.server.browser import Server, cell, clean_page, phase, serving, start_game

SCREENS = [(320, 568), (390, 844), (667, 375), (844, 390), (820, 1180), (1280, 900), (1440, 900), (2560, 1440)]


@pytest.fixture(scope="module")
def server(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("games")) as server:
        yield server


def turns(page: Page) -> list[str]:
    return [text.replace("\n", " ") for text in page.locator(".moves li").all_inner_texts()]


def resign(page: Page) -> None:
    page.get_by_role("button", name="Resign").click()
    page.get_by_role("button", name="Really resign?").click()
    phase(page, "over")


def held(page: Page) -> list[Any]:
    """From now on what the server says waits in this list until it is let through."""
    waiting: list[Any] = []
    holding: list[bool] = []

    def speak(route: WebSocketRoute) -> None:
        own = route.connect_to_server()
        own.on_message(lambda text: waiting.append(lambda: route.send(text)) if holding else route.send(text))

    page.route_web_socket("**/socket", speak)
    waiting.append(holding)
    return waiting


def test_a_double_click_does_not_lose_a_turn(browser: Browser, server: Server) -> None:
    """The second click falls into another step, which it must not take: on the board, on a button, by a held key."""
    with clean_page(browser) as page:
        start_game(page, server)
        cell(page, "e4").dblclick()  # senses; the second click would choose
        phase(page, "move")
        cell(page, "e2").click()
        cell(page, "e4").dblclick()  # moves; Random answers at once, so that the second click would sense
        phase(page, "sense")
        page.wait_for_timeout(100)
        assert [re.sub(r"\\s+", " ", turn) for turn in turns(page)] == ["1. ◎ e4 e4", "2."]

        nothing = page.get_by_role("button", name="Sense nothing")
        passing = page.get_by_role("button", name="Pass", exact=True)
        expect(passing).to_be_disabled()
        nothing.dblclick()
        phase(page, "move")
        expect(passing).to_be_disabled()  # for half a second more
        page.wait_for_timeout(100)
        assert turns(page)[1].split() == ["2.", "◎", "none"]
        passing.dblclick()
        phase(page, "sense")
        page.wait_for_timeout(100)
        assert turns(page)[1].split() == ["2.", "◎", "none", "pass"]
        assert turns(page)[2].split() == ["3."]
        boxes = [one.bounding_box() for one in (nothing, passing)]
        assert boxes[0] and boxes[1] and boxes[0]["x"] + boxes[0]["width"] + 40 < boxes[1]["x"]

        page.wait_for_timeout(600)
        page.keyboard.down("p")  # it is the time to sense
        page.keyboard.down("n")
        phase(page, "move")
        for _ in range(5):
            page.keyboard.down("n")
        page.keyboard.down("p")  # too soon
        page.wait_for_timeout(100)
        assert turns(page)[2].split() == ["3.", "◎", "none"]


def test_what_is_said_moves_nothing(browser: Browser, server: Server) -> None:
    parts = (".board", ".choices", ".tools", ".moves", ".banner")

    def boxes(page: Page) -> list[Any]:
        return [page.locator(part).first.bounding_box() for part in parts]

    for width, height in ((1280, 900), (390, 844), (844, 390)):
        with clean_page(browser, ViewportSize(width=width, height=height)) as page:
            start_game(page, server)
            before = boxes(page)
            cell(page, "e7").click()
            phase(page, "move")
            assert page.locator(".notices li").count() == 2
            assert boxes(page) == before
            page.evaluate("document.querySelector('.notices').innerHTML = '<li>a long notice</li>'.repeat(20)")
            assert boxes(page) == before


def test_the_board_uses_the_screen(browser: Browser, server: Server) -> None:
    """From 320 to 2,560 pixels, on its side too: nothing is wider than the screen, and the board is large."""
    with clean_page(browser) as page:
        start_game(page, server)
        for width, height in SCREENS:
            page.set_viewport_size(ViewportSize(width=width, height=height))
            page.wait_for_timeout(50)
            board = page.locator("div.board").bounding_box()
            assert board and board["width"] == pytest.approx(board["height"], abs=1)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert board["x"] >= 0 and board["y"] >= 0 and board["y"] + board["height"] <= height
            assert board["width"] >= (0.9 if height < 400 else 0.75) * min(width, height)


@pytest.mark.parametrize("name", ["play", "learn", "learn/3", "games", "watch"])
def test_no_page_is_wider_than_a_small_phone(browser: Browser, server: Server, name: str) -> None:
    with clean_page(browser, ViewportSize(width=320, height=568)) as page:
        page.goto(f"{server.url}/#/{name}")
        expect(page.locator(".ladder, .lessons .card, div.board, .wide .lead, .setup").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == 320
        links = page.get_by_role("navigation", name="Pages")
        assert links.evaluate("nav => nav.scrollWidth <= nav.clientWidth"), "the links do not fit beside each other"
        edges = [box for link in links.get_by_role("link").all() if (box := link.bounding_box())]
        assert len(edges) == 6
        for row in (edges[:3], edges[3:]):
            assert all(a["x"] + a["width"] <= b["x"] + 1 and a["y"] == b["y"] for a, b in itertools.pairwise(row))
            assert row[-1]["x"] + row[-1]["width"] <= 320 and all(edge["height"] >= 24 for edge in row)


def test_after_a_reload_all_is_as_the_server_says(browser: Browser, server: Server) -> None:
    with clean_page(browser) as page:
        start_game(page, server)
        page.get_by_text("Aids").click()
        page.get_by_role("button", name="Heat").click()
        cell(page, "e7").click()
        phase(page, "move")
        expect(page.locator(".states")).to_have_text(re.compile("possible"))
        notices = page.locator(".notices li").all_inner_texts()
        assert len(notices) == 2
        page.reload()
        phase(page, "move")
        expect(page.get_by_role("button", name="Heat")).to_have_attribute("aria-pressed", "true")
        expect(page.locator(".states")).to_have_text(re.compile("possible"))
        assert page.locator(".notices li").all_inner_texts() == notices
        expect(page).to_have_title("● Your turn · Penumbra")
        expect(page.locator("link[rel=icon]")).to_have_attribute("href", re.compile("d6301f"))  # the red dot
        page.goto(f"{server.url}/#/learn")
        expect(page).to_have_title("Learn · Penumbra")
        expect(page.locator("link[rel=icon]")).not_to_have_attribute("href", re.compile("d6301f"))


def test_notes_are_dragged_like_pieces(browser: Browser, server: Server) -> None:
    with clean_page(browser) as page:
        start_game(page, server)
        page.get_by_text("Aids").click()
        page.get_by_role("button", name="note a black queen").click()
        cell(page, "d5").click()
        page.get_by_role("button", name="Off", exact=True).click()
        expect(cell(page, "d5")).to_have_attribute("aria-label", re.compile("your note: black queen"))
        cell(page, "d5").drag_to(cell(page, "c4"))
        expect(cell(page, "c4")).to_have_attribute("aria-label", re.compile("your note: black queen"))
        expect(cell(page, "d5")).not_to_have_attribute("aria-label", re.compile("your note"))
        assert phase(page, "sense") == "sense"  # the drag has not sensed


def test_black_does_not_hear_that_the_game_begins(browser: Browser, server: Server) -> None:
    with clean_page(browser) as page:
        start_game(page, server, "random", "Black")
        phase(page, "sense")
        assert page.locator(".notices li").all_inner_texts() == ["Your opponent moved; you lost nothing."]


def test_the_next_turn_is_planned(browser: Browser, server: Server) -> None:
    with clean_page(browser) as page:
        waiting = held(page)
        holding = waiting.pop()
        start_game(page, server)
        cell(page, "e7").click()
        phase(page, "move")
        cell(page, "e2").click()
        holding.append(True)
        cell(page, "e4").click()
        page.wait_for_function("() => document.querySelector('.banner').textContent === '…'")
        moved, *later = wait_for(page, waiting, 2)
        moved()  # our move; the opponent is thinking
        phase(page, "waiting")
        expect(page).not_to_have_title(re.compile("Your turn"))
        page.wait_for_timeout(600)
        cell(page, "d6").click()
        cell(page, "g1").drag_to(cell(page, "f3"))
        expect(page.locator(".banner")).to_contain_text("Planned: sense d6, then move g1–f3")
        holding.clear()
        for message in later:
            message()
        phase(page, "sense")
        expect(page.locator(".moves li").nth(2)).to_be_visible()
        assert turns(page)[1].split()[:4] == ["2.", "◎", "d6", "Nf3"]


def wait_for(page: Page, waiting: list[Any], messages: int) -> list[Any]:
    for _ in range(200):
        if len(waiting) >= messages:
            return waiting
        page.wait_for_timeout(25)
    raise AssertionError(f"{len(waiting)} messages came")


def test_ones_own_turns_are_looked_at_again(browser: Browser, server: Server) -> None:
    with clean_page(browser) as page:
        start_game(page, server)
        for sense, start, end in (("e7", "e2", "e4"), ("d6", "g1", "f3")):
            cell(page, sense).click()
            phase(page, "move")
            cell(page, start).click()
            cell(page, end).click()
            phase(page, "sense")
        page.locator(".moves button").first.click()
        expect(page.locator(".banner")).to_contain_text("Turn 1, as you knew it then")
        expect(cell(page, "g1")).to_have_attribute("aria-label", "g1, white knight")
        cell(page, "a6").click()  # nothing is done there
        page.get_by_role("button", name="One step back").click()
        expect(cell(page, "e2")).to_have_attribute("aria-label", "e2, white pawn")
        page.get_by_role("button", name="Turn the board").click()
        box, other = cell(page, "a1").bounding_box(), cell(page, "h8").bounding_box()
        assert box and other and box["x"] > other["x"] and box["y"] < other["y"]
        page.keyboard.press("Escape")
        expect(cell(page, "f3")).to_have_attribute("aria-label", "f3, white knight")
        assert len(turns(page)) == 3 and phase(page, "sense") == "sense"


def test_settings_are_remembered_and_a_rematch_swaps_colours(browser: Browser, server: Server) -> None:
    with clean_page(browser) as page:
        start_game(page, server, "attacker")
        page.get_by_role("button", name="Sound off").click()
        resign(page)
        page.get_by_role("button", name="Rematch").click()
        expect(page.locator(".player-bar.you .disc.black")).to_be_visible()
        expect(page.locator(".player-bar.them")).to_contain_text("Attacker")
        expect(page.get_by_role("button", name="Sound on")).to_be_visible()
        phase(page, "sense")
        page.goto(f"{server.url}/#/play")
        expect(page.locator("[name=opponent]:checked")).to_have_value("attacker")
        expect(page.locator("[data-player=attacker] .score")).to_have_text("0 won, 1 lost")
        expect(page.locator("[data-player=attacker] .rating")).to_have_text("1352")


def test_a_game_is_in_the_history_of_its_browser_alone(browser: Browser, server: Server) -> None:
    with clean_page(browser) as page:
        start_game(page, server)
        page.get_by_text("Aids").click()
        page.get_by_role("button", name="Ghosts").click()
        expect(page.locator(".states")).to_have_text(re.compile("possible"))
        resign(page)
        page.goto(f"{server.url}/#/games")
        game = page.locator(".past-games li")
        expect(game).to_contain_text("lost in 0 turns: resignation, with assistance")
        with page.expect_download() as saved:
            game.get_by_role("button", name="Save").click()
        assert json.loads(saved.value.path().read_text())["type"] == "GameHistory"
        with clean_page(browser) as stranger:
            stranger.goto(f"{server.url}/#/games")
            expect(stranger.locator("main")).to_contain_text("There are none yet.")
        expect(page.locator("main")).to_contain_text("until you delete them")
        game.get_by_role("button", name="Delete").click()
        game.get_by_role("button", name="Really?").click()
        expect(page.locator("main")).to_contain_text("There are none yet.")


def test_a_hint_is_shown_and_marked(browser: Browser, server: Server) -> None:
    with clean_page(browser) as page:
        start_game(page, server)
        page.get_by_role("button", name="Hint").click()
        expect(page.locator(".notices")).to_contain_text("Hint: sense", timeout=60_000)
        expect(page.locator(".window.preview")).to_have_count(1)
        cell(page, "e7").click()
        phase(page, "move")
        expect(page.locator(".notices")).not_to_contain_text("Hint")
        page.keyboard.press("h")
        expect(page.locator(".notices")).to_contain_text(re.compile("Hint: (move|pass)"), timeout=60_000)
        expect(page.locator(".arrow")).to_have_count(1)
        page.goto(f"{server.url}/#/games")
        expect(page.locator(".past-games li").first).to_contain_text("not over, with hints")


def test_a_lost_game_says_how(browser: Browser, server: Server) -> None:
    """The king walks into the middle of the board until somebody takes it."""
    with clean_page(browser) as page:
        start_game(page, server, "hunter")
        for move in (("e2", "e4"), ("e1", "e2"), ("e2", "e3"), ("e3", "f4"), ("f4", "g5"), ("g5", "h6"), *[None] * 20):
            if phase(page, "sense", "over") == "over":
                break
            page.wait_for_timeout(550 if move is None else 0)
            cell(page, "b2").click()
            phase(page, "move")
            if move is None:
                page.get_by_role("button", name="Pass", exact=True).click()
            else:
                cell(page, move[0]).click()
                cell(page, move[1]).click()
        expect(page.locator(".banner")).to_have_text("Your king was captured. You lose.")
        why = page.locator(".why")
        expect(why).to_contain_text("and took the king.", timeout=60_000)
        expect(why).to_contain_text(re.compile("you never looked there.* [Aa] sense at", re.DOTALL), timeout=20_000)
        expect(why).to_contain_text("left the king to be taken in")
        expect(page.locator(".mark.capture")).to_have_count(1)
