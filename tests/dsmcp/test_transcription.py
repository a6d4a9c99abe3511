"""The fast path gives the same N, Q, least values, beliefs and choices as the plain transcription of the paper."""

from __future__ import annotations

import ast
import math
from dataclasses import fields
from pathlib import Path
from typing import Any, Generic

import numpy as np
import pytest
from examples.phantom_tic_tac_toe import domain as phantom
from examples.phantom_tic_tac_toe.evaluators import LineEvaluator

from penumbra.core import Infostates, NodeTable
from penumbra.dsmcp import PRESETS, Agent, Domain, Evaluator, Settings
from penumbra.dsmcp.domain import L, X
from penumbra.network.heuristic_evaluator import HeuristicEvaluator
from penumbra.rbc import domain as rbc
from tests.dsmcp import transcription
from tests.dsmcp.transcription import Transcription
from tests.support.agent_games import at_random, play_phantom, play_rbc

# The paper's values, but for sizes that plain loops can follow.
BASE = Settings(b=8, d=(5, 6), k=4, ell=12, n_particles=20, in_flight=1, table_entries=1 << 18, seed=1)

VARIANTS: dict[str, dict[str, Any]] = {
    "mixture": {},
    "cache": {"m": PRESETS["cache"].m},
    "tree": {"m": PRESETS["tree"].m},
    "simple": {"static_analysis": PRESETS["simple"].static_analysis},
    "two in flight": {"in_flight": 2, "b": 16},
    "three in flight": {"in_flight": 3},
    "avop": {"rule": "avop"},
    "paranoid": {"phi": 0.4},
    "paranoid avop tree": {"phi": 0.3, "rule": "avop", "m": math.inf},
    "cautious": {"kappa": 0.5, "cautious_ell": 2},
    "deeper": {"z": 2.0},
    "deeper at once": {"z": 0.0, "m": math.inf},
    "no virtual loss": {"n_vl": 0.0},
    "heavy virtual loss": {"n_vl": 3.0, "in_flight": 2},
    "virtual visits that are lost": {"virtual_value": 0.0, "in_flight": 2},
    "ends that weigh": {"weigh_ended": True},
    "exposed kings": {"exposed_king": True},
    "senses pruned": {"prune_senses": True},
    "visit all": {"visit_all": True},
    "keyed cuts": {"cut": "keyed", "in_flight": 2},
    "beliefs by policy": {"belief_bandit": "policy"},
    "beliefs all at once": {"b": 20},
    "memory in the key": {"memory_in_key": True},
    "by mean": {"choice": "mean"},
    "by visits": {"choice": "visits"},
    "by lot": {"choice": "proportional"},
}


class Both(Generic[X, L]):
    """The fast path and the transcription, told and asked the same."""

    def __init__(self, domain: Domain[X, L], evaluator: Evaluator, settings: Settings, x: X, particles: L, nodes: int):
        self.fast = Agent(domain, evaluator, settings, x, particles)
        self.slow = Transcription(domain, evaluator, settings, x, particles)
        self.domain = domain
        self.nodes = nodes
        self.searches = 0

    def observe(self, x: X, action: int | None = None, /) -> None:
        self.fast.observe(x, action)
        self.slow.observe(x, action)

    def choose(self) -> int:
        decision = self.fast.choose(nodes=self.nodes)
        chosen = self.slow.choose(self.nodes)
        same_statistics(self.slow, self.fast.table)
        self.same_beliefs()
        assert decision.action == chosen
        self.searches += decision.reason == "search"
        return chosen

    def same_beliefs(self) -> None:
        for fast, slow in zip(self.fast.belief.steps, self.slow.steps, strict=True):
            assert self.domain.size(fast.x) == self.domain.size(slow.x)
            assert fast.count == (0 if slow.particles is None else len(slow.particles))
            if fast.particles is not None and slow.particles is not None and fast.count:
                keys = self.domain.keys(fast.particles, True), self.domain.keys(slow.particles, True)
                np.testing.assert_array_equal(*keys)


def same_statistics(slow: Transcription[Any, Any], table: NodeTable) -> None:
    stats = slow.stats
    touched = set(stats.N) | set(stats.Q)
    assert table.used == len(touched)
    for node, action in touched:
        at = node, action
        assert table.get(node, action) == (stats.N[at], stats.Q[at], stats.least[at])


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("name", VARIANTS)
def test_phantom_tic_tac_toe(name: str, player: int) -> None:
    settings = BASE.replace(**VARIANTS[name], d=(6,))
    searches = 0
    for seed in range(2):
        x, particles = phantom.start(player)
        both = Both(phantom.PhantomTicTacToe(), LineEvaluator(), settings.replace(seed=seed), x, particles, nodes=120)
        play_phantom(both, x, both.choose, seed)
        searches += both.searches
    assert searches >= 4


@pytest.mark.parametrize("name", VARIANTS)
def test_reconnaissance_blind_chess(name: str) -> None:
    settings = BASE.replace(**VARIANTS[name])
    color = len(name) % 2 == 0
    x, particles = rbc.start(color)
    both: Both[rbc.Situation, Infostates] = Both(
        rbc.ReconBlindChess(), HeuristicEvaluator(), settings, x, particles, nodes=150
    )
    play_rbc(both, x, lambda _: both.choose(), at_random(len(name)), turns=8, ell=settings.ell)
    assert both.searches >= 4


def test_presets_differ_from_the_paper_s_settings_only_as_the_paper_says() -> None:
    differences = {
        name: {f.name for f in fields(Settings) if getattr(preset, f.name) != getattr(Settings(), f.name)}
        for name, preset in PRESETS.items()
    }
    assert differences == {
        "mixture": set(),
        "tree": {"m"},
        "cache": {"m"},
        "network": {"playouts"},
        "simple": {"static_analysis"},
    }


def test_the_transcription_imports_nothing_beyond_the_paper() -> None:
    tree = ast.parse(Path(transcription.__file__).read_text(encoding="utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    assert {m for m in modules if m.startswith("penumbra")} == {"penumbra.dsmcp.domain", "penumbra.dsmcp.settings"}
