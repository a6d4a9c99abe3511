"""Penumbra as a configuration says, with the evaluators that its settings and its opponent ask for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from penumbra.dsmcp import Settings
from penumbra.dsmcp.domain import Evaluator
from penumbra.network.heuristic_evaluator import HeuristicEvaluator
from penumbra.network.loading import network_evaluator, network_headsets
from penumbra.network.weights import WeightsError
from penumbra.players.penumbra.configuration import Configuration, from_table, headset, to_table
from penumbra.players.penumbra.opponent_model import OpponentModel
from penumbra.players.penumbra.player import STATE_CAP, PenumbraPlayer
from penumbra.players.penumbra.presets import DEFAULT, PRESETS

log = logging.getLogger(__name__)


class Penumbra(PenumbraPlayer):
    """Our player, as a configuration says. Its evaluator is made when a game starts and the opponent's name is known.

    >>> play_game(Penumbra(nodes=400, seed=1), "trout").winner
    True
    """

    def __init__(
        self,
        configuration: Configuration | None = None,
        *,
        evaluator: Evaluator | None = None,
        wrap: Callable[[Evaluator], Evaluator] = lambda evaluator: evaluator,
        **changes: Any,
    ) -> None:
        """`changes` are keys of `Configuration`, such as `nodes=400`, `seconds=2.0`, `preset="tree"`, `weights="full"`
        or `seed=1`; ValueError if one is unknown or wrong. An `evaluator` takes the place of the configuration's, which
        are otherwise passed through `wrap` when they are made."""
        given = configuration or Configuration()
        self.configuration = from_table({**to_table(given), **changes}) if changes else given
        configuration = self.configuration
        super().__init__(
            evaluator or (lambda: make_evaluators(configuration, self.opponent_name, wrap)),
            fitted(configuration.dsmcp(), configuration),
            configuration.root_settings(),
            name="Penumbra" + ("" if configuration.preset == DEFAULT else configuration.preset.capitalize()),
            seconds=configuration.seconds,
            nodes=configuration.nodes,
            ponder=configuration.ponder and configuration.nodes is None,  # a node budget is there to repeat games
            cap=configuration.cap or STATE_CAP,
            record=configuration.record is not None,
        )

    def think_for(self, seconds: float | None, nodes: int | None) -> None:
        """From now on each step is thought about for so many seconds, or nodes, as if configured so from the start."""
        self.configuration = replace(self.configuration, seconds=seconds, nodes=nodes)
        self.settings = fitted(self.configuration.dsmcp(), self.configuration)
        self.agent.settings = self.agent.belief.settings = self.settings
        self.nodes, self.time.step_seconds, self._timed = nodes, seconds, seconds is not None


def make_penumbra(configuration: Configuration) -> Penumbra:
    """Penumbra as configured."""
    return Penumbra(configuration)


def fitted(settings: Settings, configuration: Configuration) -> Settings:
    """b and n_particles small enough for a node budget, where they may be adapted or one batch would exceed it.

    What the configuration sets itself stays.
    """
    nodes = configuration.nodes
    if nodes is None or not (settings.adapt or nodes < settings.b * max(settings.d)):
        return settings
    sizes = {"b": settings.fitting_b(nodes), "n_particles": max(32, min(settings.n_particles, nodes // 4))}
    sizes = {name: size for name, size in sizes.items() if name not in configuration.settings}
    if not settings.adapt:
        log.info("%d nodes are less than one batch of the paper's: %s", nodes, sizes)
    return settings.replace(**sizes)


def make_evaluators(
    configuration: Configuration,
    opponent_name: str,
    wrap: Callable[[Evaluator], Evaluator] = lambda evaluator: evaluator,
) -> tuple[Evaluator, Evaluator]:
    """For playouts and for the belief: π and ν, and τ̂ of the headset, or headsets, that stand for this opponent.

    The heuristic has one policy for everybody. Each evaluator is passed through `wrap`.
    """
    if configuration.evaluator == "heuristic":
        return wrap(HeuristicEvaluator()), wrap(HeuristicEvaluator())
    preset = PRESETS[configuration.preset]

    def evaluator(opponent: str) -> Evaluator:
        value = configuration.value or preset.value
        policies = configuration.policies()
        return wrap(network_evaluator(configuration.weights, configuration.device, opponent, policies, value))

    headsets = network_headsets(configuration.weights, configuration.device)
    known = headset(configuration.recognize_as, opponent_name, headsets)
    replies = preset.replies if configuration.replies is None else (configuration.replies,)
    reply = next((name for name in replies if name in headsets), None)
    unrecognised = configuration.unrecognised_headsets()
    missing = [name for name in unrecognised if name not in headsets]
    if missing and configuration.unrecognised is not None:
        raise WeightsError(f"unrecognised: there is no headset {missing[0]!r}; there are {', '.join(headsets)}")
    opponents = [known] if known else [name for name in unrecognised if name in headsets]
    believed, replying = opponent_evaluators(
        {name: evaluator(name) for name in opponents or unrecognised[:1]}, configuration.seed
    )
    return (replying if reply is None else evaluator(reply)), believed


def opponent_evaluators(evaluators: Mapping[str, Evaluator], seed: int | None) -> tuple[Evaluator, Evaluator]:
    """For the belief and for replies: the only one, or a mixture weighed by behaviour."""
    if len(evaluators) == 1:
        (only,) = evaluators.values()
        return only, only
    model = OpponentModel(evaluators, np.random.default_rng(seed))
    return model, model.replies
