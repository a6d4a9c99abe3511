"""Training examples: every sense and move step of recorded games, as the player at that step knew it.

The native replayer tracks both players of each game and summarises fresh draws of ℓ states from their sets, so that the
same game gives other synopses under another seed; nothing but the records need be stored. What is not fit for training
is left out by `clean`, which says how much that was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from penumbra import core
from penumbra.configs.reader import Count, Natural, Positive
from penumbra.core import GameRecord
from penumbra.games.archive import is_validation
from penumbra.rbc.synopsis import Synopsis


@dataclass(frozen=True)
class ExampleSettings:
    """How examples are made."""

    ell: Count = 128  # ℓ: the states summarised by a synopsis
    multiplicity: Count = 1  # examples made of each step, by different draws
    cap: Count = 5_000  # states tracked; a larger set becomes a uniform draw that holds the truth
    window: Natural = 0  # rows held at a time, exchanged while training goes on; 0: those of all games are made first
    seed: Natural = 0
    settle: bool = True  # look for forced wins that the loser missed
    synopsis: Synopsis = "binary"  # the sort that the network reads
    engine_states: Natural = 0  # of each set, drawn at random, of which the native engine says who wins; 0: of none
    engine_scale: Positive = 1000.0  # hundredths of a pawn of its quiescence score at which 73 % are said to be won

    def with_seed(self, seed: int) -> ExampleSettings:
        return replace(self, seed=seed)


@dataclass(frozen=True)
class Examples:
    """Rows of N examples, in the order of play, the draws of one step side by side.

    Everything is seen by the player to act, Black's board mirrored. A sense that was skipped has no row.
    """

    synopses: NDArray[np.uint64]  # [N, words] of one sort
    actions: NDArray[np.int32]  # [N] what was chosen; every promotion counts as one to a queen
    legal: NDArray[np.int32]  # ragged: row i has legal[legal_offsets[i] : legal_offsets[i + 1]]
    legal_offsets: NDArray[np.int64]  # [N + 1]
    outcomes: NDArray[np.int8]  # [N] 1 won, -1 lost, 0 drawn or undecided
    soon_won: NDArray[np.bool_]  # [N] won within five steps at which this player acts, this one included
    soon_lost: NDArray[np.bool_]  # [N] lost so
    left: NDArray[np.uint16]  # [N] steps at which this player acts to the end of the game, this one included
    # [N, 2] the player's chance to win by the engine: the mean over states of its set, and in truth; NaN without engine
    engine: NDArray[np.float32]
    piece_counts: NDArray[np.uint8]  # [N, 12] in truth: own P N B R Q K, opposing P N B R Q K
    draws: NDArray[np.int32]  # [N] which of the draws of its step, from 0
    set_sizes: NDArray[np.int64]  # [N] states tracked; past the cap, the cap
    games: NDArray[np.int32]  # [N] which of the records given
    plies: NDArray[np.int32]  # [N] which turn of that game, from 0
    players: NDArray[np.bool_]  # [N] True: White
    cut: NDArray[np.bool_]  # [N] a cap has cut the set since it was last exact
    missed_win: NDArray[np.bool_]  # [N] the loser of this game once had a forced win with what it knew

    def __len__(self) -> int:
        return len(self.actions)

    def take(self, rows: NDArray[np.int64]) -> Examples:
        """These rows, in this order; they may repeat."""
        starts, counts = self.legal_offsets[rows], np.diff(self.legal_offsets)[rows]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
        columns = {f.name: getattr(self, f.name)[rows] for f in fields(self) if not f.name.startswith("legal")}
        return Examples(legal=self.legal[np.repeat(starts, counts) + within], legal_offsets=offsets, **columns)

    def where(self, kept: NDArray[np.bool_]) -> Examples:
        """The rows where `kept` holds, in their order; these themselves if it holds everywhere."""
        return self if kept.all() else self.take(np.flatnonzero(kept))

    def legal_of(self, row: int) -> NDArray[np.int32]:
        """The legal actions of one row."""
        return self.legal[self.legal_offsets[row] : self.legal_offsets[row + 1]]

    def batches(self, size: int, seed: int | None = None) -> Iterator[Examples]:
        """All rows once, `size` at a time, the last batch maybe smaller; in order, or shuffled by `seed`."""
        if size < 1:
            raise ValueError(f"a batch cannot have {size} examples")
        rows = np.arange(len(self)) if seed is None else np.random.default_rng(seed).permutation(len(self))
        for first in range(0, len(rows), size):
            yield self.take(rows[first : first + size])


@dataclass(frozen=True)
class Cleaned:
    """The examples fit for training, and what was left out of how many."""

    examples: Examples
    rows: int  # before
    flagged: int  # of these, from sets that a cap has cut
    too_small: int  # flagged with fewer than ℓ states: left out, for there the truth stands out
    missed_win: int  # of the rest, from games that the loser could have won by force: left out

    @property
    def flagged_share(self) -> float:
        """The share of rows from sets that a cap has cut."""
        return self.flagged / self.rows if self.rows else 0.0

    def __str__(self) -> str:
        return (
            f"{len(self.examples):,} of {self.rows:,} examples; {self.flagged_share:.1%} from sets cut by the cap; "
            f"left out: {self.too_small:,} cut and too small, {self.missed_win:,} of games with a missed win"
        )


def make_examples(records: Sequence[GameRecord], settings: ExampleSettings | None = None) -> Examples:
    """All examples of these games. `ValueError` names a game that breaks the rules by its place among the records."""
    s = settings or ExampleSettings()
    columns = core.make_examples(
        records, s.ell, s.multiplicity, s.cap, s.seed, s.settle, s.synopsis, s.engine_states, s.engine_scale
    )
    for flag in ("soon_won", "soon_lost", "players", "cut", "missed_win"):
        columns[flag] = columns[flag].view(np.bool_)
    draws = np.arange(len(columns["actions"]), dtype=np.int32) % s.multiplicity
    return Examples(draws=draws, **columns)


def clean(examples: Examples, ell: int) -> Cleaned:
    """Leaves out what would teach wrongly.

    A set that was cut with the truth kept, and then filtered below ℓ, holds the truth more often than chance would
    have it. A game that the loser could have won by force teaches the wrong winner.
    """
    too_small = examples.cut & (examples.set_sizes < ell)
    missed = examples.missed_win & ~too_small
    kept = examples.where(~too_small & ~missed)
    return Cleaned(kept, len(examples), int(examples.cut.sum()), int(too_small.sum()), int(missed.sum()))


def split(records: Sequence[GameRecord]) -> tuple[list[GameRecord], list[GameRecord]]:
    """(for training, for validation)."""
    training = [record for record in records if not is_validation(record)]
    return training, [record for record in records if is_validation(record)]
