"""The built-in players: they see their own observations alone, repeat themselves by seed, and the hunter hunts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from penumbra.arena.game_loop import play_strictly
from penumbra.core import Game, StateSet
from penumbra.players.opponents.hunter import Hunter, attack_probabilities, path
from penumbra.players.opponents.random_player import RandomPlayer
from penumbra.rbc.actions import parse_square, uci_to_code, view, view_code
from tests.support.processes import run_python
from tests.support.witness import Witness


def test_players_are_told_their_own_observations_in_their_own_view() -> None:
    white, black = Witness(1), Witness(2)
    game = play_strictly(white, black)
    replayed = Game()
    record = game.record()
    expected: dict[bool, list[object]] = {True: [], False: []}
    for square, code in zip(record.senses, record.moves, strict=True):
        color = replayed.turn
        expected[color].append(("opponent", replayed.capture))
        result = replayed.absolute_sense(view(square, color))
        contents = tuple(c if color or c == 0 else (c + 5) % 12 + 1 for c in result)  # own pieces first for Black too
        expected[color].append(("sensed", square, contents))
        taken, capture = replayed.absolute_move(view_code(code, color))
        if not replayed.over:
            seen = None if capture < 0 else view(capture, color)
            expected[color].append(("moved", code, view_code(taken, color), seen))
    assert white.seen == expected[True]
    assert black.seen == expected[False]


def test_the_same_seeds_play_the_same_game() -> None:
    games = [play_strictly(Hunter(3), RandomPlayer(4)).record().to_bytes() for _ in range(2)]
    assert games[0] == games[1]


def test_the_hunter_beats_chance() -> None:
    """With either colour: it wins nearly always, so half of twenty games is far from luck."""
    wins = 0
    for seed in range(20):
        color = seed % 2 == 0
        players = [Hunter(seed), RandomPlayer(seed)]
        game = play_strictly(*(players if color else reversed(players)))
        wins += game.winner is color
    assert wins >= 15


def test_the_hunter_takes_a_king_it_has_seen() -> None:
    fen = "4k3/8/8/8/8/8/8/K3R3 w - - 0 1"
    hunter = Hunter(0)
    hunter.start(True, fen)
    hunter.opponent_moved(None)
    game = Game(fen)
    square = hunter.choose_sense()
    hunter.sensed(square, [content for _, content in game.sense(square)])
    game.move(hunter.choose_move(game.legal_actions()))
    assert game.winner is True


def test_attack_probabilities_of_a_certain_state_are_its_attacks() -> None:
    """Black's rook h8, bishop a8, pawn e5 and king c7, seen by White."""
    states = StateSet("b6r/2k5/8/4p3/8/8/8/K7 w - - 0 1", True)
    attacked = attack_probabilities(states.marginals() / len(states))
    rook, bishop = "a8 b8 c8 d8 e8 f8 g8 h7 h6 h5 h4 h3 h2 h1", "b7 c6 d5 e4 f3 g2 h1"
    king, pawn = "b8 c8 d8 b7 d7 b6 c6 d6", "d4 f4"
    squares = {parse_square(name) for name in f"{rook} {bishop} {king} {pawn}".split()}
    assert {int(s) for s in np.flatnonzero(attacked > 0.5)} == squares
    assert set(np.unique(attacked)) <= {0.0, 1.0}


@pytest.mark.parametrize(
    ("move", "squares"),
    [("a1a4", "a2 a3 a4"), ("c3a1", "b2 a1"), ("b1c3", "c3"), ("e1g1", "f1 g1"), ("h8h7", "h7")],
)
def test_paths_run_square_by_square(move: str, squares: str) -> None:
    code = uci_to_code(move)
    assert path(code & 63, code >> 6 & 63) == [parse_square(name) for name in squares.split()]


def test_a_player_that_breaks_the_rules_is_refused() -> None:
    class Cheat(RandomPlayer):
        def choose_move(self, actions: Sequence[int]) -> int:
            return 64 + parse_square("e1") * 64 + parse_square("e8")

    with pytest.raises(ValueError, match="e1e8"):
        play_strictly(Cheat(1), RandomPlayer(2))


def test_games_are_made_without_any_chess_package() -> None:
    """The game, the tracker and the players need numpy and the core alone."""
    script = """
import sys
for name in ("chess", "reconchess", "typer", "rich", "matplotlib"):
    sys.modules[name] = None
from penumbra.players.opponents.hunter import Hunter
from penumbra.arena.game_loop import play_strictly
from penumbra.players.opponents.random_player import RandomPlayer
print(play_strictly(Hunter(1), RandomPlayer(1)).reason)
"""
    run = run_python("-c", script)
    assert (run.returncode, run.stdout, run.stderr) == (0, "KING_CAPTURE\n", "")
