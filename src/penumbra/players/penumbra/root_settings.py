"""What is added to the paper at the root of a search, by `penumbra.players.penumbra.root`.

Numpy is not needed to read it.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from penumbra.dsmcp.settings import SettingsError


@dataclasses.dataclass(frozen=True)
class RootSettings:
    """What is added at the root; the defaults add nothing."""

    prudence: float = 0.0  # scale the prior of a move by (1 - danger)^prudence; 0 disables
    reckless: float = 1.0  # drop moves whose danger exceeds that of the safest one by this much; 1 disables
    repetition_decay: float = 1.0  # score multiplier for each repetition of a move beyond the fourth; 1 disables
    engine_weight: float = 0.0  # scale the prior of a move by e^(weight / √states · win probability by the engine)
    engine_states: int = 32  # where no more states than this are possible
    engine_sampled: bool = False  # where more are, in as many of those that the belief holds
    engine_share: float = 0.25  # of a step's time, for the engine
    sense_weight: float = 0.0  # scale the prior of a sense by e^(weight · what the next move is worth after it)

    def __post_init__(self) -> None:
        for name in ("prudence", "engine_weight", "engine_states", "sense_weight"):
            if not getattr(self, name) >= 0:
                raise SettingsError(f"{name} is {getattr(self, name)}; it must not be negative")
        for name in ("reckless", "repetition_decay", "engine_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise SettingsError(f"{name} is {getattr(self, name)}; it is a share from 0 to 1")

    def replace(self, **changes: Any) -> RootSettings:
        """The same settings but for these; an unknown name is refused."""
        names = {field.name for field in dataclasses.fields(self)}
        for name in changes:
            if name not in names:
                raise SettingsError(f"there is no root setting {name!r}; there are {', '.join(sorted(names))}")
        return dataclasses.replace(self, **changes)
