"""What each of several settings is worth, from one series of games in which all of them vary at once.

    PYTHONPATH=src python -m studies.factorial FACTORS.toml --out factors.jsonl --workers 2 --minutes 30
    PYTHONPATH=src python -m studies.factorial FACTORS.toml --report factors.jsonl

The file is that of `studies.series` with one [[arm]], the base, and

    [[factor]]                            # at most sixteen
    name = "c 4, not 2"
    on = { settings = { c = 4.0 } }       # keys of the base that change; tables are merged
    off = { settings = { c = 2.0 } }

Thirty-two arms are played (fewer where there are few factors), in which every factor is on in half and off in half: a
two-level design of resolution IV, whose columns are those of a Hadamard matrix with an odd number of bits. So every
effect is estimated from all games, and no effect is confounded with the product of two others. The report gives for
each factor the points per game with it on, less those with it off, from least squares with the opponents as blocks,
and the 95 % interval.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from penumbra.commands.errors import hear_interrupts
from penumbra.configs.reader import Name, read_toml, within
from penumbra.configs.reader import read as read_table
from studies.series import Series, Side, playing_options, read, run

RUNS = 32
COLUMNS = [column for column in range(RUNS) if column.bit_count() % 2]


@dataclass(frozen=True)
class Factor:
    """Two variants of the base."""

    name: Name
    on: Mapping[str, Any] = field(default_factory=dict)
    off: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Factorial(Series):
    factor: tuple[Factor, ...] = ()


def design(factors: int) -> npt.NDArray[np.int64]:
    """[RUNS, factors] of 1 (on) and -1 (off); the first run has every factor on."""
    rows, columns = np.arange(RUNS)[:, None], np.array(COLUMNS[:factors])[None]
    return np.asarray(1 - 2 * (np.bitwise_count(rows & columns) % 2).astype(np.int64))


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The base with the changes, tables merged key by key."""
    result = dict(base)
    for key, value in changes.items():
        inner = result.get(key)
        result[key] = (
            merged(inner if isinstance(inner, Mapping) else {}, value) if isinstance(value, Mapping) else value
        )
    return result


def arms(base: Side, factors: tuple[Factor, ...]) -> tuple[Side, ...]:
    """One for each run of the design, named by its signs; few factors have few different ones."""
    found = []
    for signs in np.unique(design(len(factors)), axis=0)[::-1]:
        settings: Mapping[str, Any] = base.settings
        for sign, factor in zip(signs, factors, strict=True):
            settings = merged(settings, factor.on if sign > 0 else factor.off)
        name = "".join("+" if sign > 0 else "-" for sign in signs)
        found.append(Side(name, base.kind, base.path, base.python, settings))
    return tuple(found)


def effects(games: list[dict[str, Any]], factors: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """[factors] points per game on less off, and their standard errors."""
    opponents = sorted({game["b"] for game in games})
    blocks = np.array([[game["b"] == name for name in opponents] for game in games], np.float64)
    signs = np.array([[1.0 if sign == "+" else -1.0 for sign in game["a"]] for game in games])
    design_matrix, points = np.hstack([signs / 2, blocks]), np.array([game["result"] for game in games])
    solution, _, rank, _ = np.linalg.lstsq(design_matrix, points)
    free = len(games) - rank
    if rank < design_matrix.shape[1] or free < 1:
        raise SystemExit(f"{len(games)} games are too few to tell {factors} factors apart")
    variance = float(((points - design_matrix @ solution) ** 2).sum()) / free
    errors = np.sqrt(np.diag(np.linalg.inv(design_matrix.T @ design_matrix)) * variance)
    return solution[:factors], errors[:factors]


def report(factors: tuple[Factor, ...], games: list[dict[str, Any]]) -> None:
    found, errors = effects(games, len(factors))
    points = math.fsum(game["result"] for game in games)
    print(f"{len(games)} games, {points / len(games):.1%} of the points")
    for name in sorted({game["b"] for game in games}):
        against = [game["result"] for game in games if game["b"] == name]
        print(f"  against {name}: {sum(against):.1f} of {len(against)}")
    for factor, effect, error in zip(factors, found, errors, strict=True):
        low, high = effect - 1.96 * error, effect + 1.96 * error
        print(f"{factor.name:44} {100 * effect:+6.1f} points ({100 * low:+.1f} to {100 * high:+.1f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("factors", type=Path, help="the file with the base, the factors and the opponents")
    playing_options(parser)
    parser.add_argument("--report", type=Path, nargs="+", metavar="FILE", help="report on these outputs, play nothing")
    options = parser.parse_args()
    hear_interrupts()
    table = read_toml(options.factors)
    with within(options.factors):
        asked = read_table(Factorial, table)
        if len(asked.arm) != 1 or not 1 <= len(asked.factor) <= len(COLUMNS):
            raise SystemExit(f"one [[arm]] is wanted, and 1 to {len(COLUMNS)} [[factor]]")
    if options.report:
        report(asked.factor, read(*options.report))
        return
    series = Series(
        arms(asked.arm[0], asked.factor),
        asked.opponent,
        asked.seconds,
        asked.increment,
        asked.games,
        asked.opening_plies,
    )
    run(series, options.out, options)


if __name__ == "__main__":
    main()
