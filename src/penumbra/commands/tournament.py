"""`penumbra tournament` on the terminal: a live table where there is one, lines elsewhere, ratings at the end."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.table import Table

from penumbra.arena.report import write_report
from penumbra.arena.tournament import Players, Standing, games_of, run
from penumbra.arena.tournament_plan import Tournament
from penumbra.commands.generate import show_ratings
from penumbra.games.archive import Archive

INTERRUPTED = 130
TOLD = 10  # failures that are told of one by one


def play(
    tournament: Tournament,
    path: Path,
    console: Console,
    players: Players | None = None,
    anchor: tuple[str | None, float] = (None, 1500.0),
    report: Path | None = None,
) -> int:
    """Plays what is missing into the archive at `path`, and says how it stands; the exit status."""
    with Archive.open_or_create(path) as archive:
        with _shown(tournament, console) as show:
            standing = run(tournament, archive, players, show)
        print(f"{path}: {standing.line()}; {standing.played:,} played now")
        with contextlib.suppress(ValueError):  # too few games to rate anybody
            show_ratings(standing.ratings(*anchor), as_json=False)
        if report is not None:
            write_report(report, tournament, [game for _, game in games_of(tournament, archive)], anchor)
            print(f"{report}: the report")
    return _conclude(standing)


def _conclude(standing: Standing) -> int:
    for failure in standing.failures[:TOLD]:
        print(f"penumbra: {failure}", file=sys.stderr)
    if standing.stopped:
        kept = "what was played is kept, and a new run goes on from there"
        print(f"penumbra: {standing.stopped}; {kept}", file=sys.stderr)
        return INTERRUPTED if standing.stopped == "interrupted" else 1
    return 1 if standing.failures else 0


@contextlib.contextmanager
def _shown(tournament: Tournament, console: Console, every: float = 10.0) -> Iterator[Callable[[Standing], None]]:
    """What shows each standing: a table that is drawn anew every second, or a line now and then."""
    last = time.monotonic()

    def is_time(seconds: float) -> bool:
        nonlocal last
        if time.monotonic() - last < seconds:
            return False
        last = time.monotonic()
        return True

    if not console.is_terminal:
        yield lambda standing: print(standing.line(), flush=True) if is_time(every) else None
        return
    with Live(console=console, transient=True, auto_refresh=False) as live:
        yield lambda standing: live.update(standing_table(standing), refresh=True) if is_time(1.0) else None


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
