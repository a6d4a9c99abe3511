"""Games and a recipe small enough to learn from in seconds."""

from __future__ import annotations

import functools
from pathlib import Path

from penumbra.arena.generate import GenerationWorker
from penumbra.arena.population import Member, Population
from penumbra.core import GameRecord, threads
from penumbra.games.archive import Archive, NewGame

MEMBERS = (
    Member("Wild", "random"),
    Member("Hasty", "attacker", {"script": "kingside"}),
    Member("Trout", "trout", {"depth": 1, "nodes": 200}),
)
RECIPE = """
[network]
n_width = 8
n_depth = 2
synopsis = "{synopsis}"
[training]
optimizer = "adamw"
learning_rate = 0.003
batch = 32
steps = {steps}
[examples]
cap = 200
[headsets.All]
players = "all"
weight = 3
multiplicity = 2
[headsets.Top]
players = "top"
weight = 2
multiplicity = 1
[headsets.Wild]
stop_gradient = true
multiplicity = 1
"""


@functools.cache
def records(games: int = 40) -> tuple[GameRecord, ...]:
    """Some games, played once, in this process."""
    population = Population(MEMBERS, seed=5, opening_plies=4, ply_limit=60)
    worker = GenerationWorker(threads(), population.ply_limit)
    return tuple(GameRecord.from_bytes(worker.do(population.pairing(i)).record) for i in range(games))


def make_archive(path: Path, games: int = 40) -> Path:
    with Archive.create(path) as archive:
        archive.add(NewGame(record, "tests") for record in records(games))
    return path


def write_recipe(folder: Path, steps: int = 6, synopsis: str = "binary") -> Path:
    path = folder / "tiny.toml"
    path.write_text(RECIPE.format(steps=steps, synopsis=synopsis))
    return path
