"""Everything that can be set about DSMCP, under the paper's symbols.

`Settings()` is the paper's appendix and its pseudo-code, nothing added; `PRESETS` are the paper's five variants, which
differ only in what the paper says. What plays by default is another preset, `penumbra.players.penumbra.presets`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from penumbra.configs.reader import (
    ConfigurationError,
    Count,
    NotNegative,
    Positive,
    Share,
    Unlimited,
    at_least,
    check,
    replaced,
)

Rule = Literal["ucb1", "avop"]
BeliefBandit = Literal["paper", "policy"]
Refill = Literal["paper", "current"]
Sampling = Literal["rejection", "enumeration"]
Choice = Literal["total", "mean", "visits", "proportional"]
Cut = Literal["random", "keyed"]

ROUNDS = 16  # batches in a search at least, while b is not the least; several in flight count as one
LEAST_B = 4


@dataclasses.dataclass(frozen=True)
class Settings:
    """The hyperparameters of the paper's appendix, then the choices its pseudo-code leaves open."""

    b: Count = 256  # batch size of inference
    c: NotNegative = 2.0  # exploration constant, for values from -1 to 1
    d: tuple[Count, ...] = (6, 12)  # search depth in steps, by the kind of the root's step: sense, move
    k: Count = 512  # persistence of rejection sampling
    ell: Count = 128  # ℓ: states in an approximate information state
    m: Unlimited = 1.0  # bandit mixing: 0 always the policy (cache), ∞ never (tree)
    n_particles: Count = 4096  # particles of a belief
    n_vl: Unlimited = 1.0  # virtual loss: visits
    z: Unlimited = math.inf  # visits of an action past which its playout goes one step deeper
    kappa: Share = 0.0  # κ, caution: share of playouts in which the opponent's ℓ is `cautious_ell`
    phi: Share = 0.0  # φ, paranoia: weight of the least value seen

    rule: Rule = "ucb1"  # or aVoP, "a variant of PUCT"
    virtual_value: Share = 0.5  # win probability of a virtual visit; the paper adds visits and no value: a draw
    visit_all: bool = False  # try every action once before any twice; else an unvisited one has its node's value
    belief_bandit: BeliefBandit = "paper"  # how a particle acts: "paper" is Algorithm 1 with its N and Q, "policy" τ̂
    sampling: Sampling = "rejection"  # of particles; "enumeration" weighs all their actions at once (belief.py)
    refill: Refill = "paper"  # which belief is refilled first: the oldest, or the current one (refill.py)
    refill_share: Share = 1 / 3  # of a step's time, for refilling
    adapt: bool = False  # shrink b until a step's evaluations are many batches, n_particles to a node budget
    weigh_ended: bool = False  # a playout that ends counts once for every step it had left
    belief_temperature: Positive = 1.0  # in the belief the opponent acts by τ̂^(1 / temperature)
    reply_temperature: Positive = 1.0  # in playouts the opponent acts by τ̂^(1 / temperature)
    choice: Choice = "total"  # of the root's statistics
    cut: Cut = "random"  # how sets are cut to ℓ; keyed cuts repeat, so that nodes do
    static_analysis: bool = True
    prune_senses: bool = False  # leave dominated senses out inside playouts too, not only at the root
    exposed_king: bool = False  # a playout in which our king can be taken in every state we hold possible is lost
    playouts: bool = True  # without: the network's policy alone acts
    memory_in_key: bool = False  # do equal sets with different memories share a node?
    cautious_ell: Count = 4
    in_flight: Count = 2  # batches of playouts under way, so that kernels and inference overlap
    table_entries: Annotated[int, at_least(4)] = 1 << 20
    memory_budget: int = 1 << 30  # bytes for all sets and beliefs of the game; the oldest steps go first
    seed: int | None = None  # None: different every game

    def __post_init__(self) -> None:
        check(self)
        if self.sampling == "enumeration" and self.belief_bandit == "paper":
            raise ConfigurationError(
                "sampling by enumeration needs belief_bandit = 'policy': a bandit has no probabilities"
            )

    def replace(self, **changes: Any) -> Settings:
        """The same settings but for these; an unknown name is refused."""
        return replaced(self, changes)

    def fitting_b(self, evaluations: float, at_once: int = 1) -> int:
        """A b with which so many evaluations are `ROUNDS` batches, each knowing what the ones before found.

        It is no smaller than the rows that an evaluator answers `at_once`: fewer would take as long.
        """
        b = self.b
        while b > max(LEAST_B, at_once) and b * max(self.d) * self.in_flight * ROUNDS > evaluations:
            b //= 2
        return b


PRESETS: Mapping[str, Settings] = {
    "mixture": Settings(),
    "tree": Settings(m=math.inf),
    "cache": Settings(m=0.0),
    "network": Settings(playouts=False),
    "simple": Settings(static_analysis=False),
}
