"""The page in a real browser: a game by clicks and by keys with a reload in between, and a review."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, WebSocketRoute, expect

from penumbra.core import START_FEN
from penumbra.interop.history import read_record
from penumbra.review.frames import review_of
from penumbra.review.page import write_replay_page
from tests.server.browser import Server, cell, clean_page, phase, serving, start_game
from tests.support import DATA

GAME = DATA / "paper_game.json"


@pytest.fixture(scope="module")
def server(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("games")) as server:
        yield server


def turns(page: Page) -> list[str]:
    return page.locator(".moves li").all_inner_texts()


def test_a_game_by_clicks_and_by_keys_with_a_reload_in_the_middle(browser: Browser, server: Server) -> None:
    with clean_page(browser) as page:
        start_game(page, server)
        phase(page, "sense")
        cell(page, "e7").hover()
        expect(page.locator(".window.preview")).to_have_count(1)
        cell(page, "e7").click()
        phase(page, "move")
        expect(cell(page, "e8")).to_have_attribute("aria-label", "e8, black king, seen now")
        cell(page, "e2").click()
        expect(page.locator(".mark.target")).to_have_count(4)  # e3, e4 and both diagonals
        cell(page, "e4").click()
        phase(page, "sense")
        expect(cell(page, "e4")).to_have_attribute("aria-label", "e4, white pawn")

        cell(page, "d6").click()
        phase(page, "move")
        cell(page, "g1").drag_to(cell(page, "f3"))
        phase(page, "sense")
        before = turns(page)
        assert re.search(r"◎ e7\s+e4", before[0]) and re.search(r"◎ d6\s+Nf3", before[1])

        page.reload()
        phase(page, "sense")
        assert turns(page) == before
        expect(cell(page, "f3")).to_have_attribute("aria-label", "f3, white knight")

        cell(page, "e4").focus()
        for key in ("ArrowUp", "ArrowUp", "ArrowLeft", "Enter"):  # d6
            page.keyboard.press(key)
        phase(page, "move")
        assert "◎ d6" in turns(page)[2]
        for key in ("ArrowDown",) * 4:  # d2
            page.keyboard.press(key)
        page.keyboard.press("Enter")
        for key in ("ArrowUp", "ArrowUp", "Enter"):  # d4
            page.keyboard.press(key)
        phase(page, "sense")
        assert "d4" in turns(page)[2]
        expect(page.get_by_role("status").filter(has_text="Your turn: sense.")).to_have_count(1)

        page.get_by_text("Aids").click()
        page.get_by_role("button", name="Heat").click()
        expect(page.locator(".states")).to_have_text(re.compile(r"\d+ positions? possible"))
        page.get_by_role("button", name="Resign").click()
        page.get_by_role("button", name="Really resign?").click()
        phase(page, "over")
        expect(page.locator(".banner")).to_have_text("You resigned.")
        expect(cell(page, "e8")).to_have_attribute("aria-label", re.compile("e8, (black|empty|white)"))
        page.get_by_role("button", name="Review the game").click()
        expect(page.locator("h1")).to_have_text("Person v Random")


def test_a_review_goes_where_the_scrubber_and_the_keys_say(browser: Browser, server: Server) -> None:
    review = review_of(read_record(GAME))
    with clean_page(browser) as page:
        page.goto(f"{server.url}/#/review")
        page.locator("#game-file").set_input_files(GAME)
        expect(page.locator(".steps button")).to_have_count(len(review["steps"]), timeout=20_000)
        scrubber = page.get_by_role("slider", name="Step")
        check_position(page, review, 0)
        for key, position in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", len(review["steps"]))):
            page.keyboard.press(key)
            check_position(page, review, position)
        scrubber.fill("13")
        check_position(page, review, 13)
        page.keyboard.press("Home")
        page.get_by_role("button", name="Next capture").click()
        first = next(i for i, step in enumerate(review["steps"]) if step.get("capture"))
        check_position(page, review, first + 1)
        scrubber.fill(str(len(review["steps"]) - 2))
        page.locator("body").press("Space")
        check_position(page, review, len(review["steps"]))


def check_position(page: Page, review: dict[str, object], position: int) -> None:
    """The boards show the truth and both views at that position, with the number of states of the review."""
    steps = review["steps"]
    assert isinstance(steps, list)
    expect(page.get_by_role("slider", name="Step")).to_have_value(str(position))
    fen = review["start"] if position == 0 else steps[position - 1]["fen"]
    for square, piece in described(str(fen)).items():
        if piece != "empty" or square in ("a3", "e4", "h6"):
            expect(page.locator(f'.view.truth [role="gridcell"][data-square="{square}"]')).to_have_attribute(
                "aria-label", f"{square}, {piece}"
            )
    for color in ("white", "black"):
        sets = [step["sets"][color] for step in steps[:position] if color in step["sets"]]
        states = sets[-1]["states"] if sets else 1
        expect(page.locator(f".view.{color} .states")).to_have_text(re.compile(rf"^{states:,} positions? possible$"))


def described(fen: str) -> dict[str, str]:
    """What a screen reader is told of each square."""
    kinds = dict(zip("pnbrqk", ("pawn", "knight", "bishop", "rook", "queen", "king"), strict=True))
    squares = {f"{file}{rank}": "empty" for rank in range(1, 9) for file in "abcdefgh"}
    for row, text in enumerate(fen.split()[0].split("/")):
        file = 0
        for letter in text:
            if letter.isdigit():
                file += int(letter)
                continue
            color = "white" if letter.isupper() else "black"
            squares[f"{'abcdefgh'[file]}{8 - row}"] = f"{color} {kinds[letter.lower()]}"
            file += 1
    return squares


def test_a_review_tells_the_health_of_the_belief(browser: Browser, server: Server) -> None:
    """A healthy belief, one of few particles, one that nobody asked for, and a decision of an older version."""
    good = {"particles": 1024, "ancestors": 312, "singletons": 1, "rejections": 1.23, "inferences": 9, "seconds": 0.21}
    sense: dict[str, object] = {
        "player": "white",
        "turn": 1,
        "step": "sense",
        "action": "sense e7",
        "chosen": "sense e7",
        "played": "sense e7",
        "reason": "search",
        "value": 0.5,
        "states": 20,
        "particles": 1024,
        "nodes": 300,
        "seconds": 0.5,
        "actions": [{"action": "sense e7", "policy": 1, "visits": 300, "value": 0.5}],
        "belief": {},
        "possible": {},
        "health": good | {"few": False},
    }
    poor = {"particles": 31, "health": good | {"particles": 31, "ancestors": 4, "few": True}}
    unused = {"particles": 0, "health": good | {"particles": 0, "few": True}, "reason": "sure win"}
    black = {"player": "black"}
    older = {key: value for key, value in sense.items() if key != "health"} | black | {"step": "move"}
    decisions = [sense, sense | poor | {"step": "move"}, sense | unused | black, older]

    def answer(route: Route) -> None:
        route.fulfill(content_type="application/x-ndjson", body="".join(json.dumps(d) + "\n" for d in decisions))

    with clean_page(browser) as page:
        page.route("**/api/analyse", answer)
        page.goto(f"{server.url}/#/review")
        page.locator("#game-file").set_input_files(GAME)
        expect(page.locator(".steps button").nth(8)).to_be_visible()
        page.get_by_role("button", name="Whole game").click()
        scrubber = page.get_by_role("slider", name="Step")
        health, warning, facts = (page.locator(f".thought .{name}") for name in ("health", "warning", "facts"))
        rest = "a turn ago, 1 singleton, 1.2 rejections each, refilled in 0.21 s"
        expect(health).to_have_text(f"Belief: 1,024 particles from 312 {rest}")
        expect(facts.first).to_have_text("chance to win 50 %; 20 states, 300 nodes, 0.50 s")
        expect(warning).to_have_count(0)
        scrubber.fill("1")
        expect(health).to_have_text(f"Belief: 31 particles from 4 {rest}")
        expect(warning).to_have_text("Warning: this search stood on only 31 particles, so its values are rough.")
        scrubber.fill("2")
        expect(health).to_have_text("Belief: not used")
        expect(warning).to_have_count(0)
        scrubber.fill("3")
        expect(facts).to_have_text("chance to win 50 %; 20 states, 1,024 particles, 300 nodes, 0.50 s")
        expect(health).to_have_count(0)


def test_a_broken_file_is_told_what_is_wrong_with_it(browser: Browser, server: Server, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps({"type": "GameHistory", "white_name": "A"}))
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{server.url}/#/review")
    page.locator("#game-file").set_input_files(broken)
    expect(page.get_by_role("alert").filter(has_text="broken.json")).to_contain_text('"black_name" is missing')
    context.close()


def test_a_replay_page_needs_nothing_but_itself(browser: Browser, tmp_path: Path) -> None:
    record = read_record(GAME)
    record.white_name = "</script><b>White"
    path = tmp_path / "replay.html"
    write_replay_page(record, path)
    review = review_of(record)
    with clean_page(browser) as page:
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        expect(page.locator("h1")).to_have_text("</script><b>White v Opponent")
        page.keyboard.press("End")
        check_position(page, review, len(review["steps"]))
        assert [url for url in requests if not url.startswith("data:")] == [path.as_uri()]


def test_a_crash_is_called_a_crash_and_a_full_disk_a_full_disk(browser: Browser, server: Server) -> None:
    """What the server would say then, put into its mouth."""
    result = {"winner": None, "reason": "CRASH", "crashed": "black"}
    crash: dict[str, object] = {"phase": "over", "result": result, "clocks": None, "kept": True}
    states: list[dict[str, object]] = [{"kept": False}, {"kept": True}, crash]

    def speak(route: WebSocketRoute) -> None:
        own = route.connect_to_server()

        def answer(text: str | bytes) -> None:
            message = json.loads(text)
            route.send(json.dumps(message | {"state": message["state"] | (states.pop(0) if states else crash)}))

        own.on_message(answer)

    with clean_page(browser) as page:
        page.route_web_socket("**/socket", speak)
        ending = {"before": START_FEN, "after": START_FEN, "last": None, "loss": None}
        page.route("**/api/games/*/ending", lambda route: route.fulfill(json=ending))
        start_game(page, server)
        unkept = page.get_by_role("alert").filter(has_text="cannot write this game to its disk")
        expect(unkept).to_be_visible()
        cell(page, "e7").click()
        phase(page, "move")
        expect(unkept).to_be_hidden()
        page.get_by_role("button", name="Pass").click()
        phase(page, "over")
        expect(page.locator(".banner")).to_have_text("Your opponent's program crashed. The game has no result.")


def test_players_that_cannot_play_are_missed_in_words(browser: Browser, server: Server) -> None:
    def answer(route: Route) -> None:
        about = route.fetch().json()
        others = [player for player in about["players"] if not player["name"].startswith("penumbra")]
        fault = "Penumbra cannot play here: lite.safetensors: there are no weights"
        route.fulfill(json=about | {"players": others, "fault": fault})

    with clean_page(browser) as page:
        page.route("**/api/about", answer)
        for kind in ("play", "watch"):
            page.goto(f"{server.url}/#/{kind}")
            expect(page.get_by_role("alert").filter(has_text="there are no weights.")).to_be_visible()
        page.goto(f"{server.url}/#/play")
        expect(page.locator("[name=opponent][value='penumbra:2']")).to_have_count(0)
        expect(page.locator("[name=opponent]:checked")).to_have_value("strange-fish-2")


def test_on_a_public_server_a_game_belongs_to_its_browser(browser: Browser, tmp_path: Path) -> None:
    with serving(tmp_path / "games", "--public") as server, clean_page(browser) as page:
        start_game(page, server)
        cell(page, "e7").click()
        phase(page, "move")
        page.reload()
        phase(page, "move")
        with clean_page(browser) as stranger:
            stranger.goto(page.url)
            expect(stranger.locator("h1")).to_have_text("This game cannot be played here")
            expect(stranger.locator(".card")).to_contain_text("played in another browser")
        page.get_by_role("button", name="Resign").click()
        page.get_by_role("button", name="Really resign?").click()
        phase(page, "over")
        with clean_page(browser) as stranger:
            stranger.goto(page.url)
            phase(stranger, "over")
