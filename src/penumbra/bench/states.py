"""How fast sets of states grow, and what they weigh.

The sets come from a game in which White always passes and learns nothing but that none of its pieces was taken.
Successors are counted before duplicates go; the time includes that of removing them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter

import chess

from penumbra.bench.report import Row, rate
from penumbra.core import START_FEN, StateSet, threads

LARGE = 100_000  # states.expand is measured on a set larger than this
MEMORY_STATES = 19_000_000  # states.memory is measured on the first set larger than this; it has 19.4 million
SCALES = (10**3, 10**4, 10**5, 10**6, 10**7)
SUCCESSORS = 40  # of a state, at most, on average; for guessing how long an expansion takes
SEED = 1


def run(seconds: float) -> list[Row]:
    """`states.expand`, `states.scaling.N` for sets of N states, and `states.memory`.

    Sizes of which a single expansion would take over ten times `seconds` are left out.
    """
    rows: list[Row] = []
    sizes = list(SCALES)
    speed = 0.0
    for states in _expandable_sets():
        if not rows and len(states) > LARGE:
            rows.append(_expand_row(states, seconds))
            speed = rows[0].value
        while sizes and rows and sizes[0] <= len(states) and sizes[0] * SUCCESSORS <= speed * seconds * 10:
            rows.append(_scaling_row(states.sample(sizes.pop(0), SEED), seconds))
        if len(states) * SUCCESSORS > MEMORY_STATES:
            rows.append(_memory_row(states))
            break
    return rows


def _expandable_sets() -> Iterator[StateSet]:
    """Ever larger sets, Black to move in each."""
    states = StateSet(START_FEN, True)
    while True:
        states = states.apply_move(0, 0, None)
        yield states
        states = states.expand(None)


def _expand_row(states: StateSet, seconds: float) -> Row:
    ours = rate(_expansions(states), seconds)
    peer = rate(_python_chess_expansions(states.sample(2_000, SEED).fens()), seconds)
    note = f"set of {len(states):,} states, {threads()} threads; successors counted before duplicates go"
    return Row("states.expand", ours, "successors/s", "python-chess", peer, note)


def _scaling_row(states: StateSet, seconds: float) -> Row:
    note = f"set of {len(states):,} states, {threads()} threads"
    return Row(f"states.scaling.{len(states)}", rate(_expansions(states), seconds), "successors/s", note=note)


def _memory_row(states: StateSet) -> Row:
    start = perf_counter()
    largest = states.expand(None)
    took = perf_counter() - start
    note = f"{len(largest):,} states in {largest.nbytes / 1e6:,.0f} MB, made in {took:.1f} s"
    return Row("states.memory", largest.nbytes / len(largest), "bytes/state", note=note)


def _expansions(states: StateSet) -> Callable[[], int]:
    return lambda: states.expand(None).generated


def _python_chess_expansions(fens: list[str]) -> Callable[[], int]:
    """The plain way: push every move that takes nothing, and the pass, and put what identifies the state into a set."""
    boards = [chess.Board(fen) for fen in fens]
    turn = iter(boards)
    seen: set[tuple[int | None, ...]] = set()

    def expand_one() -> int:
        nonlocal turn, seen
        board = next(turn, None)
        if board is None:
            turn, seen = iter(boards), set()
            board = next(turn)
        moves = [move for move in board.generate_pseudo_legal_moves() if not board.is_capture(move)]
        for move in [*moves, chess.Move.null()]:
            board.push(move)
            seen.add(_identity(board))
            board.pop()
        return len(moves) + 1

    return expand_one


def _identity(board: chess.Board) -> tuple[int | None, ...]:
    kinds = (board.pawns, board.knights, board.bishops, board.rooks, board.queens, board.kings)
    return (*kinds, *board.occupied_co, board.turn, board.castling_rights, board.ep_square)
