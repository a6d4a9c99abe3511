"""One game as PettingZoo's agent-environment cycle: a turn is two actions of one agent, a sense and a move."""

from __future__ import annotations

from typing import Any, TypedDict

import gymnasium
import numpy as np
from gymnasium.spaces import Dict, Discrete
from gymnasium.utils import seeding
from numpy.typing import NDArray
from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from penumbra.core import ACTIONS, MOVE, SENSE, Game, GameFleet
from penumbra.env.illegal_action import IllegalAction
from penumbra.env.observation import Observation, check_observation, space_of
from penumbra.rbc.actions import sense_window, view
from penumbra.rbc.text_board import plain_board

AGENTS = ("white", "black")
_PLACE = np.zeros(1, np.int64)  # the one game of the fleet


class Seen(TypedDict):
    """What an agent gets to see."""

    observation: NDArray[np.uint8]
    action_mask: NDArray[np.int8]


class RBCEnv(AECEnv):
    """Reconnaissance blind chess between the agents "white" and "black".

    `observation`: "binary", "shares" or "graded" synopses of the set of states that the agent holds possible, or
    "knowledge", what it was told and nothing else. A synopsis sums up at most `ell` states, drawn from a set of at most
    `cap`. A game of more than `turn_limit` turns of each side is cut off.
    An agent that waits observes what it saw last. An illegal action raises `IllegalAction` and changes nothing.
    """

    metadata = {  # noqa: RUF012
        "name": "penumbra_rbc_v0",
        "render_modes": ["human", "ansi"],
        "is_parallelizable": False,
        "render_fps": 2,
    }

    def __init__(
        self,
        observation: Observation = "binary",
        *,
        ell: int = 128,
        cap: int = 500,
        turn_limit: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        check_observation(observation)
        self.observation = observation
        self.render_mode = render_mode
        self.possible_agents = list(AGENTS)
        self._fleet = GameFleet(1, ell, cap, turn_limit or 0)
        planes = space_of(observation)
        mask = gymnasium.spaces.Box(0, 1, (ACTIONS,), np.int8)
        self._observation_spaces = {a: Dict({"observation": planes, "action_mask": mask}) for a in AGENTS}
        self._action_spaces = {agent: Discrete(ACTIONS) for agent in AGENTS}
        self._random, _ = seeding.np_random(None)

    def observation_space(self, agent: str) -> Dict:
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> Discrete[Any]:
        return self._action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """A new game, which depends on the seed and on the actions alone."""
        if seed is not None:
            self._random, _ = seeding.np_random(seed)
        game_seed = self._random.integers(1 << 63, dtype=np.uint64)
        self._fleet.reset(_PLACE, np.array([game_seed]), [(self.observation, self.observation)])
        self.agents = list(AGENTS)
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0.0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self.infos = {agent: {"step": SENSE, "ply": 0} for agent in AGENTS}
        self._sensed: tuple[int, ...] = ()
        self._seen = {agent: np.zeros(space_of(self.observation).shape, np.uint8) for agent in AGENTS}
        self._fleet.observe_seat(0, False, self._seen["black"])
        self._look()

    def step(self, action: int | None) -> None:
        """The action of the agent selected; None for one whose game is over."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        game = self.game
        chosen = int(action) if isinstance(action, int | np.integer) else action
        if not isinstance(chosen, int) or chosen not in game.legal_actions():
            raise IllegalAction(chosen, game.step, agent)
        self._sensed = ()
        if game.step == SENSE:
            self._sensed = tuple(view(square, game.turn) for square in sense_window(chosen, game.turn))
        self._fleet.act(_PLACE, np.array([chosen], np.int32))
        self._cumulative_rewards[agent] = 0.0
        self._look()
        self._accumulate_rewards()
        if self.render_mode == "human":
            self.render()

    def _look(self) -> None:
        """Whose turn it is, what it sees, and how the game ended if it did."""
        game = self.game
        self.agent_selection = AGENTS[0] if game.turn else AGENTS[1]
        if not game.over:
            self._fleet.observe(_PLACE, self._seen[self.agent_selection][None])
        else:
            for agent, white in zip(AGENTS, (True, False), strict=True):
                self.rewards[agent] = 0.0 if game.winner is None else 1.0 if game.winner == white else -1.0
                self.truncations[agent] = game.reason == "TURN_LIMIT"
                self.terminations[agent] = not self.truncations[agent]
        for agent in self.agents:
            self.infos[agent] = {"step": game.step, "ply": game.plies}

    def observe(self, agent: str) -> Seen:
        """What the agent sees; of a game that is over or at which it waits, what it saw last and no legal action."""
        mask = np.zeros((1, ACTIONS), np.int8)
        if agent == self.agent_selection and not self.terminations[agent] and not self.truncations[agent]:
            self._fleet.mask(_PLACE, mask)
        return {"observation": self._seen[agent].copy(), "action_mask": mask[0]}

    @property
    def game(self) -> Game:
        """The true game: a copy."""
        return self._fleet.game(0)

    def render(self) -> str | None:
        """The true board, the squares just sensed in brackets; "human" prints it."""
        if self.render_mode is None:
            gymnasium.logger.warn("there is nothing to render without a render_mode: ansi or human")
            return None
        game = self.game
        if game.over:
            line = {True: "White has won", False: "Black has won", None: "drawn"}[game.winner] + f" ({game.reason})"
        else:
            line = f"{'White' if game.turn else 'Black'} to {'move' if game.step == MOVE else 'sense'}"
        text = f"turn {game.plies // 2 + 1}, {line}\n{plain_board(game.fen(), self._sensed)}\n"
        if self.render_mode == "ansi":
            return text
        print(text)
        return None

    def close(self) -> None:
        """There is nothing to close."""


raw_env = RBCEnv


def env(observation: Observation = "binary", **settings: Any) -> OrderEnforcingWrapper:
    """The environment in PettingZoo's wrapper that refuses steps before `reset`; see `RBCEnv` for its settings."""
    return OrderEnforcingWrapper(RBCEnv(observation, **settings))
