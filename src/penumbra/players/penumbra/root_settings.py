"""What is added to the paper at the root of a search, by `penumbra.players.penumbra.root`.

Numpy is not needed to read it.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from penumbra.configs.reader import Natural, NotNegative, Share, check, replaced


@dataclasses.dataclass(frozen=True)
class RootSettings:
    """What is added at the root; the defaults add nothing."""

    prudence: NotNegative = 0.0  # scale the prior of a move by (1 - danger)^prudence; 0 disables
    reckless: Share = 1.0  # drop moves whose danger exceeds that of the safest one by this much; 1 disables
    repetition_decay: Share = 1.0  # score multiplier for each repetition of a move beyond the fourth; 1 disables
    engine_weight: NotNegative = 0.0  # scale a move's prior by e^(weight / states^fall · its engine win probability)
    engine_fall: Share = 0.5  # how fast that falls with the number of states; 1/2: by its root
    engine_states: Natural = 32  # where no more states than this are possible
    engine_sampled: bool = False  # where more are, in as many of those that the belief holds
    engine_share: Share = 0.25  # of a step's time, for the engine
    sense_weight: NotNegative = 0.0  # scale the prior of a sense by e^(weight · what the next move is worth after it)

    def __post_init__(self) -> None:
        check(self)

    def replace(self, **changes: Any) -> RootSettings:
        """The same settings but for these; an unknown name is refused."""
        return replaced(self, changes)
