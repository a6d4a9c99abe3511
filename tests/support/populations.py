"""A small population as a file, and what it has generated."""

from __future__ import annotations

from pathlib import Path

from penumbra.games.archive import Archive
from penumbra.games.verification import verify

CONFIG = """
games = {games}
seed = 11
workers = {workers}
opening_plies = 6
ply_limit = {ply_limit}
[[player]]
name = "Wild"
kind = "random"
[[player]]
name = "Hasty"
kind = "attacker"
[[player]]
name = "Trout"
kind = "trout"
settings = {{ depth = 1, nodes = 300 }}
"""


def config(tmp_path: Path, games: int = 40, workers: int = 2, ply_limit: int = 40) -> Path:
    path = tmp_path / "population.toml"
    path.write_text(CONFIG.format(games=games, workers=workers, ply_limit=ply_limit))
    return path


def contents(path: Path) -> set[bytes]:
    with Archive.open(path) as archive:
        found = verify(archive)
        assert not found.problems
        return {game.data for game in archive.games()}
