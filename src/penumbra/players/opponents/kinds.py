"""The built-in opponents by kind, each with the settings that mean something to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penumbra.configs.reader import ConfigurationError, read, within
from penumbra.players.opponents.aggressive_tree import AggressiveTree, AggressiveTreeSettings
from penumbra.players.opponents.attacker import Attacker, AttackerSettings
from penumbra.players.opponents.dynamic_entropy import DynamicEntropy, DynamicEntropySettings
from penumbra.players.opponents.full_monte import FullMonte, FullMonteSettings
from penumbra.players.opponents.la_salle import LaSalle, LaSalleSettings
from penumbra.players.opponents.oracle import Oracle, OracleSettings
from penumbra.players.opponents.random_player import RandomPlayer
from penumbra.players.opponents.settings import OpponentSettings
from penumbra.players.opponents.stocky_inference import StockyInference, StockyInferenceSettings
from penumbra.players.opponents.strange_fish import StrangeFish, StrangeFish2, StrangeFish2Settings, StrangeFishSettings
from penumbra.players.opponents.trout import Trout, TroutSettings
from penumbra.players.player import Player


@dataclass(frozen=True)
class Kind:
    settings: type[OpponentSettings]
    make: Callable[[int, Any], Player]  # from a seed and its settings


def _random(seed: int, settings: OpponentSettings) -> Player:
    player = RandomPlayer(seed)
    player.name = settings.name or player.name
    return player


KINDS: dict[str, Kind] = {
    "random": Kind(OpponentSettings, _random),
    "attacker": Kind(AttackerSettings, Attacker),
    "trout": Kind(TroutSettings, Trout),
    "aggressive-tree": Kind(AggressiveTreeSettings, AggressiveTree),
    "full-monte": Kind(FullMonteSettings, FullMonte),
    "la-salle": Kind(LaSalleSettings, LaSalle),
    "stocky-inference": Kind(StockyInferenceSettings, StockyInference),
    "oracle": Kind(OracleSettings, Oracle),
    "dynamic-entropy": Kind(DynamicEntropySettings, DynamicEntropy),
    "strange-fish": Kind(StrangeFishSettings, StrangeFish),
    "strange-fish-2": Kind(StrangeFish2Settings, StrangeFish2),
}


def make_settings(kind: str, **settings: Any) -> OpponentSettings:
    """The settings of a kind, its own but for these; ConfigurationError if there is no such kind or key."""
    if kind not in KINDS:
        raise ConfigurationError(f"there is no kind {kind!r}; there are {', '.join(KINDS)}")
    with within(kind):
        return read(KINDS[kind].settings, settings)


def make_player(kind: str, seed: int, **settings: Any) -> Player:
    """A player of that kind. The same seed plays the same game against the same opponent."""
    made = make_settings(kind, **settings)
    return KINDS[kind].make(seed, made)
