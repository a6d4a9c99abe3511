"""Openings by name: the first moves of a line as the player sees them, so that White and Black can both play it."""

from __future__ import annotations

from penumbra.rbc.actions import parse_action

_LINES = {
    "english": "c2c4 b1c3 g2g3 f1g2",
    "queen-pawn": "d2d4 c2c4 b1c3",
    "king-pawn": "e2e4 g1f3 f1c4",
    "reti": "g1f3 g2g3 f1g2",
    "fianchetto": "b2b3 c1b2 e2e3",
    "london": "d2d4 c1f4 e2e3 c2c3",
    "knights": "b1c3 g1f3 e2e4",
    "stonewall": "d2d4 e2e3 f2f4 c2c3",
    "queen-out": "c2c3 d1b3",
    "hedgehog": "e2e3 d2d3 f1e2 g1f3",
}

OPENINGS: dict[str, tuple[int, ...]] = {
    name: tuple(parse_action(word) for word in line.split()) for name, line in _LINES.items()
}
