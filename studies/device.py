"""What a machine with a GPU and many cores makes of the search: run from the source tree, needs numpy and torch alone.

PYTHONPATH=src python -m studies.device [SECONDS]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch

from penumbra import core
from penumbra.bench.search import SEED, measure, middle_game, particles_row
from penumbra.core import MOVE, PASS, START_FEN, StateSet, advance, set_threads, threads
from penumbra.dsmcp import Settings
from penumbra.dsmcp.domain import Legal
from penumbra.network.architecture import Architecture
from penumbra.network.heuristic_evaluator import HeuristicEvaluator
from penumbra.network.model import Network
from penumbra.network.torch_evaluator import TorchEvaluator


def evaluations(evaluator: TorchEvaluator, b: int, seconds: float) -> float:
    """Evaluations a second of the evaluator alone, its transfers included."""
    _, particles = middle_game(b)
    features = particles.features(evaluator.synopsis)
    legal = Legal(*particles.legal())
    evaluator.evaluate(features, legal, False)
    done, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        evaluator.evaluate(features, legal, False)
        done += b
    return done / (time.perf_counter() - began)


def kernels(n: int, seconds: float) -> float:
    """Nodes a second of the kernels alone (advance, synopsis, legal, keys), by n threads."""
    set_threads(n)
    x, J = middle_game(1024)
    I = core.Infostates.draw(x.states, len(J), x.kind, truths=J)
    done, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        a, b = I, J
        for step in range(4):
            a.synopsis(), a.legal(), a.keys()
            action = PASS if step % 2 == MOVE else 27
            a, b, _ = advance(a, b, np.full(len(a), action, np.int32), 128, 128, done)
            if step % 2 == MOVE:
                a, b = b, a
            done += len(a)
    return done / (time.perf_counter() - began)


def expansion(n: int) -> float:
    """Successors a second of the largest of three expansions, by n threads."""
    set_threads(n)
    states = StateSet(START_FEN, True)
    while len(states) < 1_000_000:
        states = states.expand(None) if states.turn != states.owner else states.apply_move(0, 0, None)
    if states.turn == states.owner:
        states = states.apply_move(0, 0, None)
    best = 0.0
    for _ in range(3):
        began = time.perf_counter()
        best = max(best, states.expand(None).generated / (time.perf_counter() - began))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", type=float, nargs="?", default=2.0, help="for each measurement")
    seconds = parser.parse_args().seconds
    device = "cuda" if torch.cuda.is_available() else "cpu"
    all_threads = threads()
    print(f"{device}, {all_threads} threads, core {core.BUILD}")
    n = 1
    while n <= all_threads:
        speeds = kernels(n, seconds), expansion(n) / 1e6
        print("threads {:2d}: kernels {:10,.0f} nodes/s, expand {:6.1f} M successors/s".format(n, *speeds), flush=True)
        n *= 2
    set_threads(all_threads)
    torch.manual_seed(SEED)
    evaluator = TorchEvaluator(Network(Architecture(128, 10) if device == "cuda" else Architecture(32, 4)), device)
    sizes = (64, 256, 1024, 2048) if device == "cuda" else (64,)
    for b in sizes:
        print(f"evaluator alone, batch {b}: {evaluations(evaluator, b, seconds):,.0f} evaluations/s", flush=True)
    speed, share, note = measure(HeuristicEvaluator(), Settings(seed=SEED), seconds)
    print(f"heuristic: {speed:,.0f} nodes/s, python {share:.0%}; {note}", flush=True)
    for b in sizes:
        for in_flight in (1, 2, 3, 4):
            speed, share, note = measure(evaluator, Settings(b=b, seed=SEED, in_flight=in_flight), seconds)
            print(f"network: {speed:,.0f} nodes/s, python {share:.0%}; {note}", flush=True)
    particles_row(evaluator, 1024)  # the first is slower
    row = particles_row(evaluator, 1024)
    print(f"refill of 4,096 particles: {row.value:.2f} s; {row.note}")


if __name__ == "__main__":
    main()
