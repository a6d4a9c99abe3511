"""How well players are predicted, as lines on the terminal and as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from penumbra.training.folds import Result, Row
    from penumbra.training.game_counts import Share

FEW = 20  # seats: with fewer, figures are shown and not judged
WORDS = ("before", "after")  # learning
SHOWN = {"top1": "top-1 %", "top5": "top-5 %", "winner": "winner %"}


def show(result: Result) -> None:
    """Lines for each player, before and after, with 95 % intervals and the paper's figures; then the calibration."""
    width = max(len(row.name) for row in result.rows)
    print(f"{'player':<{width}} {'seats':>6} {'examples':>9}  {'':<6}" + "".join(f"  {w:<22}" for w in SHOWN.values()))
    for row in result.rows:
        paper = _paper().get(row.name)
        lines = {
            "before": _cells(row.before),
            "after": row.after and _cells(row.after),
            "paper": paper and _cells(paper),
        }
        mark = "*" if row.seats < FEW else " "
        start = f"{row.name:<{width}}{mark}{row.seats:>6,} {row.examples:>9,}  "
        for word, cells in lines.items():
            if cells:
                print(f"{start}{word:<6}" + "".join(f"  {cell:<22}" for cell in cells).rstrip())
                start = " " * len(start)
    if any(row.seats < FEW for row in result.rows):
        print(f"* fewer than {FEW} seats: shown, but too few to judge by")
    for word, bins in zip(WORDS, result.calibration, strict=False):
        _show_calibration(word, bins, getattr(result.rows[0], word)["value_error"].value)


def _show_calibration(word: str, bins: NDArray[np.float64], error: float) -> None:
    print(f"calibration of All's value {word}, mean squared error {error:.3f}")
    print(f"{'examples':>10} {'mean value':>12} {'mean outcome':>13}")
    for n, value, outcome in bins:
        if n:
            print(f"{int(n):>10,} {value:>12.2f} {outcome:>13.2f}")


def _cells(figures: Mapping[str, Share | float]) -> list[str]:
    return [_cell(figures[measure]) for measure in SHOWN]


def _cell(figure: Share | float) -> str:
    """In percent, with the interval where there is one."""
    if isinstance(figure, float):
        return f"{figure:.1f}"
    if math.isnan(figure.value):
        return "–"
    return f"{100 * figure.value:.1f} ({100 * figure.low:.1f} to {100 * figure.high:.1f})"


def as_data(result: Result) -> dict[str, Any]:
    """All of it, for a file; shares between 0 and 1, null where there is nothing to judge."""
    data = asdict(result)
    data["rows"] = [_row(row) for row in result.rows]
    data["calibration"] = {word: bins.tolist() for word, bins in zip(WORDS, result.calibration, strict=False)}
    return data


def _row(row: Row) -> dict[str, Any]:
    return {
        "player": row.name,
        "seats": row.seats,
        "games": row.games,
        "examples": row.examples,
        "judged": row.seats >= FEW,
        "before": _plain(row.before),
        "after": None if row.after is None else _plain(row.after),
        "paper": {measure: share / 100 for measure, share in _paper().get(row.name, {}).items()},
    }


def _plain(shares: Mapping[str, Share]) -> dict[str, Any]:
    return {
        measure: {key: number if math.isfinite(number) else None for key, number in asdict(share).items()}
        for measure, share in shares.items()
    }


def _paper() -> dict[str, dict[str, float]]:
    """The paper's Table 1, in percent."""
    from penumbra.reproduce.published import rows

    return {row["headset"]: {measure: float(row[measure]) for measure in SHOWN} for row in rows("table1")}
