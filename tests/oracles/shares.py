"""All share planes of the synopsis, plane by plane from the table that defines them, by counting states one by one.

A plane is 64 bytes in the order of the viewer's squares. A share is of the states; `tests.oracles.synopsis` has what is
asked of each state.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

import chess

from tests.oracles.synopsis import (
    KINDS,
    OPPOSING,
    OWN,
    Context,
    Feature,
    View,
    anyone,
    diagonals,
    lines,
    opposing_bishops_on_rays,
    opposing_pieces,
    opposing_reach,
    opposing_rooks_on_rays,
    own_reach,
    two,
    union,
    views_of,
)

Bytes = bytes  # one a square
MATERIAL = (1, 3, 3, 5, 9)  # P N B R Q


def shares(player: chess.Color, step: int, boards: Iterable[chess.Board], context: Context) -> list[Bytes]:
    """Planes 104 to 149 of the information state of `player`, who is to act, over `boards`."""
    views = views_of(player, boards)
    planes = {104 + i: share_plane(feature, views) for i, feature in enumerate(PLACEMENTS)}
    planes |= {111 + i: share_plane(feature, views) for i, feature in enumerate(OWN_ATTACKS)}
    planes |= {118 + i: share_plane(feature, views) for i, feature in enumerate(OPPOSING_ATTACKS)}
    planes[126] = share_plane(lambda v: v.safe_opposing_king, views)
    planes[127] = share_plane(lambda v: v.opposing_destinations, views)
    planes[128] = share_plane(lambda v: v.rights & chess.BB_RANK_8, views)
    planes[129] = bytes(commonest(square, views) for square in chess.SQUARES)
    planes |= {130 + i: share_plane(feature, views) for i, feature in enumerate(NEAR_KING)}
    planes[135] = share_plane(lambda v: v.castling_rooks, views)
    planes[136] = share_plane(lambda v: v.rays(chess.QUEEN, lines), views)
    planes[137] = share_plane(lambda v: v.rays(chess.QUEEN, diagonals), views)
    planes |= {138 + i: plane for i, plane in enumerate(context.previous_shares)}
    planes |= {145 + i: bytes([value]) * 64 for i, value in enumerate(scalars(views))}
    return [planes[number] for number in range(104, 150)]


def previous_shares(player: chess.Color, boards: Iterable[chess.Board]) -> tuple[Bytes, ...]:
    """What is remembered of a move step over these states: planes 104 to 110."""
    views = views_of(player, boards)
    return tuple(share_plane(feature, views) for feature in PLACEMENTS)


def share(part: int, whole: int) -> int:
    """255 times a share, halves up; 0 only for never and 255 only for always."""
    if part in (0, whole):
        return 255 if part else 0
    return min(max(rounded(Fraction(255 * part, whole)), 1), 254)


def rounded(value: Fraction) -> int:
    return math.floor(value + Fraction(1, 2))


def share_plane(feature: Feature, views: Sequence[View]) -> Bytes:
    counts = Counter(square for view in views for square in chess.scan_forward(feature(view)))
    shares = [share(part, len(views)) for part in range(len(views) + 1)]
    return bytes(shares[counts[square]] for square in chess.SQUARES)


def commonest(square: chess.Square, views: Sequence[View]) -> int:
    contents = Counter(view.contents[square] for view in views)
    return share(max(contents.values()), len(views))


def scalars(views: Sequence[View]) -> list[int]:
    """Kings that hang, ours and theirs; material, theirs and ours; how many states there are."""
    own_king = [bool(v.pieces(chess.KING, OWN) & anyone(v.opposing_attacks)) for v in views]
    opposing_king = [bool(v.pieces(chess.KING, OPPOSING) & anyone(v.own_attacks)) for v in views]
    material = [
        min(rounded(Fraction(255 * sum(material_of(v, color) for v in views), 39 * len(views))), 255)
        for color in (OPPOSING, OWN)
    ]
    size = min(round(255 * math.log2(len(views)) / 7), 255)
    return [share(sum(own_king), len(views)), share(sum(opposing_king), len(views)), *material, size]


def material_of(view: View, color: chess.Color) -> int:
    return sum(worth * view.pieces(kind, color).bit_count() for worth, kind in zip(MATERIAL, KINDS[:5], strict=True))


def opposing_knights_near_king(view: View) -> int:
    near = union(chess.BB_KNIGHT_ATTACKS[king] for king in view.squares(chess.KING, OWN))
    return view.pieces(chess.KNIGHT, OPPOSING) & near


PLACEMENTS: list[Feature] = [lambda v: chess.BB_ALL & ~v.opposing, *map(opposing_pieces, KINDS)]
OWN_ATTACKS: list[Feature] = [
    lambda v: anyone(v.own_attacks),
    lambda v: two(v.own_attacks),
    own_reach(chess.PAWN),
    own_reach(chess.BISHOP),
    own_reach(chess.ROOK),
    lambda v: anyone(v.own_attacks, without=chess.KING),
    lambda v: anyone(v.own_attacks, without=chess.PAWN),
]
OPPOSING_ATTACKS: list[Feature] = [
    lambda v: anyone(v.opposing_attacks),
    lambda v: two(v.opposing_attacks),
    opposing_reach(chess.PAWN),
    opposing_reach(chess.KNIGHT),
    opposing_reach(chess.BISHOP),
    opposing_reach(chess.ROOK),
    lambda v: anyone(v.opposing_attacks, without=chess.KING),
    lambda v: anyone(v.opposing_attacks, without=chess.PAWN),
]
NEAR_KING: list[Feature] = [
    opposing_knights_near_king,
    lambda v: v.rays(chess.KING, diagonals),
    opposing_bishops_on_rays,
    lambda v: v.rays(chess.KING, lines),
    opposing_rooks_on_rays,
]
