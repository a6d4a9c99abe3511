"""`penumbra tournament`: a live table while it runs, lines where there is no terminal, ratings at the end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penumbra.commands.checks import file_to_write, first
from penumbra.commands.errors import Problems, conclude_run
from penumbra.commands.options import THE_FILES as FILE
from penumbra.commands.options import (
    Anchor,
    ArchiveToFillOption,
    RayOption,
    SeedOfFile,
    WorkersOfFile,
    examples,
)
from penumbra.commands.rate import show_ratings

if TYPE_CHECKING:
    from rich.table import Table

    from penumbra.arena.tournament import Standing
    from penumbra.arena.tournament_plan import Tournament
    from penumbra.games.archive import Archive

EXAMPLES = examples(
    "penumbra tournament tournament --archive tournament.db --report tournament.html",
    "penumbra tournament tournament --archive tournament.db --games 10 --anchor Trout=1000",
)


def tournament(
    plan: Annotated[
        Path, typer.Argument(help="The players and their pairings: a TOML file, or the name of a shipped one.")
    ],
    archive: ArchiveToFillOption,
    games: Annotated[
        int | None, typer.Option(min=1, help="How many games to play for each pairing.", show_default=FILE)
    ] = None,
    seed: SeedOfFile = None,
    workers: WorkersOfFile = None,
    on_error: Annotated[
        str | None,
        typer.Option(metavar="lose|replay", help="What a player's fault means for its game.", show_default=FILE),
    ] = None,
    ray: RayOption = None,
    anchor: Anchor = None,
    report: Annotated[
        Path | None, typer.Option(help="An HTML page about the tournament to write.", callback=first(file_to_write))
    ] = None,
) -> None:
    """Play a tournament into an archive.

    One that was stopped goes on where it was.
    """
    from penumbra.arena.report import write_report
    from penumbra.arena.tournament import games_of, pool_for, run
    from penumbra.arena.tournament_plan import read_tournament
    from penumbra.games.archive import Archive
    from penumbra.games.ratings import parse_anchor

    given = {"games": games, "seed": seed, "workers": workers, "on_error": on_error}
    planned = read_tournament(plan, **{key: value for key, value in given.items() if value is not None})
    fixed = parse_anchor(anchor)
    if fixed[0] is not None and fixed[0] not in [player.name for player in planned.players]:
        raise ValueError(f"--anchor {anchor}: there is no such player in {plan}")
    pool = pool_for(planned, ray)
    problems = Problems()
    with Archive.open_or_create(archive, problems) as to:
        print(plan_line(planned, to, pool.at_once), flush=True)
        with _shown() as show:
            standing = run(planned, to, pool, show)
        print(f"{archive}: {standing.line()}; {standing.played:,} played now")
        with contextlib.suppress(ValueError):  # too few games to rate anybody
            show_ratings(standing.ratings(*fixed), standing.faults, as_json=False)
        if report is not None:
            write_report(report, planned, [game for _, game in games_of(planned, to)], fixed)
            print(f"{report}: the report")
    conclude_run(standing.failures, standing.stopped)
    problems.conclude()


def plan_line(planned: Tournament, archive: Archive, at_once: int) -> str:
    """What will be played, said before it is."""
    from penumbra.arena.tournament import outset

    missing, standing = outset(planned, archive)
    return f"{len(missing):,} of {standing.target:,} games to play, {at_once:,} at a time"


@contextlib.contextmanager
def _shown() -> Iterator[Callable[[Standing], None]]:
    """What shows each standing: a table that is drawn anew every second, or a line now and then."""
    from rich.console import Console
    from rich.live import Live

    from penumbra.arena.archive_run import at_intervals
    from penumbra.commands.terminal.progress import LINE_EVERY

    console = Console(stderr=True)
    if not console.is_terminal:
        yield at_intervals(LINE_EVERY, lambda standing: print(standing.line(), flush=True))
        return
    with Live(console=console, transient=True, auto_refresh=False) as live:
        yield at_intervals(1.0, lambda standing: live.update(standing_table(standing), refresh=True))


def standing_table(standing: Standing) -> Table:
    """Everybody by rating or, while there can be none, by points."""
    from rich.table import Table

    table = Table(title=standing.line(), box=None)
    for heading in ("player", "Elo", "95 %", "games", "score", "faults"):
        table.add_column(heading, justify="left" if heading == "player" else "right")
    try:
        for rating in standing.ratings().players:
            score = f"{rating.points:g} ({100 * rating.share:.0f} %)"
            games, margin = f"{rating.games:,}", f"±{rating.margin:.0f}"
            table.add_row(rating.name, f"{rating.elo:.0f}", margin, games, score, _faults(standing, rating.name))
    except ValueError:
        for name, (points, n) in sorted(_points(standing).items(), key=lambda item: -item[1][0]):
            table.add_row(name, "", "", f"{n:,}", f"{points:g}", _faults(standing, name))
    return table


def _faults(standing: Standing, name: str) -> str:
    """Losses by the player's own fault, nothing where there are none."""
    return ", ".join(f"{fault} {n}" for (who, fault), n in standing.faults.items() if who == name)


def _points(standing: Standing) -> dict[str, tuple[float, int]]:
    found: dict[str, tuple[float, int]] = {}
    for (white, black, winner), count in standing.results.items():
        for name, color in ((white, True), (black, False)):
            points, games = found.get(name, (0.0, 0))
            won = 0.5 if winner is None else float(winner == color)
            found[name] = (points + won * count, games + count)
    return found
