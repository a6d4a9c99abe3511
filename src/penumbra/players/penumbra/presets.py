"""The presets by name: the paper's variants, pure, and `penumbra`, which is what plays by default.

`penumbra` is the only place that overrides the paper. docs/algorithm.md has a table with the measured reason of every
difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penumbra.dsmcp.settings import PRESETS as PAPER
from penumbra.dsmcp.settings import Settings
from penumbra.players.penumbra.root_settings import RootSettings


@dataclass(frozen=True)
class Preset:
    """Settings of the algorithms, judgement added at the root, and the headsets of π and ν."""

    dsmcp: Settings
    root: RootSettings = field(default_factory=RootSettings)
    policy: tuple[str, ...] = ("Top",)  # π: the first of these that the network has
    value: str = "All"  # ν
    # τ̂ of an opponent that is not recognised, in the belief; several are weighed by behaviour (opponent_model.py)
    unrecognised: tuple[str, ...] = ("Top",)
    replies: tuple[str, ...] = ()  # τ̂ in playouts, the first that the network has; none: the same as in the belief


DEFAULT = "penumbra"

PRESETS: Mapping[str, Preset] = {
    DEFAULT: Preset(
        Settings(
            belief_bandit="policy",
            sampling="enumeration",
            refill="current",
            adapt=True,
            belief_temperature=1.5,
        ),
        RootSettings(prudence=4.0, reckless=0.15, repetition_decay=0.5, engine_weight=64.0, sense_weight=30.0),
        policy=("Penumbra", "Top"),
        unrecognised=("All", "Top", "Penumbra"),
    ),
    **{name: Preset(settings) for name, settings in PAPER.items()},
}
