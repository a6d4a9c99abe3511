"""The exact set of world states of one player, as a Python set.

Everything is in real squares and in python-chess's types. The rules come from reconchess' own functions
(`move_actions`, `revise_move`, `capture_square_of_move`), applied to every state one by one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import chess
from reconchess.utilities import (
    add_pawn_queen_promotion,
    capture_square_of_move,
    is_psuedo_legal_castle,
    move_actions,
    revise_move,
)

from tests.oracles.views import window

SenseResult = list[tuple[chess.Square, chess.Piece | None]]

CASTLES = {
    chess.WHITE: (chess.Move(chess.E1, chess.G1), chess.Move(chess.E1, chess.C1)),
    chess.BLACK: (chess.Move(chess.E8, chess.G8), chess.Move(chess.E8, chess.C8)),
}


class State(NamedTuple):
    """A world state: placement, side to move, castling rights and en-passant square, and nothing else.

    `castling` has a bit for each rook that may still castle, cleaned of rights whose king or rook is not at home.
    `ep_square` is set by every double step, whether or not a capture is possible.
    """

    pawns: int
    knights: int
    bishops: int
    rooks: int
    queens: int
    kings: int
    white: int
    black: int
    turn: chess.Color
    castling: int
    ep_square: chess.Square | None


def state_of(board: chess.Board) -> State:
    return State(
        board.pawns,
        board.knights,
        board.bishops,
        board.rooks,
        board.queens,
        board.kings,
        board.occupied_co[chess.WHITE],
        board.occupied_co[chess.BLACK],
        board.turn,
        board.clean_castling_rights(),
        board.ep_square,
    )


def board_of(state: State) -> chess.Board:
    board = chess.Board(None)
    board.pawns, board.knights, board.bishops = state.pawns, state.knights, state.bishops
    board.rooks, board.queens, board.kings = state.rooks, state.queens, state.kings
    board.occupied_co[chess.WHITE], board.occupied_co[chess.BLACK] = state.white, state.black
    board.occupied = state.white | state.black
    board.turn, board.castling_rights, board.ep_square = state.turn, state.castling, state.ep_square
    return board


def state_fen(board: chess.Board) -> str:
    """The FEN of a state: the en-passant square of any double step, clocks `0 1`."""
    return " ".join([*board.fen(en_passant="fen").split()[:4], "0", "1"])


def taken_moves_by_request(board: chess.Board) -> set[chess.Move | None]:
    """What can come of the mover's turn, as reconchess plays it: every request revised; None is a pass or a failure."""
    requests = {add_pawn_queen_promotion(board, move) for move in move_actions(board)}
    return {revise_move(board, request) for request in requests} | {None}


def taken_moves(board: chess.Board) -> set[chess.Move | None]:
    """The same set as `taken_moves_by_request`, found directly: what is pseudo-legal, castling through check, None."""
    castles = {castle for castle in CASTLES[board.turn] if is_psuedo_legal_castle(board, castle)}
    return {*board.generate_pseudo_legal_moves(), *castles, None}


def taken_move(board: chess.Board, requested: chess.Move | None) -> chess.Move | None:
    """What comes of one request; None when it is a pass or fails."""
    if requested is None:
        return None
    taken: chess.Move | None = revise_move(board, add_pawn_queen_promotion(board, requested))
    return taken


def takes_king(board: chess.Board, taken: chess.Move | None) -> bool:
    capture = capture_square_of_move(board, taken)
    return capture is not None and board.piece_type_at(capture) == chess.KING


def successor(board: chess.Board, taken: chess.Move | None) -> State:
    """The state after a taken move or, for None, after a pass. The board is left as it was."""
    board.push(taken if taken is not None else chess.Move.null())
    state = state_of(board)
    board.pop()
    return state


def sense(board: chess.Board, square: chess.Square) -> SenseResult:
    """What a sense shows, in reconchess' order, real squares."""
    return [(seen, board.piece_at(seen)) for seen in window(square)]


@dataclass(frozen=True)
class StateSet:
    """All states that `owner` cannot tell apart. Every operation makes a new set; an empty one means a contradiction.

    While the game goes on both kings stand in every state.
    """

    owner: chess.Color
    states: frozenset[State]

    @staticmethod
    def of_boards(boards: Iterable[chess.Board], owner: chess.Color) -> "StateSet":
        return StateSet(owner, frozenset(map(state_of, boards)))

    def __len__(self) -> int:
        return len(self.states)

    def boards(self) -> Iterator[chess.Board]:
        return map(board_of, self.states)

    def fens(self) -> set[str]:
        return {state_fen(board) for board in self.boards()}

    def contains(self, board: chess.Board) -> bool:
        return state_of(board) in self.states

    def expand(self, capture: chess.Square | None) -> "StateSet":
        """The opponent moved, passed or failed, took on `capture` or nothing, and the game went on."""
        return StateSet(
            self.owner, frozenset(s for board in self.boards() for s in opponent_successors(board, capture))
        )

    def filter_sense(self, result: SenseResult) -> "StateSet":
        """The states that show `result`; an empty result, of a skipped sense, keeps all."""
        shown = [board for board in self.boards() if all(board.piece_at(square) == piece for square, piece in result)]
        return StateSet.of_boards(shown, self.owner)

    def apply_move(
        self, requested: chess.Move | None, taken: chess.Move | None, capture: chess.Square | None
    ) -> "StateSet":
        """The states that answer `requested` with `taken` and `capture`, moved on; the game went on."""
        answers = (own_successor(board, requested, taken, capture) for board in self.boards())
        return StateSet(self.owner, frozenset(state for state in answers if state is not None))

    def parents_of_expansion(self, after: "StateSet", capture: chess.Square | None) -> "StateSet":
        """The states with a successor in `after` = a part of `expand(capture)`."""
        parents = [board for board in self.boards() if opponent_successors(board, capture) & after.states]
        return StateSet.of_boards(parents, self.owner)

    def parents_of_move(
        self,
        after: "StateSet",
        requested: chess.Move | None,
        taken: chess.Move | None,
        capture: chess.Square | None,
    ) -> "StateSet":
        """The states whose successor is in `after` = a part of `apply_move(requested, taken, capture)`."""
        parents = [board for board in self.boards() if own_successor(board, requested, taken, capture) in after.states]
        return StateSet.of_boards(parents, self.owner)


def opponent_successors(board: chess.Board, capture: chess.Square | None) -> set[State]:
    """What can follow a turn of the side to move that the other side saw as `capture`, the game going on."""
    return {
        successor(board, taken)
        for taken in taken_moves(board)
        if capture_square_of_move(board, taken) == capture and not takes_king(board, taken)
    }


def own_successor(
    board: chess.Board, requested: chess.Move | None, taken: chess.Move | None, capture: chess.Square | None
) -> State | None:
    """What follows `requested` if it is answered with `taken` and `capture` and the game goes on; else None.

    The official server also lets an en-passant capture fail after which the capturer's king would be in check.
    """
    if taken is None and requested and board.is_en_passant(requested) and board.is_into_check(requested):
        return successor(board, None)
    if taken_move(board, requested) != taken or capture_square_of_move(board, taken) != capture:
        return None
    return None if takes_king(board, taken) else successor(board, taken)
