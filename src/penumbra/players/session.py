"""One side of a live game, for programs: what it has observed, what follows from it, and what Penumbra would do.

A session is fed the observations of one player, as numbers in that player's own view (`penumbra.rbc.actions`) or as
reconchess tells them. Between two of them it may be asked what follows, as often as one likes, which changes nothing;
and what Penumbra would do. Asked that once at each of its steps, it decides as the bot does with the same seed and
nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from penumbra.core import MOVE, SENSE, START_FEN, Context, ImpossibleObservation, Infostates, StateSet
from penumbra.dsmcp import Decision
from penumbra.dsmcp.domain import Evaluator, Floats, Ints
from penumbra.network.evaluation import Evaluation, evaluate
from penumbra.players.penumbra.configuration import Configuration
from penumbra.players.penumbra.factory import Penumbra
from penumbra.players.penumbra.recording import belief_marginals
from penumbra.players.player import tell
from penumbra.rbc import domain as rbc
from penumbra.rbc import reconchess_values
from penumbra.rbc.domain import ReconBlindChess, Situation
from penumbra.rbc.observations import Moved, Observation, OpponentMoved, Sensed
from penumbra.rbc.synopsis import LAYOUTS, Synopsis, unpack

SECONDS = 1.0  # for a decision, where nothing else was asked for
ROWS = 32  # drawings of ℓ positions that policy and value are averaged over, where there are more positions than ℓ

Expected = Literal["opponent", "sense", "move", "nothing"]


class OutOfTurn(ValueError):
    """An observation, or a question, for which it is not the time; the session is as it was before."""


class Session:
    """One side of a live game. Colours are True for White.

        >>> session = Session(True, nodes=50, seed=1)
        >>> session.sensed(None, ())
        >>> session.moved(uci_to_code("e2e4"), uci_to_code("e2e4"), None)
        >>> session.opponent_moved(None)
        >>> session
        <Session of White: turn 2, to sense, 21 positions>
        8 r ? b q k b ? r
        7 ? ? ? ? ? ? ? ?
        6 ? ? ? ? ? ? ? ?
        5 ? ? ? ? ? ? ? ?
        4 . . . . P . . .
        3 . . . . . . . .
        2 P P P P . P P P
        1 R N B Q K B N R
          a b c d e f g h
        >>> action_name(session.decide().action)
        'sense e5'

    An observation that no position agrees with raises `ImpossibleObservation`, one that comes at the wrong moment
    `OutOfTurn`; both leave the session as it was. Only once a cap has cut the set (`complete` is False) such an
    observation is survived, as the bot survives it: `recoveries` says so.
    """

    def __init__(
        self,
        color: bool = True,
        fen: str = START_FEN,
        configuration: Configuration | None = None,
        *,
        opponent: str = "",
        evaluator: Evaluator | None = None,
        wrap: Callable[[Evaluator], Evaluator] = lambda evaluator: evaluator,
        **changes: Any,
    ) -> None:
        """A game starts from a position that both players know.

        `configuration` and `changes` to it are as `Penumbra` has them: `weights`, `device`, `preset`, `cap`, `seed` and
        others, and `nodes` or `seconds` for each decision. The `opponent`'s name says whose policy it is taken to have.
        """
        self._set_up(configuration, opponent, evaluator, wrap, changes)
        self._player.start(color, fen)

    @classmethod
    def from_fens(
        cls,
        fens: Sequence[str],
        color: bool = True,
        configuration: Configuration | None = None,
        *,
        to_move: bool = False,
        opponent: str = "",
        evaluator: Evaluator | None = None,
        wrap: Callable[[Evaluator], Evaluator] = lambda evaluator: evaluator,
        **changes: Any,
    ) -> Session:
        """A session without a history, in which these positions are possible, the same player to act in all of them.

        `to_move`: this turn's sense is over. As nothing says what the opponent knows, it is taken to know the position.
        """
        session = cls.__new__(cls)
        session._set_up(configuration, opponent, evaluator, wrap, changes)
        states = StateSet.from_fens(list(fens), color)
        if to_move and states.turn != color:
            raise OutOfTurn("in these positions it is the opponent's turn: there is no move to decide on")
        situation = Situation(states, MOVE if to_move else SENSE, Context())
        settings = session._player.settings
        rows = min(len(states), settings.n_particles)
        particles = ReconBlindChess().singletons(None, situation, rows, settings.ell, settings.seed or 0)
        session._player.start_at(color, situation, particles)
        if to_move:
            session._player.opponent_moved(None)
        return session

    def _set_up(
        self,
        configuration: Configuration | None,
        opponent: str,
        evaluator: Evaluator | None,
        wrap: Callable[[Evaluator], Evaluator],
        changes: dict[str, Any],
    ) -> None:
        self._player = Penumbra(configuration, evaluator=evaluator, wrap=wrap, **changes)
        self._player.ponder, self._player.track_all, self._player.strict = False, True, True
        self._player.meet(opponent)
        self._budget = (self._player.configuration.seconds, self._player.configuration.nodes)
        self._ended = False

    # -- where it stands

    @property
    def color(self) -> bool:
        """Whose side this is."""
        return self._player.color

    @property
    def turn(self) -> int:
        """This player's turn, from 1; after its move the one that is over."""
        return max(1, self._player.turn) if self.situation.ours else self._player.turn

    @property
    def expects(self) -> Expected:
        """What comes next: the `opponent`'s move, the result of our `sense`, that of our `move`, or `nothing`."""
        if self.over:
            return "nothing"
        x = self.situation
        return "opponent" if not x.ours else "sense" if x.kind == SENSE else "move"

    @property
    def over(self) -> bool:
        """Whether our last move must have taken the king."""
        return self._ended or self._player.over

    @property
    def states(self) -> StateSet:
        """Every position that is possible now."""
        return self.situation.states

    @property
    def situation(self) -> Situation:
        """The same with the kind of the step that comes and what is remembered."""
        return self._player.situation

    @property
    def complete(self) -> bool:
        """False since the set was cut to `cap`: the true position may then be missing from it."""
        return self._player.whole

    @property
    def recoveries(self) -> Sequence[str]:
        """Observations that no position of a cut set agreed with, each survived."""
        return tuple(self._player.recoveries)

    def __len__(self) -> int:
        return len(self.states)

    def __repr__(self) -> str:
        who = "White" if self.color else "Black"
        next_step = {
            "opponent": "the opponent to act",
            "sense": "to sense",
            "move": "to move",
            "nothing": "the game is over",
        }[self.expects]
        board = repr(self.states).partition("\n")[2]
        count = f"{len(self):,} position{'' if len(self) == 1 else 's'}{'' if self.complete else ' of more'}"
        return f"<Session of {who}: turn {self.turn}, {next_step}, {count}>\n{board}"

    # -- what is observed

    def opponent_moved(self, capture: int | None) -> None:
        """The opponent's turn is over; `capture` is the square where it took one of our pieces."""
        self.observe(OpponentMoved(capture))

    def sensed(self, square: int | None, contents: Sequence[int]) -> None:
        """Our sense of `square` showed `contents` (0 empty, 1..6 own P N B R Q K, 7..12 opposing), in the order of
        `Game.sense`; None and nothing for a sense not taken."""
        self.observe(Sensed(square, tuple(contents)))

    def moved(self, requested: int, taken: int, capture: int | None, ended: bool = False) -> None:
        """We asked for a move, got another (codes, 0 for a pass), and captured on `capture`; `ended`: the king."""
        self.observe(Moved(requested, taken, capture, ended))

    def handle_opponent_move_result(self, captured_my_piece: bool, capture_square: int | None) -> None:
        """As reconchess tells it."""
        self.observe(reconchess_values.opponent_moved(captured_my_piece, capture_square, self.color))

    def handle_sense_result(self, sense_result: Sequence[tuple[int, reconchess_values.Piece | None]]) -> None:
        """As reconchess tells it."""
        self.observe(reconchess_values.sensed(sense_result, self.color))

    def handle_move_result(
        self,
        requested_move: reconchess_values.Move | None,
        taken_move: reconchess_values.Move | None,
        captured_opponent_piece: bool,
        capture_square: int | None,
    ) -> None:
        """As reconchess tells it."""
        self.observe(
            reconchess_values.moved(requested_move, taken_move, captured_opponent_piece, capture_square, self.color)
        )

    def observe(self, observation: Observation) -> None:
        """Any of the three. The notice before the first turn of a game, when nobody has moved, may be left out."""
        first_notice = observation == OpponentMoved(None) and self.expects == "sense" and not self._player.turn
        self._require(observation, first_notice)
        if self.situation.ours and not self._player.turn:
            self._player.opponent_moved(None)
        if first_notice:
            return
        try:
            if isinstance(observation, Moved) and observation.ended:
                rbc.observed(self.situation, observation)
                self._ended = True
            else:
                tell(self._player, observation)
        except ImpossibleObservation:
            raise ImpossibleObservation(f"turn {self.turn}: no possible position agrees: {observation}") from None

    def _require(self, observation: Observation, first_notice: bool) -> None:
        comes = {OpponentMoved: "opponent", Sensed: "sense", Moved: "move"}[type(observation)]
        lost = self._player.over and not self._ended and not self.complete  # it seemed to be over, and may not be
        if comes != self.expects and not first_notice and not (lost and comes == "opponent"):
            raise OutOfTurn(f"turn {self.turn}: {observation}, but what comes next is {self._what_comes()}")

    def _what_comes(self) -> str:
        return {
            "opponent": "the opponent's move",
            "sense": "the result of a sense",
            "move": "the result of a move",
            "nothing": "nothing: the game is over",
        }[self.expects]

    # -- what follows from it

    def marginals(self) -> npt.NDArray[np.float64]:
        """float64[64, 13]: the share of positions that have each content on each square, in the player's own view."""
        return np.asarray(self.states.marginals() / len(self))

    def belief(self, particles: int | None = None) -> Infostates:
        """What the opponent may know: information states of the opponent, so many or as many as the settings say.

        They are drawn for the asking; the session's own belief, which its decisions stand on, stays as it is.
        """
        with self._undisturbed():
            belief = self._player.agent.belief.copy()
            belief.refill(particles or self._player.settings.n_particles, float("inf"))
            found = belief.current.particles
        assert found is not None
        return found

    @property
    def particles(self) -> Infostates | None:
        """The belief as the last decision has left it and observations have filtered it; `belief` fills it up."""
        return self._player.agent.belief.current.particles

    def believed(self, particles: int | None = None) -> npt.NDArray[np.float64]:
        """float64[64, 6]: how likely the opponent's P N B R Q K stand on each square, by such a belief."""
        return belief_marginals(self.situation, self.belief(particles))

    def infostates(self, rows: int = 1) -> Infostates:
        """What we know as a network reads it: ℓ of the positions in each row, drawn anew, and what is remembered."""
        x, settings = self.situation, self._player.settings
        return Infostates.draw(
            x.states, rows, x.kind, settings.ell, x.context, (settings.seed or 0) + self._player.turn
        )

    def planes(self, synopsis: Synopsis = "binary") -> Floats:
        """float32[planes, 8, 8]: the planes of one such row from 0 to 1, rank by rank from the player's first one.

        `binary` are the paper's 104, `graded` these and 46 that say how often; docs/synopsis.md names them.
        """
        layout = LAYOUTS[synopsis]
        return np.asarray(unpack(self.infostates().features(synopsis))[0] / layout.largest, np.float32)

    def legal_actions(self) -> Ints:
        """int32[A]: the senses, or the moves that may be asked for and the pass."""
        self._ask("which actions there are")
        return self.infostates().legal()[0]

    def evaluate(self, rows: int = ROWS) -> Evaluation:
        """What the network says of so many drawings, or of the only one where all positions fit into it."""
        self._ask("what the network would do")
        rows = 1 if len(self) <= self._player.settings.ell else rows
        with self._undisturbed():
            return evaluate(self.infostates(rows), self._player.agent.evaluator)

    def policy(self) -> Floats:
        """float32[4161]: how much the network favours each action now, without any search; they sum to 1."""
        return np.asarray(self.evaluate().policy().mean(axis=0), np.float32)

    def value(self) -> float:
        """How likely the network thinks us to win, without any search: from 0 to 1."""
        return float((1 + self.evaluate().values.mean()) / 2)

    # -- what Penumbra would do

    def decide(self, *, seconds: float | None = None, nodes: int | None = None) -> Decision:
        """What Penumbra would do now: `Decision.action` is the square to sense, or the move to ask for.

        It thinks for so many seconds, or nodes; left out, as the session was configured, else for a second. Nothing is
        decided by asking: what was done, and what came of it, is observed afterwards.
        """
        self._ask("a decision")
        player = self._player
        if not player.turn:
            player.opponent_moved(None)
        wanted = (seconds, nodes) if (seconds, nodes) != (None, None) else self._budget
        wanted = wanted if wanted != (None, None) else (SECONDS, None)
        if wanted != (player.configuration.seconds, player.configuration.nodes):
            player.think_for(*wanted)
        faults = len(player.faults)
        if self.expects == "sense":
            player.choose_sense()
        else:
            player.choose_move(self.legal_actions().tolist())
        if player.gone is not None:
            raise player.gone
        if len(player.faults) > faults:
            raise RuntimeError(f"the search failed: {player.faults[-1]}")
        return player.decisions[-1]

    def described(self, decision: Decision) -> dict[str, Any]:
        """The decision just taken as JSON has it (see `penumbra.players.penumbra.recording`)."""
        return self._player.described(decision)

    def close(self) -> None:
        """Ends what runs in the background."""
        self._player.close()

    def _ask(self, what: str) -> None:
        if self.expects not in ("sense", "move"):
            raise OutOfTurn(f"turn {self.turn}: {what} was asked for, but what comes next is {self._what_comes()}")

    @contextmanager
    def _undisturbed(self) -> Iterator[None]:
        """Whatever draws random numbers here, later decisions draw as if it had not."""
        generators = [self._player.agent.rng, *([self._player.model.rng] if self._player.model else [])]
        before = [generator.bit_generator.state for generator in generators]
        try:
            yield
        finally:
            for generator, state in zip(generators, before, strict=True):
                generator.bit_generator.state = state
