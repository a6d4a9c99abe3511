"""Penumbra as a player: DSMCP on reconnaissance blind chess, speaking action numbers.

Nothing starts before a game does: no thread, no inference session. An observation that no state agrees with is logged
and survived (`penumbra.players.penumbra.recovery`), and so is a fault of the search: there is always an action to play.
"""

from __future__ import annotations

import logging
import math
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from penumbra.core import MOVE, SENSE, START_FEN, GameRecord, ImpossibleObservation, Infostates
from penumbra.dsmcp import Agent, Decision, Settings
from penumbra.dsmcp.domain import Evaluator, EvaluatorGone, Legal
from penumbra.games.visits import Searched
from penumbra.players.penumbra.opponent_model import OpponentModel
from penumbra.players.penumbra.presets import DEFAULT, PRESETS, Preset
from penumbra.players.penumbra.recording import decision_to_json
from penumbra.players.penumbra.recovery import Trail, recovered
from penumbra.players.penumbra.root import RootJudgement
from penumbra.players.penumbra.root_settings import RootSettings
from penumbra.players.penumbra.time_control import TimeControl
from penumbra.players.player import Player
from penumbra.rbc import domain as rbc
from penumbra.rbc.actions import code_to_action
from penumbra.rbc.domain import INNER_SQUARES, ReconBlindChess, Situation
from penumbra.rbc.observations import Moved, Observation, OpponentMoved, Sensed
from penumbra.rbc.synopsis import synopsis_read_by_all

log = logging.getLogger(__name__)

STATE_CAP = 5_000_000
ROOM_TO_RECOVER = 4  # times the cap, when a set is played through again to find the truth
WORK_TO_RECOVER = 500_000  # states moved on by a step, where a node budget rather than a clock bounds the thinking


