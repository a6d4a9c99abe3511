"""Nodes a second of the whole search: playouts with kernels, table and evaluator, from a middle game.

A node is one evaluation of an information state. The share of Python is the time of the searching thread that is spent
neither inside a call into the native core nor waiting for the evaluator: numpy, the domain's Python, the measuring and,
where the evaluator has a thread of its own, waiting for the interpreter all count as Python. With the heuristic
evaluator, which is Python, its time is that of the evaluator.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from unittest import mock

import numpy as np

from penumbra import core
from penumbra.bench.report import Row
from penumbra.core import SENSE, Context, Game, Infostates, NodeTable, Paths, StateSet, threads
from penumbra.dsmcp import Settings
from penumbra.dsmcp.belief import Belief
from penumbra.dsmcp.domain import Evaluator
from penumbra.dsmcp.playouts import Budget, HitRate, Search
from penumbra.network.heuristic_evaluator import HeuristicEvaluator
from penumbra.network.loading import choose_device, network_evaluator
from penumbra.players.penumbra.presets import DEFAULT, PRESETS
from penumbra.rbc import domain as rbc
from penumbra.rbc.actions import action_to_code, parse_action
from penumbra.rbc.domain import ReconBlindChess, Situation
from penumbra.rbc.observations import Moved, OpponentMoved, Sensed
from penumbra.rbc.synopsis import synopsis_read_by

SEED = 1
MIDDLE_GAME = ("e2e4", "e7e5", "g1f3", "b8c6", "f1c4", "g8f6", "d2d3", "f8c5")
CPU_BATCH = 64  # playouts at a time, where a CPU evaluates


class Meter:
    """Counts the seconds of all calls into the native core while it is entered: kernels, and the node table."""

    TABLE = (NodeTable, Paths)

    def __init__(self) -> None:
        self.kernels = self.table = 0.0
        self.patches = ExitStack()

    def __enter__(self) -> Meter:
        for owner in (core, Infostates, StateSet, *self.TABLE):
            for name, call in list(vars(owner).items()):
                kind = type(call).__name__
                if kind in ("nb_func", "nb_method") and not name.startswith("_"):
                    timed = self.timed(call, owner in self.TABLE)
                    static = owner is not core and kind == "nb_func"
                    self.patches.enter_context(mock.patch.object(owner, name, staticmethod(timed) if static else timed))
        return self

    def __exit__(self, *_: object) -> None:
        self.patches.close()

    def timed(self, call: Callable[..., Any], of_the_table: bool) -> Callable[..., Any]:
        def timed_call(*args: Any, **named: Any) -> Any:
            began = time.perf_counter()
            try:
                return call(*args, **named)
            finally:
                took = time.perf_counter() - began
                if of_the_table:
                    self.table += took
                else:
                    self.kernels += took

        return timed_call


def run(seconds: float) -> list[Row]:
    """`search.heuristic`, `search.python_share`, `search.network` and `search.particles`."""
    rows = []
    speed, share, note = measure(HeuristicEvaluator(), Settings(seed=SEED, in_flight=1), seconds)
    rows.append(Row("search.heuristic", speed, "nodes/s", note=f"heuristic evaluator, {note}"))
    rows.append(
        Row(
            "search.python_share",
            share,
            "fraction",
            note="of the searching thread's time; the rest is in the native core or the evaluator",
        )
    )
    rows.extend(network_rows(seconds))
    return rows


def network_rows(seconds: float, batches: tuple[int, ...] = (256, 1024)) -> list[Row]:
    """`search.network`: on a GPU 10 × 128 with random weights, on a CPU the lite network that is shipped."""
    if choose_device("auto") == "cpu":
        evaluator: Evaluator = network_evaluator(None, "cpu", "Top")
        speed, _, note = measure(evaluator, Settings(b=CPU_BATCH, seed=SEED), seconds)
        what = f"shipped lite network, {threads()} CPU threads, {note}"
        return [Row("search.network", speed, "nodes/s", note=what), particles_row(evaluator, 256)]
    import torch

    from penumbra.network.architecture import Architecture
    from penumbra.network.model import Network
    from penumbra.network.torch_evaluator import TorchEvaluator

    torch.manual_seed(SEED)
    evaluator = TorchEvaluator(Network(Architecture(128, 10)), "cuda")
    rows = []
    for b in batches:
        speed, _, note = measure(evaluator, Settings(b=b, seed=SEED, in_flight=3), seconds)
        what = f"10x128 random weights, {torch.cuda.get_device_name()}, {note}"
        rows.append(Row("search.network", speed, "nodes/s", note=what))
    rows.append(particles_row(evaluator, 1024))
    return rows


def measure(evaluator: Evaluator, settings: Settings, seconds: float) -> tuple[float, float, str]:
    """Nodes a second, Python's share, and what was measured."""
    x, particles = middle_game()
    domain = ReconBlindChess(synopsis_read_by(evaluator))
    search: Search[Situation, Any] = Search(
        domain, evaluator, NodeTable(settings.table_entries), settings, np.random.default_rng(SEED), x, particles
    )
    actions, _ = domain.root(x, True)
    root = search.prepare_root(actions, settings.b)
    search.run(root, Budget(nodes=1))  # warm
    counters = search.counters
    nodes, waited = counters.nodes, counters.wait_seconds
    with Meter() as meter:
        began = time.perf_counter()
        search.run(root, Budget(deadline=time.monotonic() + seconds))
        elapsed = time.perf_counter() - began
    speed = (counters.nodes - nodes) / elapsed
    shares = np.array([counters.wait_seconds - waited, meter.kernels, meter.table]) / elapsed
    note = f"b {settings.b}, in flight {settings.in_flight}, {threads()} threads, {len(x.states):,} states; "
    note += "waiting for the evaluator {:.0%}, kernels {:.0%}, node table {:.0%}; ".format(*shares)
    counters.hit_rate = hits = HitRate()
    search.run(root, Budget(nodes=1))
    note += f"{hits.known.sum() / max(hits.met.sum(), 1):.0%} of the nodes met were in the table"
    return speed, 1 - float(shares.sum()), note


