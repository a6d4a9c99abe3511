"""A puzzle solved a second time, by python-chess and reconchess alone."""

from __future__ import annotations

import re

import chess

from penumbra.review.puzzles.kinds import (
    MARGIN,
    MOST_SENSES,
    MOST_SOLUTIONS,
    MOST_STATES,
    THREATENED,
    WIN_MARGIN,
    WORTH_WINNING,
    WORTHWHILE,
)
from penumbra.review.puzzles.puzzle import Puzzle
from tests.oracles import puzzles as oracle


def boards_of(puzzle: Puzzle) -> list[chess.Board]:
    return [chess.Board(fen) for fen in puzzle.fens]


def solved_by_the_oracle(puzzle: Puzzle) -> None:
    boards, most = boards_of(puzzle), len(puzzle.states)
    counts = oracle.answers(puzzle.kind, boards, puzzle.color)
    solutions, best, second = oracle.best(counts)
    assert set(puzzle.solutions) == solutions and 1 <= len(solutions) <= (
        MOST_SENSES if puzzle.kind == "sense" else MOST_SOLUTIONS
    ), puzzle.id
    assert 2 <= most <= MOST_STATES
    told = re.findall(r"next best (?:move|sense)\D+(\d+)", puzzle.reason)
    assert told == (
        [] if puzzle.kind == "take" and second <= 0 else [str(most - second if puzzle.kind == "save" else second)]
    )
    if puzzle.kind in ("take", "save"):
        assert best == most
    elif puzzle.kind == "sense":
        blind = max(oracle.answers("take", boards, puzzle.color).values())
        assert best >= WORTH_WINNING * most and best >= WIN_MARGIN * most + max(blind, second)
        assert f"without a sense in {blind}." in puzzle.reason
    else:
        assert best >= WORTHWHILE * most and second <= best - MARGIN * most
    if puzzle.kind == "save":
        assert counts["pass"] <= (1 - THREATENED) * most
