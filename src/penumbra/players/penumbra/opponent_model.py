"""Recognition by behaviour: τ̂ as a mixture of headsets, each weighed by how well it foresaw what we observed.

    w_h   the weight of headset h, of sum 1
    J     a particle of the belief before the opponent's move; X the states that our sense after it left possible

Under headset h the observation had the probability p_h: the mean over particles J of Σ_a τ̂_h(a | σ(J)), over the
actions a that lead into X. Bayes' rule makes w_h ∝ w_h · p_h of it. Old evidence fades (`FADING`), since an opponent
that opens like one headset may go on like another, and no headset is ever ruled out (`DOUBT`).

In the belief each particle acts by a headset drawn by these weights, so that the particles together act by the mixture
and an inference costs what it did. In playouts the opponent replies by the likeliest headset.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from penumbra.core import MOVE, Infostates
from penumbra.dsmcp.belief import Belief
from penumbra.dsmcp.domain import Evaluator, Features, Floats, Legal, Rows, places, rows_at_once
from penumbra.rbc.domain import Situation
from penumbra.rbc.synopsis import synopsis_read_by

PARTICLES = 32  # by which an observation is judged
FIRST = 2.0  # ln of how much likelier the first headset is before anything was observed
FADING = 0.95  # what the evidence of a turn ago still counts
DOUBT = 0.02  # probability that a headset gives to an observation it had ruled out


class OpponentModel:
    """An evaluator whose τ̂ is the mixture; `replies` is the one for playouts. π and ν are those of every headset."""

    def __init__(self, evaluators: Mapping[str, Evaluator], rng: np.random.Generator) -> None:
        """`evaluators` have the policies of the headsets of these names as τ̂, the likeliest first."""
        self.names = tuple(evaluators)
        self.evaluators = tuple(evaluators.values())
        self.synopsis = synopsis_read_by(self.evaluators[0])
        self.rows_at_once = rows_at_once(self.evaluators[0])
        self.rng = rng
        self.prior = np.where(np.arange(len(self.names)) == 0, FIRST, 0.0)
        self.observed = np.zeros(len(self.names))  # ln of the probability of what was observed, faded
        self.replies: Evaluator = Replies(self)

    @property
    def evidence(self) -> npt.NDArray[np.float64]:
        """float64[headsets]: ln of w, but for a constant."""
        return np.asarray(self.prior + self.observed)

    @property
    def weights(self) -> npt.NDArray[np.float64]:
        """float64[headsets]: w."""
        w = np.exp(self.evidence - self.evidence.max())
        return np.asarray(w / w.sum())

    def shares(self) -> dict[str, float]:
        """w by the names of the headsets."""
        return {name: round(float(w), 4) for name, w in zip(self.names, self.weights, strict=True)}

    @property
    def likeliest(self) -> Evaluator:
        return self.evaluators[int(self.evidence.argmax())]

    def evaluate(self, features: Features, legal: Legal, opponent: bool) -> tuple[Floats, Floats]:
        if not opponent:
            return self.evaluators[0].evaluate(features, legal, False)
        drawn = self.rng.choice(len(self.names), size=len(features), p=self.weights)
        priors, values = np.empty(len(legal.actions), np.float32), np.empty(len(features), np.float32)
        for h in np.unique(drawn):
            rows: Rows = np.flatnonzero(drawn == h)
            offsets, where = places(legal, rows)
            asked = Legal(legal.actions[where], offsets)
            priors[where], values[rows] = self.evaluators[h].evaluate(features[rows], asked, True)
        return priors, values

    def learn(self, belief: Belief[Situation, Infostates]) -> None:
        """Weighs the headsets by the opponent's last move, of which our sense has just told what it tells."""
        if len(belief.steps) < 3:
            return
        before, after = belief.steps[-3], belief.steps[-2]
        domain, particles = belief.domain, before.particles
        if domain.ours(before.x) or domain.kind(before.x) != MOVE or particles is None or not len(particles):
            return
        some = particles.take(self.rng.choice(len(particles), size=min(len(particles), PARTICLES), replace=False))
        legal, features = domain.legal(some, prune=False), domain.sigma(some)
        owners = np.repeat(np.arange(len(some)), np.diff(legal.offsets))
        leads = domain.leads_into(some, before.x, after.x, legal.actions, owners)
        for h, evaluator in enumerate(self.evaluators):
            tau, _ = evaluator.evaluate(features, legal, True)
            foreseen = float(tau[leads].sum(dtype=np.float64)) / len(some)
            self.observed[h] = FADING * self.observed[h] + np.log((1 - DOUBT) * foreseen + DOUBT)


class Replies:
    """The opponent in playouts: the headset that is likeliest now."""

    def __init__(self, model: OpponentModel) -> None:
        self.model = model
        self.synopsis = model.synopsis
        self.rows_at_once = model.rows_at_once

    def evaluate(self, features: Features, legal: Legal, opponent: bool) -> tuple[Floats, Floats]:
        return self.model.likeliest.evaluate(features, legal, opponent)
