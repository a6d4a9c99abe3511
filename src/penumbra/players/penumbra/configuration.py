"""How Penumbra is configured: a TOML file, environment variables, both checked before anything starts.

    preset = "penumbra"       # what we ship, or a variant of the paper: mixture, tree, cache, network or simple
    evaluator = "network"     # or "heuristic": material and captures, without weights
    weights = "my.safetensors"  # or "lite" or "full", which come with the program; left out, full on cuda, else lite
    device = "auto"           # cpu, cpu32 (no eight bits), cuda, auto, or "unix:SOCKET" of an inference server
    seconds = 2.0             # for each step; left out, a share of what the clock allows
    nodes = 10000             # evaluations for each step, instead of seconds; b and n_particles shrink to suit
    policy = "Top"            # the headset of our policy π; left out, the preset's
    value = "All"             # the headset of the value ν; left out, the preset's
    unrecognised = "Top"      # the headset of an opponent that is not recognised, or several ("Top, All"), weighed
                              # by how well each foresees what it does; left out, the preset's
    replies = "Top"           # the headset of the opponent's replies in playouts; left out, the preset's
    recognize_as = "auto"     # whose policy the opponent is taken to have: a name, "none", or "auto" by its own name
    ponder = true             # go on thinking while the opponent does
    record = "decisions"      # a folder for the decisions of every game
    cap = 5000000             # states held at most
    seed = 1
    [settings]                # any setting of penumbra.dsmcp.settings, by its name
    c = 2.0
    [root]                    # any setting of penumbra.players.penumbra.root_settings
    prudence = 4.0

The file is named by PENUMBRA_CONFIG; each key above the table can also be a variable (PENUMBRA_PRESET and so on), which
comes before the file.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from penumbra.configs.reader import read_toml
from penumbra.dsmcp.settings import Settings, SettingsError
from penumbra.network import SCHEME
from penumbra.players.penumbra.presets import DEFAULT, PRESETS
from penumbra.players.penumbra.root_settings import RootSettings

EVALUATORS = ("network", "heuristic")
DEVICES = ("auto", "cpu", "cpu32", "cuda")


class ConfigurationError(ValueError):
    """A configuration that cannot be used; one line that says where and why."""


@dataclasses.dataclass(frozen=True)
class Configuration:
    """Everything that can be said about a Penumbra player before a game."""

    preset: str = DEFAULT
    evaluator: str = "network"
    weights: str | None = None
    device: str = "auto"
    seconds: float | None = None
    nodes: int | None = None
    policy: str | None = None
    value: str | None = None
    unrecognised: str | None = None
    replies: str | None = None
    recognize_as: str = "auto"
    ponder: bool = True
    record: str | None = None
    cap: int | None = None
    seed: int | None = None
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    root: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def dsmcp(self) -> Settings:
        """The preset with its changes."""
        changes = dict(self.settings)
        if self.seed is not None:
            changes["seed"] = self.seed
        return PRESETS[self.preset].dsmcp.replace(**changes)

    def root_settings(self) -> RootSettings:
        """The preset's judgement at the root with its changes."""
        return PRESETS[self.preset].root.replace(**self.root)

    def unrecognised_headsets(self) -> tuple[str, ...]:
        """Headsets that stand for an opponent that is not recognised."""
        if self.unrecognised is None:
            return PRESETS[self.preset].unrecognised
        return tuple(name.strip() for name in self.unrecognised.split(","))

    def policies(self) -> tuple[str, ...]:
        """Headsets that our policy may have: the first that the network knows."""
        return PRESETS[self.preset].policy if self.policy is None else (self.policy,)


def from_environment(environment: Mapping[str, str]) -> Configuration:
    """What the file named by PENUMBRA_CONFIG says, overridden by the other variables."""
    values: dict[str, Any] = {}
    path = environment.get("PENUMBRA_CONFIG")
    if path:
        values |= _read_file(Path(path))
    for key in _READERS:
        text = environment.get(f"PENUMBRA_{key.upper()}")
        if text:
            values[key] = _checked(key, text, f"PENUMBRA_{key.upper()}={text}")
    return _whole(values, f"PENUMBRA_CONFIG={path}" if path else "environment")


