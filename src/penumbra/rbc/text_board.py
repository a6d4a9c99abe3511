"""A board in plain letters, from the placement of a FEN: White below, real squares."""

from __future__ import annotations

from collections.abc import Collection


def placement(fen: str) -> list[str]:
    """The letter on each square, a1 first, `.` where there is none."""
    rows = []
    for row in fen.split()[0].split("/"):
        for digit in "12345678":
            row = row.replace(digit, "." * int(digit))
        rows.append(row)
    return [letter for row in reversed(rows) for letter in row]


def plain_board(fen: str, sensed: Collection[int] = ()) -> str:
    """Letters, ranks from 8 down to 1; the squares just sensed are in brackets."""
    letters = placement(fen)
    lines = []
    for rank in reversed(range(8)):
        cells = [f"[{letters[s]}]" if s in sensed else f" {letters[s]} " for s in range(rank * 8, rank * 8 + 8)]
        lines.append(f"{rank + 1} " + "".join(cells).rstrip())
    return "\n".join([*lines, "   " + "  ".join("abcdefgh")])
