"""What a game must offer to be planned in, and what an evaluator must know about it.

A game moves in *steps*: at each step one player acts. Whose step it is and of which kind depends only on the kind of
the step before, so all rows of a batch are always at the same step. Everything is a batch: B rows of information states
of one player, actions as numbers (int32), values as floats from -1 (lost) to 1 (won).

Symbols: X an exact set of states with what its player remembers; I, J, K batches of approximate information states,
I ours, J the opponent's; σ the synopsis function; ℓ a limit on the states of one information state.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]
Keys = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Features = npt.NDArray[Any]


class Legal(NamedTuple):
    """Ragged actions: row r has actions[offsets[r]:offsets[r + 1]], never none."""

    actions: Ints
    offsets: npt.NDArray[np.int64]


def take_legal(legal: Legal, priors: Floats, rows: Rows) -> tuple[Legal, Floats]:
    """The actions and priors of some rows, which may repeat."""
    if np.array_equal(rows, np.arange(len(legal.offsets) - 1)):
        return legal, priors
    offsets, where = places(legal, rows)
    return Legal(legal.actions[where], offsets), priors[where]


def places(legal: Legal, rows: Rows) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Offsets of these rows' actions when they stand one after the other, and where in `legal` each of them stands."""
    sizes = np.diff(legal.offsets)[rows]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return offsets, np.arange(offsets[-1]) + np.repeat(legal.offsets[:-1][rows] - offsets[:-1], sizes)


def sharpened(priors: Floats, legal: Legal, temperature: float) -> Floats:
    """Each row's priors to the power of 1 / temperature, of sum 1."""
    power = priors.astype(np.float64) ** (1 / temperature)
    sums = np.maximum(np.add.reduceat(power, legal.offsets[:-1]), 1e-300)
    return np.asarray(power / np.repeat(sums, np.diff(legal.offsets)), np.float32)


class Infostates(Protocol):
    """A batch of approximate information states of one player."""

    def __len__(self) -> int: ...
    def take(self, rows: Rows, /) -> Self: ...
    @property
    def counts(self) -> Ints: ...


L = TypeVar("L", bound=Infostates)
X = TypeVar("X")


class Domain(Protocol[X, L]):
    """A game. X may be any immutable description of what we hold possible before a step."""

    def after(self, kind: int) -> tuple[int, bool]:
        """The kind of the step that follows a step of this kind, and whether the same player acts in it."""
        ...

    def kind(self, x: X) -> int:
        """The kind of the step that X stands before."""
        ...

    def ours(self, x: X) -> bool:
        """Whether that step is ours."""
        ...

    # -- information states

    def advance(
        self, actor: L, other: L, actions: Ints, actor_ell: Ints, other_ell: Ints, seed: int, keyed: bool
    ) -> tuple[L, L, Floats]:
        """Both batches after the actor's actions on the true states, where the two rows of a pair stand, each row cut
        to its ℓ, the truth kept. Results are the actor's, NaN while the game goes on."""
        ...

    def legal(self, batch: L, prune: bool) -> Legal:
        """The actions of each row; `prune`: without those that static analysis finds dominated."""
        ...

    def exposed(self, batch: L) -> Floats:
        """-1 for each row of a player who waits and who loses at once in every state it holds possible, else NaN."""
        ...

    def settle(self, batch: L, ours: bool) -> Floats:
        """The value of each row for the player to act where static analysis of its own set is sure of it, else NaN.

        A particle of one state may stand for our ignorance of the opponent, not for its knowledge: never sure. Nobody
        asks what comes out for a row whose game has ended."""
        ...

    def sigma(self, batch: L, rows: Rows | None = None) -> Features:
        """σ: one row of features for each information state, or for some of them, which may repeat."""
        ...

    def keys(self, batch: L, with_context: bool) -> Keys: ...

    def concatenate(self, batches: list[L]) -> L: ...

    # -- exact sets and beliefs

    def size(self, x: X) -> int: ...
    def nbytes(self, x: X) -> int: ...
    def particle_nbytes(self, ell: int) -> int: ...

    def draw(self, x: X, rows: int, ell: int, seed: int, keyed: bool, truths: L | None) -> L:
        """Information states of ours: ℓ states of X each, with the one that row r of `truths` stands in."""
        ...

    def root(self, x: X, static_analysis: bool) -> tuple[Ints, int | None]:
        """The actions worth considering at X, and one that surely wins if static analysis of all of X finds it."""
        ...

    def meets(self, particles: L, x: X) -> Flags: ...

    def leads_into(self, particles: L, before: X, after: X, actions: Ints, rows: Rows | None = None) -> Flags:
        """Which actions, played where particle and `before` stand, lead into `after`: a cheap test. The actions are
        those of particles `rows`, which may repeat, or of all."""
        ...

    def advance_particles(self, particles: L, rows: Rows, x: X, actions: Ints, ell: int, seed: int) -> L:
        """Particles `rows` after these actions of whoever acts at X, on the states where they and X stand."""
        ...

    def singletons(self, before: X | None, after: X, rows: int, ell: int, seed: int) -> L:
        """Information states of the opponent that know the state of `after` in which they stand."""
        ...

    def parents(self, before: X, after: X) -> X:
        """The part of `before` that leads into `after`; `before` itself where all of it does."""
        ...


class EvaluatorGone(Exception):
    """What evaluates is not there any more, an inference server for example: no fault of the player who asks it."""


class Evaluator(Protocol):
    """Policy and value of information states, from their features alone.

    One that answers many rows as fast as one may say how many by a number `rows_at_once`.
    """

    def evaluate(self, features: Features, legal: Legal, opponent: bool) -> tuple[Floats, Floats]:
        """Priors along `legal.actions`, each row summing to one, and a value for the player to act of each row.

        `opponent`: the rows are the opponent's, and its policy τ̂ is asked for instead of ours, π.
        """
        ...


def rows_at_once(evaluator: Evaluator) -> int:
    """How many rows take it hardly longer than one, as it says."""
    return int(getattr(evaluator, "rows_at_once", 1))
