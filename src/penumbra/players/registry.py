"""The players by name. A name means the same player in every command, in files, on the server and on its page.

Names without a prefix are ours, `penumbra:tree` and the like are presets of Penumbra, `penumbra:1` to `penumbra:5` its
levels, and `reconchess:trout` and the like are reconchess' own players. Those run in a process of their own, by a
module above this one, which is looked for only when such a player is made.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from penumbra.configs.reader import read, read_toml, within
from penumbra.players.opponents.aggressive_tree import AggressiveTree, AggressiveTreeSettings
from penumbra.players.opponents.attacker import Attacker, AttackerSettings
from penumbra.players.opponents.dynamic_entropy import DynamicEntropy, DynamicEntropySettings
from penumbra.players.opponents.full_monte import FullMonte, FullMonteSettings
from penumbra.players.opponents.hunter import Hunter
from penumbra.players.opponents.la_salle import LaSalle, LaSalleSettings
from penumbra.players.opponents.oracle import Oracle, OracleSettings
from penumbra.players.opponents.random_player import RandomPlayer
from penumbra.players.opponents.settings import OpponentSettings
from penumbra.players.opponents.stocky_inference import StockyInference, StockyInferenceSettings
from penumbra.players.opponents.strange_fish import StrangeFish, StrangeFish2, StrangeFish2Settings, StrangeFishSettings
from penumbra.players.opponents.trout import Trout, TroutSettings
from penumbra.players.penumbra.configuration import Configuration, from_table
from penumbra.players.penumbra.factory import make_penumbra
from penumbra.players.penumbra.presets import DEFAULT, PRESETS
from penumbra.players.player import Player

PENUMBRA = "penumbra"
ISOLATION = "penumbra.interop.isolated_player"  # makes the players of reconchess
RATINGS = Path(__file__).with_name("ratings.toml")
LEVELS = read_toml(Path(__file__).with_name("penumbra") / "levels.toml")  # configurations, by the level's number

PRESET_LINES = {
    DEFAULT: "plans with deep synoptic Monte Carlo search, the paper's and what was found to improve on it",
    "mixture": "is the paper's main variant: policy and bandit mixed by the number of visits (m = 1)",
    "tree": "is the paper's variant that always asks the bandit (m = ∞)",
    "cache": "is the paper's variant that always draws from the policy (m = 0)",
    "network": "is the paper's variant without search: the policy's favourite",
    "simple": "is the paper's variant without static analysis",
}

Build = Callable[[int | None, Any], Player]  # from a seed, None for an arbitrary one, and settings


class UnknownPlayer(ValueError):
    """A name that is not in the registry; one line with those that are."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no player {name!r}; known are {', '.join(names())}")


@dataclass(frozen=True)
class Entry:
    """What is known of a name."""

    name: str
    title: str  # for people to read
    line: str  # its style: what follows the title in a sentence
    settings: type[OpponentSettings] | type[Configuration]
    build: Build
    module: str | None = None  # of a player of reconchess
    needs_stockfish: bool = False

    @property
    def rating(self) -> int | None:
        """Elo at its default settings, where it has been measured."""
        return _ratings().get(self.name)


@cache
def _ratings() -> Mapping[str, int]:
    return read_toml(RATINGS)


def _penumbra(preset: str) -> Entry:
    def build(seed: int | None, configuration: Configuration) -> Player:
        chosen = configuration.preset if preset == DEFAULT else preset
        seed = configuration.seed if seed is None else seed
        return make_penumbra(dataclasses.replace(configuration, preset=chosen, seed=seed))

    name, title = (PENUMBRA, "Penumbra") if preset == DEFAULT else (f"{PENUMBRA}:{preset}", f"Penumbra · {preset}")
    return Entry(name, title, PRESET_LINES[preset], Configuration, build)


def _level(number: str, table: Mapping[str, Any]) -> Entry:
    """Penumbra as strong as a level says, on the device and with the weights of the configuration."""
    level = from_table({key: value for key, value in table.items() if key != "style"})

    def build(seed: int | None, configuration: Configuration) -> Player:
        player = make_penumbra(
            dataclasses.replace(
                configuration,
                preset=level.preset,
                evaluator=level.evaluator,
                seconds=None,
                nodes=level.nodes,
                settings={**configuration.settings, **level.settings},
                seed=configuration.seed if seed is None else seed,
            )
        )
        player.name = title
        return player

    title = f"Penumbra, level {number}"
    return Entry(f"{PENUMBRA}:{number}", title, table["style"], Configuration, build)


def _opponent(name: str, title: str, line: str, settings: type[OpponentSettings], make: Callable[..., Player]) -> Entry:
    """A player with settings of its own."""
    return Entry(name, title, line, settings, lambda seed, made: make(seed or 0, made))


def _simple(name: str, title: str, line: str, make: Callable[[int | None], Hunter | RandomPlayer]) -> Entry:
    """A player whose only setting is its name."""

    def build(seed: int | None, settings: OpponentSettings) -> Player:
        player = make(seed)
        player.name = settings.name or player.name
        return player

    return Entry(name, title, line, OpponentSettings, build)


