"""The tutorial in a real browser: all lessons to their end, by clicks and by keys, with mistakes on the way."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.server.browser import PHONE, Server, cell, clean_page, phase, serving, start_game
from tests.server.lesson_ways import WAY


@pytest.fixture(scope="module")
def server(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("games")) as server:
        yield server


def do(page: Page, word: str | None) -> None:
    """Senses, or moves, by clicks."""
    assert word is not None
    for square in (word[:2], word[2:4]):
        if square:
            cell(page, square).click()


def test_the_tutorial_is_played_to_its_end(browser: Browser, server: Server) -> None:
    with clean_page(browser) as page:
        page.goto(server.url)
        page.get_by_role("link", name="Learn the game").click()
        page.get_by_role("link", name="1. What a sense shows").click()
        said = page.locator(".said")
        phase(page, "sense")
        cell(page, "g7").click()
        expect(said).to_contain_text("She is not there.")
        phase(page, "sense")
        for number, ((lesson, task), words) in enumerate(WAY.items()):
            expect(page.locator(".player-bar.them")).to_contain_text(f"Lesson {lesson}:")
            expect(page.locator(".player-bar.them")).to_contain_text(f"{task + 1} of")
            phase(page, "sense")
            for i, word in enumerate(words):
                phase(page, "move" if i % 2 else "sense")
                do(page, word)
            phase(page, "over")
            last = number == len(WAY) - 1
            go_on = page.get_by_role("button", name="Play a game" if last else "Go on")
            expect(go_on).to_be_focused()
            go_on.click()
        expect(page.get_by_role("button", name="Start the game")).to_be_visible()
        expect(page.locator(".welcome")).to_have_count(0)
        page.goto(f"{server.url}/#/learn")
        expect(page.get_by_text("✓ played")).to_have_count(5)


def tab_to(page: Page, target: Locator) -> None:
    """Presses the tab key until the focus is there."""
    for _ in range(80):
        if target.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"the tab key does not lead to {target}")


def choose(page: Page, square: str) -> None:
    """Goes to a square by the arrows, from wherever the focus is, and chooses it."""
    at = "document.activeElement.dataset.square ?? null"
    for _ in range(80):
        if page.evaluate(at) is not None:
            break
        page.keyboard.press("Tab")
    for _ in range(14):
        now = page.evaluate(at)
        if now == square:
            break
        files, ranks = ord(square[0]) - ord(now[0]), int(square[1]) - int(now[1])
        arrow = ("Right" if files > 0 else "Left") if files else ("Up" if ranks > 0 else "Down")
        page.keyboard.press(f"Arrow{arrow}")
    assert page.evaluate(at) == square
    page.keyboard.press("Enter")


def test_the_whole_tutorial_is_played_by_the_keyboard_alone(browser: Browser, server: Server) -> None:
    """From the first page to the last lesson, without a mouse, and without the focus being put anywhere."""
    with clean_page(browser) as page:
        page.goto(server.url)
        first = page.get_by_role("link", name="Learn the game")
        expect(first).to_be_visible()
        tab_to(page, first)
        page.keyboard.press("Enter")
        lesson = page.get_by_role("link", name="1. What a sense shows")
        expect(lesson).to_be_visible()
        tab_to(page, lesson)
        page.keyboard.press("Enter")
        for (number, task), words in WAY.items():
            expect(page.locator(".player-bar.them")).to_contain_text(f"Lesson {number}:")
            expect(page.locator(".player-bar.them")).to_contain_text(f"{task + 1} of")
            for i, word in enumerate(words):
                phase(page, "move" if i % 2 else "sense")
                assert word is not None
                for square in filter(None, (word[:2], word[2:4])):
                    choose(page, square)
            phase(page, "over")
            expect(page.get_by_role("button", name=re.compile("Play a game|Go on"))).to_be_focused()
            page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Start the game")).to_be_visible()
        assert page.evaluate("JSON.parse(localStorage['penumbra.settings']).learned.length") == 5


def test_a_first_visit_offers_the_lessons_and_rules_are_a_click_away(browser: Browser, server: Server) -> None:
    with clean_page(browser, PHONE) as page:
        page.goto(server.url)
        page.get_by_role("button", name="I know the game").click()
        page.reload()
        expect(page.get_by_role("button", name="Start the game")).to_be_visible()
        expect(page.locator(".welcome")).to_have_count(0)
        start_game(page, server)
        page.get_by_role("button", name="Rules").click()
        dialog = page.get_by_role("dialog", name="Rules")
        expect(dialog).to_contain_text("There is no check")
        dialog.get_by_role("button", name="Back").click()
        expect(dialog).to_have_count(0)
        assert phase(page, "sense") == "sense"
