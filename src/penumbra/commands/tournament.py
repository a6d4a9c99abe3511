"""`penumbra tournament` on the terminal: a live table where there is one, lines elsewhere, ratings at the end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.table import Table

from penumbra.arena.archive_run import at_intervals
from penumbra.arena.match import Job
from penumbra.arena.pool import AnyPool
from penumbra.arena.report import write_report
from penumbra.arena.score import GameResult
from penumbra.arena.tournament import Standing, games_of, run
from penumbra.arena.tournament_plan import Tournament
from penumbra.commands.generate import show_ratings
from penumbra.commands.progress import conclude
from penumbra.games.archive import Archive


def play(
    tournament: Tournament,
    path: Path,
    console: Console,
    pool: AnyPool[Job, GameResult] | None = None,
    anchor: tuple[str | None, float] = (None, 1500.0),
    report: Path | None = None,
) -> int:
    """Plays what is missing into the archive at `path`, and says how it stands; the exit status."""
    with Archive.open_or_create(path) as archive:
        with _shown(tournament, console) as show:
            standing = run(tournament, archive, pool, show)
        print(f"{path}: {standing.line()}; {standing.played:,} played now")
        with contextlib.suppress(ValueError):  # too few games to rate anybody
            show_ratings(standing.ratings(*anchor), as_json=False)
        if report is not None:
            write_report(report, tournament, [game for _, game in games_of(tournament, archive)], anchor)
            print(f"{report}: the report")
    return conclude(standing)


@contextlib.contextmanager
def _shown(tournament: Tournament, console: Console, every: float = 10.0) -> Iterator[Callable[[Standing], None]]:
    """What shows each standing: a table that is drawn anew every second, or a line now and then."""
    if not console.is_terminal:
        yield at_intervals(every, lambda standing: print(standing.line(), flush=True))
        return
    with Live(console=console, transient=True, auto_refresh=False) as live:
        yield at_intervals(1.0, lambda standing: live.update(standing_table(standing), refresh=True))


def standing_table(standing: Standing) -> Table:
    """Everybody by rating or, while there can be none, by points."""
    table = Table(title=standing.line(), box=None)
    for heading in ("player", "Elo", "95 %", "games", "score"):
        table.add_column(heading, justify="left" if heading == "player" else "right")
    try:
        for rating in standing.ratings().players:
            score = f"{rating.points:g} ({100 * rating.share:.0f} %)"
            table.add_row(rating.name, f"{rating.elo:.0f}", f"±{rating.margin:.0f}", f"{rating.games:,}", score)
    except ValueError:
        for name, (points, games) in sorted(_points(standing).items(), key=lambda item: -item[1][0]):
            table.add_row(name, "", "", f"{games:,}", f"{points:g}")
    return table


def _points(standing: Standing) -> dict[str, tuple[float, int]]:
    found: dict[str, tuple[float, int]] = {}
    for (white, black, winner), count in standing.results.items():
        for name, color in ((white, True), (black, False)):
            points, games = found.get(name, (0.0, 0))
            won = 0.5 if winner is None else float(winner == color)
            found[name] = (points + won * count, games + count)
    return found