def from_file(path: str | Path) -> Configuration:
    """What a TOML file says."""
    return _whole(_read_file(Path(path)), str(path))


def from_table(table: Mapping[str, Any]) -> Configuration:
    """What a table with the same keys says, as one inside another file."""
    return _whole(_read_table(table), "settings")


def to_table(configuration: Configuration) -> dict[str, Any]:
    """The table, with what differs from the defaults, of which `from_table` makes this configuration."""
    plain = Configuration()
    return {
        field.name: dict(value) if field.name in ("settings", "root") else value
        for field in dataclasses.fields(configuration)
        if (value := getattr(configuration, field.name)) != getattr(plain, field.name)
    }


def _read_file(path: Path) -> dict[str, Any]:
    data = read_toml(path, ConfigurationError)
    try:
        return _read_table(data)
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from None


def _read_table(data: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in data.items():
        if key in ("settings", "root"):
            if not isinstance(value, dict):
                raise ConfigurationError(f"{key} is not a table")
            values[key] = value
        elif key in _READERS:
            values[key] = _checked(key, value, f"{key} = {value}")
        else:
            raise ConfigurationError(f"there is no {key!r}; there are {', '.join([*_READERS, 'settings', 'root'])}")
    return values


def _checked(key: str, value: Any, where: str) -> Any:
    try:
        return _READERS[key](value)
    except (ValueError, TypeError) as error:
        raise ConfigurationError(f"{where}: {error}") from None


def _whole(values: Mapping[str, Any], where: str) -> Configuration:
    configuration = Configuration(**values)
    try:
        configuration.dsmcp()
        configuration.root_settings()
    except (SettingsError, TypeError) as error:
        raise ConfigurationError(f"{where}: {error}") from None
    return configuration


def _one_of(names: tuple[str, ...]) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in names:
            raise ValueError(f"it is one of {', '.join(names)}")
        return str(value)

    return read


def _device(value: Any) -> str:
    if isinstance(value, str) and value.startswith(SCHEME) and len(value) > len(SCHEME):
        return value
    return _one_of((*DEVICES, f"{SCHEME}SOCKET"))(value)


def _seconds(value: Any) -> float:
    try:
        seconds = math.nan if isinstance(value, bool) else float(value)
    except (ValueError, TypeError):
        seconds = math.nan
    if not (0 < seconds < math.inf):
        raise ValueError("it must be a number of seconds above 0")
    return seconds


def _count(least: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        try:
            number = int(value) if isinstance(value, str) else value
        except ValueError:
            number = None
        if not isinstance(number, int) or isinstance(number, bool) or number < least:
            raise ValueError(f"it must be a whole number from {least}")
        return number

    return read


def _flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    words = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
    if str(value).lower() not in words:
        raise ValueError("it is true or false")
    return words[str(value).lower()]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("it must be a text")
    return value


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "preset": _one_of(tuple(PRESETS)),
    "evaluator": _one_of(EVALUATORS),
    "weights": _text,
    "device": _device,
    "seconds": _seconds,
    "nodes": _count(1),
    "policy": _text,
    "value": _text,
    "unrecognised": _text,
    "replies": _text,
    "recognize_as": _text,
    "ponder": _flag,
    "record": _text,
    "cap": _count(1_000),
    "seed": _count(0),
}


def headset(recognize_as: str, opponent_name: str, headsets: tuple[str, ...]) -> str | None:
    """The headset whose policy the opponent is taken to have; None for one that is not recognised.

    Names are compared without case, spaces and punctuation, and a program's name may go on: TroutBot is Trout.
    """
    if recognize_as == "none":
        return None
    wanted = _bare(opponent_name if recognize_as == "auto" else recognize_as)
    known = {_bare(name): name for name in headsets}
    found = known.get(wanted)
    if found is None and recognize_as == "auto":
        starts = [name for name in known if name and wanted.startswith(name)]
        found = known[max(starts, key=len)] if starts else None
    return found


def _bare(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
