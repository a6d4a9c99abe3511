"""How fast a network learns from games, beside the same loop on one batch that is there already."""

from __future__ import annotations

import threading
from collections.abc import Callable

import torch

from penumbra.bench.report import Row, rate
from penumbra.network.architecture import Architecture
from penumbra.training.data import Batch, Table
from penumbra.training.examples import ExampleSettings
from penumbra.training.recipe import EVERYBODY, LossWeights, Plan, Recipe, Training
from penumbra.training.sample_positions import records
from penumbra.training.trainer import Trainer

GPU = (Architecture(128, 10, ("All",)), 2048)
CPU = (Architecture(64, 6, ("All",)), 64)
PLANS = {"All": Plan(EVERYBODY, multiplicity=1)}
CAP = 2000
GAMES = 40_000 if torch.cuda.is_available() else 3_000  # more than can be made into examples while it is measured
UPDATES = 5  # between looks at the clock


ENGINE_STATES = 16  # of each set
WITH_ENGINE = LossWeights(engine=0.3, mixing=0.3)


def run(seconds: float) -> list[Row]:
    """`training.rate`, and the same where the engine's chances to win are learned too."""
    plain, asking = (ExampleSettings(multiplicity=1, cap=CAP, engine_states=n) for n in (0, ENGINE_STATES))
    return [
        measure("training.rate", LossWeights(), plain, seconds),
        measure("training.engine", WITH_ENGINE, asking, seconds),
    ]


def measure(name: str, loss: LossWeights, examples: ExampleSettings, seconds: float) -> Row:
    """Batches drawn from a table that is being filled; the peer is measured before and after."""
    cuda = torch.cuda.is_available()
    architecture, batch = GPU if cuda else CPU
    device = "cuda" if cuda else "cpu"
    training = Training("adamw", batch=batch, mixed_precision=cuda)
    trainer = Trainer(Recipe(architecture, PLANS, training, loss, examples), device)
    trainer.network.train()

    def learn(draw: Callable[[], Batch]) -> float:
        def work() -> int:
            for _ in range(UPDATES):
                trainer.update(draw(), "All")
            if cuda:
                torch.cuda.synchronize()
            return UPDATES * batch

        work()  # warm
        return rate(work, seconds)

    small = Table(records(), PLANS, [], examples, device)
    small.fill()
    constant = small.draw("All", batch, trainer.draws)
    before = learn(lambda: constant)
    table = Table(records() * (GAMES // len(records())), PLANS, [], examples, device)
    stop, begun = threading.Event(), threading.Event()
    filler = threading.Thread(target=table.fill, args=(lambda tally: begun.set(), stop), daemon=True)
    filler.start()
    begun.wait(60)
    speed = learn(lambda: table.draw("All", batch, trainer.draws))
    stop.set()
    filler.join()
    peer = 2 / (1 / before + 1 / learn(lambda: constant))
    a = architecture
    note = (
        f"{a.n_depth}x{a.n_width}, batch {batch}, {device}; {table.tally.rows:,} examples made meanwhile, cap {CAP:,}"
    )
    if examples.engine_states:
        note += f", the engine asked of {examples.engine_states} states of each set"
    return Row(name, speed, "examples/s", "one batch again and again", peer, note)
