"""Centipawns lost: the frozen positions are what they say, and losses are those of the true state in either colour."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest
from studies.chess_positions import forbidden_castlings

from penumbra.core import Game
from penumbra.players.penumbra.configuration import Configuration
from penumbra.rbc.actions import code_to_action, parse_action, uci_to_code, view_code
from penumbra.training import centipawns
from penumbra.training.centipawns import (
    MOST,
    Position,
    by_engine,
    by_material,
    legal_actions,
    read_positions,
    remembered,
    write_positions,
)

FROZEN = read_positions()
NOTHING = {
    **dict.fromkeys(("last_from", "last_to", "own_capture", "opposing_capture")),
    "previous": "00" * 8 * 18,
    "previous_shares": "00" * 64 * 7,
}


def position(*states: str, **scores: int) -> Position:
    return Position("0" * 16, 9, states, NOTHING, next(iter(scores)), 1, scores)


def action(one: Position, word: str) -> int:
    return code_to_action(view_code(uci_to_code(word), one.white))


def test_frozen_positions_are_of_different_games_and_both_colours() -> None:
    assert 200 <= len(FROZEN) <= 400 and len({one.game for one in FROZEN}) == len(FROZEN)
    assert 0.4 < np.mean([one.white for one in FROZEN]) < 0.6
    for one in FROZEN:
        assert 1 <= len(set(one.states)) == len(one.states) <= 2 and one.result in (-1, 0, 1)
        x = one.situation()
        assert x.ours and x.states.owner == one.white and sorted(x.states.fens()) == sorted(one.states)
        assert remembered(x) == one.remembered


def test_every_score_is_of_a_legal_action_and_the_best_one_loses_nothing() -> None:
    for one in FROZEN:
        board = chess.Board(one.states[0])
        words = {move.uci() for move in (*board.legal_moves, *forbidden_castlings(board))}
        assert set(one.scores) == (words if board.is_check() else {*words, "pass"})
        legal = set(legal_actions(one.situation()).tolist())
        actions = {word: action(one, word) for word in one.scores}
        assert set(actions.values()) <= legal
        best = max(one.scores, key=lambda word: (one.scores[word], word[4:] in ("", "q")))
        assert one.loss(actions[best]) == 0 or best[4:] in ("n", "b", "r")  # an action promotes to a queen
        assert all(0 <= one.loss(a) <= MOST for a in legal)


@pytest.mark.parametrize(
    "fen",
    [
        "4k3/8/8/3q4/8/4N3/8/4K3 w - - 0 1",
        "4k3/8/4n3/8/3Q4/8/8/4K3 b - - 0 1",
    ],
)
def test_a_loss_is_that_of_what_becomes_of_a_move(fen: str) -> None:
    """The same position from either side: a capture, a quiet move, and moves that are no chess."""
    white = fen.split()[1] == "w"
    capture, quiet, into = ("e3d5", "e3c2", "e1d2") if white else ("e6d4", "e6c7", "e8d7")
    one = position(fen, **{capture: 300, quiet: -500, "pass": -450})
    assert [one.loss(action(one, word)) for word in (capture, quiet, "pass")] == [0, 800, 750]
    assert one.loss(action(one, into)) == MOST  # the queen takes the king
    assert one.material() == -6
    game = Game(fen)
    game.sense(None)
    assert set(game.legal_actions()) == set(legal_actions(one.situation()).tolist())


def test_the_table_by_material_counts_every_position_once() -> None:
    rooks = ("4k3/8/8/8/8/8/8/R3K3 w - - 0 1", "r3k3/8/8/8/8/8/8/4K3 w - - 0 1", "4k3/8/8/8/8/8/8/4K3 w - - 0 1")
    ones = [replace(position(fen, e1e2=0), result=result) for fen, result in zip(rooks, (1, -1, 0), strict=True)]
    rows = by_material(ones, np.array([[0.9, 0.2, 0.5], [0.8, np.nan, 0.5]]))
    found = {row.name: (row.positions, row.value, row.searched, row.won) for row in rows if row.positions}
    assert found == {
        "-5 and less": (1, 0.2, None, 0.0),
        "-1 to +1": (1, 0.5, 0.5, 0.5),
        "+5 and more": (1, 0.9, 0.8, 1.0),
    }
    assert sum(row.positions for row in by_material(FROZEN, np.zeros((2, len(FROZEN))))) == len(FROZEN)


def test_a_hanging_queen_is_taken_by_the_player() -> None:
    """By search with material alone, from a belief that begins here."""
    one = position("4k3/8/8/3q4/8/4N3/8/4K3 w - - 0 1", e3d5=0)
    decision = centipawns.searched(Configuration(evaluator="heuristic", nodes=200, seed=0), one)
    assert decision.action == action(one, "e3d5")


def test_what_is_written_is_read(tmp_path: Path) -> None:
    out, again = tmp_path / "a.gz", tmp_path / "b.gz"
    write_positions(FROZEN[:5], out)
    write_positions(read_positions(out), again)
    assert read_positions(out) == FROZEN[:5] and out.read_bytes() == again.read_bytes()


def test_a_bad_file_is_told_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "positions.gz"
    path.write_bytes(b"no gzip")
    with pytest.raises(ValueError, match=r"positions\.gz: cannot be read as positions"):
        read_positions(path)
    path.write_bytes(gzip.compress(b""))
    with pytest.raises(ValueError, match="there are no positions"):
        read_positions(path)
    write_positions(FROZEN[:2], path)
    first, second = gzip.decompress(path.read_bytes()).decode().splitlines()
    row = json.loads(second)
    changes: tuple[dict[str, Any], ...]
    changes = ({"states": ["8/8 w"]}, {"played": "e9"}, {"remembered": {}}, {"scores": {}}, {"more": 1})
    for change in changes:
        path.write_bytes(gzip.compress(f"{first}\n{json.dumps({**row, **change})}\n".encode()))
        with pytest.raises(ValueError, match=r"positions\.gz, line 2: is no position"):
            read_positions(path)


def test_one_step_ahead_takes_the_king_and_what_the_value_likes() -> None:
    """The value is asked of the opponent, after each move, where it knew the state."""

    class Material:
        """A value that sees who has more pieces: planes 12 to 16, own, and 37 on, opposing."""

        synopsis = "binary"

        def evaluate(self, features: Any, legal: Any, opponent: bool) -> tuple[Any, Any]:
            own = np.bitwise_count(features[:, 12:18]).sum(axis=1)
            return np.ones(len(legal.actions), np.float32), np.asarray(own / 64, np.float32)

    for fen, word in (
        ("4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1", "e4d5"),
        ("4k3/8/8/3p4/4Q3/8/8/K7 b - - 0 1", "d5e4"),
        ("4k3/4Q3/8/3p4/4P3/8/8/4K3 w - - 0 1", "e7e8"),
    ):
        one = position(fen, pass_=0)
        found = centipawns.one_step_ahead(Material(), one.situation(), 8)
        assert found == action(one, word)


def test_the_engine_alone_takes_the_queen_that_hangs() -> None:
    one = Position(**{**vars(FROZEN[0]), "states": ("4k3/8/8/3q4/8/4N3/8/4K3 w - - 0 1",)})
    assert by_engine(Configuration(), one, 0.01) == parse_action("e3d5")
