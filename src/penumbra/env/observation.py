"""What a player may be shown: planes of a synopsis, or what it was told and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from gymnasium.spaces import Box

from penumbra.core import GameFleet
from penumbra.rbc.synopsis import LAYOUTS, Synopsis

Observation = Literal["binary", "shares", "graded", "knowledge"]


@dataclass(frozen=True)
class KnowledgePlane:
    """One of the planes of raw knowledge. A flag is 255 where it holds; all squares of a scalar are alike."""

    number: int
    name: str
    sort: str  # flag, age or scalar
    description: str


_TABLE = """
flag | Own pawns | the player's own pawns
flag | Own knights | the player's own knights
flag | Own bishops | the player's own bishops
flag | Own rooks | the player's own rooks
flag | Own queens | the player's own queens
flag | Own king | the player's own king
flag | Seen pawns | an opposing pawn stood there when the square was last seen
flag | Seen knights | an opposing knight stood there when the square was last seen
flag | Seen bishops | an opposing bishop stood there when the square was last seen
flag | Seen rooks | an opposing rook stood there when the square was last seen
flag | Seen queens | an opposing queen stood there when the square was last seen
flag | Seen king | the opposing king stood there when the square was last seen
flag | Captured by unknown | the opponent captured an own piece there, and the square has not been seen since
flag | Seen no opponent | no opposing piece stood there when the square was last seen
age | Turns since seen | own turns since then, 0 for this turn; the start of the game is turn 0
flag | Last from | where the own move taken last began; none if it passed or failed
flag | Last to | where the own move taken last ended; none if it passed or failed
flag | Last own capture | where the own last move captured; en passant: the pawn's square
flag | Last opposing capture | where the opponent's last move captured; en passant: the pawn's square
scalar | Opposing pieces | 15 for each opposing piece left
flag | Castling rights | own rooks that may still castle
scalar | Stage | 255 at a move, 0 at a sense
scalar | Turn | the player's own turns so far, this one included, up to 255
scalar | Colour | 255 for White, 0 for Black
"""


def _read(number: int, row: str) -> KnowledgePlane:
    sort, name, description = (cell.strip() for cell in row.split("|"))
    return KnowledgePlane(number, name, sort, description)


KNOWLEDGE_PLANES = tuple(_read(number, row) for number, row in enumerate(_TABLE.strip().splitlines()))


def check_observation(name: str) -> None:
    """ValueError if there is no such observation."""
    if name not in get_args(Observation):
        raise ValueError(f"there is no observation {name!r}; there are {', '.join(get_args(Observation))}")


def space_of(observation: Observation) -> Box:
    """uint8[planes, 8, 8], ranks and then files of the player's own view; what stands for 1 is `high`."""
    high = 255 if observation == "knowledge" else LAYOUTS[_synopsis(observation)].largest
    return Box(0, high, (GameFleet.planes(observation), 8, 8), np.uint8)


def _synopsis(observation: Observation) -> Synopsis:
    assert observation != "knowledge"
    return observation
