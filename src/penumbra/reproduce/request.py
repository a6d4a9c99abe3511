"""What is asked for: how much of it, from which games and weights, and where it goes.

Scales: `smoke` runs on two cores in minutes and says that everything works; `small` needs a GPU and some cores for
minutes, and says something; `paper` is what the paper did.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from penumbra.core import threads

SCALES = ("smoke", "small", "paper")
OUT = Path("runs/reproduction")
PROCESS = 1e9  # bytes of a process that tracks, trains or plays, without what it holds
STATE = 60  # bytes of a state that is tracked, while its set is expanded
Sizes = TypeVar("Sizes")


class ReproductionError(ValueError):
    """Something that cannot be reproduced; one line that says what and why."""


@dataclass(frozen=True)
class Request:
    """What the user said. Where nothing is given, each experiment has something good at its scale."""

    scale: str
    out: Path  # of this scale alone: games, checkpoints and results
    archives: tuple[Path, ...] = ()  # games to look at or to learn from
    weights: tuple[Path, ...] = ()  # several are runs of one training, over which accuracies are averaged
    logs: tuple[Path, ...] = ()  # of saliency, each of one training run
    recipe: Path | None = None  # of networks that are trained
    device: str = "cpu"  # or cuda
    workers: int = 1
    games: int | None = None  # of a pairing, or to look at
    nodes: int | None = None  # of Penumbra for each step
    minutes: float | None = None  # after which no more games are played; the table is of those that there are
    seed: int = 0
    say: Callable[[str], None] = print
    baselines: tuple[Path, ...] = ()  # public programs, by files that are named after them

    def of(self, sizes: Mapping[str, Sizes]) -> Sizes:
        """What an experiment plans at this scale."""
        return sizes[self.scale]


def check_scale(scale: str) -> str:
    if scale not in SCALES:
        raise ReproductionError(f"there is no scale {scale!r}; there are {', '.join(SCALES)}")
    return scale


def tracking_memory(cap: int) -> float:
    """Bytes for replaying games on all threads, with both players' sets as large as they may be."""
    return PROCESS + 2.0 * threads() * cap * STATE


@dataclass(frozen=True)
class Cost:
    """What an experiment takes, before it starts. Times and memory are rough."""

    seconds: float
    games: int = 0  # played
    replayed: int = 0  # games that are looked at
    steps: int = 0  # of training
    memory: float = 0.0  # bytes, of the processes together and of the GPU

    def line(self) -> str:
        """`90 games to play, about 4 minutes, 3 GB of memory`."""
        parts = [
            f"{count:,} {what}"
            for count, what in (
                (self.games, "games to play"),
                (self.replayed, "games to look at"),
                (self.steps, "steps of training"),
            )
            if count
        ]
        memory = [f"{max(self.memory, PROCESS) / 1e9:.2g} GB of memory"]
        return ", ".join([*parts, f"about {duration(self.seconds)}", *memory])


def duration(seconds: float) -> str:
    """`40 seconds`, `7 minutes`, `3.5 hours`, `12 days`."""
    for size, name in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {name}"
    return f"{seconds:.0f} seconds"
