"""Environments for learning: one game for PettingZoo (`env`), many for Gymnasium (`RBCVectorEnv`).

docs/environments.md describes them. Opponents and observations are here too; training on them is not.
"""

from penumbra.extras import ExtraMissing, is_installed

if not is_installed("pettingzoo"):  # which brings gymnasium
    raise ExtraMissing("penumbra.env", "pettingzoo")

import gymnasium

from penumbra.env.aec import RBCEnv, env, raw_env
from penumbra.env.illegal_action import IllegalAction
from penumbra.env.observation import KNOWLEDGE_PLANES, Observation
from penumbra.env.vector import RBCVectorEnv

ID = "penumbra/RBC-v0"  # of the vector environment: gymnasium.make_vec("penumbra.env:penumbra/RBC-v0", num_envs=64)

__all__ = ["ID", "KNOWLEDGE_PLANES", "IllegalAction", "Observation", "RBCEnv", "RBCVectorEnv", "env", "raw_env"]

if ID not in gymnasium.registry:
    gymnasium.register(ID, vector_entry_point="penumbra.env.vector:RBCVectorEnv")
