"""Static analysis of batches and of whole sets: equal to brute force over all senses and moves, and hand-made cases."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache

import chess
import numpy as np
import pytest
from numpy.typing import NDArray

from penumbra import core
from penumbra.rbc.actions import sense_window
from tests.oracles.infostate import listed_actions
from tests.oracles.positions import random_empty, random_placement
from tests.oracles.state_set import State, board_of, state_fen, state_of, successor, taken_move
from tests.oracles.static_analysis import (
    partition,
    sure_king_captures,
    takes_king_by,
    undominated_senses,
    winning_senses,
)
from tests.oracles.synopsis import MOVE, SENSE
from tests.oracles.views import action_of_move, move_of_action
from tests.support.situations import SCALE

ALL = (1 << 64) - 1
NONE = -1


@cache
def random_sets() -> list[list[chess.Board]]:
    """Sets of up to eight boards that one player, to act, cannot tell apart, the king often in its reach."""
    return [random_set(random.Random(seed)) for seed in range(400 * SCALE)]


def random_set(rng: random.Random) -> list[chess.Board]:
    base = random_placement(rng)
    king_moves = rng.random() < 0.5
    if not king_moves:
        expose_king(base, rng)
        base.castling_rights = base.clean_castling_rights()
    boards = {state_of(base): base}
    for _ in range(rng.choice((0, 1, 2, 4, 7))):
        board = base.copy()
        board.ep_square = None
        for _ in range(rng.choice((1, 1, 2))):
            expose_king(board, rng) if king_moves and rng.random() < 0.8 else move_something(board, rng)
        board.castling_rights &= ~chess.BB_RANKS[7 if base.turn == chess.WHITE else 0]
        boards[state_of(board)] = board
    return sorted(boards.values(), key=state_fen)


def expose_king(board: chess.Board, rng: random.Random) -> None:
    """Puts the opposing king where it can be taken, if there is such a square."""
    exposed = [s for s in chess.SQUARES if board.piece_at(s) is None and board.is_attacked_by(board.turn, s)]
    king = board.king(not board.turn)
    if king is not None and exposed:
        board.remove_piece_at(king)
        board.set_piece_at(rng.choice(exposed), chess.Piece(chess.KING, not board.turn))


def move_something(board: chess.Board, rng: random.Random) -> None:
    """Puts one opposing piece elsewhere."""
    square = rng.choice(list(chess.SquareSet(board.occupied_co[not board.turn])))
    piece = board.remove_piece_at(square)
    assert piece is not None
    board.set_piece_at(random_empty(board, rng, pawn=piece.piece_type == chess.PAWN), piece)


def row_of(boards: Sequence[chess.Board], player: chess.Color, kind: int) -> core.Infostates:
    return core.Infostates.from_fens([[state_fen(board) for board in boards]], player, kind)


def settle(boards: Sequence[chess.Board], player: chess.Color, kind: int) -> tuple[int, int, int]:
    """(senses, win, loss), found to be the same for a batch and for a whole set."""
    senses, win, loss = (int(column[0]) for column in row_of(boards, player, kind).settle())
    whole = core.StateSet.from_fens([state_fen(board) for board in boards], player)
    assert core.settle_set(whole, kind)[:2] == (senses, win)
    assert (core.settle_set(whole, kind)[2] == NONE) == (loss == NONE)
    return senses, win, loss


def lowest(actions: set[int]) -> int:
    return min(actions, default=NONE)


def king_captures(boards: Sequence[chess.Board]) -> list[set[int]]:
    """For each board, the requests that take the king."""
    requests = listed_actions(boards[0])
    return [{request for request in requests if takes_king_by(board, request)} for board in boards]


def test_a_request_that_surely_takes_the_king_is_found_if_there_is_one() -> None:
    wins = 0
    for boards in random_sets():
        senses, win, loss = settle(boards, boards[0].turn, MOVE)
        assert win == lowest(set.intersection(*king_captures(boards)))
        assert (senses, loss) == (ALL, NONE)
        wins += win != NONE and len(boards) > 1
    assert wins > 40 * SCALE


def test_a_sense_that_surely_leads_to_one_is_found_if_there_is_one() -> None:
    wins = needed = 0
    for boards in random_sets():
        player = boards[0].turn
        captures = king_captures(boards)
        winning = {
            sense
            for sense in chess.SQUARES
            if all(set.intersection(*(captures[i] for i in block)) for block in partition(boards, player, sense))
        }
        _, win, loss = settle(boards, player, SENSE)
        assert win == lowest(winning)
        assert loss == NONE
        wins += win != NONE
        needed += win != NONE and not set.intersection(*captures)
    assert wins > 100 * SCALE and needed > 10 * SCALE


def test_the_oracles_own_search_says_the_same() -> None:
    for boards in random_sets()[:40]:
        player = boards[0].turn
        assert settle(boards, player, MOVE)[1] == lowest(sure_king_captures(boards, player))
        assert settle(boards, player, SENSE)[1] == lowest(winning_senses(boards, player))


def test_senses_worth_making_are_those_that_nothing_dominates() -> None:
    for boards in random_sets():
        senses, _, _ = settle(boards, boards[0].turn, SENSE)
        assert set(chess.SquareSet(senses)) == undominated_senses(boards, boards[0].turn)


def test_an_exposed_king_is_found_for_the_player_who_waits() -> None:
    losses = 0
    for boards in random_sets():
        waiting = not boards[0].turn
        alike = [board for board in boards if same_pieces(board, boards[0], waiting)]
        row = row_of(alike, waiting, MOVE)
        senses, win, loss = (int(column[0]) for column in row.settle())
        assert (senses, win) == (ALL, NONE)
        exposed = all(king_captures([board])[0] for board in alike)
        assert (loss != NONE) == exposed
        if exposed:
            assert loss in king_captures([chess.Board(row.fens(0)[0])])[0]
            losses += 1
    assert losses > 50 * SCALE


def test_danger_is_a_share_of_states() -> None:
    """In each state by brute force: can the opponent take our king, or did the move take theirs?"""
    won = lost = 0
    for boards in random_sets()[: 150 * SCALE]:
        player = boards[0].turn
        moves = sorted(listed_actions(boards[0]))
        whole = core.StateSet.from_fens([state_fen(board) for board in boards], player)
        danger = core.danger(whole, np.array(moves, np.int32))
        for move, share in zip(moves, danger, strict=True):
            taken = [takes_king_by(board, move) for board in boards]
            exposed = [not takes and leaves_king(board, move) for board, takes in zip(boards, taken, strict=True)]
            assert share == pytest.approx(max(np.mean(exposed) - np.mean(taken), 0))
            won += any(taken)
        lost += int(((danger > 0) & (danger < 1)).sum())
    assert won > 100 * SCALE and lost > 100 * SCALE


def leaves_king(board: chess.Board, request: int) -> bool:
    """Can the opponent take the king of the player to move, once it has asked for this?"""
    return can_take_king(successor(board, taken_move(board, move_of_action(request, board.turn))))


@cache
def can_take_king(state: State) -> bool:
    board = board_of(state)
    return any(takes_king_by(board, request) for request in listed_actions(board))


def test_danger_of_what_is_no_move_is_refused() -> None:
    start = core.StateSet(chess.STARTING_FEN, chess.WHITE)
    for action in (12, 64 + 4097, 64):
        with pytest.raises(ValueError, match=f"action {action} is not a listed move"):
            core.danger(start, np.array([action], np.int32))
    with pytest.raises(ValueError, match="not to move"):
        core.danger(core.StateSet(chess.STARTING_FEN, chess.BLACK), np.array([64 + 4096], np.int32))


def same_pieces(board: chess.Board, other: chess.Board, color: chess.Color) -> bool:
    def pieces(of: chess.Board) -> tuple[object, ...]:
        return (*(of.pieces_mask(kind, color) for kind in chess.PIECE_TYPES), of.castling_rights, of.ep_square)

    return pieces(board) == pieces(other)


def test_batches_give_each_row_what_it_gets_alone() -> None:
    sets = random_sets()[:200]
    rows = core.Infostates.concatenate([row_of(boards, boards[0].turn, SENSE) for boards in sets])
    together = rows.settle()
    for row in range(len(rows)):
        alone = rows.take(np.array([row])).settle()
        assert [int(column[row]) for column in together] == [int(column[0]) for column in alone]


def test_senses_are_searched_only_where_wanted() -> None:
    boards = random_sets()[1]
    row = row_of(boards, boards[0].turn, SENSE)
    with_senses, without = row.settle(), row.settle(senses=False)
    assert with_senses[0][0] != ALL and without[0][0] == ALL
    assert with_senses[1][0] == without[1][0]
    whole = core.StateSet.from_fens([state_fen(board) for board in boards], boards[0].turn)
    assert core.settle_set(whole, SENSE, senses=False)[0] == ALL


# Hand-made positions: White to act, or Black on the mirrored board.

BOTH = pytest.mark.parametrize("color", [chess.WHITE, chess.BLACK], ids=["white", "black"])


def boards_for(color: chess.Color, fens: Sequence[str]) -> list[chess.Board]:
    return [chess.Board(fen) if color else chess.Board(fen).mirror() for fen in fens]


def action(uci: str) -> int:
    return action_of_move(chess.Move.from_uci(uci), chess.WHITE)


SURE = {
    "rook, king in one place": (["8/8/8/8/8/8/8/R3k2K w - - 0 1"], "a1e1"),
    "rook, king somewhere on the line": (
        [f"8/8/8/8/8/8/8/R{rank}K w - - 0 1" for rank in ("k5", "2k3", "4k1")],
        "a1f1",
    ),
    "rook, a piece before the king": (["k7/8/r7/8/8/8/8/R6K w - - 0 1"], None),
    "bishop": (["7k/8/8/8/8/8/8/B6K w - - 0 1", "8/8/8/4k3/8/8/8/B6K w - - 0 1"], "a1h8"),
    "queen, on a line or not": (["7k/8/8/8/8/8/8/Q6K w - - 0 1", "k7/8/8/8/8/8/8/Q6K w - - 0 1"], None),
    "knight": (["8/8/8/8/8/1k6/8/N6K w - - 0 1", "8/8/n7/8/8/1k6/8/N6K w - - 0 1"], "a1b3"),
    "pawn": (["8/8/8/8/8/1k6/P7/7K w - - 0 1"], "a2b3"),
    "pawn that promotes": (["1k6/P7/8/8/8/8/8/7K w - - 0 1"], "a7b8"),
    "pawn blocked by the king": (["8/8/8/8/8/k7/P7/7K w - - 0 1"], None),
    "king beside king": (["8/8/8/8/8/8/6k1/7K w - - 0 1"], "h1g2"),
    "own piece in the way": (["k7/8/8/P7/8/8/8/R6K w - - 0 1"], None),
    "shield in one state": (["8/8/8/8/8/8/8/R3k2K w - - 0 1", "8/8/8/8/8/8/8/R1n1k2K w - - 0 1"], None),
    "out of reach": (["7k/8/8/8/8/8/8/R5K1 w - - 0 1"], None),
    "no king left": (["8/8/8/8/8/8/8/R6K w - - 0 1"], None),
}


@BOTH
@pytest.mark.parametrize("case", SURE)
def test_sure_captures(case: str, color: chess.Color) -> None:
    fens, word = SURE[case]
    _, win, _ = settle(boards_for(color, fens), color, MOVE)
    assert win == (NONE if word is None else action(word))


SENSES = {
    "sure without looking": (["8/8/8/8/8/8/8/R3k2K w - - 0 1"], "a1"),
    "two corners": (["7k/8/8/8/8/8/8/Q6K w - - 0 1", "k7/8/8/8/8/8/8/Q6K w - - 0 1"], "a7"),
    "a shield to look for": (["k7/8/8/8/8/8/8/RR5K w - - 0 1", "1k6/8/8/8/8/8/8/RR5K w - - 0 1"], "a7"),
    "three places, one look": (
        [f"8/8/8/{rank}/8/8/8/RRR4K w - - 0 1" for rank in ("k7", "1k6", "2k5")],
        "a4",
    ),
    "three places too far apart": ([f"{rank}/8/8/8/8/8/8/R2Q3R w - - 0 1" for rank in ("k7", "3k4", "7k")], None),
    "one king out of reach": (["7k/8/8/8/8/8/8/Q6K w - - 0 1", "1k6/8/8/8/8/8/8/Q6K w - - 0 1"], None),
    "no king in reach": (["1k6/8/8/8/8/8/8/Q6K w - - 0 1"], None),
}


@BOTH
@pytest.mark.parametrize("case", SENSES)
def test_sure_senses(case: str, color: chess.Color) -> None:
    fens, word = SENSES[case]
    boards = boards_for(color, fens)
    _, win, _ = settle(boards, color, SENSE)
    assert win == (NONE if word is None else chess.parse_square(word))
    assert win == lowest(winning_senses(boards, color))


EXPOSED = {
    "in every state": (["k7/8/8/8/8/8/8/r6K b - - 0 1", "k6r/8/8/8/8/8/8/7K b - - 0 1"], True),
    "in one state only": (["k7/8/8/8/8/8/8/r6K b - - 0 1", "k5r1/8/8/8/8/8/8/7K b - - 0 1"], False),
    "shielded": (["k6r/8/8/8/8/8/7P/7K b - - 0 1"], False),
    "by a pawn": (["k7/8/8/8/8/8/6p1/7K b - - 0 1"], True),
    "not by a pawn straight ahead": (["k7/8/8/8/8/7p/8/7K b - - 0 1"], False),
    "by the king": (["8/8/8/8/8/8/6k1/7K b - - 0 1"], True),
}


@BOTH
@pytest.mark.parametrize("case", EXPOSED)
@pytest.mark.parametrize("kind", [SENSE, MOVE])
def test_exposed_kings(case: str, color: chess.Color, kind: int) -> None:
    """The player who waits is White, or Black on the mirrored board."""
    fens, exposed = EXPOSED[case]
    row = row_of(boards_for(color, fens), color, kind)
    senses, win, loss = (int(column[0]) for column in row.settle())
    assert (senses, win) == (ALL, NONE)
    assert (loss != NONE) == exposed
    if exposed:
        assert takes_king_by(chess.Board(row.fens(0)[0]), loss)


# Dominated senses.


def test_equal_senses_never_all_vanish() -> None:
    """A set with nothing to learn keeps the first sense, and every sense that went is no finer than one that stayed."""
    assert settle([chess.Board()], chess.WHITE, SENSE)[0] == 1
    for boards in random_sets():
        assert settle(boards, boards[0].turn, SENSE)[0] != 0


@pytest.mark.parametrize("size", [21, 400, 12_000])
def test_large_sets(size: int) -> None:
    """As brute force over numbered views says."""
    states = core.StateSet(core.START_FEN, False).expand(None)
    while len(states) < size:
        states = states.apply_move(0, 0, None).expand(None)
    states = states.sample(size, 1)
    told = views(states)
    parts = [len(np.unique(view)) for view in told]
    kept = set(chess.SquareSet(core.settle_set(states, SENSE)[0]))
    assert kept == {sense for sense in chess.SQUARES if not dominated(sense, told, parts)}
    rows = core.Infostates.draw(states, 1, SENSE, ell=len(states))
    assert set(rows.legal(prune=True)[0].tolist()) == kept


def views(states: core.StateSet) -> list[NDArray[np.int64]]:
    """For each sense of Black's, a number for what it shows of each state."""
    gaps = str.maketrans({str(n): "." * n for n in range(1, 9)} | {"/": ""})
    # A FEN begins with a8, which is Black's a1.
    pieces = np.array([list(fen.split()[0].translate(gaps).encode()) for fen in states])
    windows = [list(sense_window(sense, False)) for sense in chess.SQUARES]
    return [np.unique(pieces[:, window], axis=0, return_inverse=True)[1].ravel() for window in windows]


def dominated(sense: int, told: list[NDArray[np.int64]], parts: list[int]) -> bool:
    for other in chess.SQUARES:
        finer = parts[other] > parts[sense] or (parts[other] == parts[sense] and other < sense)
        if finer and len(np.unique(told[other] * len(told[other]) + told[sense])) == parts[other]:
            return True
    return False
