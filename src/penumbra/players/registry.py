"""The built-in players by name: `random`, `hunter`, and Penumbra's presets as `penumbra` or `penumbra:tree`."""

from __future__ import annotations

import dataclasses

from penumbra.dsmcp import PRESETS
from penumbra.dsmcp.domain import Evaluator
from penumbra.players.configuration import Configuration, headset
from penumbra.players.hunter import Hunter
from penumbra.players.penumbra_player import STATE_CAP, PenumbraPlayer
from penumbra.players.player import Player
from penumbra.players.random_player import RandomPlayer

PENUMBRA = "penumbra"


def names() -> list[str]:
    """Everything that `make` knows."""
    return ["random", "hunter", PENUMBRA, *(f"{PENUMBRA}:{preset}" for preset in PRESETS)]


def is_penumbra(name: str) -> bool:
    return name.partition(":")[0] == PENUMBRA


def make(name: str, seed: int | None = None, configuration: Configuration | None = None) -> Player:
    """The player of that name; a configuration matters to Penumbra alone, whose preset the name decides."""
    if name == "random":
        return RandomPlayer(seed)
    if name == "hunter":
        return Hunter(seed or 0)
    family, _, preset = name.partition(":")
    if family != PENUMBRA or (preset and preset not in PRESETS):
        raise ValueError(f"there is no player {name!r}; known are {', '.join(names())}")
    base = configuration or Configuration()
    return make_penumbra(
        dataclasses.replace(base, preset=preset or base.preset, seed=base.seed if seed is None else seed)
    )


def make_penumbra(configuration: Configuration) -> PenumbraPlayer:
    """Penumbra as configured. Its evaluator is made when a game starts and the opponent's name is known."""

    def evaluator() -> Evaluator:
        return make_evaluator(configuration, player.opponent_name)

    player = PenumbraPlayer(
        evaluator,
        configuration.dsmcp(),
        name=f"Penumbra{configuration.preset.capitalize()}",
        seconds=configuration.seconds,
        nodes=configuration.nodes,
        ponder=configuration.ponder and configuration.nodes is None,  # a node budget is there to repeat games
        cap=configuration.cap or STATE_CAP,
        record=configuration.record is not None,
    )
    return player


def make_evaluator(configuration: Configuration, opponent_name: str) -> Evaluator:
    """π and ν, and τ̂ of the headset that stands for this opponent; the heuristic has one policy for everybody."""
    from penumbra.network.heuristic import HeuristicEvaluator

    headset(configuration.recognize_as, opponent_name, ())
    return HeuristicEvaluator()
