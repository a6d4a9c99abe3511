"""Where the king can be taken for sure, now or after a sense, it is; and a seed gives the same game for any threads."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from penumbra import core
from penumbra.arena.game_loop import play_strictly
from penumbra.core import MOVE, SENSE, Context, Game, Infostates, StateSet
from penumbra.dsmcp import PRESETS, Agent, Settings
from penumbra.network.heuristic_evaluator import HeuristicEvaluator
from penumbra.players.opponents.random_player import RandomPlayer
from penumbra.players.penumbra.player import PenumbraPlayer
from penumbra.rbc import domain as rbc
from penumbra.rbc.actions import parse_action
from penumbra.rbc.domain import ReconBlindChess, Situation
from penumbra.rbc.observations import Sensed

SETTINGS = Settings(b=16, ell=32, n_particles=32, weigh_ended=True, table_entries=1 << 14, seed=1)


class Won(NamedTuple):
    """States that the player to act holds possible, and the actions that take the king in all of them."""

    fens: tuple[str, ...]
    captures: frozenset[str]  # in the mover's own squares; empty: only a sense tells which

    @property
    def white(self) -> bool:
        return self.fens[0].split()[1] == "w"

    def situation(self, kind: int) -> Situation:
        return Situation(StateSet.from_fens(list(self.fens), self.white), kind, Context())

    def agent(self, kind: int, settings: Settings) -> Agent[Situation, Infostates]:
        x = self.situation(kind)
        particles = core.singletons(None, x.states, 8, kind, settings.ell)
        return Agent(ReconBlindChess(), HeuristicEvaluator(), settings, x, particles)


def won(*fens: str, by: str = "") -> Won:
    return Won(fens, frozenset(by.split()))


NOW = {
    "queen along a file": won("4k3/8/8/8/8/8/8/4Q1K1 w - - 0 1", by="e1e8"),
    "wherever the king stands first on the line": won(
        "4k3/8/8/8/8/8/8/4Q1K1 w - - 0 1", "8/8/4k3/8/8/8/8/4Q1K1 w - - 0 1", by="e1e8"
    ),
    "knight, whatever else stands there": won(
        "8/8/5k2/8/4N3/8/8/K7 w - - 0 1", "q7/8/5k2/3p4/4N3/8/8/K7 w - - 0 1", by="e4f6"
    ),
    "pawn that becomes a queen": won("3k4/4P3/8/8/8/8/8/K7 w - - 0 1", "3kr3/4P3/8/8/8/8/8/K7 w - - 0 1", by="e7d8"),
    "black bishop": won("6k1/8/8/8/8/2b5/8/K6R b - - 0 1", "6k1/8/8/8/8/2b5/8/K5R1 b - - 0 1", by="c6a8"),
    "black, with a rook to lose": won("r5k1/8/8/8/8/8/8/K6R b - - 0 1", by="a1a8"),
    "king takes king": won("8/8/8/3kK3/8/8/8/7r w - - 0 1", "8/8/8/3kK3/8/8/8/6q1 w - - 0 1", by="e5d5"),
}
AFTER_A_SENSE = {
    "pawn to either side": won("8/8/3k4/4P3/8/8/8/K7 w - - 0 1", "8/8/5k2/4P3/8/8/8/K7 w - - 0 1"),
    "knight in three directions": won(
        "8/8/5k2/8/4N3/8/8/K7 w - - 0 1", "8/8/3k4/8/4N3/8/8/K7 w - - 0 1", "8/8/8/2k5/4N3/8/8/K7 w - - 0 1"
    ),
    "rook along a rank or a file": won("4k3/8/8/8/8/8/4R3/K7 w - - 0 1", "8/8/8/8/8/8/4R1k1/K7 w - - 0 1"),
    "black queen": won(
        "q5k1/8/8/8/8/8/8/K7 b - - 0 1", "q5k1/8/8/8/8/8/8/7K b - - 0 1", "q5k1/8/8/K7/8/8/8/8 b - - 0 1"
    ),
}


@pytest.mark.parametrize("name", NOW)
@pytest.mark.parametrize("preset", ["mixture", "tree", "simple"])
def test_a_sure_capture_is_made(name: str, preset: str) -> None:
    """By static analysis where it is on, by search where it is not."""
    position = NOW[name]
    settings = SETTINGS.replace(m=PRESETS[preset].m, static_analysis=PRESETS[preset].static_analysis)
    decision = position.agent(MOVE, settings).choose(nodes=600)
    assert decision.action in {parse_action(word) for word in position.captures}
    assert decision.reason == ("search" if preset == "simple" else "sure win")


@pytest.mark.parametrize("name", [*NOW, *AFTER_A_SENSE])
@pytest.mark.parametrize("static_analysis", [True, False])
def test_a_sure_win_is_taken_whatever_the_sense_shows(name: str, static_analysis: bool) -> None:
    position = (NOW | AFTER_A_SENSE)[name]
    settings = SETTINGS.replace(static_analysis=static_analysis)
    for fen in position.fens:
        game = Game(fen)
        agent = position.agent(SENSE, settings)
        decision = agent.choose(nodes=3000)
        assert decision.reason == ("sure win" if static_analysis else "search")
        contents = tuple(content for _, content in game.sense(decision.action))
        agent.observe(rbc.observed(agent.x, Sensed(decision.action, contents)), decision.action)
        game.move(agent.choose(nodes=600).action)
        assert game.over
        assert game.winner == position.white


@pytest.mark.parametrize("preset", PRESETS)
def test_the_player_takes_the_king_at_once(preset: str) -> None:
    for position in NOW.values():
        game = Game(position.fens[0])
        settings = SETTINGS.replace(m=PRESETS[preset].m, static_analysis=PRESETS[preset].static_analysis)
        settings = settings.replace(playouts=PRESETS[preset].playouts)
        player = PenumbraPlayer(HeuristicEvaluator(), settings, nodes=600)
        white, black = (player, RandomPlayer(1)) if position.white else (RandomPlayer(1), player)
        play_strictly(white, black, game)
        assert (game.plies, game.winner) == (1, position.white)


# -- the same game again


def played(seed: int, threads: int, in_flight: int) -> bytes:
    settings = SETTINGS.replace(seed=seed, in_flight=in_flight, b=64)
    player = PenumbraPlayer(HeuristicEvaluator(), settings, nodes=300)
    core.set_threads(threads)
    game = play_strictly(player, RandomPlayer(7), Game(full_turn_limit=8))
    assert game.plies == 16 or game.over
    return game.record().to_bytes()


@pytest.mark.parametrize("in_flight", [1, 2])
def test_the_same_seed_and_budget_give_the_same_game_for_any_number_of_threads(
    in_flight: int, restore_threads: None
) -> None:
    games = [played(3, threads, in_flight) for threads in (1, 2, 4, 1)]
    assert len(set(games)) == 1
    assert played(4, 1, in_flight) != games[0]
