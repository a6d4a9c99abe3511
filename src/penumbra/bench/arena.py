"""What the arena itself costs: games of two players that move at once, from a worker into an archive."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from penumbra.arena.archive_run import Progress
from penumbra.arena.entrants import Entrant
from penumbra.arena.tournament import run as run_tournament
from penumbra.arena.tournament_plan import Tournament
from penumbra.bench.report import Row
from penumbra.games.archive import Archive

GAMES_A_SECOND = 100  # at least, so many are planned for each second


def run_games(games: int, folder: Path) -> float:
    """Seconds a game of two attackers takes, the game included, once the one worker is warm."""
    tournament = Tournament((Entrant("A", kind="attacker"), Entrant("B", kind="attacker")), games)
    ends: list[float] = []

    def note(progress: Progress) -> None:
        ends.append(time.perf_counter())

    with Archive.create(folder / "games.db") as archive:
        run_tournament(tournament, archive, report=note)
    return (ends[-1] - ends[0]) / (len(ends) - 1)


def run(seconds: float) -> list[Row]:
    """`arena.overhead`."""
    with tempfile.TemporaryDirectory() as folder:
        cost = run_games(max(10, int(GAMES_A_SECOND * seconds)), Path(folder))
    note = "two Attackers, 1 worker, each game written to the archive as it ends; the game itself included"
    return [Row("arena.overhead", 1000 * cost, "ms/game", note=note)]
