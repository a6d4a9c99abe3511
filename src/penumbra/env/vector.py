"""Many games at once as a vector environment of Gymnasium, on the native core: no Python for each game."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from penumbra.core import ACTIONS, Game, GameFleet
from penumbra.dsmcp.domain import Evaluator
from penumbra.env.illegal_action import IllegalAction
from penumbra.env.observation import Observation, check_observation, space_of
from penumbra.env.opponents import Places, Policy, opponent_of
from penumbra.rbc.text_board import plain_board

Seen = NDArray[np.uint8]
Flags = NDArray[np.bool_]
Infos = dict[str, Any]


class RBCVectorEnv(VectorEnv[Seen, NDArray[np.int32], NDArray[Any]]):
    """Games of reconnaissance blind chess, each seen by the player who is to act.

    `opponent` plays the other side: a player's name; "network", the shipped one; an evaluator; or a function from
    observations and masks to actions. With "self" the caller plays both sides, and each row is the player to act.
    `color` is the caller's, by default drawn anew for each game. The other settings are those of `RBCEnv`.

    What `reset` and `step` return are two buffers in turns: what was returned last stays as it is during one further
    step, and what is kept for longer must be copied. An illegal action raises `IllegalAction` and changes nothing.
    """

    metadata = {"render_modes": ["ansi"]}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int = 64,
        observation: Observation = "binary",
        opponent: str | Evaluator | Policy = "self",
        *,
        color: Literal["white", "black"] | None = None,
        ell: int = 128,
        cap: int = 500,
        turn_limit: int | None = None,
        autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ) -> None:
        check_observation(observation)
        if color not in ("white", "black", None):
            raise ValueError(f"color is 'white', 'black' or None, not {color!r}")
        self.num_envs = num_envs
        self.observation = observation
        self.color = color
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**type(self).metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = render_mode
        self.single_observation_space = space_of(observation)
        self.single_action_space = Discrete(ACTIONS)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._opponent = opponent_of(opponent, observation)
        self._fleet = GameFleet(num_envs, ell, cap, turn_limit or 0)
        self._all: Places = np.arange(num_envs)
        self._white = np.ones(num_envs, bool)  # the caller's colour, where there is an opponent
        self._done = np.ones(num_envs, bool)  # no game, or one that is over
        self._buffers = [self._buffer(), self._buffer()]
        self._players = self._fleet.players()

    def _buffer(self) -> tuple[Seen, NDArray[np.int8]]:
        shape = (self.num_envs, *(self.single_observation_space.shape or ()))
        return np.zeros(shape, np.uint8), np.zeros((self.num_envs, ACTIONS), np.int8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Seen, Infos]:
        """New games in all places, or in those of `options["reset_mask"]`; they depend on the seed and the actions."""
        super().reset(seed=seed)
        chosen = (options or {}).get("reset_mask", np.ones(self.num_envs, bool))
        if not isinstance(chosen, np.ndarray) or chosen.dtype != np.bool_ or chosen.shape != (self.num_envs,):
            raise ValueError(f"options['reset_mask'] must be an array of {self.num_envs} bools")
        self._flip()
        self._keep(np.flatnonzero(~chosen))
        places = np.flatnonzero(chosen)
        self._begin(places)
        self._show(places)
        return self._buffers[0][0], self._infos()

    def step(self, actions: Any) -> tuple[Seen, NDArray[Any], NDArray[Any], NDArray[Any], Infos]:
        """An action for each place; one whose game has just ended gets a new game as `autoreset_mode` says."""
        stale = self._done
        acting = np.flatnonzero(~stale)
        chosen = self._checked(actions, acting)
        white = (self._white if self._opponent else self._players == 1).copy()
        self._fleet.act(acting, chosen[acting])
        self._answer(acting)
        ended = np.zeros(self.num_envs, bool)
        ended[acting] = self._fleet.over()[acting] == 1
        truncated = ended & (self._fleet.limited() == 1)
        rewards = np.where(ended, self._fleet.results() * np.where(white, 1.0, -1.0), 0.0)
        if self._opponent:
            self._opponent.end(self._fleet, np.flatnonzero(ended).tolist())
        final = self._final(ended)
        self._flip()
        if self.autoreset_mode == AutoresetMode.SAME_STEP:
            self._done, fresh = np.zeros(self.num_envs, bool), ended
        else:
            self._done, fresh = ended, stale
        self._begin(np.flatnonzero(fresh))
        self._keep(np.flatnonzero(self._done))
        self._show(np.flatnonzero(~self._done))
        return self._buffers[0][0], rewards, ended & ~truncated, truncated, {**self._infos(), **final}

    def sample_actions(self) -> NDArray[np.int32]:
        """A legal action for each place, all equally likely; 0 where a game is over."""
        actions = np.zeros(self.num_envs, np.int32)
        going = np.flatnonzero(~self._done)
        actions[going] = self._fleet.random_actions(going, self._draw())
        return actions

    def game(self, place: int) -> Game:
        """The true game in a place: a copy."""
        return self._fleet.game(place)

    def render(self) -> tuple[str, ...] | None:
        """The true boards."""
        if self.render_mode is None:
            return None
        return tuple(plain_board(self.game(place).fen()) for place in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        if self._opponent:
            self._opponent.close()

    # -- the parts of a step

    def _checked(self, actions: Any, acting: Places) -> NDArray[np.int32]:
        chosen = np.asarray(actions)
        if chosen.shape != (self.num_envs,) or not np.issubdtype(chosen.dtype, np.integer):
            raise ValueError(f"step takes {self.num_envs} whole numbers, not {chosen.dtype}{list(chosen.shape)}")
        if self.autoreset_mode == AutoresetMode.DISABLED and len(acting) < self.num_envs:
            place = int(np.flatnonzero(self._done)[0])
            raise ValueError(f"the game in place {place} is over: reset it by options['reset_mask']")
        wrong = (chosen < 0) | (chosen >= ACTIONS)
        wrong[acting] |= self._buffers[0][1][acting, np.where(wrong, 0, chosen)[acting]] == 0
        wrong[self._done] = False
        for place in np.flatnonzero(wrong)[:1].tolist():
            raise IllegalAction(int(chosen[place]), int(self._fleet.steps()[place]), f"place {place}")
        return chosen.astype(np.int32)

    def _begin(self, places: Places) -> None:
        if len(places) == 0:
            return
        seeds = self.np_random.integers(1 << 63, size=len(places), dtype=np.uint64)
        drawn = self.np_random.integers(2, size=len(places)) == 1
        self._white[places] = drawn if self.color is None else self.color == "white"
        own, other = self.observation, self._opponent.view if self._opponent else self.observation
        views = [(own, other) if white else (other, own) for white in self._white[places].tolist()]
        self._fleet.reset(places, seeds, views)
        self._done[places] = False
        if self._opponent:
            self._opponent.begin(self._fleet, places, ~self._white[places], self._draw())
            self._answer(places)

    def _answer(self, places: Places) -> None:
        """The opponent plays until it is the caller's turn in all of these places."""
        while self._opponent is not None and len(places):
            turn = self._fleet.players()[places] == 1
            places = places[(turn != self._white[places]) & (self._fleet.over()[places] == 0)]
            if len(places):
                self._opponent.act(self._fleet, places, self._draw())

    def _draw(self) -> int:
        return int(self.np_random.integers(1 << 62))

    def _flip(self) -> None:
        self._buffers.reverse()

    def _keep(self, places: Places) -> None:
        """Shows what was shown last."""
        for new, old in zip(*self._buffers, strict=True):
            new[places] = old[places]

    def _show(self, places: Places) -> None:
        seen, masks = self._buffers[0]
        self._fleet.observe(places, seen)
        self._fleet.mask(places, masks)

    def _infos(self) -> Infos:
        self._players = self._fleet.players()
        infos = {
            "action_mask": self._buffers[0][1],
            "player": self._players,
            "step": self._fleet.steps(),
            "ply": self._fleet.plies(),
        }
        return infos | {f"_{key}": np.ones(self.num_envs, bool) for key in infos}

    def _final(self, ended: Flags) -> Infos:
        """Of games that have just ended: who won, and what the caller saw last where a new game takes the place."""
        if not ended.any():
            return {}
        last = {"winner": self._fleet.results(), "_winner": ended}
        if self.autoreset_mode != AutoresetMode.SAME_STEP:
            return last
        ply = np.where(ended, self._fleet.plies(), 0)
        final = {**last, "ply": ply, "_ply": ended}
        return {"final_obs": self._buffers[0][0], "_final_obs": ended, "final_info": final, "_final_info": ended}
