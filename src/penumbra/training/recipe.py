"""What a network is and how it learns, as a TOML file says:

    [network]
    n_width = 128
    n_depth = 10
    synopsis = "binary"    # or "shares", or "graded", which is both

    [training]             # any field of Training below
    optimizer = "sgd"
    learning_rate = 0.0005

    [loss]                 # the weight of each head
    policy = 1.0
    softmax = "all"        # the policy's probabilities are over all actions, not over the "legal" ones
    engine = 0.3           # another head, for training alone, that learns the native engine's chance to win
    mixing = 0.3           # λ: the value learns (1 - λ) result + λ engine's chance

    [examples]             # how games become examples
    cap = 5000
    engine_states = 16     # of each set, of which the engine is asked

    [headsets.All]         # one table for each headset, in order
    players = "all"        # "all", "top" (the top third by rating) or a list of names; by default the headset's own
    weight = 15            # how often it is trained, beside the others
    multiplicity = 4       # examples made of each step, by different draws
    stop_gradient = false  # learns from the tower without teaching it

With `like = "lite"` first, the file says only what it has otherwise than another one, beside it or of those that come
with the program.

A network that goes on from given weights has their size and headsets where the recipe has no [network]; a headset that
only the recipe has starts as a copy of `All`. Everything is checked before anything starts.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from penumbra.configs.reader import (
    ConfigurationError,
    Count,
    Natural,
    NotNegative,
    OneOf,
    Share,
    Unlimited,
    read,
    read_toml,
    within,
)
from penumbra.configs.shipped import find
from penumbra.network.architecture import Architecture
from penumbra.network.weights import Weights, WeightsError
from penumbra.training.examples import ExampleSettings

EVERYBODY, THE_BEST = "all", "top"
Softmax = Literal["legal", "all"]
EngineOf = Literal["set", "truth"]


@dataclass(frozen=True)
class Plan:
    """What one headset learns from, and how much."""

    players: Annotated[str, OneOf((EVERYBODY, THE_BEST))] | tuple[str, ...] = ()  # none: the headset's own
    weight: NotNegative = 1.0
    multiplicity: Count = 4
    stop_gradient: bool = False


@dataclass(frozen=True)
class LossWeights:
    """What each head counts."""

    policy: NotNegative = 1.0
    value: NotNegative = 1.0
    soon: NotNegative = 0.2
    pieces: NotNegative = 0.1
    softmax: Softmax = "legal"  # the actions that share the policy's probability
    engine: NotNegative = 0.0  # the head that learns the engine's chance to win; above 0 it is there
    engine_of: EngineOf = "set"  # that chance: the mean over the states that the player holds possible, or in truth
    mixing: Share = 0.0  # λ: of the engine's chance in what the value learns, beside the result
    mixing_half: NotNegative = 0.0  # own steps before the last at which half of λ counts, later less; 0: always all
    softening: Share = 0.0  # s: a result counts as ±(1 - s), so that the value learns to be less sure

    @property
    def need_engine(self) -> bool:
        return self.engine > 0 or self.mixing > 0

    @property
    def need_auxiliary_heads(self) -> bool:
        return self.soon > 0 or self.pieces > 0


@dataclass(frozen=True)
class Training:
    """How the weights change. The defaults are the paper's."""

    optimizer: Literal["sgd", "adamw"] = "sgd"
    learning_rate: NotNegative = 0.0005  # ε
    momentum: NotNegative = 0.0
    weight_decay: NotNegative = 0.0
    value_rate: NotNegative = 1.0  # the learning rate of value heads, as a share of ε
    schedule: Literal["constant", "cosine"] = "constant"
    warm_up: Natural = 0  # steps over which the learning rate rises from nothing
    batch: Count = 256
    steps: Natural = 650_000  # n_batches
    seconds: Unlimited = math.inf  # stop earlier, the schedule following the time
    mixed_precision: bool = False
    on_the_fly: bool = False  # start while the examples are still being made; not the same numbers every time
    seed: Natural = 0


