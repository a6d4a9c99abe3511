"""The planes of the synopsis: number, sort, name and description, for labels, tables and ablation.

`PLANES` are the 104 binary ones, bitboards that say always or sometimes. `SHARES` are bytes that say how often, and
are numbered on from there. "Every state", "some state" and "share" range over the limited state set that a synopsis
summarises. Squares are the viewer's: mirrored rank by rank for Black. "Own" is the player whose information state it
is.

The sort says how a plane comes about. constant: always the same. context: what the player remembers or owns. and, or:
over the states, of a feature of each. derived: from such ANDs (36, 39), from sameness (68) or from such shares (129).
share: of the states in which a feature holds. scalar: one number, the same on every square.

A network reads one of three sorts of synopses (`LAYOUTS`): the binary planes; the shares, beside the binary planes that
they cannot replace, which are what is constant, owned or remembered; or both, which is called graded.
"""

from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from penumbra.core import synopsis_layout

Sort = Literal["constant", "context", "and", "or", "derived"]
ShareSort = Literal["share", "context", "derived", "scalar"]
Synopsis = Literal["binary", "shares", "graded"]


@dataclass(frozen=True)
class Plane:
    number: int
    name: str
    sort: Sort | ShareSort
    description: str
    always: int | None = None  # of a share: the binary plane that is set exactly where it is 255
    sometimes: int | None = None  # of a share: the binary plane that is clear exactly where it is 0


