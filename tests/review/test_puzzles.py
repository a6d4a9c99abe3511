"""Puzzles: found in real games, solved a second time by python-chess, in files that can be gone on with."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import chess
import pytest

from penumbra.core import MOVE, SENSE, StateSet
from penumbra.interop.game_files import read_games
from penumbra.rbc.actions import view
from penumbra.rbc.sense_partitions import boards as sense_boards
from penumbra.review import counting
from penumbra.review.puzzles.finding import Bucket, puzzles_of, room_for
from penumbra.review.puzzles.kinds import find, move_name, names
from penumbra.review.puzzles.puzzle import BrokenPuzzles, line_of, read_puzzles
from tests.oracles import puzzles as oracle
from tests.oracles.state_set import state_fen
from tests.oracles.walks import walk
from tests.review.solving import solved_by_the_oracle
from tests.support import ROOT
from tests.support.command_line import penumbra
from tests.support.evidence import scale

GAMES = ROOT / "tests" / "data" / "real_games.jsonl"


def test_puzzles_of_real_games_are_solved_the_same_way_by_python_chess() -> None:
    found = [puzzle for record in read_games(GAMES, raise_it) for puzzle in puzzles_of(record)]
    assert found
    for puzzle in found:
        solved_by_the_oracle(puzzle)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_counted_is_what_python_chess_counts(seed: int) -> None:
    """Kings taken, kings lost and what senses tell, of sets of random games."""
    steps = [step for step in walk(random.Random(seed), chess.Board(), 60, 12) if len(step.states[step.actor]) > 1]
    for step in steps[:: scale(12, 2)]:
        boards, player = step.actor_boards(), step.actor
        states = StateSet.from_fens([state_fen(board) for board in boards], player)
        moves = counting.listed_moves(states)
        words = [move_name(int(action), player) for action in moves]
        lost = counting.loses_king(states, moves).sum(axis=0)
        taken = counting.takes_king(states, moves)
        assert dict(zip(words, taken.sum(axis=0), strict=True)) == oracle.answers("take", boards, player)
        assert dict(zip(words, len(boards) - lost, strict=True)) == oracle.answers("save", boards, player)
        wins = [counting.best_moves(taken, groups) for groups in counting.all_groups(states)]
        expected = oracle.answers("sense", boards, player)
        assert wins == [expected[chess.square_name(view(square, player))] for square in range(64)]
        for kind, piece in (("queen", counting.QUEEN), ("king", counting.KING)):
            contents = sense_boards(states)
            tells = [
                counting.told(counting.places(contents, piece), counting.groups_of(contents, s)) for s in range(64)
            ]
            expected = oracle.answers(kind, boards, player)
            assert tells == [expected[chess.square_name(view(square, player))] for square in range(64)]


def raise_it(problem: Exception) -> None:
    raise problem


def test_a_king_that_may_stand_on_either_of_two_squares_of_a_file_is_taken_by_the_same_slide() -> None:
    fens = ["4k3/8/8/8/8/8/4Q3/K7 w - - 0 1", "8/4k3/8/8/8/8/4Q3/K7 w - - 0 1"]
    (found,) = find(StateSet.from_fens(fens, True), MOVE)
    assert (found.kind, names(found, True)) == ("take", ["e2e8"])
    assert found.reason == "Qe2–e8 takes the king in both states: it stands on e7 in 1 and e8 in 1. " + (
        "The next best move takes it in 1 of 2."
    )
    mirrored = [chess.Board(fen).mirror().fen() for fen in fens]
    (other,) = find(StateSet.from_fens(mirrored, False), MOVE)
    assert names(other, False) == ["e7e1"]


def test_a_king_on_one_of_two_squares_that_different_moves_take_is_sensed_first() -> None:
    states = StateSet.from_fens([f"{rank}/8/8/8/8/8/8/R2K3R w - - 0 1" for rank in ("k7", "7k")], True)
    found = {f.kind: f for f in find(states, SENSE)}
    assert not find(states, MOVE) and "king" not in found  # eight senses tell, which is no puzzle
    assert set(names(found["sense"], True)) == {"a7", "b7", "a8", "b8", "g7", "h7", "g8", "h8"}
    assert "in both states" in found["sense"].reason and found["sense"].reason.endswith("without a sense in 1.")


def test_a_file_keeps_its_puzzles_and_says_where_it_is_broken(tmp_path: Path) -> None:
    file = tmp_path / "puzzles.jsonl"
    few = [puzzle for record in read_games(GAMES, raise_it) for puzzle in puzzles_of(record)]
    file.write_text(line_of("a", few) + line_of("b", []) + '{"game": "c", "puz')
    assert read_puzzles(file) == {"a": few, "b": []}
    (tmp_path / "packed.gz").write_bytes(gzip.compress(file.read_bytes()))
    assert read_puzzles(tmp_path / "packed.gz") == read_puzzles(file)
    for text in (
        "x\n",
        "[]\n",
        '{"game": "a"}\n',
        '{"game": "a", "puzzles": [{}]}\n',
        '{"game": "a", "puzzles": [1]}\n',
    ):
        file.write_text(line_of("a", few) + text)
        with pytest.raises(BrokenPuzzles, match="line 2"):
            read_puzzles(file)
    file.write_bytes(b"\x1f\x8bxx")
    with pytest.raises(BrokenPuzzles, match="not a file of puzzles"):
        read_puzzles(file)


def test_no_more_of_a_kind_and_grade_than_asked_for() -> None:
    counts: Counter[Bucket] = Counter()
    (one, *_) = [puzzle for record in read_games(GAMES, raise_it) for puzzle in puzzles_of(record)]
    others = [replace(one, turn=turn) for turn in range(5)] + [
        replace(one, kind="take", turn=turn) for turn in range(5)
    ]
    kept = room_for(others, counts, 2)
    assert [(p.kind, p.turn) for p in kept] == [("save", 0), ("save", 1), ("take", 0), ("take", 1)]
    assert room_for(others, counts, 3) == [others[0], others[5]] and len(room_for(others, counts, None)) == 10


def test_the_command_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole.jsonl", tmp_path / "parts.jsonl"
    first = penumbra("puzzles", GAMES, "--out", whole, "--seed", "3")
    assert first.returncode == 0, first.stderr
    lines = whole.read_text().splitlines(keepends=True)
    assert len(lines) == 6 and all(json.loads(line)["game"] for line in lines)
    parts.write_text("".join(lines[:2]) + lines[2][:50])
    assert penumbra("puzzles", GAMES, "--out", parts, "--seed", "3").returncode == 0
    assert parts.read_text() == whole.read_text()
    made = sum(len(json.loads(line)["puzzles"]) for line in lines)
    assert f"{made} puzzles" in first.stdout and "6 games to look through" in first.stdout


def test_the_command_refuses_what_it_cannot_use(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    cases: tuple[tuple[list[str | Path], str], ...] = (
        ([tmp_path / "nothing.db", "--out", out], "no such file"),
        ([GAMES, "--out", tmp_path / "out.txt"], ".jsonl"),
        ([GAMES, "--out", tmp_path / "none" / "out.jsonl"], "no folder"),
        ([GAMES, "--out", GAMES], "not a line of a file of puzzles"),
    )
    for arguments, said in cases:
        answer = penumbra("puzzles", *arguments)
        assert answer.returncode and said in answer.stderr and answer.stderr.count("\n") == 1, answer
    assert not out.exists()
