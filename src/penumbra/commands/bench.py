"""`penumbra bench`: speed, beside other programs; and how well beliefs foresee recorded games."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penumbra.commands.errors import complain
from penumbra.commands.options import AsJson, Config, examples

if TYPE_CHECKING:
    from rich.console import Console

    from penumbra.bench.belief import BeliefRow, Difference

EXAMPLES = examples(
    "penumbra bench rules --json",
    "penumbra bench network --time 5",
    "penumbra bench belief --archive games.db --games 40 --seconds 1",
)
GAMES = 40  # where nothing else was asked for
TIME = 2.0


class Subject(StrEnum):
    """What can be measured: the modules of `penumbra.bench`."""

    RULES = "rules"
    STATES = "states"
    SYNOPSIS = "synopsis"
    PLAYOUTS = "playouts"
    EXAMPLES = "examples"
    NETWORK = "network"
    SEARCH = "search"
    ANALYSIS = "analysis"
    INFERENCE_SERVER = "inference-server"
    TRAINING = "training"
    ARENA = "arena"
    ENV = "env"
    BELIEF = "belief"


def bench(
    subject: Annotated[
        Subject | None, typer.Argument(help="What to measure.", show_default="everything but belief")
    ] = None,
    as_json: AsJson = False,
    time: Annotated[
        float | None,
        typer.Option(
            min=0.01, help="Measure each thing for so many seconds; not for belief.", show_default=f"{TIME:g}"
        ),
    ] = None,
    archive: Annotated[
        Path | None,
        typer.Option(help="For belief: the games to follow, an archive or games as reconchess writes them."),
    ] = None,
    games: Annotated[
        int | None, typer.Option(min=1, help="For belief: how many games to draw and follow.", show_default=str(GAMES))
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(min=0.01, help="For belief: refill as in a search of so many seconds for each sense and move."),
    ] = None,
    particles: Annotated[
        int | None,
        typer.Option(min=1, help="For belief: refill to so many particles instead of by time.", show_default="512"),
    ] = None,
    headsets: Annotated[
        str | None,
        typer.Option(help="For belief: the opponent models to compare.", show_default="Top,All,recognised"),
    ] = None,
    cap: Annotated[
        int | None,
        typer.Option(
            min=10, help="For belief: follow a game until its set has more states than this.", show_default="50000"
        ),
    ] = None,
    turns: Annotated[
        int | None, typer.Option(min=1, help="For belief: follow a game for so many turns.", show_default="100")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="For belief: seed of the drawing of games, seats and particles.", show_default="0"),
    ] = None,
    config: Config = None,
) -> None:
    """Measure how fast everything is, beside other programs where there are any.

    `penumbra bench belief` measures how well beliefs foresee recorded games instead.
    """
    from rich.console import Console

    from penumbra.bench import report

    plan = {"seconds": seconds, "particles": particles, "cap": cap, "turns": turns, "seed": seed}
    if subject is Subject.BELIEF:
        if time is not None:
            raise ValueError("--time is not for `penumbra bench belief`; --seconds is the length of a step there")
        bench_belief(archive, config, {k: v for k, v in plan.items() if v is not None}, headsets, games, as_json)
        return
    for name, value in {"archive": archive, "config": config, "headsets": headsets, "games": games, **plan}.items():
        if value is not None:
            raise ValueError(f"--{name} is for `penumbra bench belief` alone")
    subjects = [subject] if subject else [each for each in Subject if each is not Subject.BELIEF]
    modules = [import_module(f"penumbra.bench.{name.replace('-', '_')}") for name in subjects]
    rows = [row for module in modules for row in module.run(TIME if time is None else time)]
    if as_json:
        print(report.to_json(rows))
    else:
        report.show(rows, Console())


def bench_belief(
    archive: Path | None,
    config: Path | None,
    plan: dict[str, Any],
    headsets: str | None,
    games: int | None,
    as_json: bool,
) -> None:
    """Measures beliefs and shows what came out; `plan` holds what differs from the defaults of `Plan`."""
    from rich.console import Console

    from penumbra.bench.belief import HEADSETS, Plan, run
    from penumbra.bench.report import to_json
    from penumbra.commands.terminal.progress import progress
    from penumbra.players.penumbra.configuration import Configuration, from_file

    if archive is None:
        raise ValueError("bench belief needs --archive, the games that are followed")
    if "seconds" in plan and "particles" in plan:
        raise ValueError("--seconds and --particles exclude each other: one of them bounds a belief")
    configuration = from_file(config) if config is not None else Configuration()
    names = HEADSETS if headsets is None else tuple(dict.fromkeys(name.strip() for name in headsets.split(",")))
    with progress("games", None) as bar:
        rows = run(
            archive,
            Plan(**plan, configuration=configuration),
            names,
            games or GAMES,
            progress=lambda done, total: bar.show(done, total=total),
            say=complain,
        )
    if as_json:
        print(to_json(rows))
    else:
        _show_beliefs(rows, Console())


def _show_beliefs(rows: Sequence[BeliefRow], console: Console) -> None:
    """Where a cell has two numbers, the belief's comes first and that of the uniform distribution second."""
    from rich.table import Table

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
