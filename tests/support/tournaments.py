"""Tournaments of players that need no time, and what is in their archives."""

from __future__ import annotations

from pathlib import Path

from penumbra.arena.entrants import Entrant
from penumbra.arena.tournament import games_of
from penumbra.arena.tournament_plan import Tournament
from penumbra.games.archive import Archive
from penumbra.games.verification import verify

CONFIG = """
games = {games}
seed = 4
workers = {workers}
[[player]]
name = "Wild"
kind = "random"
[[player]]
name = "Hasty"
kind = "attacker"
[[player]]
name = "Other"
kind = "attacker"
settings = {{ script = "kingside" }}
[[player]]
name = "Fish"
kind = "trout"
settings = {{ depth = 1, nodes = 200 }}
[[player]]
name = "Loose"
kind = "trout"
settings = {{ depth = 1, nodes = 50, temperature = 100.0 }}
[[player]]
name = "Deep"
kind = "penumbra:network"
settings = {{ evaluator = "heuristic", nodes = 20, cap = 1000, settings = {{ table_entries = 1024, n_particles = 8 }} }}
"""


def config(folder: Path, games: int = 2, workers: int = 1, text: str = CONFIG) -> Path:
    path = folder / "tournament.toml"
    path.write_text(text.format(games=games, workers=workers))
    return path


def quick(games: int = 4, **changes: object) -> Tournament:
    """Three players that move at once."""
    players = (Entrant("Wild", kind="random"), Entrant("Hasty", kind="attacker"), Entrant("Other", kind="attacker"))
    return Tournament(players, games, **changes)  # type: ignore[arg-type]


def contents(tournament: Tournament, path: Path) -> dict[tuple[str, str, int], bytes]:
    """The records of all games by who played and the number; every one is verified."""
    with Archive.open(path) as archive:
        assert not verify(archive).problems
        found = [
            ((*sorted((game.white, game.black)), number), game.data) for number, game in games_of(tournament, archive)
        ]
    assert len(found) == len(dict(found))
    return dict(found)  # type: ignore[arg-type]
