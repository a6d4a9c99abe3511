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
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from penumbra.configs.reader import (
    Count,
    Natural,
    OneOf,
    Positive,
    at_least,
    checked,
    from_text,
    read_toml,
    within,
)
from penumbra.dsmcp.settings import Settings
from penumbra.network import SCHEME
from penumbra.players.penumbra.presets import DEFAULT, PRESETS
from penumbra.players.penumbra.root_settings import RootSettings

EVALUATORS = ("network", "heuristic")
DEVICES = ("auto", "cpu", "cpu32", "cuda")
TABLES = ("settings", "root")  # keys that no variable has


class _DeviceNames(OneOf):
    """Those above, and any socket."""

    def allows(self, value: Any) -> bool:
        return value in DEVICES or (value.startswith(SCHEME) and len(value) > len(SCHEME))


EvaluatorName = Annotated[str, OneOf(EVALUATORS)]
Preset = Annotated[str, OneOf(tuple(PRESETS))]
Device = Annotated[str, _DeviceNames((*DEVICES, f"{SCHEME}SOCKET"))]


@dataclasses.dataclass(frozen=True)
class Configuration:
    """Everything that can be said about a Penumbra player before a game."""

    preset: Preset = DEFAULT
    evaluator: EvaluatorName = "network"
    weights: str | None = None
    device: Device = "auto"
    seconds: Positive | None = None
    nodes: Count | None = None
    policy: str | None = None
    value: str | None = None
    unrecognised: str | None = None
    replies: str | None = None
    recognize_as: str = "auto"
    ponder: bool = True
    record: str | None = None
    cap: Annotated[int, at_least(1_000)] | None = None
    seed: Natural | None = None
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
    path = environment.get("PENUMBRA_CONFIG")
    values = _read_file(path) if path else {}
    for key in (field.name for field in dataclasses.fields(Configuration) if field.name not in TABLES):
        text = environment.get(f"PENUMBRA_{key.upper()}")
        if text:
            with within(f"PENUMBRA_{key.upper()}={text}"):
                values[key] = from_text(Configuration, key, text)
    with within(f"PENUMBRA_CONFIG={path}" if path else "environment"):
        return _whole(values)


def from_file(path: str | Path) -> Configuration:
    """What a TOML file says."""
    values = _read_file(path)
    with within(path):
        return _whole(values)


def from_table(table: Mapping[str, Any]) -> Configuration:
    """What a table with the same keys says, as one inside another file."""
    return _whole(checked(Configuration, table))


def to_table(configuration: Configuration) -> dict[str, Any]:
    """The table, with what differs from the defaults, of which `from_table` makes this configuration."""
    plain = Configuration()
    return {
        field.name: dict(value) if field.name in TABLES else value
        for field in dataclasses.fields(configuration)
        if (value := getattr(configuration, field.name)) != getattr(plain, field.name)
    }


def _read_file(path: str | Path) -> dict[str, Any]:
    table = read_toml(path)
    with within(path):
        return checked(Configuration, table)


def _whole(values: Mapping[str, Any]) -> Configuration:
    configuration = Configuration(**values)
    with within("settings"):
        configuration.dsmcp()
    with within("root"):
        configuration.root_settings()
    return configuration


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
