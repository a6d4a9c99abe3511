"""All 104 planes of the synopsis, plane by plane from the table that defines them.

A plane is an int whose bit `s` is viewer square `s`. Every board is first turned so that the viewer is White; from
there on "own" is White and "opposing" is Black.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, reduce

import chess
from reconchess.utilities import is_psuedo_legal_castle

from tests.oracles.state_set import CASTLES, taken_moves
from tests.oracles.views import viewer_board

SENSE, MOVE = 0, 1
KINDS = (chess.PAWN, chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.QUEEN, chess.KING)
ATTACKERS = (chess.PAWN, chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.KING)  # queens count as bishops and as rooks
OWN, OPPOSING = chess.WHITE, chess.BLACK

# (definitely, possibly) planes of the same feature, or of features equal for a single state
PAIRS = (
    [(18 + i, 25 + i) for i in range(7)]
    + [(36, 38), (37, 38), (39, 41), (40, 41), (42, 43), (45, 46), (47, 48)]
    + [(51 + 2 * i, 52 + 2 * i) for i in range(6)]
    + [(71, 72), (74, 75), (77, 78), (83, 82)]
)

Mask = int
Attacks = dict[chess.PieceType, list[Mask]]  # one mask per attacking piece, by kind


@dataclass(frozen=True)
class Context:
    """What a player remembers beside its states, in its own viewer squares.

    `previous` holds planes 18..35 of the turn before, `previous_shares` its planes 104..110, a byte for each square.
    """

    last_from: int | None = None
    last_to: int | None = None
    last_own_capture: int | None = None
    last_opposing_capture: int | None = None
    previous: tuple[Mask, ...] = (0,) * 18
    previous_shares: tuple[bytes, ...] = (bytes(64),) * 7


def bit(square: int | None) -> Mask:
    return 0 if square is None else chess.BB_SQUARES[square]


def union(masks: Iterable[Mask]) -> Mask:
    return reduce(lambda a, b: a | b, masks, chess.BB_EMPTY)


def intersection(masks: Iterable[Mask]) -> Mask:
    return reduce(lambda a, b: a & b, masks, chess.BB_ALL)


def at_least_two(masks: Iterable[Mask]) -> Mask:
    """The squares in two or more of the masks."""
    once, twice = chess.BB_EMPTY, chess.BB_EMPTY
    for mask in masks:
        once, twice = once | mask, twice | once & mask
    return twice


def diagonals(square: chess.Square, occupied: Mask) -> Mask:
    """The diagonal rays from a square up to and including the first piece."""
    return chess.BB_DIAG_ATTACKS[square][chess.BB_DIAG_MASKS[square] & occupied]


def lines(square: chess.Square, occupied: Mask) -> Mask:
    """The rays along rank and file from a square up to and including the first piece."""
    ranks = chess.BB_RANK_ATTACKS[square][chess.BB_RANK_MASKS[square] & occupied]
    return ranks | chess.BB_FILE_ATTACKS[square][chess.BB_FILE_MASKS[square] & occupied]


class View:
    """One world state with the viewer, who is to act, as White; the per-state features of the table."""

    def __init__(self, board: chess.Board, player: chess.Color) -> None:
        if board.turn != player:
            raise ValueError(f"a synopsis belongs to the player to act: {board.fen()}")
        self.board = viewer_board(board, player)
        self.rights = self.board.clean_castling_rights()
        self.own = self.board.occupied_co[OWN]
        self.opposing = self.board.occupied_co[OPPOSING]
        self.occupied = self.board.occupied

    def pieces(self, kind: chess.PieceType, color: chess.Color) -> Mask:
        return self.board.pieces_mask(kind, color)

    def squares(self, kind: chess.PieceType, color: chess.Color) -> Iterator[chess.Square]:
        return chess.scan_forward(self.pieces(kind, color))

    @cached_property
    def own_attacks(self) -> Attacks:
        """The en-passant square belongs to the side to act, so it counts among the own pawns' captures."""
        return self.attacks(OWN, captures=self.opposing | bit(self.board.ep_square))

    @cached_property
    def opposing_attacks(self) -> Attacks:
        return self.attacks(OPPOSING, captures=self.own)

    def attacks(self, color: chess.Color, captures: Mask) -> Attacks:
        """Where each piece could move to or capture, own squares excluded; pawns only on the squares in `captures`."""
        free = chess.BB_ALL & ~self.board.occupied_co[color]
        bishops = [*self.squares(chess.BISHOP, color), *self.squares(chess.QUEEN, color)]
        rooks = [*self.squares(chess.ROOK, color), *self.squares(chess.QUEEN, color)]
        return {
            chess.PAWN: [chess.BB_PAWN_ATTACKS[color][s] & captures for s in self.squares(chess.PAWN, color)],
            chess.KNIGHT: [chess.BB_KNIGHT_ATTACKS[s] & free for s in self.squares(chess.KNIGHT, color)],
            chess.BISHOP: [diagonals(s, self.occupied) & free for s in bishops],
            chess.ROOK: [lines(s, self.occupied) & free for s in rooks],
            chess.KING: [chess.BB_KING_ATTACKS[s] & free for s in self.squares(chess.KING, color)],
        }

    @cached_property
    def opposing_destinations(self) -> Mask:
        """Where the opponent could get if it were to move here, pushes and castling included."""
        board = self.board.copy(stack=False)
        board.turn, board.ep_square = OPPOSING, None
        return union(bit(move.to_square) for move in taken_moves(board) if move is not None)

    @cached_property
    def castling_rooks(self) -> Mask:
        """The own rook squares towards which castling would succeed now."""
        short, long = CASTLES[OWN]
        rooks = ((short, chess.H1), (long, chess.A1))
        return union(bit(rook) for castle, rook in rooks if is_psuedo_legal_castle(self.board, castle))

    def rays(self, kind: chess.PieceType, ray: Callable[[chess.Square, Mask], Mask]) -> Mask:
        """The rays from the own pieces of a kind up to and including the first piece."""
        return union(ray(square, self.occupied) for square in self.squares(kind, OWN))

    @cached_property
    def safe_opposing_king(self) -> Mask:
        return self.pieces(chess.KING, OPPOSING) & ~anyone(self.own_attacks)

    @cached_property
    def contents(self) -> list[chess.Piece | None]:
        return [self.board.piece_at(square) for square in chess.SQUARES]


