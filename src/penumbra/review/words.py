"""Moves, numbers and lists in words."""

from __future__ import annotations

from collections.abc import Sequence

from penumbra.rbc.player_view import pieces_of

CASTLES = {"e1g1": "O-O", "e8g8": "O-O", "e1c1": "O-O-O", "e8c8": "O-O-O"}


def count(n: int, one: str) -> str:
    """`1 state`, `1,200 states`."""
    return f"{n:,} {one}" if n == 1 else f"{n:,} {one}s"


def several(words: Sequence[str], last: str) -> str:
    """`a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def move_words(fen: str, move: str) -> str:
    """A request as people write it: `Qd1–d8`, `e7–e8=Q`, `O-O`, `a pass`; the FEN has the mover's pieces."""
    if move == "pass":
        return "a pass"
    start, end, promotion = move[:2], move[2:4], move[4:]
    piece = pieces_of(fen).get(start, "P").upper()
    if piece == "K" and move in CASTLES:
        return CASTLES[move]
    if piece == "P":
        promotion = promotion or ("q" if end[1] in "18" else "")
        return f"{start}–{end}" + (f"={promotion.upper()}" if promotion else "")
    return f"{piece}{start}–{end}"
