"""What a network is and how it learns, as a TOML file says:

    [network]
    n_width = 128
    n_depth = 10

    [training]             # any field of Training below
    optimizer = "sgd"
    learning_rate = 0.0005

    [loss]                 # the weight of each head
    policy = 1.0

    [examples]             # how games become examples
    cap = 5000

    [headsets.All]         # one table for each headset, in order
    players = "all"        # "all", "top" (the top third by rating) or a list of names; by default the headset's own
    weight = 15            # how often it is trained, beside the others
    multiplicity = 4       # examples made of each step, by different draws
    stop_gradient = false  # learns from the tower without teaching it

Everything is checked before anything starts.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from penumbra.configs.reader import read_toml
from penumbra.network.architecture import Architecture
from penumbra.network.weights import Weights
from penumbra.training.examples import ExampleSettings

EVERYBODY, THE_BEST = "all", "top"
T = TypeVar("T")


class RecipeError(ValueError):
    """A recipe that cannot be used; one line that says where and why."""


@dataclass(frozen=True)
class Plan:
    """What one headset learns from, and how much."""

    players: str | tuple[str, ...] = ()
    weight: float = 1.0
    multiplicity: int = 4
    stop_gradient: bool = False


@dataclass(frozen=True)
class LossWeights:
    """What each head counts."""

    policy: float = 1.0
    value: float = 1.0
    soon: float = 0.2
    pieces: float = 0.1


@dataclass(frozen=True)
class Training:
    """How the weights change. The defaults are the paper's."""

    optimizer: Literal["sgd", "adamw"] = "sgd"
    learning_rate: float = 0.0005  # ε
    momentum: float = 0.0
    weight_decay: float = 0.0
    schedule: Literal["constant", "cosine"] = "constant"
    warm_up: int = 0  # steps over which the learning rate rises from nothing
    batch: int = 256
    steps: int = 650_000  # n_batches
    seconds: float = math.inf  # stop earlier, the schedule following the time
    mixed_precision: bool = False
    on_the_fly: bool = False  # start while the examples are still being made; not the same numbers every time
    seed: int = 0


@dataclass(frozen=True)
class Recipe:
    """Everything but the games."""

    architecture: Architecture
    plans: Mapping[str, Plan]
    training: Training = field(default_factory=Training)
    loss: LossWeights = field(default_factory=LossWeights)
    examples: ExampleSettings = field(default_factory=ExampleSettings)


def read_recipe(path: str | Path, **training: Any) -> Recipe:
    """What a TOML file says; keywords come before its [training]."""
    path = Path(path)
    data = read_toml(path, RecipeError)
    tables = ("network", "training", "loss", "examples", "headsets")
    for key, value in data.items():
        if key not in tables:
            raise RecipeError(f"{path}: there is no {key!r}; there are {', '.join(tables)}")
        if not isinstance(value, dict):
            raise RecipeError(f"{path}: {key} is not a table")
    plans = {name: _plan(name, table, f"{path}: headsets.{name}") for name, table in data.get("headsets", {}).items()}
    if not plans:
        raise RecipeError(f"{path}: no headsets; there must be [headsets.All] or another")
    network = {**data.get("network", {}), "headsets": tuple(plans)}
    longest = max(plan.multiplicity for plan in plans.values())
    examples = {**data.get("examples", {}), "multiplicity": longest}
    return Recipe(
        _read(Architecture, network, f"{path}: network"),
        plans,
        _read(Training, {**data.get("training", {}), **training}, f"{path}: training"),
        _read(LossWeights, data.get("loss", {}), f"{path}: loss"),
        _read(ExampleSettings, examples, f"{path}: examples"),
    )


def recipe_of(weights: Weights) -> Recipe:
    """Whose steps each headset of some weights has learned from, as their header says."""
    players = json.loads(weights.about.get("players", "{}"))
    usual = {"All": EVERYBODY, "Top": THE_BEST}
    plans = {}
    for name in weights.architecture.headsets:
        given = players.get(name, usual.get(name, [name]))
        plans[name] = Plan(given if isinstance(given, str) else tuple(given), multiplicity=1)
    return Recipe(weights.architecture, plans)


def _plan(name: str, table: Any, where: str) -> Plan:
    if not isinstance(table, dict):
        raise RecipeError(f"{where} is not a table")
    players = table.get("players", [name])
    if isinstance(players, str):
        if players not in (EVERYBODY, THE_BEST):
            raise RecipeError(f'{where}: players is "all", "top" or a list of names, not {players!r}')
    elif not (isinstance(players, list) and players and all(isinstance(player, str) for player in players)):
        raise RecipeError(f"{where}: players is not a list of names")
    else:
        players = tuple(players)
    rest = {key: value for key, value in table.items() if key != "players"}
    return dataclasses.replace(_read(Plan, rest, where), players=players)


def _read(kind: type[T], table: Mapping[str, Any], where: str) -> T:
    hints = get_type_hints(kind)
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in hints:
            raise RecipeError(f"{where}: there is no {key!r}; there are {', '.join(hints)}")
        values[key] = _fitting(hints[key], value, f"{where}: {key} = {value!r}")
    return kind(**values)


def _fitting(hint: Any, value: Any, where: str) -> Any:
    if get_origin(hint) is Literal:
        if value not in get_args(hint):
            raise RecipeError(f"{where}: it is one of {', '.join(get_args(hint))}")
    elif hint is bool:
        if not isinstance(value, bool):
            raise RecipeError(f"{where}: it is true or false")
    elif hint in (int, float):
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not (whole or (hint is float and isinstance(value, float))) or value < 0 or value != value:
            raise RecipeError(f"{where}: it must be a {'whole ' if hint is int else ''}number from 0")
    return value
