"""Centipawns lost, and the value by material, as lines on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penumbra.training.centipawns import BLUNDER

if TYPE_CHECKING:
    from penumbra.training.centipawns import Result


def show(result: Result) -> None:
    """What each way to choose loses, with 95 % intervals; then what was said of positions and what came of them."""
    width = max(len(row.name) for row in result.rows)
    print(f"{result.positions} moves with at most two states possible; the player had {result.seconds:g} s for each")
    print(f"{'chosen by':<{width}}  {'centipawns lost':<22}  over {BLUNDER}, %")
    for row in result.rows:
        loss = f"{row.loss:.1f} ({row.loss_low:.1f} to {row.loss_high:.1f})"
        blunders = f"{100 * row.blunders:.1f} ({100 * row.blunders_low:.1f} to {100 * row.blunders_high:.1f})"
        print(f"{row.name:<{width}}  {loss:<22}  {blunders}")
    print("\nchance to win, by the pawns more than the opponent has")
    print(f"{'pawns':<12} {'positions':>9} {'value':>7} {'search':>7}  won in truth")
    for by in result.material:
        if by.value is not None and by.won is not None:
            searched = "–" if by.searched is None else f"{by.searched:.2f}"
            won = f"{by.won:.2f} ({by.won_low:.2f} to {by.won_high:.2f})"
            print(f"{by.name:<12} {by.positions:>9} {by.value:>7.2f} {searched:>7}  {won}")