_TABLE = """
0 | constant | East side | files e-h
1 | constant | West side | files a-d
2 | constant | South side | ranks 1-4
3 | constant | North side | ranks 5-8
4 | constant | Rank 1 | the rank nearest to the player
5 | constant | Rank 8 | the rank farthest from the player
6 | constant | A-file | the a-file
7 | constant | H-file | the h-file
8 | constant | Dark squares | the squares of a1's colour
9 | constant | Light squares | the squares of h1's colour
10 | context | Stage | all squares at a move, none at a sense
11 | context | Not own piece | squares without an own piece
12 | context | Own pawns | the player's own pawns
13 | context | Own knights | the player's own knights
14 | context | Own bishops | the player's own bishops
15 | context | Own rooks | the player's own rooks
16 | context | Own queens | the player's own queens
17 | context | Own king | the player's own king
18 | and | Definitely not opposing pieces | no opposing piece stands there in any state
19 | and | Definitely opposing pawns | an opposing pawn stands there in every state
20 | and | Definitely opposing knights | an opposing knight stands there in every state
21 | and | Definitely opposing bishops | an opposing bishop stands there in every state
22 | and | Definitely opposing rooks | an opposing rook stands there in every state
23 | and | Definitely opposing queens | an opposing queen stands there in every state
24 | and | Definitely opposing king | the opposing king stands there in every state
25 | or | Possibly not opposing pieces | no opposing piece stands there in some state
26 | or | Possibly opposing pawns | an opposing pawn stands there in some state
27 | or | Possibly opposing knights | an opposing knight stands there in some state
28 | or | Possibly opposing bishops | an opposing bishop stands there in some state
29 | or | Possibly opposing rooks | an opposing rook stands there in some state
30 | or | Possibly opposing queens | an opposing queen stands there in some state
31 | or | Possibly opposing king | the opposing king stands there in some state
32 | context | Last from | where the own move taken last began; none if it passed or failed
33 | context | Last to | where the own move taken last ended; none if it passed or failed
34 | context | Last own capture | where the own last move captured; en passant: the pawn's square
35 | context | Last opposing capture | where the opponent's last move captured; en passant: the pawn's square
36 | derived | Definitely attackable | one kind of own piece attacks it in every state
37 | and | Definitely attackable somehow | some own piece attacks it in every state
38 | or | Possibly attackable | some own piece attacks it in some state
39 | derived | Definitely doubly attackable | two kinds do so in every state, or one kind twice in every state
40 | and | Definitely doubly attackable somehow | at least two own pieces attack it in every state
41 | or | Possibly doubly attackable | at least two own pieces attack it in some state
42 | and | Definitely attackable by pawns | an own pawn can capture there in every state
43 | or | Possibly attackable by pawns | an own pawn can capture there in some state
44 | and | Definitely attackable by knights | own knights attack it, the same squares in every state
45 | and | Definitely attackable by bishops | diagonals of own bishops and queens reach it in every state
46 | or | Possibly attackable by bishops | diagonals of own bishops and queens reach it in some state
47 | and | Definitely attackable by rooks | lines of own rooks and queens reach it in every state
48 | or | Possibly attackable by rooks | lines of own rooks and queens reach it in some state
49 | or | Possibly attackable without king | an own piece other than the king attacks it in some state
50 | or | Possibly attackable without pawns | an own piece other than a pawn attacks it in some state
51 | and | Definitely attackable by opponent | some opposing piece attacks it in every state
52 | or | Possibly attackable by opponent | some opposing piece attacks it in some state
53 | and | Definitely doubly attackable by opponent | at least two opposing pieces attack it in every state
54 | or | Possibly doubly attackable by opponent | at least two opposing pieces attack it in some state
55 | and | Definitely attackable by opposing pawns | an opposing pawn can capture there in every state
56 | or | Possibly attackable by opposing pawns | an opposing pawn can capture there in some state
57 | and | Definitely attackable by opposing knights | an opposing knight attacks it in every state
58 | or | Possibly attackable by opposing knights | an opposing knight attacks it in some state
59 | and | Definitely attackable by opposing bishops | diagonals of opposing bishops and queens reach it in every state
60 | or | Possibly attackable by opposing bishops | diagonals of opposing bishops and queens reach it in some state
61 | and | Definitely attackable by opposing rooks | lines of opposing rooks and queens reach it in every state
62 | or | Possibly attackable by opposing rooks | lines of opposing rooks and queens reach it in some state
63 | or | Possibly attackable by opponent without king | an opposing piece other than the king attacks it in some state
64 | or | Possibly attackable by opponent without pawns | an opposing piece other than a pawn attacks it in some state
65 | or | Possibly safe opposing king | the opposing king stands there in some state, attacked by no own piece
66 | or | Squares the opponent may move to | a move the opponent could take ends there in some state, castling included
67 | or | Possible castle state for opponent | rook squares for which the opponent still has the right in some state
68 | derived | Known squares | squares with the same content in every state
69 | context | Own king's king-neighbors | king steps from the own king's square
70 | context | Own king's knight-neighbors | knight steps from the own king's square
71 | and | Definitely opposing knights near king | an opposing knight is a knight step from the own king in every state
72 | or | Possibly opposing knights near king | an opposing knight is a knight step from the own king in some state
73 | or | Own king's bishop-neighbors | diagonal rays from the own king to the first piece, inclusive, in some state
74 | and | Definitely opposing bishops near king | an opposing bishop or queen stands on those rays in every state
75 | or | Possibly opposing bishops near king | an opposing bishop or queen stands on those rays in some state
76 | or | Own king's rook-neighbors | line rays from the own king to the first piece, inclusive, in some state
77 | and | Definitely opposing rooks near king | an opposing rook or queen stands on those rays in every state
78 | or | Possibly opposing rooks near king | an opposing rook or queen stands on those rays in some state
79 | context | All own pieces | squares with an own piece
80 | and | Definitely empty squares | empty in every state
81 | context | May castle eventually | rook squares for which the own right remains
82 | or | Possibly may castle | rook squares towards which castling would succeed now in some state
83 | and | Definitely may castle | rook squares towards which castling would succeed now in every state
84 | or | Own queens' rook-neighbors | line rays from the own queens to the first piece, inclusive, in some state
85 | or | Own queens' bishop-neighbors | diagonal rays from the own queens to the first piece, inclusive, in some state
86 | context | Previous definitely not opposing pieces | plane 18 at the move step of the previous turn
87 | context | Previous definitely opposing pawns | plane 19 at the move step of the previous turn
88 | context | Previous definitely opposing knights | plane 20 at the move step of the previous turn
89 | context | Previous definitely opposing bishops | plane 21 at the move step of the previous turn
90 | context | Previous definitely opposing rooks | plane 22 at the move step of the previous turn
91 | context | Previous definitely opposing queens | plane 23 at the move step of the previous turn
92 | context | Previous definitely opposing king | plane 24 at the move step of the previous turn
93 | context | Previous possibly not opposing pieces | plane 25 at the move step of the previous turn
94 | context | Previous possibly opposing pawns | plane 26 at the move step of the previous turn
95 | context | Previous possibly opposing knights | plane 27 at the move step of the previous turn
96 | context | Previous possibly opposing bishops | plane 28 at the move step of the previous turn
97 | context | Previous possibly opposing rooks | plane 29 at the move step of the previous turn
98 | context | Previous possibly opposing queens | plane 30 at the move step of the previous turn
99 | context | Previous possibly opposing king | plane 31 at the move step of the previous turn
100 | context | Previous last from | plane 32 at the move step of the previous turn
101 | context | Previous last to | plane 33 at the move step of the previous turn
102 | context | Previous own capture | plane 34 at the move step of the previous turn
103 | context | Previous opposing capture | plane 35 at the move step of the previous turn
"""

