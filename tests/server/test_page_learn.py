"""The tutorial in a real browser: all lessons to their end, by clicks and by keys, with mistakes on the way."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

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


def test_a_lesson_is_played_by_keys_alone(browser: Browser, server: Server) -> None:
    with clean_page(browser) as page:
        page.goto(f"{server.url}/#/learn/1")
        phase(page, "sense")
        cell(page, "e4").focus()
        page.keyboard.press("Enter")  # e4 shows d5 too
        phase(page, "move")
        for key in ("ArrowLeft", "ArrowLeft", "ArrowDown", "Enter", "ArrowRight", "ArrowUp", "ArrowUp", "Enter"):
            page.keyboard.press(key)  # c3, then d5
        phase(page, "over")
        page.keyboard.press("Enter")  # goes on
        expect(page.locator(".player-bar.them")).to_contain_text("2 of 2")


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