def anyone(attacks: Attacks, without: chess.PieceType | None = None) -> Mask:
    """The squares that some piece attacks, the pieces of one kind left out."""
    return union(mask for kind, masks in attacks.items() if kind != without for mask in masks)


def two(attacks: Attacks) -> Mask:
    """The squares that at least two pieces attack. A queen's two masks are disjoint, so she counts once."""
    return at_least_two(mask for masks in attacks.values() for mask in masks)


Feature = Callable[[View], Mask]  # of one state
Over = Callable[[Feature], Mask]  # AND or OR of a feature over the states


def opposing_pieces(kind: chess.PieceType) -> Feature:
    return lambda v: v.pieces(kind, OPPOSING)


def own_reach(kind: chess.PieceType) -> Feature:
    return lambda v: union(v.own_attacks[kind])


def own_double_reach(kind: chess.PieceType) -> Feature:
    return lambda v: at_least_two(v.own_attacks[kind])


def opposing_reach(kind: chess.PieceType) -> Feature:
    return lambda v: union(v.opposing_attacks[kind])


def views_of(player: chess.Color, boards: Iterable[chess.Board]) -> list[View]:
    views = [View(board, player) for board in boards]
    known = {(v.own, *(v.pieces(kind, OWN) for kind in KINDS), v.rights & chess.BB_RANK_1) for v in views}
    if len(known) != 1:
        raise ValueError("an information state needs at least one state, and the same own pieces and rights in all")
    return views


def synopsis(player: chess.Color, step: int, boards: Iterable[chess.Board], context: Context) -> list[Mask]:
    """The 104 planes of the information state of `player`, who is to act, over `boards`, which share its pieces."""
    views = views_of(player, boards)

    def every(feature: Feature) -> Mask:
        return intersection(map(feature, views))

    def some(feature: Feature) -> Mask:
        return union(map(feature, views))

    planes = {**constants(), 10: chess.BB_ALL if step == MOVE else chess.BB_EMPTY}
    planes |= own_planes(views[0])
    planes |= placement_planes(every, some)
    planes |= context_planes(context)
    planes |= own_attack_planes(every, some)
    planes |= opposing_attack_planes(every, some)
    planes[65] = some(lambda v: v.safe_opposing_king)
    planes[66] = some(lambda v: v.opposing_destinations)
    planes[67] = some(lambda v: v.rights & chess.BB_RANK_8)
    planes[68] = union(bit(s) for s in chess.SQUARES if len({v.contents[s] for v in views}) == 1)
    planes |= king_planes(every, some, planes)
    planes[80] = every(lambda v: chess.BB_ALL & ~v.occupied)
    planes[82] = some(lambda v: v.castling_rooks)
    planes[83] = every(lambda v: v.castling_rooks)
    planes[84] = some(lambda v: v.rays(chess.QUEEN, lines))
    planes[85] = some(lambda v: v.rays(chess.QUEEN, diagonals))
    return [planes[number] for number in range(104)]