# Beside the number of a share: the binary planes of its feature's AND and OR, `-` where there is none.
_SHARE_TABLE = """
104 | share | 18 25 | Share not opposing pieces | no opposing piece stands there
105 | share | 19 26 | Share opposing pawns | an opposing pawn stands there
106 | share | 20 27 | Share opposing knights | an opposing knight stands there
107 | share | 21 28 | Share opposing bishops | an opposing bishop stands there
108 | share | 22 29 | Share opposing rooks | an opposing rook stands there
109 | share | 23 30 | Share opposing queens | an opposing queen stands there
110 | share | 24 31 | Share opposing king | the opposing king stands there
111 | share | 37 38 | Share attackable | some own piece attacks it
112 | share | 40 41 | Share doubly attackable | at least two own pieces attack it
113 | share | 42 43 | Share attackable by pawns | an own pawn can capture there
114 | share | 45 46 | Share attackable by bishops | diagonals of own bishops and queens reach it
115 | share | 47 48 | Share attackable by rooks | lines of own rooks and queens reach it
116 | share | - 49 | Share attackable without king | an own piece other than the king attacks it
117 | share | - 50 | Share attackable without pawns | an own piece other than a pawn attacks it
118 | share | 51 52 | Share attackable by opponent | some opposing piece attacks it
119 | share | 53 54 | Share doubly attackable by opponent | at least two opposing pieces attack it
120 | share | 55 56 | Share attackable by opposing pawns | an opposing pawn can capture there
121 | share | 57 58 | Share attackable by opposing knights | an opposing knight attacks it
122 | share | 59 60 | Share attackable by opposing bishops | diagonals of opposing bishops and queens reach it
123 | share | 61 62 | Share attackable by opposing rooks | lines of opposing rooks and queens reach it
124 | share | - 63 | Share attackable by opponent without king | an opposing piece other than the king attacks it
125 | share | - 64 | Share attackable by opponent without pawns | an opposing piece other than a pawn attacks it
126 | share | - 65 | Share safe opposing king | the opposing king stands there, attacked by no own piece
127 | share | - 66 | Share the opponent may move to | a move the opponent could take ends there, castling included
128 | share | - 67 | Share castle state for opponent | a rook square for which the opponent still has the right
129 | derived | 68 - | Share of the commonest content | the share of the content that the square has most often
130 | share | 71 72 | Share opposing knights near king | an opposing knight is a knight step from the own king
131 | share | - 73 | Share own king's bishop-neighbors | on a diagonal ray from it to the first piece, inclusive
132 | share | 74 75 | Share opposing bishops near king | an opposing bishop or queen stands on those rays
133 | share | - 76 | Share own king's rook-neighbors | on a line ray from it to the first piece, inclusive
134 | share | 77 78 | Share opposing rooks near king | an opposing rook or queen stands on those rays
135 | share | 83 82 | Share may castle | a rook square towards which castling would succeed now
136 | share | - 84 | Share own queens' rook-neighbors | on a line ray from them to the first piece, inclusive
137 | share | - 85 | Share own queens' bishop-neighbors | on a diagonal ray from them to the first piece, inclusive
138 | context | 86 93 | Previous share not opposing pieces | plane 104 at the move step of the previous turn
139 | context | 87 94 | Previous share opposing pawns | plane 105 at the move step of the previous turn
140 | context | 88 95 | Previous share opposing knights | plane 106 at the move step of the previous turn
141 | context | 89 96 | Previous share opposing bishops | plane 107 at the move step of the previous turn
142 | context | 90 97 | Previous share opposing rooks | plane 108 at the move step of the previous turn
143 | context | 91 98 | Previous share opposing queens | plane 109 at the move step of the previous turn
144 | context | 92 99 | Previous share opposing king | plane 110 at the move step of the previous turn
145 | scalar | - - | Own king hangs | the share of states in which an opposing piece attacks the own king
146 | scalar | - - | Opposing king hangs | the share of states in which an own piece attacks the opposing king
147 | scalar | - - | Opposing material | the mean of 1, 3, 3, 5, 9 for P, N, B, R, Q; 39 is 255, and so is more
148 | scalar | - - | Own material | likewise of the own pieces
149 | scalar | - - | Number of states | the logarithm of how many are summarised; 1 is 0, 128 is 255, and so is more
"""


