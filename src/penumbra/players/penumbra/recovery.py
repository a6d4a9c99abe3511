"""Finding the way back when no state agrees with what was observed.

It happens when a cap has cut the true state out of the set, or when an observation is wrong. In the first case the
`Trail` still has the last set that was whole, and everything observed since: playing that through again with room for
more states may find the truth. Otherwise the set is rebuilt from what is known (`recovered`): our own pieces, what was
just observed, and the opposing pieces of a sample of the old states, moved about until they agree. There is always
exactly one opposing king, and no pawn on the first or last rank.

Boards here are lists of 64 contents in the owner's view: 0 empty, 1..6 own P N B R Q K, 7..12 opposing.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from penumbra.core import MOVE, ImpossibleObservation, StateSet
from penumbra.rbc import domain as rbc
from penumbra.rbc.actions import code_parts, sense_window, view
from penumbra.rbc.domain import Situation
from penumbra.rbc.observations import Moved, Observation, OpponentMoved, Sensed

SAMPLE, LEAST_SAMPLE = 2_000, 50  # old states that a new set is made from, the fewest where there is no time
SECONDS_PER_BOARD = 5e-5  # of arranging one
LETTERS = ".PNBRQKpnbrqk"
PAWN, KING = 1, 6
THEIR_PAWN, THEIR_KNIGHT, THEIR_KING = 7, 8, 12
Board = list[int]


@dataclass
class Trail:
    """The last situation whose set was whole, and what was observed since a cap first cut it."""

    ell: int
    whole: Situation | None = None
    since: list[Observation] = field(default_factory=list)

    def follow(self, before: Situation, observation: Observation, after: Situation) -> None:
        if before.states.complete and after.states.complete:
            return
        if before.states.complete:
            self.whole, self.since = before, []
        if self.whole is not None:
            self.since.append(observation)

    def forget(self) -> None:
        self.whole, self.since = None, []

    def again(
        self, observation: Observation, cap: int, seed: int, deadline: float, work: float = math.inf
    ) -> Situation | None:
        """Everything since the last whole set once more, with other draws, until something agrees or it is enough.

        Enough is a deadline, or so many states moved on by a step: `work`, which does not depend on the machine.
        """
        while self.whole is not None and work > 0 and time.monotonic() < deadline:
            seed += 1
            x: Situation | None = self.whole
            for step, seen in enumerate([*self.since, observation]):
                assert x is not None
                work -= len(x.states)
                if not x.ours and x.kind != MOVE:
                    x = rbc.opponent_sensed(x)
                try:
                    x = rbc.observed(x, seen, self.ell, cap, seed + (step << 32))
                except ImpossibleObservation:
                    x = None
                if x is None or work <= 0 or time.monotonic() >= deadline:
                    break
            else:
                assert x is not None
                if x.states.complete:
                    self.forget()
                else:
                    self.since.append(observation)
                return x
        return None


def recovered(x: Situation, observation: Observation, seed: int, seconds: float = math.inf) -> Situation:
    """A situation after `observation`, made from one in which no state agrees with it, of as many states as the time
    allows."""
    rng = random.Random(seed)
    sample = int(min(SAMPLE, max(LEAST_SAMPLE, seconds / SECONDS_PER_BOARD)))
    old = x.states.sample(sample, rng.getrandbits(62)) if len(x.states) > sample else x.states
    match observation:
        case Sensed():
            states = _after_sense(old, observation, rng)
        case Moved():
            states = _after_move(old, observation, rng)
        case OpponentMoved(capture):
            states = _after_opposing_move(old, capture, rng)
    return rbc.reached(x, observation, states)


# -- one kind of observation each


def _after_sense(states: StateSet, observation: Sensed, rng: random.Random) -> StateSet:
    """What was seen is put into the old states, own pieces included."""
    if observation.square is None:
        return states
    window = sense_window(observation.square, states.owner)
    seen = dict(zip(window, observation.contents, strict=False))
    boards = _rebuild(states, rng, lambda board: arrange(board, seen, rng))
    return _set_of(boards, states, states.turn)


def _after_move(states: StateSet, observation: Moved, rng: random.Random) -> StateSet:
    """The old states are arranged so that the move could happen, and then it does."""
    requested, taken, capture, _ = observation

    def arranged(board: Board) -> Board:
        some, empty = _needs(board, requested, taken, capture)
        return arrange(board, dict.fromkeys(empty, 0), rng, some=some, king_may=taken == 0)

    before = _set_of(_rebuild(states, rng, arranged), states, states.owner)
    try:
        return before.apply_move(requested, taken, capture, False)
    except ValueError:
        boards = _rebuild(states, rng, lambda board: _force(board, taken, capture, rng))
        return _set_of(boards, states, not states.owner)


def _after_opposing_move(states: StateSet, capture: int | None, rng: random.Random) -> StateSet:
    """Our piece on the square is gone and one of theirs stands there, wherever it came from."""

    def taken(board: Board) -> Board:
        if capture is None or board[capture] == KING:
            return board
        board[capture] = 0
        return arrange(board, {}, rng, some=[capture], king_may=True)

    return _set_of(_rebuild(states, rng, taken), states, states.owner)


def _needs(board: Board, requested: int, taken: int, capture: int | None) -> tuple[list[int], list[int]]:
    """(squares where some opposing piece must stand, squares where none may) for the move to come out as it did."""
    if requested == 0:
        return [], []
    start, wanted, _ = code_parts(requested)
    if taken == 0:
        if board[start] == PAWN and (wanted - start) % 8 == 0:
            return [start + 8], []
        if board[start] == KING and abs(wanted - start) == 2:
            return [(start + wanted) // 2], []
        return [], [wanted]
    _, end, _ = code_parts(taken)
    empty = [s for s in _between(start, end) if not 1 <= board[s] <= 6]
    if capture is not None:
        return [capture], empty
    beyond = [wanted] if board[start] == PAWN and end != wanted else []
    return beyond, [*empty, end]


def _force(board: Board, taken: int, capture: int | None, rng: random.Random) -> Board:
    """The move as far as our own pieces allow it: nothing stands where it ended but the piece that went there."""
    if capture is not None and board[capture] > 6:
        board = arrange(board, {capture: 0}, rng) if board[capture] == THEIR_KING else _with(board, capture, 0)
    if taken:
        start, end, promotion = code_parts(taken)
        if 1 <= board[start] <= 6 and not 1 <= board[end] <= 6:
            board = arrange(board, {end: 0}, rng)
            board[end], board[start] = promotion or board[start], 0
    return board


# -- arranging opposing pieces


def arrange(
    board: Board, seen: dict[int, int], rng: random.Random, *, some: Iterable[int] = (), king_may: bool = False
) -> Board:
    """The board with `seen` contents on these squares and an opposing piece on `some`.

    Pieces that are not where they should be go elsewhere; a piece that appears comes from elsewhere where it can.
    """
    board, seen = board.copy(), dict(seen)
    _own_pieces(board, seen)
    fixed = set(seen) | set(some)
    homeless = []
    for square, content in seen.items():
        if board[square] > 6 and board[square] != content:
            homeless.append(board[square])
            board[square] = 0
    for square, content in seen.items():
        if content > 6 and board[square] == 0:
            _fetch(board, homeless, content, fixed, rng)
            board[square] = content
    for square in some:
        if board[square] <= 6 or (board[square] == THEIR_KING and not king_may):
            if board[square] == THEIR_KING:
                homeless.append(THEIR_KING)
            if not 1 <= board[square] <= 6:
                board[square] = _any_piece(board, homeless, square, fixed, king_may, rng)
    if THEIR_KING not in board and THEIR_KING not in homeless:
        homeless.append(THEIR_KING)
    for piece in sorted(homeless, reverse=True):  # the king finds a place first
        _settle(board, piece, fixed, rng)
    _thin_out(board, fixed, rng)
    return board


def _own_pieces(board: Board, seen: dict[int, int]) -> None:
    """Own pieces as seen, but that our king stays where it is unless it is seen elsewhere."""
    king = board.index(KING) if KING in board else None
    elsewhere = next((s for s, content in seen.items() if content == KING), None)
    for square, content in list(seen.items()):
        if square == king and content != KING and elsewhere is None:
            del seen[square]
        elif 1 <= content <= 6 or 1 <= board[square] <= 6:
            board[square] = content if content <= 6 else 0
    if elsewhere is not None and king is not None and elsewhere != king and board[king] == KING:
        board[king] = 0


def _fetch(board: Board, homeless: list[int], piece: int, fixed: set[int], rng: random.Random) -> None:
    """Takes `piece` from where it was: one displaced, one elsewhere, else a pawn that has become it."""
    if piece in homeless:
        homeless.remove(piece)
        return
    for kind in (piece, THEIR_PAWN) if piece != THEIR_KING else (piece,):
        places = [s for s in range(64) if board[s] == kind and s not in fixed]
        if places:
            board[rng.choice(places)] = 0
            return


def _any_piece(
    board: Board, homeless: list[int], square: int, fixed: set[int], king_may: bool, rng: random.Random
) -> int:
    """A piece that may stand on the square, taken from elsewhere; a new one where the opponent has none to give."""
    may = {8, 9, 10, 11} | ({THEIR_PAWN} if 8 <= square < 56 else set()) | ({THEIR_KING} if king_may else set())
    places = [s for s in range(64) if board[s] in may and s not in fixed]
    if not places:
        return THEIR_PAWN if 8 <= square < 56 else THEIR_KNIGHT
    place = rng.choice(places)
    piece, board[place] = board[place], 0
    return piece


def _settle(board: Board, piece: int, fixed: set[int], rng: random.Random) -> None:
    """Puts a piece on an empty square that nothing is known about."""
    squares = range(8, 56) if piece == THEIR_PAWN else range(64)
    places = [s for s in squares if board[s] == 0 and s not in fixed]
    if places:
        board[rng.choice(places)] = piece
    elif piece == THEIR_KING:
        board[next(s for s in range(64) if board[s] == 0 or board[s] > 6)] = piece


def _thin_out(board: Board, fixed: set[int], rng: random.Random) -> None:
    """Takes pieces away that nothing is known about while the opponent has more than sixteen."""
    spare = [s for s in range(64) if 7 <= board[s] < THEIR_KING and s not in fixed]
    rng.shuffle(spare)
    while spare and sum(content > 6 for content in board) > 16:
        board[spare.pop()] = 0


def _between(start: int, end: int) -> Iterator[int]:
    """The squares between two on a line; none for a knight's move."""
    ranks, files = end // 8 - start // 8, end % 8 - start % 8
    distance = max(abs(ranks), abs(files))
    if distance and ranks % distance == 0 and files % distance == 0:
        for i in range(1, distance):
            yield start + i * (ranks // distance * 8 + files // distance)


def _with(board: Board, square: int, content: int) -> Board:
    board = board.copy()
    board[square] = content
    return board


# -- boards and sets


def _rebuild(states: StateSet, rng: random.Random, change: Callable[[Board], Board]) -> list[tuple[Board, str]]:
    """The old states, changed, with their castling rights."""
    return [(change(read_board(fen, states.owner)), fen.split()[2]) for fen in states.fens()]


def _set_of(boards: list[tuple[Board, str]], states: StateSet, turn: bool) -> StateSet:
    fens = {write_fen(board, rights, turn, states.owner) for board, rights in boards}
    return StateSet.from_fens(sorted(fens), states.owner)


def read_board(fen: str, owner: bool) -> Board:
    """The placement of a FEN in the owner's view."""
    board, square = [0] * 64, 56
    for letter in fen.split()[0]:
        if letter == "/":
            square -= 16
        elif letter.isdigit():
            square += int(letter)
        else:
            own = letter.isupper() == owner
            board[view(square, owner)] = LETTERS.index(letter.upper() if own else letter.lower())
            square += 1
    return board


def write_fen(board: Board, rights: str, turn: bool, owner: bool) -> str:
    """The board as a FEN, without en passant, and with those castling rights whose king and rook are at home."""
    letters = [LETTERS[board[view(s, owner)]] for s in range(64)]
    if not owner:
        letters = [letter.swapcase() for letter in letters]
    rows = []
    for rank in reversed(range(8)):
        row = "".join(letters[rank * 8 : rank * 8 + 8])
        for empty in range(8, 0, -1):
            row = row.replace("." * empty, str(empty))
        rows.append(row)
    homes = {"K": ("K", 4, 7), "Q": ("K", 4, 0), "k": ("k", 60, 63), "q": ("k", 60, 56)}
    kept = "".join(
        right
        for right, (king, at, rook_at) in homes.items()
        if right in rights and letters[at] == king and letters[rook_at] == ("R" if king == "K" else "r")
    )
    return f"{'/'.join(rows)} {'w' if turn else 'b'} {kept or '-'} - 0 1"
