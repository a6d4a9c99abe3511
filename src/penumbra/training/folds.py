"""How well a network predicts players once it has learned from them: cross-validation by game.

The games are dealt into k folds. For each fold a copy of the network learns from the games of the others and predicts
those of this one, so every game is predicted by headsets that have never seen it. Examples are made once, in one table
on the device, in several passes over the games with fresh draws of the states; each copy draws its batches from the
rows that are not of its fold's games. The copies learn in turns, a step each, so that all have had the same when the
time is up. What is predicted is the first draw of each step.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from penumbra.core import GameRecord
from penumbra.games.accounts import is_unknown, seats
from penumbra.network.model import Network
from penumbra.network.weights import Weights
from penumbra.training.data import Batch, Table, learns_from, top_players
from penumbra.training.game_counts import GameCounts, Share, all_together, count, shares
from penumbra.training.recipe import EVERYBODY, Recipe
from penumbra.training.run import START, fill
from penumbra.training.trainer import CheckpointError, Trainer

CHUNK = 32  # games made into examples at a time: a run ends no later than one such lot
SAY_EVERY = 10.0  # seconds
FOR_PREDICTING = 0.1  # share of the time that is kept for predicting, until it is known how long that takes
FOR_FIRST_PASS = 0.5  # share of the time after which learning begins even if the first pass is not done
LAST_LOT = 10.0  # seconds that the games in the making may still take
RECALIBRATION = 20  # batches, where the tower has learned
NO_FOLD = -1  # of games that are learned from by every copy and predicted by none


@dataclass(frozen=True)
class Limits:
    """How much a cross-validation may take."""

    passes: int = 4  # over the games, each with draws of its own
    ends: float = math.inf  # when all of it should be done, by the monotonic clock


@dataclass(frozen=True)
class Row:
    """How well one player is predicted."""

    name: str
    seats: int
    games: int
    examples: int
    before: Mapping[str, Share]  # by measure
    after: Mapping[str, Share] | None  # None: nothing was learned


@dataclass(frozen=True)
class Result:
    """What came of a cross-validation."""

    rows: tuple[Row, ...]
    calibration: tuple[NDArray[np.float64], ...]  # of All's value, before and, if anything was learned, after
    games: int  # predicted
    top: Sequence[str]
    steps: int  # of each copy
    examples: str  # what became of them


def deal(records: Sequence[GameRecord], folds: int) -> NDArray[np.int64]:
    """int64[games]: the fold of each game. Sorted by their hashes, the games are dealt out like cards."""
    if folds < 2:
        raise ValueError(f"{folds} folds leave no games to learn from; it must be 2 or more, or 0 to learn nothing")
    if folds > len(records):
        raise ValueError(f"{len(records)} games cannot be dealt into {folds} folds; each needs one at least")
    order = sorted(range(len(records)), key=lambda i: records[i].hash)
    found = np.empty(len(records), np.int64)
    found[order] = np.arange(len(records)) % folds
    return found


class OtherFolds:
    """The rows of a table but for those of one fold's games; the table may still be filled."""

    def __init__(self, table: Table, folds: Tensor, fold: int) -> None:
        self._table = table
        self._folds = folds  # int64[records of the table]
        self._fold = fold
        self._seen = dict.fromkeys(table.rows, 0)
        self._rows = {name: rows[:0] for name, rows in table.rows.items()}

    @property
    def counts(self) -> Mapping[str, int]:
        for name, made in self._table.counts.items():
            if made > self._seen[name]:
                new = self._table.rows[name][self._seen[name] : made]
                games = self._table.columns["game"][new.long()].long()
                self._rows[name] = torch.cat([self._rows[name], new[self._folds[games] != self._fold]])
                self._seen[name] = made
        return {name: len(rows) for name, rows in self._rows.items()}

    def draw(self, headset: str, size: int, generator: torch.Generator | None) -> Batch:
        rows = self._rows[headset]
        chosen = torch.randint(len(rows), (size,), generator=generator, device=rows.device)
        return self._table.take(rows[chosen].long())


