"""Everything that can be set about DSMCP, under the paper's symbols.

`Settings()` is the paper's appendix and its pseudo-code, nothing added; `PRESETS` are the paper's five variants, which
differ only in what the paper says. What plays by default is another preset, `penumbra.players.penumbra.presets`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_type_hints

Rule = Literal["ucb1", "avop"]
BeliefBandit = Literal["paper", "policy"]
Refill = Literal["paper", "current"]
Sampling = Literal["rejection", "enumeration"]
Choice = Literal["total", "mean", "visits", "proportional"]
Cut = Literal["random", "keyed"]


class SettingsError(ValueError):
    """A setting that does not exist or cannot have that value."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """The hyperparameters of the paper's appendix, then the choices its pseudo-code leaves open."""

    b: int = 256  # batch size of inference
    c: float = 2.0  # exploration constant, for values from -1 to 1
    d: tuple[int, ...] = (6, 12)  # search depth in steps, by the kind of the root's step: sense, move
    k: int = 512  # persistence of rejection sampling
    ell: int = 128  # ℓ: states in an approximate information state
    m: float = 1.0  # bandit mixing: 0 always the policy (cache), ∞ never (tree)
    n_particles: int = 4096  # particles of a belief
    n_vl: float = 1.0  # virtual loss: visits
    z: float = math.inf  # visits of an action past which its playout goes one step deeper
    kappa: float = 0.0  # κ, caution: share of playouts in which the opponent's ℓ is `cautious_ell`
    phi: float = 0.0  # φ, paranoia: weight of the least value seen

    rule: Rule = "ucb1"  # or aVoP, "a variant of PUCT"
    virtual_value: float = (
        0.5  # win probability of a virtual visit; the paper adds visits and no value, which is a draw
    )
    visit_all: bool = False  # try every action once before any twice; else an unvisited one has its node's value
    belief_bandit: BeliefBandit = "paper"  # how a particle acts: "paper" is Algorithm 1 with its N and Q, "policy" τ̂
    sampling: Sampling = "rejection"  # of particles; "enumeration" weighs all their actions at once (belief.py)
    refill: Refill = "paper"  # which belief is refilled first: the oldest, or the current one (refill.py)
    refill_share: float = 1 / 3  # of a step's time, for refilling
    adapt: bool = False  # shrink b to what the evaluator can serve in the step's time, n_particles to a node budget
    weigh_ended: bool = False  # a playout that ends counts once for every step it had left
    belief_temperature: float = 1.0  # in the belief the opponent acts by τ̂^(1 / temperature)
    reply_temperature: float = 1.0  # in playouts the opponent acts by τ̂^(1 / temperature)
    choice: Choice = "total"  # of the root's statistics
    cut: Cut = "random"  # how sets are cut to ℓ; keyed cuts repeat, so that nodes do
    static_analysis: bool = True
    prune_senses: bool = False  # leave dominated senses out inside playouts too, not only at the root
    exposed_king: bool = False  # a playout in which our king can be taken in every state we hold possible is lost
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
        for name in ("kappa", "phi", "virtual_value", "refill_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise SettingsError(f"{name} is {getattr(self, name)}; it is a share from 0 to 1")
        for name in ("c", "m", "n_vl", "z"):
            if not getattr(self, name) >= 0:
                raise SettingsError(f"{name} is {getattr(self, name)}; it must not be negative")
        if not self.d or min(self.d) < 1:
            raise SettingsError(f"d is {self.d}; it needs a depth of at least one for each kind of step")
        for name in ("belief_temperature", "reply_temperature"):
            if not getattr(self, name) > 0:
                raise SettingsError(f"{name} is {getattr(self, name)}; it must be above 0")
        hints = get_type_hints(type(self))
        for name in ("rule", "belief_bandit", "sampling", "refill", "choice", "cut"):
            if getattr(self, name) not in get_args(hints[name]):
                raise SettingsError(
                    f"{name} is {getattr(self, name)!r}; it is one of {', '.join(get_args(hints[name]))}"
                )
        if self.sampling == "enumeration" and self.belief_bandit == "paper":
            raise SettingsError("sampling by enumeration needs belief_bandit = 'policy': a bandit has no probabilities")

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
    "network": Settings(playouts=False),
    "simple": Settings(static_analysis=False),
}
