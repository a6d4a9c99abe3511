"""A coloured board in the terminal, from the placement of a FEN: White below, real squares."""

from __future__ import annotations

from collections.abc import Collection

from rich.text import Text

from penumbra.rbc.text_board import placement

_LIGHT, _DARK = "on #b8a98c", "on #8a7a62"
_SENSED_LIGHT, _SENSED_DARK = "on #9fc0b0", "on #7ba593"
_WHITE, _BLACK = "bold #ffffff", "bold #000000"
_SYMBOLS = dict(zip("PNBRQK", "♟♞♝♜♛♚", strict=True))  # filled shapes for both sides: the colour tells them apart


def rich_board(fen: str, sensed: Collection[int] = ()) -> Text:
    """Pieces on coloured squares; the squares just sensed are tinted."""
    letters = placement(fen)
    text = Text()
    for rank in reversed(range(8)):
        text.append(f"{rank + 1} ", style="dim")
        for square in range(rank * 8, rank * 8 + 8):
            light = (rank + square) % 2 == 1
            shades = (_SENSED_LIGHT, _SENSED_DARK) if square in sensed else (_LIGHT, _DARK)
            ground = shades[0] if light else shades[1]
            letter = letters[square]
            ink = _WHITE if letter.isupper() else _BLACK
            text.append(f" {_SYMBOLS.get(letter.upper(), ' ')} ", style=f"{ink} {ground}")
        text.append("\n")
    text.append("   " + "  ".join("abcdefgh"), style="dim")
    return text
