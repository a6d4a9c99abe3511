"""Everything that can be set about DSMCP, under the paper's symbols, with the paper's values as defaults."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_type_hints

Rule = Literal["ucb1", "avop"]
BeliefBandit = Literal["paper", "policy"]
Choice = Literal["total", "mean", "bound", "visits", "proportional"]
Cut = Literal["random", "keyed"]


class SettingsError(ValueError):
    """A setting that does not exist or cannot have that value."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """The hyperparameters of the paper's appendix, then the choices its pseudo-code leaves open."""

    b: int = 256  # batch size of inference; a CPU wants less
    c: float = 2.0  # exploration constant, on the scale of win probabilities
    d: tuple[int, ...] = (6, 12)  # search depth in steps, by the kind of the root's step: sense, move
    k: int = 512  # persistence of rejection sampling
    ell: int = 128  # ℓ: states in an approximate information state
    m: float = 1.0  # bandit mixing: 0 always the policy (cache), ∞ never (tree)
    n_particles: int = 4096  # particles of a belief
    n_vl: float = 1.0  # virtual loss
    z: float = math.inf  # visits of an action past which its playout goes one step deeper
    kappa: float = 0.0  # κ, caution: share of playouts in which the opponent's ℓ is `cautious_ell`
    phi: float = 0.0  # φ, paranoia: weight of the least value seen

    rule: Rule = "ucb1"  # or aVoP, "a variant of PUCT"
    visit_all: bool = (
        False  # try every action once before any twice; else an unvisited one counts with its node's value
    )
    belief_bandit: BeliefBandit = "policy"  # how a particle acts: "paper" is Algorithm 1 with its N and Q
    weigh_ended: bool = True  # a playout that ends counts once for every step it had left
    choice: Choice = "total"  # of the root's statistics; the paper takes the largest total; "bound": mean - 1/√N
    temperature: float = 1.0  # the root is explored by π̄^(1 / temperature)
    prudence: float = 4.0  # π̄ of an action counts (1 - danger)^prudence, and none is reckless; 0: nobody asks
    stale: float = 0.5  # what an action still weighs for each time past the fourth that it was taken; 1: as much
    cut: Cut = "random"  # how sets are cut to ℓ; keyed cuts repeat, so that nodes do
    static_analysis: bool = True
    playouts: bool = True  # without: the network's policy alone acts
    memory_in_key: bool = False  # do equal sets with different memories share a node?
    cautious_ell: int = 4
    in_flight: int = 2  # batches of playouts under way, so that kernels and inference overlap
    table_entries: int = 1 << 20
    memory_budget: int = 1 << 30  # bytes for all sets and beliefs of the game; the oldest steps go first
    seed: int | None = None  # None: different every game

    def __post_init__(self) -> None:
        least = {"b": 1, "k": 1, "ell": 1, "n_particles": 1, "in_flight": 1, "cautious_ell": 1, "table_entries": 4}
        for name, value in least.items():
            if getattr(self, name) < value:
                raise SettingsError(f"{name} is {getattr(self, name)}; it must be at least {value}")
        for name in ("kappa", "phi", "stale"):
            if not 0 <= getattr(self, name) <= 1:
                raise SettingsError(f"{name} is {getattr(self, name)}; it is a share from 0 to 1")
        for name in ("c", "m", "n_vl", "z", "prudence"):
            if not getattr(self, name) >= 0:
                raise SettingsError(f"{name} is {getattr(self, name)}; it must not be negative")
        if not self.temperature > 0:
            raise SettingsError(f"temperature is {self.temperature}; it must be above 0")
        if not self.d or min(self.d) < 1:
            raise SettingsError(f"d is {self.d}; it needs a depth of at least one for each kind of step")
        hints = get_type_hints(type(self))
        for name in ("rule", "belief_bandit", "choice", "cut"):
            if getattr(self, name) not in get_args(hints[name]):
                raise SettingsError(
                    f"{name} is {getattr(self, name)!r}; it is one of {', '.join(get_args(hints[name]))}"
                )

    def replace(self, **changes: Any) -> Settings:
        """The same settings but for these; an unknown name is refused."""
        names = {field.name for field in dataclasses.fields(self)}
        for name in changes:
            if name not in names:
                raise SettingsError(f"there is no setting {name!r}; there are {', '.join(sorted(names))}")
        if isinstance(changes.get("d"), list):
            changes["d"] = tuple(changes["d"])
        return dataclasses.replace(self, **changes)


PRESETS: Mapping[str, Settings] = {
    "mixture": Settings(),
    "tree": Settings(m=math.inf),
    "cache": Settings(m=0.0),
    "network": Settings(playouts=False, prudence=0.0),
    "simple": Settings(static_analysis=False, prudence=0.0),
}
