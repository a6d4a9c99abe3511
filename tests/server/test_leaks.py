"""Nothing of the hidden position reaches the browser.

A game is played twice on the server by the same person's actions. The second time the opponent, a program or another
person, plays another game that looks the same to the person: its pieces stand elsewhere, and every observation is the
same. Whatever the browser is sent, at any moment, must then be the same to the byte: the person's own events, answers
to faults, what the endpoints say, the assistance, the hints, and the person's history. Between two people the same
holds for each of them, and for a third who has the link.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from penumbra.players.opponents.hunter import Hunter
from penumbra.players.opponents.random_player import RandomPlayer
from penumbra.rbc.actions import SQUARE_NAMES, code_to_uci, view, view_code
from penumbra.rbc.player_view import color_name
from penumbra.server.seat import Seat
from tests.server.other_histories import Story, other_history, play
from tests.server.scripted import Page, another, between_people, both_pages, hung_up, new_game, page, server
from tests.support.evidence import scale

PLIES = scale(24, 40)
GAMES = scale([(4, True), (3, False)], [(seed, seed % 2 == 0) for seed in range(20)])
Traffic = Callable[[Path, Story, bool], list[str]]
ADVISED = 60  # messages, until which hints are asked for before a sense too
PATHS = (
    "/api/games",
    "/api/games/{game}",
    "/api/games/{game}/ending",
    "/api/games/{game}/seat",
    "/api/games/{game}x",
    "/api/history",
    "/api/archive",
)  # that are asked for during the game
PROBES: list[object] = [
    {"type": "move", "step": 1_000, "move": "e7e5"},
    {"type": "sense", "step": 0, "square": "e4"},
    {"type": "step"},
    "{",
]


def against_program(folder: Path, story: Story, color: bool) -> list[str]:
    """All that the browser gets in a game against a program that the person resigns at the end of the story."""
    folder.mkdir()
    with server(folder, story.script(not color)) as client:
        game = new_game(client, color_name(color))
        answers: list[str] = []
        with page(client, game) as person:
            person.send({"type": "assist", "on": True})
            for turn in story.turns:
                if turn.color != color:
                    continue
                person.receive_until("sense")
                if len(person.traffic) < ADVISED:
                    advise(person)
                square = None if turn.sense is None else SQUARE_NAMES[view(turn.sense, color)]
                person.sense(square)
                person.receive_until("move")
                advise(person)
                answers += probed(client, person, game)
                person.move(code_to_uci(view_code(turn.move, color)) if turn.move else None)
            person.receive_until("sense")
            with page(client, game) as again:  # a reload is told everything once more
                answers += again.traffic
            person.send({"type": "resign"})
            person.receive_until("over")
        assert client.get(f"/api/games/{game}").status_code == 200
        return person.traffic + answers


def between_persons(folder: Path, story: Story, color: bool) -> list[str]:
    """All that one of two people gets, and a third one, in such a game."""
    folder.mkdir()
    with server(folder) as mine:
        theirs, third = another(mine), another(mine)
        game = between_people(mine, theirs, color_name(color))
        answers: list[str] = []
        with both_pages(theirs, mine, game) as (other, person):
            for turn in story.turns:
                ours = turn.color == color
                actor = person if ours else other
                actor.receive_until("sense")
                if ours:
                    person.send({"type": "hint", "step": person.state["step"]})
                actor.sense(None if turn.sense is None else SQUARE_NAMES[view(turn.sense, turn.color)])
                if ours:
                    person.send({"type": "assist", "on": True})
                    answers += probed(mine, person, game)
                    answers += [undated(third.get(path.format(game=game)).text) for path in PATHS]
                    answers.append(str(hung_up(third, game)))
                actor.move(code_to_uci(view_code(turn.move, turn.color)) if turn.move else None)
            person.receive_until("sense")
            with page(mine, game) as again:
                answers += again.traffic
            person.send({"type": "resign"})
            person.receive_until("over")
            other.receive_until("over")
        return person.traffic + answers


def probed(client: TestClient, person: Page, game: str) -> list[str]:
    """What the addresses say; faults that are made on purpose are answered to the page."""
    for probe in PROBES:
        person.send(probe)
    for word in unlisted(person.state["moves"]):
        person.send({"type": "move", "step": person.state["step"], "move": word})
    return [undated(client.get(path.format(game=game)).text) for path in PATHS]


def advise(person: Page) -> None:
    """Asks for a hint, and waits for it or for why there is none."""
    person.send({"type": "hint", "step": person.state["step"]})
    while json.loads(person.traffic[-1])["type"] not in ("hint", "error"):
        person.receive()
    assert json.loads(person.traffic[-1])["type"] == "hint"


def undated(text: str) -> str:
    """Without the time at which a game began, which differs from one run to the next."""
    return re.sub(r'"time":\d+', '"time":0', text)


def unlisted(moves: list[str]) -> list[str]:
    """Moves that are not listed, of the opponent's pieces among them."""
    return [move for move in ("e7e5", "e2e4", "a1a8", "h8h1") if move not in moves]


def stories(seed: int, color: bool) -> tuple[Story, Story]:
    person, bot = Hunter(seed), RandomPlayer(seed)
    white, black = (person, bot) if color else (bot, person)
    story = play(white, black, PLIES, last=not color)
    rng = random.Random(seed)
    others = [other_history(story, color, rng) for _ in range(4)]
    return story, max(others, key=lambda other: moments_that_differ(story, other))


def moments_that_differ(a: Story, b: Story) -> int:
    return sum(x.split()[0] != y.split()[0] for x, y in zip(a.fens, b.fens, strict=True))


@pytest.mark.parametrize("traffic", [against_program, between_persons])
@pytest.mark.parametrize(("seed", "color"), GAMES)
def test_the_browser_is_sent_the_same_whatever_the_hidden_position_is(
    tmp_path: Path, seed: int, color: bool, traffic: Traffic
) -> None:
    story, other = stories(seed, color)
    assert moments_that_differ(story, other) >= len(story.turns) // 5
    mine, theirs = traffic(tmp_path / "a", story, color), traffic(tmp_path / "b", other, color)
    assert len(mine) > 2 * len(story.turns) >= 12
    assert mine == theirs


def leaked(fact: Callable[[Seat], Any]) -> Callable[[Seat], dict[str, Any]]:
    honest = Seat.state
    return lambda seat: honest(seat) | {"leak": fact(seat)}


@pytest.mark.parametrize("traffic", [against_program, between_persons])
@pytest.mark.parametrize(
    "fact",
    [
        lambda seat: seat.game.game.fen(),
        lambda seat: seat.game.game.halfmove_clock,
        lambda seat: seat.game.views[not seat.color].observations[-1:],
    ],
    ids=["position", "half-move clock", "the other side's observations"],
)
def test_a_leak_would_be_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fact: Callable[..., Any], traffic: Traffic
) -> None:
    """The same comparison with a server that tells too much."""
    monkeypatch.setattr(Seat, "state", leaked(fact))
    story, other = stories(4, True)
    assert traffic(tmp_path / "a", story, True) != traffic(tmp_path / "b", other, True)