def _reconchess(name: str, title: str, style: str, needs_stockfish: bool = False) -> Entry:
    line = f"is reconchess' own: {style}"
    return _isolated(f"reconchess:{name}", title, line, f"reconchess.bots.{name}_bot", needs_stockfish)


def _isolated(name: str, title: str, line: str, module: str, needs_stockfish: bool = False) -> Entry:
    """A player of reconchess, in a process of its own."""

    def build(seed: int | None, settings: OpponentSettings) -> Player:
        made: Player = import_module(ISOLATION).make_isolated(module, settings.name or title, seed, needs_stockfish)
        return made

    return Entry(name, title, line, OpponentSettings, build, module, needs_stockfish)


# From the strongest to the weakest, as far as they have been rated.
_ENTRIES = (
    *(_penumbra(preset) for preset in PRESETS),
    *(_level(number, table) for number, table in reversed(LEVELS.items())),
    _opponent(
        "strange-fish-2",
        "StrangeFish2",
        "tracks every state and weighs what each sense would change",
        StrangeFish2Settings,
        StrangeFish2,
    ),
    _opponent(
        "strange-fish",
        "StrangeFish",
        "tracks every state and asks an engine about many of them",
        StrangeFishSettings,
        StrangeFish,
    ),
    _opponent(
        "stocky-inference",
        "StockyInference",
        "tracks every state, most of all those in which it is in danger",
        StockyInferenceSettings,
        StockyInference,
    ),
    _opponent("oracle", "Oracle", "tracks every state and takes an engine's votes", OracleSettings, Oracle),
    _opponent(
        "dynamic-entropy",
        "DynamicEntropy",
        "looks at few moves, replies to them and how much it would then know",
        DynamicEntropySettings,
        DynamicEntropy,
    ),
    _opponent("la-salle", "LaSalle", "keeps clouds of where each piece may be", LaSalleSettings, LaSalle),
    _opponent("trout", "Trout", "trusts one board, as last seen, and asks an engine", TroutSettings, Trout),
    _simple("hunter", "Hunter", "tracks every state and hunts what it expects to find", lambda seed: Hunter(seed or 0)),
    _opponent(
        "aggressive-tree",
        "AggressiveTree",
        "looks for the shortest way to your king",
        AggressiveTreeSettings,
        AggressiveTree,
    ),
    _opponent("attacker", "Attacker", "tries a quick attack from memory", AttackerSettings, Attacker),
    _opponent("full-monte", "FullMonte", "plays random games to their end in its head", FullMonteSettings, FullMonte),
    _simple("random", "Random", "does anything that is allowed", RandomPlayer),
    _reconchess("trout", "TroutBot", "trusts one board, as last seen, and asks Stockfish", needs_stockfish=True),
    _reconchess("attacker", "AttackerBot", "tries a quick attack from memory"),
    _reconchess("random", "RandomBot", "does anything that is allowed"),
)
ENTRIES: dict[str, Entry] = {entry.name: entry for entry in _ENTRIES}


def names() -> list[str]:
    """Everything that `make` knows."""
    return list(ENTRIES)


def add_file(path: str | Path, title: str) -> None:
    """A file with a player of reconchess: in this process it is known by the file's name from now on."""
    file = Path(path).resolve()
    known = ENTRIES.get(file.stem)
    if known is not None and known.module != str(file):
        raise ValueError(f"{path}: there is a player {file.stem!r} already; give the file another name")
    ENTRIES[file.stem] = _isolated(file.stem, title, f"is your own, from {file.name}", str(file))


def entry(name: str) -> Entry:
    if name not in ENTRIES:
        raise UnknownPlayer(name)
    return ENTRIES[name]


def is_penumbra(name: str) -> bool:
    return name.partition(":")[0] == PENUMBRA


def takes_strength(name: str) -> bool:
    """Whether seconds or nodes of a configuration matter to the player: a level has its own."""
    return is_penumbra(name) and name.partition(":")[2] not in LEVELS


def make(name: str, seed: int | None = None, configuration: Configuration | None = None) -> Player:
    """The player of that name; a configuration matters to Penumbra alone, whose preset the name decides."""
    known = entry(name)
    given = (configuration or Configuration()) if is_penumbra(name) else known.settings()
    return known.build(seed, given)


def make_with_settings(name: str, seed: int, settings: Mapping[str, Any]) -> Player:
    """The same with settings as a file has them; ValueError if one is wrong. The same seed plays the same game."""
    return entry(name).build(seed, make_settings(name, settings))


def make_settings(name: str, settings: Mapping[str, Any]) -> Any:
    """The settings of a player, its own but for these; ValueError if there is no such key or value."""
    made = entry(name).settings
    if issubclass(made, Configuration):
        return from_table(settings)
    with within(name):
        return read(made, settings)