@dataclass(frozen=True)
class Recipe:
    """Everything but the games."""

    architecture: Architecture
    plans: Mapping[str, Plan]
    training: Training = field(default_factory=Training)
    loss: LossWeights = field(default_factory=LossWeights)
    examples: ExampleSettings = field(default_factory=ExampleSettings)
    any_size: bool = False  # no [network]: weights to go on from may have any size and other headsets too

    def going_on_from(self, weights: Weights) -> Recipe:
        """The same for a network that begins with these weights; WeightsError where they do not fit."""
        has = weights.architecture
        if self.any_size:
            new = tuple(name for name in self.plans if name not in has.headsets)
            if new and "All" not in has.headsets:
                raise WeightsError(f"has no headset All, of which the recipe's {', '.join(new)} would be copies")
            return dataclasses.replace(
                self,
                architecture=dataclasses.replace(has, headsets=(*has.headsets, *new)),
                examples=dataclasses.replace(self.examples, synopsis=has.synopsis),
            )
        if has != self.architecture:
            raise WeightsError("is not a network of the recipe's size, headsets and synopsis")
        return self

    def __post_init__(self) -> None:
        reads, made = self.architecture.synopsis, self.examples.synopsis
        if reads != made:
            raise ValueError(f"the network reads {reads} synopses, but the examples have {made} ones")
        if self.loss.need_engine and not self.examples.engine_states:
            raise ValueError("[loss] asks for the engine's chance to win; [examples] needs engine_states above 0")


@dataclass(frozen=True)
class _File:
    """The tables of the file."""

    like: str = ""  # another recipe, which has all that is not said here
    headsets: Mapping[str, Plan] = field(default_factory=dict)
    network: Architecture | None = None
    training: Training = field(default_factory=Training)
    loss: LossWeights = field(default_factory=LossWeights)
    examples: ExampleSettings = field(default_factory=ExampleSettings)


def read_recipe(path_or_name: str | Path, **training: Any) -> Recipe:
    """What a TOML file says, or one that comes with the program; keywords come before its [training]."""
    path = find(path_or_name)
    table = _whole(path, ())
    with within(path):
        if isinstance(table.get("training", {}), dict):
            table["training"] = {**table.get("training", {}), **training}
        given = read(_File, table)
        if not given.headsets:
            raise ConfigurationError("no headsets; there must be [headsets.All] or another")
        plans = {
            name: dataclasses.replace(plan, players=plan.players or (name,)) for name, plan in given.headsets.items()
        }
        network = given.network or Architecture()
        return Recipe(
            dataclasses.replace(network, headsets=tuple(plans)),
            plans,
            given.training,
            given.loss,
            dataclasses.replace(
                given.examples,
                multiplicity=max(plan.multiplicity for plan in plans.values()),
                synopsis=network.synopsis,
            ),
            any_size=given.network is None,
        )


def _whole(path: Path, above: tuple[Path, ...]) -> dict[str, Any]:
    """The tables of a file, on those of the recipe that it is like; `above` are those that are like this one."""
    table = read_toml(path)
    like = table.pop("like", "")
    with within(path):
        if path in above or not isinstance(like, str):
            raise ConfigurationError(f"like = {like!r}: it must be the name of a recipe that is not like this one")
        if not like:
            return table
        beside = path.parent / like
        base = find(beside if beside.is_file() else like)
    return _merged(_whole(base, (*above, path)), table)


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Tables into each other, key by key; where both have a key that is no table, that of `above` counts."""
    found = {**below, **above}
    for key in below.keys() & above.keys():
        if isinstance(below[key], dict) and isinstance(above[key], dict):
            found[key] = _merged(below[key], above[key])
    return found


def recipe_of(weights: Weights) -> Recipe:
    """Whose steps each headset of some weights has learned from, as their header says."""
    players = json.loads(weights.about.get("players", "{}"))
    usual = {"All": EVERYBODY, "Top": THE_BEST}
    plans = {}
    for name in weights.architecture.headsets:
        given = players.get(name, usual.get(name, [name]))
        plans[name] = Plan(given if isinstance(given, str) else tuple(given), multiplicity=1)
    return Recipe(weights.architecture, plans, examples=ExampleSettings(synopsis=weights.architecture.synopsis))
