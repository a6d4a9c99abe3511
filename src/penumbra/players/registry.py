"""The built-in players by name: `random`, `hunter`, the opponents of `kinds`, and presets as `penumbra:tree`."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping
from typing import Any

from penumbra.dsmcp import Settings
from penumbra.dsmcp.domain import Evaluator
from penumbra.network.choice import network_evaluator
from penumbra.network.heuristic import HeuristicEvaluator
from penumbra.players.configuration import Configuration, from_table, headset
from penumbra.players.hunter import Hunter
from penumbra.players.kinds import KINDS, make_player
from penumbra.players.penumbra_player import STATE_CAP, PenumbraPlayer
from penumbra.players.player import Player
from penumbra.players.presets import DEFAULT, PRESETS
from penumbra.players.random_player import RandomPlayer

log = logging.getLogger(__name__)

PENUMBRA = "penumbra"
RECONCHESS_NAMES = ("attacker", "trout")  # in matches these mean reconchess' own; ours are made all the same


def names() -> list[str]:
    """Everything that `make` knows under a name that means nothing else."""
    kinds = [kind for kind in KINDS if kind not in ("random", *RECONCHESS_NAMES)]
    return ["random", "hunter", *kinds, PENUMBRA, *(f"{PENUMBRA}:{preset}" for preset in PRESETS if preset != DEFAULT)]


def is_penumbra(name: str) -> bool:
    return name.partition(":")[0] == PENUMBRA


def make(name: str, seed: int | None = None, configuration: Configuration | None = None) -> Player:
    """The player of that name; a configuration matters to Penumbra alone, whose preset the name decides."""
    if name == "random":
        return RandomPlayer(seed)
    if name == "hunter":
        return Hunter(seed or 0)
    if name in KINDS:
        return make_player(name, seed or 0)
    family, _, preset = name.partition(":")
    if family != PENUMBRA or (preset and preset not in PRESETS):
        raise ValueError(f"there is no player {name!r}; known are {', '.join(names())}")
    base = configuration or Configuration()
    return make_penumbra(
        dataclasses.replace(base, preset=preset or base.preset, seed=base.seed if seed is None else seed)
    )


def make_with_settings(kind: str, seed: int, settings: Mapping[str, Any]) -> Player:
    """A built-in opponent by its kind, or Penumbra, with settings as a file has them; ValueError if one is wrong."""
    if not is_penumbra(kind):
        return make_player(kind, seed, **settings)
    return make(kind, seed, from_table(settings))


def make_penumbra(configuration: Configuration) -> PenumbraPlayer:
    """Penumbra as configured. Its evaluator is made when a game starts and the opponent's name is known."""

    def evaluator() -> Evaluator:
        return make_evaluator(configuration, player.opponent_name)

    def belief_evaluator() -> Evaluator:
        return make_evaluator(configuration, player.opponent_name, belief=True)

    player = PenumbraPlayer(
        evaluator,
        fitted(configuration.dsmcp(), configuration),
        configuration.root_settings(),
        belief_evaluator=belief_evaluator,
        name="Penumbra" + ("" if configuration.preset == DEFAULT else configuration.preset.capitalize()),
        seconds=configuration.seconds,
        nodes=configuration.nodes,
        ponder=configuration.ponder and configuration.nodes is None,  # a node budget is there to repeat games
        cap=configuration.cap or STATE_CAP,
        record=configuration.record is not None,
    )
    return player


def fitted(settings: Settings, configuration: Configuration) -> Settings:
    """b and n_particles small enough for a node budget, where they may be adapted or one batch would exceed it.

    What the configuration sets itself stays.
    """
    nodes = configuration.nodes
    if nodes is None or not (settings.adapt or nodes < settings.b * max(settings.d)):
        return settings
    b = settings.b
    while b > 8 and b * max(settings.d) * 4 * settings.in_flight > nodes:
        b //= 2
    sizes = {"b": b, "n_particles": max(32, min(settings.n_particles, nodes // 4))}
    sizes = {name: size for name, size in sizes.items() if name not in configuration.settings}
    if not settings.adapt:
        log.info("%d nodes are less than one batch of the paper's: %s", nodes, sizes)
    return settings.replace(**sizes)


def make_evaluator(configuration: Configuration, opponent_name: str, belief: bool = False) -> Evaluator:
    """π and ν, and τ̂ of the headset that stands for this opponent, in the belief or in playouts.

    The heuristic has one policy for everybody.
    """
    if configuration.evaluator == "heuristic":
        return HeuristicEvaluator()
    preset = PRESETS[configuration.preset]
    replies = preset.replies if configuration.replies is None else (configuration.replies,)

    def recognise(headsets: tuple[str, ...]) -> str:
        known = [] if belief else [name for name in replies if name in headsets]
        unrecognised = configuration.unrecognised or preset.unrecognised
        return known[0] if known else headset(configuration.recognize_as, opponent_name, headsets, unrecognised)

    value = configuration.value or preset.value
    return network_evaluator(configuration.weights, configuration.device, recognise, configuration.policies(), value)
