"""The tracker: every world state that one player's observations allow, step by step.

Steps count from 0 at the start of the game; each turn has two, sense then move. X_i, the set before step i's action, is
`tracker.sets[i]`. The opponent's sense tells nothing, so the two steps of its turn share one set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from penumbra import core
from penumbra.core import START_FEN, StateSet
from penumbra.rbc.observations import Moved, Observation, OpponentMoved, Sensed
from penumbra.rbc.possible import possible_after


class ImpossibleObservation(core.ImpossibleObservation):
    """No state that was possible before `step`'s action agrees with `observation`.

    If the set was `complete` then the observation contradicts the rules or an earlier one; if not, the true state may
    have been lost to the cap.
    """

    def __init__(self, step: int, observation: Observation, complete: bool) -> None:
        lost = "" if complete else " (the set had been cut to its cap)"
        super().__init__(f"step {step}: no possible state agrees: {observation}{lost}")
        self.step = step
        self.observation = observation
        self.complete = complete


class Tracker:
    """Drives a set of states through a game, from what one player observes, in that player's own squares.

    Each turn of the player is `opponent_moved`, `sensed`, `moved`, in this order. The player who moves first is told
    of an opponent's move too, although nobody has moved: that notice changes nothing.

    Invariants: the set of the current step is always kept; past sets are kept newest first while all of them together
    take at most `memory` bytes; a call that raises leaves everything as it was.
    """

    def __init__(
        self, owner: bool, fen: str = START_FEN, *, cap: int = 0, memory: int = 2_000_000_000, seed: int = 0
    ) -> None:
        """`cap` bounds the states of a set (0: no bound); a larger set is cut to a random subset drawn by `seed`."""
        self.owner = owner
        self.cap = cap
        self.memory = memory
        self.seed = seed
        self._step = 0
        self._sets: dict[int, StateSet] = {0: StateSet(fen, owner)}
        self._observations: dict[int, Observation] = {}
        self._notified = False  # whether this turn's `opponent_moved` has come; meaningful at our sense steps only
        if not self._our_turn():
            self._sets[1] = self._sets[0]
            self._step = 1

    @property
    def step(self) -> int:
        """The step whose action comes next, as far as this player knows: never the opponent's sense."""
        return self._step

    @property
    def current(self) -> StateSet:
        """The set of states possible now."""
        return self._sets[self._step]

    @property
    def complete(self) -> bool:
        """False since the cap has cut the set: the true state may then be missing from it."""
        return self.current.complete

    @property
    def sets(self) -> Mapping[int, StateSet]:
        """X_i by step i, the oldest dropped as memory demands."""
        return MappingProxyType(self._sets)

    @property
    def observations(self) -> Mapping[int, Observation]:
        """What was observed at each step so far, by the step whose action it tells of."""
        return MappingProxyType(self._observations)

    @property
    def nbytes(self) -> int:
        """Memory taken by the sets kept, shared ones counted once."""
        return sum(states.nbytes for states in {id(states): states for states in self._sets.values()}.values())

    def __len__(self) -> int:
        return len(self.current)

    def opponent_moved(self, capture: int | None) -> None:
        """The opponent's turn is over; `capture` is where it took one of our pieces."""
        self.observe(OpponentMoved(capture))

    def sensed(self, square: int | None, contents: Sequence[int]) -> None:
        """Our sense showed `contents`, in the order of `Game.sense`; None and nothing for a sense not taken."""
        self.observe(Sensed(square, tuple(contents)))

    def moved(self, requested: int, taken: int, capture: int | None, ended: bool = False) -> None:
        """We asked for `requested`, got `taken` (move codes, 0 for a pass) and captured on `capture`.

        That the game goes on is an observation too: states in which the move took the king go, unless it `ended` so.
        """
        self.observe(Moved(requested, taken, capture, ended))

    def observe(self, observation: Observation) -> None:
        """Any of the three."""
        match observation:
            case OpponentMoved():
                self._turn_begins(observation)
            case Sensed():
                self._require(observation, our_step=0)
                self._advance(observation)
            case Moved():
                self._require(observation, our_step=1)
                self._advance(observation)
                self._notified = False

    def _turn_begins(self, notice: OpponentMoved) -> None:
        if self._step == 0 and self._our_turn() and not self._notified:
            if notice.capture is not None:
                raise ImpossibleObservation(0, notice, self.complete)
        elif self._our_turn():
            raise ValueError(f"step {self._step}: {notice}, but it is not the opponent's turn")
        else:
            self._advance(notice)
        self._notified = True

    def _our_turn(self) -> bool:
        return self.current.turn == self.owner

    def _require(self, observation: Observation, our_step: int) -> None:
        if not (self._our_turn() and self._notified and self._step % 2 == our_step):
            raise ValueError(f"step {self._step}: {observation}, but that is not what comes next")

    def _advance(self, observation: Observation) -> None:
        """Move on by one observation; after our move that is past the opponent's sense, which we do not see."""
        step = self._step
        try:
            states = possible_after(self.current, observation, self.cap, self.seed + step)
        except core.ImpossibleObservation:
            raise ImpossibleObservation(step, observation, self.complete) from None
        self._observations[step] = observation
        self._sets[step + 1] = states
        if isinstance(observation, Moved):
            self._sets[step + 2] = states
        self._step = max(self._sets)
        self._drop_oldest()

    def _drop_oldest(self) -> None:
        for step in sorted(self._sets):
            if step == self._step or self.nbytes <= self.memory:
                return
            del self._sets[step]


class Follower:
    """A tracker that keeps the current set alone, and goes on when that is lost.

    A set that was cut to its cap may lose the true state. Once no state that is left agrees with what was observed,
    `states` is None and stays so. `ImpossibleObservation` only where the set was complete.
    """

    def __init__(self, owner: bool, fen: str = START_FEN, *, cap: int = 0, seed: int = 0) -> None:
        self._tracker: Tracker | None = Tracker(owner, fen, cap=cap, memory=0, seed=seed)

    @property
    def states(self) -> StateSet | None:
        return None if self._tracker is None else self._tracker.current

    def observe(self, observation: Observation) -> StateSet | None:
        """The states after this observation."""
        if self._tracker is None:
            return None
        try:
            self._tracker.observe(observation)
        except ImpossibleObservation as error:
            if error.complete:
                raise
            self._tracker = None
        return self.states