def particles_row(evaluator: Evaluator, b: int) -> Row:
    """`search.particles`: drawn a second, as the player does it; the peer draws by rejection, as the paper does."""
    shipped = PRESETS[DEFAULT].dsmcp.replace(seed=SEED, b=b)
    speed, note = draw_particles(evaluator, shipped)
    peer, peer_note = draw_particles(evaluator, shipped.replace(sampling="rejection"))
    what = f"4,096 after a sense and a move of the opponent, {threads()} threads; {note}; by rejection {peer_note}"
    return Row("search.particles", speed, "particles/s", "rejection", peer, what)


def draw_particles(evaluator: Evaluator, settings: Settings) -> tuple[float, str]:
    """Particles a second of refilling two steps, and what it took."""
    x, particles = middle_game(settings.n_particles)
    domain = ReconBlindChess(synopsis_read_by(evaluator))
    belief: Belief[Situation, Any] = Belief(domain, evaluator, NodeTable(1024), settings, np.random.default_rng(SEED))
    taken = Moved(0, 0, None)
    after_sense = rbc.observed(x, Sensed(None, ()))
    belief.start(rbc.observed(after_sense, taken, settings.ell, seed=SEED), opponents_after_pass(x, particles))
    belief.advance(rbc.opponent_sensed(belief.current.x), None)
    belief.advance(rbc.observed(belief.current.x, OpponentMoved(None)), None)
    began = time.perf_counter()
    belief.refill(settings.n_particles, float("inf"))
    took = time.perf_counter() - began
    counters = belief.counters
    return counters.drawn / took, f"{counters.inferences:,} inferences, {counters.rejections:,.0f} rejections"


def opponents_after_pass(x: Situation, particles: Any) -> Any:
    """The particles after we have sensed nothing and passed."""
    domain = ReconBlindChess()
    n = len(particles)
    ell, one = np.full(n, 128, np.int32), np.full(n, 1, np.int32)
    truth = domain.draw(x, n, 1, 0, False, particles)
    truth, particles, _ = domain.advance(truth, particles, np.zeros(n, np.int32), one, ell, 1, False)
    return domain.advance(truth, particles, np.full(n, 4160, np.int32), one, ell, 2, False)[1]


def middle_game(particles: int = 256) -> tuple[Situation, Any]:
    """White to sense after four moves a side of which each player knows only its own: both sets are large."""
    game = Game()
    sets = {color: StateSet(game.fen(), color) for color in (True, False)}
    for ply, word in enumerate(MIDDLE_GAME):
        color = game.turn
        if ply:
            sets[color] = sets[color].expand(game.capture, cap=100_000, seed=ply)
        game.sense(None)
        action = parse_action(word if color else mirrored(word))
        game.move(action)
        sets[color] = sets[color].apply_move(action_to_code(action), game.last_taken, None)
    ours = sets[True].expand(None, cap=100_000, seed=9)
    # Particles: what the opponent may hold possible, each standing in a state of ours.
    x = Situation(ours, SENSE, Context())
    truths = Infostates.draw(StateSet(game.fen(), True), particles, SENSE)
    J = Infostates.draw(sets[False], particles, SENSE, 128, Context(), SEED, False, truths)
    if not ReconBlindChess().meets(J, x).all():
        x = Situation(StateSet.from_fens([*ours.fens()[:-1], game.fen()], True), SENSE, Context())
    return x, J


def mirrored(word: str) -> str:
    return "".join(c if c.isalpha() else str(9 - int(c)) for c in word)
