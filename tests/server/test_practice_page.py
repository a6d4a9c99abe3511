"""Practice in a real browser: a puzzle solved, one failed, a sense and a move by keys, and what is kept of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from penumbra.review.puzzles.judging import left_by, sure_moves
from penumbra.review.puzzles.puzzle import Puzzle, read_puzzles, shipped
from tests.server.browser import PHONE, Server, cell, clean_page, phase, serving

ALL = [puzzle for found in read_puzzles(shipped()).values() for puzzle in found]


@pytest.fixture(scope="module")
def server(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("games")) as server:
        yield server


def of(kind: str) -> Puzzle:
    return next(puzzle for puzzle in ALL if puzzle.kind == kind and "pass" not in puzzle.solutions)


def opened(page: Page, server: Server, puzzle: Puzzle) -> None:
    page.goto(f"{server.url}/#/practice/{puzzle.id}")
    phase(page, "sense" if puzzle.kind in ("sense", "queen", "king") else "move")


def test_a_puzzle_is_solved_and_one_failed_and_the_streak_is_kept(browser: Browser, server: Server) -> None:
    take, queen = of("take"), of("queen")
    with clean_page(browser) as page:
        page.goto(server.url)
        page.get_by_role("link", name="Practice").click()
        phase(page, "sense", "move")
        expect(page.locator(".states")).to_have_text(re.compile(r"^[\d,]+ positions possible$"))

        opened(page, server, take)
        expect(page.locator(".states")).to_have_text(f"{len(take.states)} positions possible")
        expect(page.locator(".ghost").first).to_be_visible()
        move = take.solutions[0]
        cell(page, move[:2]).click()
        expect(page.locator(".mark.selected")).to_have_count(1)
        cell(page, move[2:]).click()
        phase(page, "over")
        expect(page.locator(".verdict.right")).to_contain_text(take.reason)
        expect(page.locator(".score")).to_contain_text("Streak 1, best 1; 1 of")

        opened(page, server, queen)
        wrong = next(square for square in ("a1", "h1", "a8", "h8") if square not in queen.solutions)
        cell(page, wrong).click()
        phase(page, "over")
        expect(page.locator(".verdict.wrong")).to_contain_text(queen.reason)
        expect(page.locator(".verdict .best")).to_have_text(f"Best: {', '.join(queen.solutions)}.")
        page.reload()
        phase(page, "sense")
        expect(page.locator(".score")).to_contain_text("Streak 0, best 1; 1 of")


def test_a_sense_and_then_a_move_by_keys(browser: Browser, server: Server) -> None:
    puzzle = of("sense")
    with clean_page(browser) as page:
        opened(page, server, puzzle)
        walk(page, puzzle, "e4" if puzzle.color else "e5", puzzle.solutions[0])
        page.keyboard.press("Enter")
        phase(page, "move")
        left = left_by(puzzle, puzzle.solutions[0])
        expect(page.locator(".states")).to_have_text(re.compile(rf"^{len(left)} positions? possible$"))
        move = sure_moves(left)[0]
        walk(page, puzzle, puzzle.solutions[0], move[:2])
        page.keyboard.press("Enter")
        walk(page, puzzle, move[:2], move[2:4])
        page.keyboard.press("Enter")
        phase(page, "over")
        expect(page.locator(".verdict.right")).to_contain_text(puzzle.reason)
        page.get_by_role("button", name="Next puzzle").press("Enter")
        phase(page, "sense", "move")
        assert puzzle.id not in page.url


def walk(page: Page, puzzle: Puzzle, start: str, end: str) -> None:
    """By arrow keys from one square to another."""
    cell(page, start).focus()
    up = int(end[1]) - int(start[1])
    right = ord(end[0]) - ord(start[0])
    if not puzzle.color:
        up, right = -up, -right
    for key in ["ArrowUp" if up > 0 else "ArrowDown"] * abs(up) + ["ArrowRight" if right > 0 else "ArrowLeft"] * abs(
        right
    ):
        page.keyboard.press(key)


def test_only_puzzles_of_the_grade_and_kind_asked_for_come_next(browser: Browser, server: Server) -> None:
    with clean_page(browser) as page:
        opened(page, server, of("save"))
        page.get_by_role("button", name="Hard").click()
        page.get_by_label("Question").select_option("king")
        phase(page, "sense")
        seen = set()
        for _ in range(3):
            expect(page.locator(".banner")).to_contain_text("where the king is")
            found = next(p for p in ALL if page.url.endswith(p.id))
            assert (found.kind, found.grade) == ("king", "hard")
            seen.add(found.id)
            page.get_by_role("button", name="Skip").click()
            expect(page).not_to_have_url(re.compile(found.id))
            phase(page, "sense")
        assert len(seen) > 1


def test_a_link_to_a_puzzle_that_is_not_there_leads_to_another(browser: Browser, server: Server) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{server.url}/#/practice/nothing")
    expect(page.locator("p.fault")).to_have_text("there is no such puzzle.")
    page.get_by_role("button", name="Another puzzle").click()
    phase(page, "sense", "move")
    context.close()


def test_the_positions_can_be_looked_at_one_by_one(browser: Browser, server: Server) -> None:
    puzzle = of("save")
    with clean_page(browser, PHONE, touch=True) as page:
        opened(page, server, puzzle)
        page.get_by_role("button", name="Next position").click()
        expect(page.locator(".browser span")).to_have_text(f"1 of {len(puzzle.states)}")
        expect(page.locator(".ghost")).to_have_count(0)
        page.get_by_role("button", name="All positions at once").click()
        expect(page.locator(".ghost").first).to_be_visible()
