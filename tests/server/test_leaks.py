"""Nothing of the hidden position reaches the browser.

A game is played twice against the server by the same person's actions. The second time the bot plays another game that
looks the same to the person: its pieces stand elsewhere, and every observation is the same. Whatever the browser is
sent, at any moment, must then be the same to the byte: the person's own events, answers to faults, what the endpoints
say, the assistance, the hints, and the person's history.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penumbra.players.opponents.hunter import Hunter
from penumbra.players.opponents.random_player import RandomPlayer
from penumbra.rbc.actions import SQUARE_NAMES, code_to_uci, view, view_code
from penumbra.rbc.player_view import color_name
from penumbra.server.human_game import HumanGame
from tests.server.other_histories import Story, other_history, play
from tests.server.scripted import Page, new_game, page, server
from tests.support.evidence import scale

PLIES = scale(24, 40)
GAMES = scale([(4, True), (3, False)], [(seed, seed % 2 == 0) for seed in range(20)])
ADVISED = 60  # messages, until which hints are asked for before a sense too
PATHS = (
    "/api/games",
    "/api/games/{game}",
    "/api/games/{game}/ending",
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


def traffic(folder: Path, story: Story, color: bool) -> list[str]:
    """All that the browser gets in a game that the person resigns at the end of the story."""
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
                for probe in PROBES:
                    person.send(probe)
                for word in unlisted(person.state["moves"]):
                    person.send({"type": "move", "step": person.state["step"], "move": word})
                for path in PATHS:
                    answers.append(undated(client.get(path.format(game=game)).text))
                move = code_to_uci(view_code(turn.move, color)) if turn.move else None
                person.move(move)
            person.receive_until("sense")
            with page(client, game) as again:  # a reload is told everything once more
                answers += again.traffic
            person.send({"type": "resign"})
            person.receive_until("over")
        assert client.get(f"/api/games/{game}").status_code == 200
        return person.traffic + answers


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


@pytest.mark.parametrize(("seed", "color"), GAMES)
def test_the_browser_is_sent_the_same_whatever_the_hidden_position_is(tmp_path: Path, seed: int, color: bool) -> None:
    story, other = stories(seed, color)
    assert moments_that_differ(story, other) >= len(story.turns) // 5
    mine, theirs = traffic(tmp_path / "a", story, color), traffic(tmp_path / "b", other, color)
    assert len(mine) > 2 * len(story.turns) >= 12
    assert mine == theirs


def leaked(fact: Callable[[HumanGame], Any]) -> Callable[[HumanGame], dict[str, Any]]:
    honest = HumanGame.state
    return lambda game: honest(game) | {"leak": fact(game)}


@pytest.mark.parametrize(
    "fact",
    [
        lambda game: game.game.fen(),
        lambda game: game.game.halfmove_clock,
        lambda game: game.views[not game.color].observations[-1:],
    ],
    ids=["position", "half-move clock", "the other side's observations"],
)
def test_a_leak_would_be_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fact: Callable[..., Any]) -> None:
    """The same comparison with a server that tells too much."""
    monkeypatch.setattr(HumanGame, "state", leaked(fact))
    story, other = stories(4, True)
    assert traffic(tmp_path / "a", story, True) != traffic(tmp_path / "b", other, True)