class PenumbraPlayer(Player):
    """One side of a game.

    `evaluators` is one for everything, or makes two when a game starts: for playouts and for the belief.
    `seconds` or `nodes` bound each step. Once told the time, the player shares it out and keeps to it whatever the
    bounds are. `ponder` lets it refill beliefs while the opponent thinks. `record` keeps every decision for JSON.
    """

    name = "Penumbra"

    def __init__(
        self,
        evaluators: Evaluator | Callable[[], tuple[Evaluator, Evaluator]],
        settings: Settings | None = None,
        root: RootSettings | None = None,
        *,
        name: str = "Penumbra",
        seconds: float | None = None,
        nodes: int | None = None,
        ponder: bool = False,
        cap: int = STATE_CAP,
        record: bool = False,
    ) -> None:
        self.name = name
        preset = PRESETS[DEFAULT] if settings is None else Preset(settings)
        self.settings = preset.dsmcp
        self.root_settings = preset.root if root is None else root
        self.nodes = nodes
        self.ponder = ponder
        self.cap = cap
        self.record = record
        self.track_all = False  # hold as many states as the cap allows, however long that takes
        self.strict = (
            False  # raise what contradicts a set that is whole, and stay as before it, instead of surviving it
        )
        self.opponent_name = ""
        self.color = True
        self.time = TimeControl(seconds)
        self.decisions: list[Decision] = []
        self.turns: list[int] = []  # in which they were taken, from 1
        self.recorded: list[dict[str, Any]] = []
        self.recoveries: list[str] = []  # impossible observations so far
        self.faults: list[str] = []  # of the search, each survived
        self._evaluators = evaluators
        self._agent: Agent[Situation, Infostates] | None = None
        self._trail = Trail(self.settings.ell)
        self._timed = seconds is not None
        self._first = True
        self._over = False
        self._turn = 0
        self._rebuilt = False  # whether the set was made anew from what is known, after it had lost the truth
        self._recognised = 0  # the turn in which the opponent's move was looked at last
        self._last_move = Moved(0, 0, None)
        self._judgement = RootJudgement(self.root_settings)

    @property
    def agent(self) -> Agent[Situation, Infostates]:
        if self._agent is None:
            raise RuntimeError("the game has not started")
        return self._agent

    @property
    def situation(self) -> Situation:
        return self.agent.x

    # -- the game

    def meet(self, opponent_name: str) -> None:
        self.opponent_name = opponent_name

    @property
    def turn(self) -> int:
        """Of this player, from 1; 0 before its first."""
        return self._turn

    @property
    def whole(self) -> bool:
        """Whether the set holds every position that the observations allow."""
        return self.situation.states.complete and not self._rebuilt

    @property
    def over(self) -> bool:
        """Whether the game has ended, as far as this player can tell."""
        return self._over

    def start(self, color: bool, fen: str = START_FEN) -> None:
        self.start_at(color, *rbc.start(color, fen))

    def start_at(self, color: bool, situation: Situation, particles: Infostates) -> None:
        """A game, or what is left of one, starts here, with what the opponent is believed to know."""
        self.close()
        self._judgement = RootJudgement(self.root_settings)
        playouts, belief = self._make_evaluators()
        self._agent = Agent(
            ReconBlindChess(synopsis_read_by_all(playouts, belief)),
            playouts,
            self.settings,
            situation,
            particles,
            self._judgement,
            belief,
        )
        self._trail = Trail(self.settings.ell)
        self.time.start()
        self.color = color
        self._first, self._over, self._rebuilt, self._turn, self._recognised = True, False, False, 0, 0
        self.decisions, self.turns, self.recorded, self.recoveries, self.faults = [], [], [], [], []
        self.gone = None

    def tell_time(self, seconds_left: float | None) -> None:
        self._timed = True
        self.time.tell(seconds_left, self.situation.kind == SENSE)

    def opponent_moved(self, capture: int | None) -> None:
        self.time.turn_begins()
        self._turn += 1
        first, self._first = self._first, False
        if first and self.situation.ours:
            return
        if self._over:
            self._not_over()
        try:
            self._observe(OpponentMoved(capture), None)
        except ValueError:
            self._turn, self._first = self._turn - 1, first
            raise
        if capture is not None:
            self._judgement.repetition.asked.clear()

    def choose_sense(self) -> int:
        return self._choose([int(square) for square in INNER_SQUARES])

    def sensed(self, square: int | None, contents: Sequence[int]) -> None:
        self._observe(Sensed(square, tuple(contents)), 0 if square is None else square)

    def choose_move(self, actions: Sequence[int]) -> int:
        if not self.time.haste():
            self.recognise()
        return self._choose(actions)

    def moved(self, requested: int, taken: int, capture: int | None) -> None:
        move = Moved(requested, taken, capture)
        self._observe(move, code_to_action(requested))
        self._last_move = move
        self._judgement.repetition.moved(code_to_action(requested), capture is not None)
        if self.ponder and not self._over and not self.time.haste():  # in haste nobody asks for a belief
            self.agent.observe(rbc.opponent_sensed(self.situation))
            self.agent.ponder()
        self.time.turn_ends()

    def game_over(self, winner: bool | None, reason: str | None, record: GameRecord | None = None) -> None:
        self._over = True
        self.close()

    def close(self) -> None:
        if self._agent is not None:
            self._agent.close()

    # -- choosing

    def recognise(self) -> None:
        """Before a move: what our sense has told of the opponent's move says which headset it plays like."""
        if self.model is not None and self._recognised < self._turn:
            self._recognised = self._turn
            self.agent.stop_pondering()
            self.model.learn(self.agent.belief)

    @property
    def model(self) -> OpponentModel | None:
        """Of an opponent that is not recognised by its name, where there are several headsets to choose from."""
        evaluator = self.agent.belief.evaluator
        return evaluator if isinstance(evaluator, OpponentModel) else None

    def _choose(self, actions: Sequence[int]) -> int:
        """The search's choice; where it fails, or chooses what is not listed, some action that is."""
        self.agent.stop_pondering()
        began = time.monotonic()
        haste = self.time.haste()
        seconds, nodes = self._budget()
        try:
            decision = self._snap(haste) if haste else self.agent.choose(seconds, nodes)
            self.decisions.append(decision)
            self.turns.append(self._turn)
            if self.record:
                self.recorded.append(self.described(decision))
            if self.situation.kind == SENSE or decision.action in actions:
                return decision.action
            log.error("turn %d: action %d is not listed", self._turn, decision.action)
            listed = [action for action, *_ in decision.best(len(decision.actions)) if action in actions]
            return listed[0] if listed else actions[0]
        except Exception as fault:
            said = f"{type(fault).__name__}: {fault}"
            log.error("turn %d: the search failed, an action is drawn instead: %s%s", self._turn, said, _place(fault))
            self.faults.append(f"turn {self._turn}: {said}")
            self.gone = fault if isinstance(fault, EvaluatorGone) else self.gone
            return int(actions[int(self.agent.rng.integers(len(actions)))])
        finally:
            if seconds is not None and not haste:
                self.time.thought(seconds, time.monotonic() - began)

    def _snap(self, haste: int) -> Decision:
        """In time trouble: a sure win, else what the policy likes best, else anything."""
        agent, x, began = self.agent, self.situation, time.monotonic()
        actions, sure = agent.domain.root(x, self.settings.static_analysis)
        if sure is not None:
            return agent.decide(sure, "sure win", actions, began)
        best = int(agent.rng.integers(len(actions)))
        if haste == 1:
            seed = int(agent.rng.integers(1 << 62))
            batch = agent.domain.draw(x, 1, self.settings.ell, seed, False, None)
            legal = Legal(actions, np.array([0, len(actions)]))
            best = int(agent.evaluator.evaluate(agent.domain.sigma(batch), legal, opponent=False)[0].argmax())
        return agent.decide(int(actions[best]), "haste", actions, began)

    def _budget(self) -> tuple[float | None, int | None]:
        """Seconds and nodes for the step that comes now. A node budget gives way to the clock alone."""
        if self.nodes is None:
            return (self.time.seconds(self.situation.kind == SENSE) if self._timed else None), None
        most = max(self.time.spare() / 4, 0.0) if self._timed else float("inf")
        expected = 2 * self.nodes / self.agent.speed if self.agent.speed else 0.0
        return (most if expected > most else None), self.nodes

    def described(self, decision: Decision) -> dict[str, Any]:
        """The decision just taken, as `recording` writes it."""
        told = decision_to_json(decision, self.situation, self.agent.belief.current.particles, self._turn, self.color)
        if self.model is not None:
            told["opponent"] = self.model.shares()
        return told

    # -- observing

    def _observe(self, observation: Observation, action: int | None) -> None:
        agent = self.agent
        with self.time.tracking():
            agent.stop_pondering()
            drawn = agent.rng.bit_generator.state
            seed = int(agent.rng.integers(1 << 62))
            x = agent.x
            if isinstance(observation, OpponentMoved) and x.kind != MOVE:
                x = rbc.opponent_sensed(x)  # which tells nothing
            cap = self.cap if self.track_all else self.time.cap(self.cap)
            try:
                after = rbc.observed(x, observation, self.settings.ell, cap, seed)
            except ValueError as error:
                if self._ends(x, observation):
                    self._over = True  # unless the opponent moves all the same
                    return
                if self.strict and (self.whole or not isinstance(error, ImpossibleObservation)):
                    agent.rng.bit_generator.state = drawn
                    raise
                self._stand_at(x)
                self._recover(x, observation, seed, error)
            else:
                self._stand_at(x)
                self._trail.follow(x, observation, after)
                agent.observe(after, action)
            self.time.tracked(len(agent.x.states))

    def _stand_at(self, x: Situation) -> None:
        """Before the step that was observed, which an unseen one may have preceded."""
        if x is not self.agent.x:
            self.agent.observe(x)

    def _not_over(self) -> None:
        """Every state said that we took the king, and yet the game goes on: the set had lost the truth."""
        self._over = False
        observation = self._last_move
        seed = int(self.agent.rng.integers(1 << 62))
        self._recover(self.situation, observation, seed, ImpossibleObservation(f"{observation}, and the game goes on"))

    def _ends(self, x: Situation, observation: Observation) -> bool:
        """Whether our move must have taken the king: reconchess reports that move too."""
        if not isinstance(observation, Moved) or observation.capture is None:
            return False
        try:
            rbc.observed(x, observation._replace(ended=True), self.settings.ell, 0, 0)
        except ValueError:
            return False
        return True

    def _recover(self, x: Situation, observation: Observation, seed: int, error: Exception) -> None:
        """Goes on from a set that agrees with the observation, and from a belief that starts there."""
        agent = self.agent
        repeatable = self.nodes is not None and self.time.left is None  # then nothing may depend on the time
        seconds = math.inf if repeatable else self.time.for_recovery()
        deadline = time.monotonic() + seconds
        work = WORK_TO_RECOVER if repeatable else math.inf
        after = self._trail.again(observation, ROOM_TO_RECOVER * self.time.cap(self.cap), seed, deadline, work)
        how = "found again from the last whole set"
        if after is None:
            self._trail.forget()
            self._rebuilt = True
            after, how = recovered(x, observation, seed, seconds), "rebuilt from what is known"
        message = f"turn {self._turn}: {error}; {len(after.states)} states {how}"
        log.warning("%s", message)
        self.recoveries.append(message)
        rows = min(self.settings.n_particles, 256)
        agent.stop_pondering()
        agent.belief.start(after, agent.domain.singletons(None, after, rows, self.settings.ell, seed))

    def _make_evaluators(self) -> tuple[Evaluator, Evaluator]:
        if hasattr(self._evaluators, "evaluate"):
            evaluator = cast(Evaluator, self._evaluators)
            return evaluator, evaluator
        return self._evaluators()


def _place(fault: Exception) -> str:
    """Where it was raised."""
    frames = traceback.extract_tb(fault.__traceback__)
    return f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""


def searches_of(player: PenumbraPlayer) -> list[Searched]:
    """What a player has searched in the game that it has just played from the usual start."""
    found = []
    for turn, decision in zip(player.turns, player.decisions, strict=True):
        visited = np.flatnonzero(decision.visits > 0)
        if decision.reason == "search" and len(visited):  # a moment too short for a playout leaves none
            shares = decision.visits[visited] / decision.visits.sum()
            ply = 2 * (turn - 1) + (not player.color)
            found.append(Searched(ply, decision.actions[visited].astype(np.int32), shares.astype(np.float32)))
    return found
