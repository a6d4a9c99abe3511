"""Algorithm 1, `Bandit`: action selection with a stochastic multi-armed bandit.

    π   policy: a prior for each action            n⃗   visits of each action        q⃗   total value of each action
    n   visits of the node, the sum of n⃗           c   exploration constant          m   mixing constant
    φ   paranoia: weight of the least value seen

    if e^(-mn) > Uniform([0, 1]) and not at the root: an action drawn from π
    else: argmax_a (1 - φ) q_a / n_a + φ least_a + c π_a sqrt(ln n / n_a)            (UCB1)
          argmax_a (1 - φ) q_a / n_a + φ least_a + c π_a sqrt(n) / (1 + n_a)         (aVoP)

Values in the table are win probabilities of the player who acts, from 0 to 1; the paper's run from -1 to 1, so its c is
halved here, which gives the same order of actions. Deviations from the paper, where its formula is undefined: ln n is
ln max(n, 1); an action without visits counts with the node's own value and one visit (with `visit_all`, it comes
first); ties go to the larger π, then to chance, never to order. The kernel takes rows in order and adds the virtual
loss to each choice before the next row chooses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penumbra.core import NodeTable
from penumbra.dsmcp.domain import Flags, Floats, Ints, Keys, Legal
from penumbra.dsmcp.settings import Settings

RULES = {"ucb1": 0, "avop": 1}


@dataclass(frozen=True)
class Chosen:
    actions: Ints  # [B]
    known: Flags  # [B] whether the node had been visited before


def bandit(
    table: NodeTable,
    keys: Keys,
    legal: Legal,
    pi: Floats,
    values: Floats,
    settings: Settings,
    rng: np.random.Generator,
    *,
    root: bool = False,
    virtual_loss: bool = True,
) -> Chosen:
    """One action for each row; `values` are the nodes' own, as win probabilities."""
    uniforms: npt.NDArray[np.float64] = rng.random((len(keys), 3))
    actions, known = table.select(
        keys,
        legal.actions,
        legal.offsets,
        pi,
        values,
        uniforms,
        settings.c / 2,
        settings.m,
        settings.phi,
        RULES[settings.rule],
        root,
        settings.visit_all,
        settings.n_vl if virtual_loss else 0.0,
        settings.virtual_value,
    )
    return Chosen(actions, known.view(np.bool_))