def _read(row: str) -> Plane:
    number, sort, name, description = (cell.strip() for cell in row.split("|"))
    return Plane(int(number), name, cast(Sort, sort), description)


def _read_share(row: str) -> Plane:
    number, sort, ends, name, description = (cell.strip() for cell in row.split("|"))
    always, sometimes = (None if end == "-" else int(end) for end in ends.split())
    return Plane(int(number), name, cast(ShareSort, sort), description, always, sometimes)


PLANES: tuple[Plane, ...] = tuple(_read(row) for row in _TABLE.strip().splitlines())
SHARES: tuple[Plane, ...] = tuple(_read_share(row) for row in _SHARE_TABLE.strip().splitlines())


@dataclass(frozen=True)
class Layout:
    """What a network reads of an information state, as a row of words: bitboards, then bytes, eight words a plane."""

    synopsis: Synopsis
    planes: tuple[Plane, ...]  # in the order of the network's input
    bits: int  # the first so many of them are bitboards

    @property
    def words(self) -> int:
        return self.bits + 8 * (len(self.planes) - self.bits)

    @property
    def largest(self) -> int:
        """What stands for 1 where planes are bytes: bits are 255 beside shares, so that all have one scale."""
        return 255 if len(self.planes) > self.bits else 1


def _layout(synopsis: Synopsis) -> Layout:
    bits, has_shares = synopsis_layout(synopsis)
    return Layout(synopsis, tuple(PLANES[number] for number in bits) + (SHARES if has_shares else ()), len(bits))


LAYOUTS: dict[Synopsis, Layout] = {synopsis: _layout(synopsis) for synopsis in get_args(Synopsis)}
_BY_WORDS = {layout.words: layout for layout in LAYOUTS.values()}


def layout_of(words: int) -> Layout:
    """The layout whose rows have so many words."""
    if words not in _BY_WORDS:
        known = ", ".join(f"{layout.words} {layout.synopsis}" for layout in LAYOUTS.values())
        raise ValueError(f"features of {words} words a row are of no sort of synopsis; there are {known}")
    return _BY_WORDS[words]


def words_within(part: Synopsis, whole: Synopsis) -> NDArray[np.int64]:
    """Which words of a row of one sort make up a row of another; ValueError where planes of it are missing."""
    first, found = 0, dict[int, range]()
    for i, plane in enumerate(LAYOUTS[whole].planes):
        found[plane.number] = range(first, first + (1 if i < LAYOUTS[whole].bits else 8))
        first = found[plane.number].stop
    missing = [plane.name for plane in LAYOUTS[part].planes if plane.number not in found]
    if missing:
        raise ValueError(f"{whole} synopses have no {missing[0]!r}, which {part} ones have")
    return np.concatenate([found[plane.number] for plane in LAYOUTS[part].planes])


def unpack(features: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """uint8[B, planes, 8, 8]: rank by rank, file by file; what stands for 1 is the layout's `largest`."""
    layout = layout_of(features.shape[1])
    octets = np.ascontiguousarray(features[:, : layout.bits].astype("<u8", copy=False)).view(np.uint8)
    bits = np.unpackbits(octets, axis=1, bitorder="little") * np.uint8(layout.largest)
    shares = np.ascontiguousarray(features[:, layout.bits :]).view(np.uint8)
    return np.concatenate([bits, shares], axis=1).reshape(-1, len(layout.planes), 8, 8)


def synopsis_read_by(evaluator: Any) -> Synopsis:
    """Which sort of synopsis an evaluator reads: its `synopsis`, or binary ones."""
    return cast(Synopsis, getattr(evaluator, "synopsis", "binary"))


def synopsis_read_by_all(*evaluators: Any) -> Synopsis:
    """The one sort that these evaluators read; ValueError if there is none, for one domain makes one sort."""
    first, *others = {synopsis_read_by(evaluator) for evaluator in evaluators if evaluator is not None}
    if others:
        raise ValueError(f"evaluators of one player read different synopses: {', '.join(sorted([first, *others]))}")
    return first


def check_features(features: NDArray[Any], synopsis: Synopsis) -> None:
    """ValueError if these are not the features that a network of such synopses reads."""
    found = layout_of(features.shape[1]).synopsis
    if found != synopsis:
        raise ValueError(f"the network reads {synopsis} synopses and was given {found} ones")
