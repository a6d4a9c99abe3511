"""How fast sets of states grow, and what they weigh.

The sets come from a game in which White always passes and learns nothing but that none of its pieces was taken.
Successors are counted before duplicates go; the time includes that of removing them. Two peers do the same with
python-chess: as its users write it, each successor a copy of the board kept under its FEN; and as fast as it goes,
moves pushed and popped on one board and the bitboards kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from time import perf_counter

import chess

from penumbra.bench.report import Row, rate, rates
from penumbra.core import START_FEN, StateSet, threads

LARGE = 100_000  # states.expand is measured on a set larger than this
MEMORY_STATES = 19_000_000  # states.memory is measured on the first set larger than this; it has 19.4 million
SCALES = (10**3, 10**4, 10**5, 10**6, 10**7)
SUCCESSORS = 40  # of a state, at most, on average; for guessing how long an expansion takes
SEED = 1


def run(seconds: float) -> list[Row]:
    """`states.expand`, `states.expand.tight`, `states.scaling.N` for sets of N states, and `states.memory`.

    Sizes of which a single expansion would take over ten times `seconds` are left out.
    """
    rows: list[Row] = []
    sizes = list(SCALES)
    speed = 0.0
    largest = False
    for states in _expandable_sets():
        if not rows and len(states) > LARGE:
            rows += _expand_rows(states, seconds)
            speed = rows[0].value
        while sizes and rows and sizes[0] <= len(states) and sizes[0] * SUCCESSORS <= speed * seconds * 10:
            rows.append(_scaling_row(states.sample(sizes.pop(0), SEED), seconds))
        if largest:
            break
        if len(states) * SUCCESSORS > MEMORY_STATES:
            rows.append(_memory_row(states))
            largest = True
    return rows


def _expandable_sets() -> Iterator[StateSet]:
    """Ever larger sets, Black to move in each."""
    states = StateSet(START_FEN, True)
    while True:
        states = states.apply_move(0, 0, None)
        yield states
        states = states.expand(None)


def _expand_rows(states: StateSet, seconds: float) -> list[Row]:
    fens = states.sample(2_000, SEED).fens()
    ours, plain, tight = rates(
        [_expansions(states), _python_chess_expansions(fens, _plain), _python_chess_expansions(fens, _tight)], seconds
    )
    once = states.expand(None)
    distinct = len(once) / once.generated
    note = f"set of {len(states):,} states, {threads()} threads; {ours * distinct:,.0f}/s distinct"
    return [
        Row("states.expand", ours, "successors/s", "python-chess", plain, note),
        Row("states.expand.tight", ours, "successors/s", "python-chess, bitboards", tight, "the same run"),
    ]


def _scaling_row(states: StateSet, seconds: float) -> Row:
    generated = 0

    def work() -> int:
        nonlocal generated
        generated = states.expand(None).generated
        return generated

    speed = rate(work, seconds)
    nanoseconds = 1e9 / speed * generated / len(states)
    note = f"set of {len(states):,} states, {threads()} threads; {nanoseconds:,.0f} ns a state expanded"
    return Row(f"states.scaling.{len(states)}", speed, "successors/s", note=note)


def _memory_row(states: StateSet) -> Row:
    before = _resident("VmRSS")
    _forget_peak()
    start = perf_counter()
    largest = states.expand(None)
    took = perf_counter() - start
    resident = _resident("VmRSS") - before or largest.nbytes
    note = f"{len(largest):,} states, {resident / 1e6:,.0f} MB resident, made in {took:.1f} s"
    if peak := _resident("VmHWM"):
        note += f", {(peak - before) / 1e6:,.0f} MB at most meanwhile"
    return Row("states.memory", resident / len(largest), "bytes/state", note=note)


def _resident(field: str) -> int:
    """Bytes of this process in memory now (VmRSS) or at most (VmHWM); 0 where the system does not say."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def _forget_peak() -> None:
    with suppress(OSError):  # where that cannot be, the peak is that of the whole run
        Path("/proc/self/clear_refs").write_text("5")


def _expansions(states: StateSet) -> Callable[[], int]:
    return lambda: states.expand(None).generated


def _python_chess_expansions(fens: list[str], keys: Callable[[chess.Board], list[object]]) -> Callable[[], int]:
    """The keys of all successors of one board after the other, into one set."""
    boards = [chess.Board(fen) for fen in fens]
    turn = iter(boards)
    seen: set[object] = set()

    def expand_one() -> int:
        nonlocal turn, seen
        board = next(turn, None)
        if board is None:
            turn, seen = iter(boards), set()
            board = next(turn)
        successors = keys(board)
        seen.update(successors)
        return len(successors)

    return expand_one


def _quiet_moves(board: chess.Board) -> list[chess.Move]:
    """Every move that takes nothing, and the pass."""
    return [*(move for move in board.generate_pseudo_legal_moves() if not board.is_capture(move)), chess.Move.null()]


def _plain(board: chess.Board) -> list[object]:
    keys: list[object] = []
    for move in _quiet_moves(board):
        successor = board.copy(stack=False)
        successor.push(move)
        keys.append(successor.epd(en_passant="fen"))
    return keys


def _tight(board: chess.Board) -> list[object]:
    keys: list[object] = []
    for move in _quiet_moves(board):
        board.push(move)
        kinds = (board.pawns, board.knights, board.bishops, board.rooks, board.queens, board.kings)
        keys.append((*kinds, *board.occupied_co, board.turn, board.castling_rights, board.ep_square))
        board.pop()
    return keys