class CrossValidation:
    """One cross-validation. `extra` games are learned from by every copy, and predicted by none."""

    def __init__(
        self,
        weights: Weights,
        recipe: Recipe,
        records: Sequence[GameRecord],
        folds: int,  # 0: predict with the weights as they are
        device: str,
        *,
        extra: Sequence[GameRecord] = (),
        limits: Limits | None = None,
        say: Callable[[str], None] = print,
    ) -> None:
        dealt = deal(records, folds) if folds else np.zeros(len(records), np.int64)
        of = {record.hash: int(fold) for record, fold in zip(records, dealt, strict=True)}
        self.extra = [record for record in extra if record.hash not in of]
        self.limits = limits or Limits()
        self.began = time.monotonic()
        self.say = say
        self.recipe = recipe = recipe.going_on_from(weights)
        self.copies = [Trainer(recipe, device, weights) for _ in range(folds)]
        self.network = Trainer(recipe, device, weights).network  # as it is
        settings = replace(recipe.examples, window=0)
        if not folds:
            settings = replace(settings, multiplicity=1)
        passes = self.limits.passes if folds else 1
        learned = [*records, *self.extra]
        self.table = Table(learned, recipe.plans, top_players(records), settings, device, passes=passes)
        self.games = len(learned)  # of a pass
        self.folds = torch.tensor([of.get(r.hash, NO_FOLD) for r in self.table.records], device=self.table.device)
        self.others = [OtherFolds(self.table, self.folds, fold) for fold in range(folds)]
        self.predicting = 0.0  # seconds that it took to predict all games

    def run(self) -> Result:
        """Makes the examples, learns until the steps or the time are spent, and predicts all games."""
        stop = threading.Event()
        share = START if self.recipe.training.on_the_fly else self.games / len(self.table.records)
        patience = FOR_FIRST_PASS * (self.limits.ends - self.began)
        in_thread = bool(self.copies)
        filler = fill(self.table, in_thread, stop, self.say, chunk=CHUNK, share=share, seconds=patience)
        try:
            before = self._learn()
        finally:
            stop.set()
            if filler is not None:
                filler.join()  # so that before and after are of the same examples
        before = before or self._predict([self.network])
        after = self._predict([copy.network for copy in self.copies]) if self.copies else None
        return self._result(before, after)

    # -- learning

    def _learn(self) -> dict[str, GameCounts] | None:
        """Steps of the copies in turns; what the weights predict as they are, if all games were there in time."""
        before, last, at = None, time.monotonic(), 0
        began = last
        for copy in self.copies:
            copy.network.train()
        self._limit(FOR_PREDICTING * (self.limits.ends - began), began)
        while self.copies and self.copies[0].done() < 1:
            for copy, rows in zip(self.copies, self.others, strict=True):
                copy.seconds = time.monotonic() - began
                name, parts = copy.learn(rows)
            if before is None and self.table.tally.games >= self.games:
                before = self._predict([self.network])
                self._limit(2 * self.predicting + LAST_LOT, began)
            if (now := time.monotonic()) - last >= SAY_EVERY:
                self._tell(name, parts, (self.copies[0].step - at) / (now - last))
                last, at = now, self.copies[0].step
        if self.copies and not all(map(_finite, (copy.network for copy in self.copies))):
            raise CheckpointError("weights are no longer finite; learn at a lower rate")
        for copy, rows in zip(self.copies, self.others, strict=True):
            if not all(plan.stop_gradient for plan in self.recipe.plans.values()):
                copy.recalibrate(rows, RECALIBRATION)
        return before

    def _limit(self, kept: float, began: float) -> None:
        """Ends learning so many seconds before the end; the learning rate follows."""
        if math.isfinite(self.limits.ends):
            for copy in self.copies:
                training = copy.recipe.training
                seconds = min(training.seconds, max(self.limits.ends - began - kept, 1.0))
                copy.recipe = replace(copy.recipe, training=replace(training, seconds=seconds))

    def _tell(self, name: str, parts: Mapping[str, Tensor], steps: float) -> None:
        numbers = ", ".join(f"{part} {float(value.detach()):.3f}" for part, value in parts.items())
        first = self.copies[0]
        rate = steps * len(self.copies) * first.recipe.training.batch
        self.say(
            f"{first.done():.0%}: step {first.step:,} of {len(self.copies)} networks, {rate:,.0f} examples/s; "
            f"{self.table.tally.kept:,} made; {name}: {numbers}"
        )

    # -- predicting

    def _predict(self, networks: Sequence[Network]) -> dict[str, GameCounts]:
        """Each headset's counts; of several networks, each predicts the games of its own fold."""
        began = time.monotonic()
        found = {}
        for name in self.recipe.plans:
            rows = self._first_draws(name)
            folds = self.folds[self.table.columns["game"][rows].long()]
            own = [rows[folds == fold] if len(networks) > 1 else rows for fold in range(len(networks))]
            parts = zip(networks, own, strict=True)
            found[name] = all_together([count(n, name, self.table, part, self.games) for n, part in parts])
        for network in networks:
            network.train(network is not self.network)
        self.predicting = time.monotonic() - began
        return found

    def _first_draws(self, headset: str) -> Tensor:
        """int64[rows]: the rows that are predicted."""
        columns = self.table.columns
        rows = self.table.rows[headset][: self.table.counts[headset]].long()
        game = columns["game"][rows].long()
        return rows[(game < self.games) & (columns["draw"][rows] == 0) & (self.folds[game] != NO_FOLD)]

    # -- the result

    def _result(self, before: Mapping[str, GameCounts], after: Mapping[str, GameCounts] | None) -> Result:
        records = self.table.records[: self.games]
        own = (self.folds[: self.games] != NO_FOLD).cpu().numpy()
        known = own & ~np.array([is_unknown(r.white_name) or is_unknown(r.black_name) for r in records])
        names = np.array([seats(record) for record in records])  # [games, 2]
        rows = []
        for name, plan in self.recipe.plans.items():
            taken = np.stack([learns_from(plan, side, self.table.top) for side in names.T], axis=1)
            rows.append(_row(name, own, taken, before[name], None if after is None else after[name]))
            if plan.players == EVERYBODY and (known != own).any():
                rows.append(
                    _row(f"{name}, known accounts", known, taken, before[name], None if after is None else after[name])
                )
        calibration = tuple(counts["All"].calibration() for counts in (before, after) if counts and "All" in counts)
        steps = self.copies[0].step if self.copies else 0
        games = int((before[rows[0].name].of[:, 0] > 0).sum())
        return Result(tuple(rows), calibration, games, self.table.top, steps, str(self.table.tally))


def _row(
    name: str, games: NDArray[np.bool_], taken: NDArray[np.bool_], before: GameCounts, after: GameCounts | None
) -> Row:
    judged = games & (before.of[:, 0] > 0)
    return Row(
        name,
        int(taken[judged].sum()),
        int(judged.sum()),
        int(before.of[judged, 0].sum()),
        shares(before, games),
        shares(after, games) if after is not None else None,
    )


def _finite(network: Network) -> bool:
    return all(bool(parameter.isfinite().all()) for parameter in network.parameters())
