"""The programs one can play against or watch, by their names in the registry, with a line about each."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from penumbra.players import registry
from penumbra.players.penumbra.configuration import Configuration
from penumbra.players.penumbra.presets import PRESETS
from penumbra.players.player import Player
from penumbra.server.messages import Refusal, Side, Strength

ANALYSED = 200_000  # states that an analysis follows

# From the strongest to the weakest, as far as they have been rated; what is not here comes last.
_LINES = {
    "penumbra": "plans with deep synoptic Monte Carlo search",
    "strange-fish-2": "tracks every state and weighs what each sense would change",
    "strange-fish": "tracks every state and asks an engine about many of them",
    "stocky-inference": "tracks every state, most of all those in which it is in danger",
    "oracle": "tracks every state and takes an engine's votes",
    "dynamic-entropy": "looks at few moves, replies to them and how much it would then know",
    "la-salle": "keeps clouds of where each piece may be",
    "trout": "trusts one board, as last seen, and asks an engine",
    "hunter": "tracks every state and hunts what it expects to find",
    "aggressive-tree": "looks for the shortest way to your king",
    "attacker": "tries a quick attack from memory",
    "full-monte": "plays random games to their end in its head",
    "random": "does anything that is allowed",
}


@dataclass(frozen=True)
class Bot:
    """A program as the page offers it."""

    name: str
    title: str
    line: str
    takes_strength: bool

    @property
    def family(self) -> str:
        return self.name.partition(":")[0]


def bots() -> list[Bot]:
    """Everything that the registry makes, the strongest families first."""
    known = [_bot(name) for name in (*registry.names(), *registry.RECONCHESS_NAMES)]
    order = list(_LINES)
    return sorted(known, key=lambda bot: order.index(bot.family) if bot.family in order else len(order))


def check(side: Side) -> None:
    if side.player not in {bot.name for bot in bots()}:
        raise Refusal("unknown player", f"there is no player {side.player!r}")


def configured(strength: Strength, base: Configuration) -> Configuration:
    """The server's configuration with the strength asked for. Nothing is recorded, and each game has its own seed."""
    return dataclasses.replace(base, **strength.of(base), record=None, seed=None)


def analyst(preset: str, strength: Strength, base: Configuration) -> Configuration:
    """Penumbra as it looks at games that are over."""
    if preset not in PRESETS:
        raise Refusal("unknown preset", f"there is no preset {preset!r}; there are {', '.join(PRESETS)}")
    return dataclasses.replace(configured(strength, base), preset=preset, ponder=False, seed=0, cap=ANALYSED)


def make(name: str, seed: int, configuration: Configuration) -> Player:
    return registry.make(name, seed, configuration)


def _bot(name: str) -> Bot:
    family, _, preset = name.partition(":")
    title = "".join(word.capitalize() for word in family.split("-"))
    return Bot(name, f"{title} · {preset}" if preset else title, _LINES.get(family, ""), registry.is_penumbra(name))
