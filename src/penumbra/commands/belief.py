"""`penumbra bench belief` on the terminal: a bar while games are followed, then one line for each arm and set size."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from penumbra.bench.belief import HEADSETS, BeliefRow, Difference, Plan, run
from penumbra.bench.report import to_json
from penumbra.players.penumbra.configuration import Configuration, from_file

GAMES = 40  # where nothing else was asked for


def bench_belief(
    archive: Path | None,
    config: Path | None,
    plan: Mapping[str, Any],
    headsets: str | None,
    games: int | None,
    as_json: bool,
) -> None:
    """Measures beliefs and shows what came out; None in `plan`, or for an option, stands for its default."""
    if archive is None:
        raise ValueError("bench belief needs --archive, the games that are followed")
    if plan["seconds"] is not None and plan["particles"] is not None:
        raise ValueError("--seconds and --particles exclude each other: one of them bounds a belief")
    given = {name: value for name, value in plan.items() if value is not None}
    configuration = from_file(config) if config is not None else Configuration()
    names = HEADSETS if headsets is None else tuple(dict.fromkeys(name.strip() for name in headsets.split(",")))
    columns = (TextColumn("games"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("games", total=None)
        rows = run(
            archive,
            Plan(**given, configuration=configuration),
            names,
            games or GAMES,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
            say=lambda line: print(f"penumbra: {line}", file=sys.stderr),
        )
    if as_json:
        print(to_json(rows))
    else:
        show(rows, Console())


def show(rows: Sequence[BeliefRow], console: Console) -> None:
    """Where a cell has two numbers, the belief's comes first and that of the uniform distribution second."""
    table = Table(caption="belief / uniform over the set; losses in nats, their difference with its 95 % interval")
    for heading in ("τ̂", "states", "games", "decisions"):
        table.add_column(heading, justify="left" if heading == "τ̂" else "right", no_wrap=True)
    for heading in ("squares", "difference", "state", "difference", "p(truth)", "rank", "missing", "particles", "ms"):
        table.add_column(heading, justify="right")
    for i, row in enumerate(rows):
        last = i + 1 == len(rows) or rows[i + 1].headset != row.headset
        table.add_row(
            row.headset,
            row.states,
            f"{row.games}",
            f"{row.decisions:,}",
            f"{row.value:.2f} / {row.peer_value:.2f}",
            _difference(row.difference),
            f"{row.state_loss:.2f} / {row.uniform_state_loss:.2f}",
            _difference(row.state_difference),
            f"{row.probability:.3f} / {row.uniform_probability:.3f}",
            f"{row.rank:,.1f} / {row.uniform_rank:,.1f}",
            f"{row.missing:.1%}",
            f"{row.particles:,.0f} ({row.distinct:,.0f})",
            f"{1000 * row.seconds:,.0f}",
            end_section=last,
        )
    console.print(table)
    for row in rows:
        if row.note:
            console.print(f"{row.headset}: {row.note}", highlight=False)


def _difference(difference: Difference) -> str:
    if difference.low is None or difference.high is None:
        return f"{difference.mean:+.2f}"
    return f"{difference.mean:+.2f} ({difference.low:+.2f} to {difference.high:+.2f})"
