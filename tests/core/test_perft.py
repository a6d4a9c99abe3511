"""Perft: the native move generator counts what standard chess and reconchess count."""

import json
from typing import Any

import chess
import pytest

from penumbra import core
from tests.data.make_rbc_perft import rbc_perft
from tests.support import DATA
from tests.support.evidence import scale

CHESS_DEPTH = scale(4, 5)
ORACLE_DEPTH = scale(2, 3)


def positions(name: str) -> list[Any]:
    """One parameter set per position of a data file: its FEN and its counts for lengths 1, 2, …"""
    listed = json.loads((DATA / name).read_text())["positions"]
    return [pytest.param(position["fen"], position["counts"], id=position["name"]) for position in listed]


def chess_perft(board: chess.Board, depth: int) -> int:
    if depth == 0:
        return 1
    if depth == 1:
        return board.legal_moves.count()
    total = 0
    for move in board.legal_moves:
        board.push(move)
        total += chess_perft(board, depth - 1)
        board.pop()
    return total


@pytest.mark.parametrize(("fen", "counts"), positions("perft_chess.json"))
def test_listed_chess_counts_are_those_of_python_chess(fen: str, counts: list[int]) -> None:
    assert [chess_perft(chess.Board(fen), depth) for depth in range(1, ORACLE_DEPTH + 1)] == counts[:ORACLE_DEPTH]


@pytest.mark.parametrize(("fen", "counts"), positions("perft_rbc.json"))
def test_listed_rbc_counts_are_those_of_reconchess(fen: str, counts: list[int]) -> None:
    assert rbc_perft(fen, ORACLE_DEPTH) == counts[:ORACLE_DEPTH]


@pytest.mark.parametrize(("fen", "counts"), positions("perft_chess.json"))
def test_chess_counts(fen: str, counts: list[int]) -> None:
    depths = range(1, CHESS_DEPTH + 1)
    assert [core.perft(fen, depth, True) for depth in depths] == counts[:CHESS_DEPTH]


@pytest.mark.parametrize(("fen", "counts"), positions("perft_rbc.json"))
def test_rbc_counts(fen: str, counts: list[int]) -> None:
    assert [core.perft(fen, depth, False) for depth in range(1, len(counts) + 1)] == counts


@pytest.mark.parametrize("rules", [True, False])
def test_mirrored_positions_count_the_same(rules: bool) -> None:
    for fen in (position.values[0] for position in positions("perft_chess.json")):
        mirrored = chess.Board(fen).mirror().fen(en_passant="fen")
        assert core.perft(fen, 3, rules) == core.perft(mirrored, 3, rules)