def constants() -> dict[int, Mask]:
    files = [chess.BB_FILES[4:], chess.BB_FILES[:4]]
    ranks = [chess.BB_RANKS[:4], chess.BB_RANKS[4:]]
    sides = dict(enumerate(map(union, [*files, *ranks])))
    edges = {4: chess.BB_RANK_1, 5: chess.BB_RANK_8, 6: chess.BB_FILE_A, 7: chess.BB_FILE_H}
    return {**sides, **edges, 8: chess.BB_DARK_SQUARES, 9: chess.BB_LIGHT_SQUARES}


def own_planes(view: View) -> dict[int, Mask]:
    """What is the same in every state: own pieces, own rights, steps from the own king."""
    planes = {12 + i: view.pieces(kind, OWN) for i, kind in enumerate(KINDS)}
    planes[11] = chess.BB_ALL & ~view.own
    planes[44] = union(view.own_attacks[chess.KNIGHT])
    planes[69] = union(chess.BB_KING_ATTACKS[king] for king in view.squares(chess.KING, OWN))
    planes[70] = union(chess.BB_KNIGHT_ATTACKS[king] for king in view.squares(chess.KING, OWN))
    planes[79] = view.own
    planes[81] = view.rights & chess.BB_RANK_1
    return planes


def placement_planes(every: Over, some: Over) -> dict[int, Mask]:
    planes = {18: every(lambda v: chess.BB_ALL & ~v.opposing), 25: some(lambda v: chess.BB_ALL & ~v.opposing)}
    for i, kind in enumerate(KINDS):
        planes[19 + i] = every(opposing_pieces(kind))
        planes[26 + i] = some(opposing_pieces(kind))
    return planes


def context_planes(context: Context) -> dict[int, Mask]:
    last = (context.last_from, context.last_to, context.last_own_capture, context.last_opposing_capture)
    previous = {86 + i: mask for i, mask in enumerate(context.previous)}
    return {**{32 + i: bit(square) for i, square in enumerate(last)}, **previous}


def own_attack_planes(every: Over, some: Over) -> dict[int, Mask]:
    by_kind = [every(own_reach(kind)) for kind in ATTACKERS]
    twice = [every(own_double_reach(kind)) for kind in ATTACKERS]
    return {
        36: union(by_kind),
        37: every(lambda v: anyone(v.own_attacks)),
        38: some(lambda v: anyone(v.own_attacks)),
        39: at_least_two(by_kind) | union(twice),
        40: every(lambda v: two(v.own_attacks)),
        41: some(lambda v: two(v.own_attacks)),
        42: every(own_reach(chess.PAWN)),
        43: some(own_reach(chess.PAWN)),
        45: every(own_reach(chess.BISHOP)),
        46: some(own_reach(chess.BISHOP)),
        47: every(own_reach(chess.ROOK)),
        48: some(own_reach(chess.ROOK)),
        49: some(lambda v: anyone(v.own_attacks, without=chess.KING)),
        50: some(lambda v: anyone(v.own_attacks, without=chess.PAWN)),
    }


def opposing_attack_planes(every: Over, some: Over) -> dict[int, Mask]:
    planes = {
        51: every(lambda v: anyone(v.opposing_attacks)),
        52: some(lambda v: anyone(v.opposing_attacks)),
        53: every(lambda v: two(v.opposing_attacks)),
        54: some(lambda v: two(v.opposing_attacks)),
        63: some(lambda v: anyone(v.opposing_attacks, without=chess.KING)),
        64: some(lambda v: anyone(v.opposing_attacks, without=chess.PAWN)),
    }
    for i, kind in enumerate((chess.PAWN, chess.KNIGHT, chess.BISHOP, chess.ROOK)):
        planes[55 + 2 * i] = every(opposing_reach(kind))
        planes[56 + 2 * i] = some(opposing_reach(kind))
    return planes


def opposing_bishops_on_rays(view: View) -> Mask:
    """The opposing bishops and queens on the diagonal rays of the own king."""
    sliders = view.pieces(chess.BISHOP, OPPOSING) | view.pieces(chess.QUEEN, OPPOSING)
    return sliders & view.rays(chess.KING, diagonals)


def opposing_rooks_on_rays(view: View) -> Mask:
    """The opposing rooks and queens on the rays of the own king along rank and file."""
    sliders = view.pieces(chess.ROOK, OPPOSING) | view.pieces(chess.QUEEN, OPPOSING)
    return sliders & view.rays(chess.KING, lines)


def king_planes(every: Over, some: Over, planes: dict[int, Mask]) -> dict[int, Mask]:
    return {
        71: planes[20] & planes[70],
        72: planes[27] & planes[70],
        73: some(lambda v: v.rays(chess.KING, diagonals)),
        74: every(opposing_bishops_on_rays),
        75: some(opposing_bishops_on_rays),
        76: some(lambda v: v.rays(chess.KING, lines)),
        77: every(opposing_rooks_on_rays),
        78: some(opposing_rooks_on_rays),
    }
