"""The puzzles of the package: enough of every kind, solved the same way by python-chess, judged as they should be."""

from __future__ import annotations

import random
from collections import Counter

import chess
import pytest

from penumbra.review.puzzles.judging import NoAnswer, judge, left_by, listed
from penumbra.review.puzzles.kinds import move_name
from penumbra.review.puzzles.puzzle import GRADES, KINDS, SENSES, Puzzle, read_puzzles, shipped
from penumbra.review.words import move_words
from tests.oracles import puzzles as oracle
from tests.review.solving import boards_of, solved_by_the_oracle
from tests.support.evidence import scale

SHIPPED = [puzzle for found in read_puzzles(shipped()).values() for puzzle in found]


def some(kind: str, n: int) -> list[Puzzle]:
    """Shipped puzzles of a kind: the smallest, or all of them as evidence."""
    of_kind = sorted((p for p in SHIPPED if p.kind == kind), key=lambda p: len(p.states))
    return of_kind[: scale(n, len(of_kind))]


def test_at_least_two_hundred_are_shipped_of_every_kind_and_grade_and_the_file_is_small() -> None:
    counts = Counter((p.kind, p.grade) for p in SHIPPED)
    assert len(SHIPPED) >= 200 and len({p.id for p in SHIPPED}) == len(SHIPPED)
    assert all(sum(counts[kind, grade] for grade in GRADES) >= 15 for kind in KINDS)
    assert all(sum(counts[kind, grade] for kind in KINDS) >= 40 for grade in GRADES)
    assert shipped().stat().st_size < 300_000


@pytest.mark.parametrize("kind", KINDS)
def test_shipped_puzzles_are_solved_the_same_way_by_python_chess(kind: str) -> None:
    for puzzle in some(kind, 5):
        solved_by_the_oracle(puzzle)


def test_shipped_puzzles_hold_what_the_player_knew() -> None:
    """All states have the same own pieces, the truth among them, and show what the last sense showed."""
    for puzzle in SHIPPED:
        boards = boards_of(puzzle)
        assert list(puzzle.states) == sorted(set(puzzle.states)) and puzzle.truth < len(boards)
        own = {tuple(b.pieces_mask(kind, puzzle.color) for kind in chess.PIECE_TYPES) for b in boards}
        assert len(own) == 1 and {board.turn for board in boards} == {puzzle.color}
        last = puzzle.remembered[-1]
        assert last["type"] == ("turn" if puzzle.kind in SENSES else "sensed")
        if last["type"] == "sensed":
            for square, piece in last["seen"].items():
                there = {board.piece_at(chess.parse_square(square)) for board in boards}
                assert {p and p.symbol() for p in there} == {piece}


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_judged_by_the_states_in_which_they_work(kind: str) -> None:
    for puzzle in some(kind, 3):
        counts = oracle.answers(kind, boards_of(puzzle), puzzle.color)
        most = len(puzzle.states)
        for word in [*puzzle.solutions, *random.Random(1).sample(sorted(counts), 5)]:
            verdict = judge(puzzle, word, None) if puzzle.kind in SENSES else judge(puzzle, None, word)
            assert verdict.right == (word in puzzle.solutions)
            if not verdict.right:
                n = most - counts[word] if kind == "save" else counts[word]
                assert f"{n} of {most} state" in verdict.reason and verdict.reason.endswith(puzzle.reason)
            assert (verdict.solutions == []) == (verdict.shown is not None)


def test_after_the_right_sense_the_move_is_judged_in_the_states_that_are_left() -> None:
    for puzzle in some("sense", 3):
        for square in puzzle.solutions:
            shown = judge(puzzle, square, None).shown
            left = left_by(puzzle, square)
            assert shown is not None and shown.states == sorted(" ".join(fen.split()[:4]) for fen in left.fens())
            boards = [chess.Board(f"{state} 0 1") for state in shown.states]
            for board in boards:
                for at, piece in shown.seen.items():
                    there = board.piece_at(chess.parse_square(at))
                    assert (there and there.symbol()) == piece
            counts = oracle.answers("take", boards, puzzle.color)
            for move in [*oracle.best(counts)[0], "pass"]:
                verdict = judge(puzzle, square, move)
                assert verdict.right == (counts[move] == len(boards)) and verdict.shown is None
                assert set(verdict.solutions) == {word for word, n in counts.items() if n == len(boards)} != set()


def test_what_is_no_answer_is_refused() -> None:
    take, queen, sense = (some(kind, 1)[0] for kind in ("take", "queen", "sense"))
    for puzzle, square, move in (
        (take, None, None),
        (take, "e4", None),
        (take, "e4", take.solutions[0]),
        (take, None, "a1a1"),
        (take, None, "e9e4"),
        (queen, None, None),
        (queen, None, "pass"),
        (queen, queen.solutions[0], "pass"),
        (sense, None, "pass"),
        (sense, sense.solutions[0], "a1a1"),
    ):
        with pytest.raises(NoAnswer):
            judge(puzzle, square, move)
    assert set(listed(take.set)) == set(oracle.requests(boards_of(take)[0]))


def test_moves_are_named_as_people_write_them() -> None:
    fen = "r3k2r/1P4p1/8/8/8/8/PP6/R3K2R w KQkq - 0 1"
    words = ["e1g1", "e1c1", "b7b8", "b7b8n", "a1d1", "a2a4", "pass"]
    named = ["O-O", "O-O-O", "b7–b8=Q", "b7–b8=N", "Ra1–d1", "a2–a4", "a pass"]
    assert [move_words(fen, word) for word in words] == named
    assert move_name(64 + 64 * 4 + 6, False) == "e8g8" and move_words(fen, "e8g8") == "O-O"
