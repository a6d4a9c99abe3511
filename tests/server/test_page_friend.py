"""The page between two people: a link from one browser opened in another, the game played, and played again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.server.browser import PHONE, Server, cell, clean_page, phase, serving


@pytest.fixture(scope="module")
def server(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("games")) as server:
        yield server


def turn(page: Page, sense: str, start: str, end: str) -> None:
    phase(page, "sense")
    page.wait_for_timeout(520)  # what comes sooner on the same square is a double click
    cell(page, sense).click()
    phase(page, "move")
    cell(page, start).click()
    cell(page, end).click()


def test_two_people_play_by_a_link(browser: Browser, server: Server) -> None:
    with clean_page(browser) as host, clean_page(browser, PHONE) as guest, clean_page(browser) as third:
        host.goto(server.url)
        host.get_by_text("Play a friend").click()
        form = host.locator("form").filter(has_text="Make a link")
        form.get_by_role("button", name="White", exact=True).click()
        form.get_by_role("button", name="Make a link").click()
        phase(host, "invited")
        link = host.get_by_label("Link for your friend").input_value()
        assert link == host.url
        expect(host.get_by_role("button", name="Resign")).to_be_hidden()
        expect(cell(host, "b1")).to_have_attribute("aria-label", "b1, white knight")

        guest.goto(link)
        expect(guest.get_by_role("heading", name="You are invited")).to_be_visible()
        expect(guest.get_by_text("You have black; there is no clock.")).to_be_visible()
        guest.get_by_role("button", name="Play", exact=True).click()
        phase(guest, "waiting")
        expect(host.locator(".invite")).to_be_hidden()
        for page in (host, guest):
            expect(page.get_by_role("button", name="Hint")).to_be_hidden()
            expect(page.get_by_text("Your friend", exact=True)).to_be_visible()

        third.goto(link)
        expect(third.get_by_text("both seats of this game are taken")).to_be_visible()
        expect(third.locator(".cells")).to_have_count(0)

        turn(host, "e7", "b1", "c3")
        expect(cell(guest, "c3")).not_to_have_attribute("aria-label", "c3, white knight")
        turn(guest, "e2", "e7", "e5")
        phase(host, "sense")
        guest.reload()
        phase(guest, "waiting")
        expect(cell(guest, "e5")).to_have_attribute("aria-label", "e5, black pawn")
        turn(host, "e7", "c3", "b5")
        turn(guest, "e2", "a7", "a6")
        guest.get_by_role("button", name="Resign").click()
        guest.get_by_role("button", name="Really resign?").click()
        expect(host.locator(".banner")).to_have_text("Your opponent gave up. You win!")
        expect(guest.locator(".banner")).to_have_text("You resigned.")

        guest.get_by_role("button", name="Rematch, colours swapped").click()
        phase(guest, "invited")
        host.get_by_role("button", name="Accept the rematch").click()
        phase(host, "waiting")
        phase(guest, "sense")

        for page, words in ((host, "won in"), (guest, "lost in")):
            page.goto(f"{server.url}/#/games")
            expect(page.locator(".past-games li")).to_have_count(2)
            expect(page.locator(".past-games")).to_contain_text("A friend")
            expect(page.locator(".past-games")).to_contain_text(words)


def test_an_invitation_is_taken_back(browser: Browser, server: Server) -> None:
    with clean_page(browser) as host:
        host.goto(server.url)
        host.get_by_text("Play a friend").click()
        host.get_by_role("button", name="Make a link").click()
        phase(host, "invited")
        host.get_by_role("button", name="Cancel").click()
        expect(host.get_by_role("button", name="Start the game")).to_be_visible()
        expect(host.get_by_text("Go on with a game")).to_have_count(0)
