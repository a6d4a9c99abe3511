"""Examples that stream: a bounded number of rows, exchanged while training goes on.

The games are passed over again and again, in each pass in an order of its own and with fresh draws of their states, so
that every game is visited once in each pass and a headset's multiplicity is the number of passes. A lot is some games
after one another; the window holds the rows of the last lots, as many as fit into it, and batches are drawn from all of
them alike. Once the rows that are there have been drawn `REUSE` times on average, a lot is made for each `REUSE` times
its rows that are drawn, and the oldest ones leave.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from penumbra.core import GameRecord
from penumbra.rbc.synopsis import LAYOUTS
from penumbra.training.data import CHUNK, COLUMNS, Batch, Table, Tally
from penumbra.training.examples import ExampleSettings
from penumbra.training.recipe import Plan, Recipe

REUSE = 2  # times that a row is drawn, about; the paper drew 166 million examples of 190 million
LOTS = 8  # in a window, at least


@dataclass(frozen=True)
class _Lot:
    """Rows that came together and leave together."""

    start: int
    stop: int
    rows: Mapping[str, Tensor]  # int32 by headset

    def overlaps(self, start: int, stop: int) -> bool:
        return self.start < stop and start < self.stop


class Window(Table):
    """A table of at most `settings.window` rows that change as they are drawn; for one thread."""

    def __init__(
        self,
        records: Sequence[GameRecord],
        plans: Mapping[str, Plan],
        top: Iterable[str],
        settings: ExampleSettings,
        device: str,
        searched: Mapping[int, bytes] | None = None,
    ) -> None:
        super().__init__(records, plans, top, replace(settings, multiplicity=1), device, searched)
        self.rows = {name: torch.empty(0, dtype=torch.int32, device=self.device) for name in plans}
        self._lots: deque[_Lot] = deque()
        self._games = self._in_lots()
        self._end = 0  # of the lot that came last
        self._drawn = 0
        if (largest := max(map(self._most_rows, self.records))) > settings.window:
            raise ValueError(f"window = {settings.window}: one of the games alone may have {largest:,} rows")

    def _capacity(self) -> int:
        return self.settings.window

    def _multiplicity(self, player: str) -> int:
        return min(super()._multiplicity(player), 1)

    def fill(
        self,
        progress: Callable[[Tally], None] = lambda tally: None,
        stop: threading.Event | None = None,
        chunk: int = CHUNK,
    ) -> None:
        """Makes the first rows: a whole window, or those of all games where these are fewer."""
        while self.tally.games < len(self.records) and not (stop is not None and stop.is_set()):
            if self._exchange():
                return
            progress(self.tally)

    def draw(self, headset: str, size: int, generator: torch.Generator | None) -> Batch:
        """A random batch of one headset, with replacement; then what is due is exchanged."""
        batch = super().draw(headset, size, generator)
        self._drawn += size
        while self._drawn > REUSE * self.tally.kept:
            self._exchange()
        return batch

    def _exchange(self) -> bool:
        """Makes a lot; whether others had to leave for it."""
        games, seed = next(self._games)
        records = [self.records[game] for game in games]
        made = self._made(records, self._walk(records, seed))
        made.columns["game"] = torch.from_numpy(games.astype(np.int32))[made.columns["game"].long()]
        start = self._end if self._end + made.kept <= self.settings.window else 0
        before = len(self._lots)
        while any(lot.overlaps(start, start + made.kept) for lot in self._lots):
            self._lots.popleft()  # the oldest one: what stands before the next is always older
        left = len(self._lots) < before
        self._lots.append(_Lot(start, start + made.kept, self._store(made, start)))
        self._end = start + made.kept
        self.rows = {name: torch.cat([lot.rows[name] for lot in self._lots]) for name in self.plans}
        self.counts = {name: len(rows) for name, rows in self.rows.items()}
        self.tally.add(len(records), made)
        return left

    def _in_lots(self) -> Iterator[tuple[NDArray[np.int64], int]]:
        """(which games, the seed of their draws), for ever."""
        rng = np.random.default_rng(self.settings.seed)
        most = max(self.settings.window // LOTS, 1)
        while True:
            lot: list[int] = []
            rows = 0
            for game in rng.permutation(len(self.records)).tolist():
                size = self._most_rows(self.records[game])
                if lot and (rows + size > most or len(lot) == CHUNK):
                    yield np.array(lot), int(rng.integers(2**31))
                    lot, rows = [], 0
                lot.append(game)
                rows += size
            yield np.array(lot), int(rng.integers(2**31))


def table_for(
    recipe: Recipe,
    records: Sequence[GameRecord],
    top: Iterable[str],
    device: str,
    searched: Mapping[int, bytes] | None = None,
    step: int = 0,
) -> Table:
    """What a recipe learns from, still empty: a window if it has one, which goes on after a step in another order."""
    settings = recipe.examples
    if settings.window:
        return Window(records, recipe.plans, top, settings.with_seed(settings.seed + step), device, searched)
    return Table(records, recipe.plans, top, settings, device, searched)


def bytes_of_rows(rows: int, settings: ExampleSettings) -> int:
    """How much memory so many rows of a table take, about, without what was searched."""
    each: int = sum(dtype.itemsize * math.prod(shape) for dtype, shape in COLUMNS.values())
    return rows * (each + 8 * LAYOUTS[settings.synopsis].words)
