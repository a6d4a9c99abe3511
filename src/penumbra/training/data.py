"""Examples on the device that trains: made once from games, then drawn from at random, headset by headset.

A headset learns from the steps of the players that its plan names; accounts of the official server count as the players
they belong to (see `penumbra.games.accounts`). Legal actions are padded to a fixed width, so that a
batch is a gather. A table can be filled by another thread while it is drawn from. Of a step that was searched the
policy learns the visits of the root (see `penumbra.games.visits`), of any other what was chosen.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from penumbra.core import GameRecord
from penumbra.games.accounts import seats
from penumbra.games.ratings import Result, largest_part, rate
from penumbra.games.visits import unpack
from penumbra.rbc.actions import SENSES
from penumbra.rbc.synopsis import LAYOUTS, Synopsis, layout_of, words_within
from penumbra.training.examples import Cleaned, Examples, ExampleSettings, clean, make_examples
from penumbra.training.recipe import EVERYBODY, THE_BEST, Plan

MOST_LEGAL = 160  # actions kept of one row; rows with more are left out
CHUNK = 256  # games made into examples at a time
Mask = NDArray[np.bool_]


@dataclass
class Batch:
    """B examples on the device."""

    planes: Tensor  # int64[B, words] of one sort of synopsis
    legal: Tensor  # int64[B, MOST_LEGAL], -1 past the end
    target: Tensor  # int64[B] position of the action within `legal`
    outcome: Tensor  # float32[B]
    soon: Tensor  # float32[B, 2] won, lost soon
    pieces: Tensor  # int64[B, 12]
    left: Tensor  # float32[B] own steps to the end of the game
    shares: Tensor | None = None  # float32[B, MOST_LEGAL] of the visits; None where nothing was searched
    engine: Tensor | None = None  # float32[B, 2] chances to win by the engine, as in the examples; None: not asked


COLUMNS = {  # of a table, beside the planes: as in a batch, but narrow
    "legal": (torch.int16, (MOST_LEGAL,)),
    "target": (torch.uint8, ()),
    "outcome": (torch.int8, ()),
    "soon": (torch.bool, (2,)),
    "pieces": (torch.uint8, (12,)),
    "left": (torch.int16, ()),
    "game": (torch.int32, ()),  # which of the table's records
    "draw": (torch.uint8, ()),  # which of the draws of its step, from 0
    "states": (torch.int32, ()),  # tracked; past the cap, the cap
}


@dataclass(frozen=True)
class Made:
    """The rows of some games, and what became of the examples."""

    columns: dict[str, Tensor]
    chosen: dict[str, Mask]  # by headset: which of the rows it learns from
    cleaned: Cleaned
    fitting: int  # of the cleaned ones, those with at most MOST_LEGAL actions
    kept: int  # of these, those that some headset learns from


@dataclass
class Tally:
    """What became of the examples."""

    games: int = 0
    rows: int = 0  # made
    kept: int = 0  # that some headset learns from
    flagged: int = 0  # from sets that a cap has cut
    too_small: int = 0  # of these with fewer than ℓ states, left out
    missed_win: int = 0  # of games that the loser could have won by force, left out
    too_wide: int = 0  # with more legal actions than a row holds, left out

    def add(self, games: int, made: Made) -> None:
        cleaned = made.cleaned
        self.games += games
        self.rows += cleaned.rows
        self.kept += made.kept
        self.flagged += cleaned.flagged
        self.too_small += cleaned.too_small
        self.missed_win += cleaned.missed_win
        self.too_wide += len(cleaned.examples) - made.fitting

    def __str__(self) -> str:
        return (
            f"{self.kept:,} of {self.rows:,} examples of {self.games:,} games; {self.flagged / max(self.rows, 1):.1%} "
            f"from sets cut by the cap; left out: {self.too_small:,} cut and too small, {self.missed_win:,} of games "
            f"with a missed win, {self.too_wide:,} with over {MOST_LEGAL} legal actions"
        )


class Table:
    """All examples of some games, on one device, and the rows that each headset learns from.

    `records` are used in an order drawn by the seed, so that a table half filled is like a whole one; in each of
    several passes in an order of its own.
    """

    def __init__(
        self,
        records: Sequence[GameRecord],
        plans: Mapping[str, Plan],
        top: Iterable[str],
        settings: ExampleSettings,
        device: str,
        searched: Mapping[int, bytes] | None = None,  # packed, by the game's hash
        passes: int = 1,
    ) -> None:
        orders = np.random.default_rng(settings.seed)
        self.records = [records[i] for _ in range(passes) for i in orders.permutation(len(records))]
        self.plans = plans
        self.top = sorted(top)
        self.settings = settings
        self.device = torch.device(device)
        most = self._capacity()
        self.columns = {
            name: torch.empty((most, *shape), dtype=dtype, device=self.device)
            for name, (dtype, shape) in COLUMNS.items()
        }
        words = LAYOUTS[settings.synopsis].words
        self.columns["planes"] = torch.empty((most, words), dtype=torch.int64, device=self.device)
        if settings.engine_states:
            self.columns["engine"] = torch.empty((most, 2), dtype=torch.float16, device=self.device)
        self.searched = searched or {}
        if self.searched:
            self.columns["shares"] = torch.empty((most, MOST_LEGAL), dtype=torch.float16, device=self.device)
        self.rows = {name: torch.empty(most, dtype=torch.int32, device=self.device) for name in plans}
        self.counts = dict.fromkeys(plans, 0)  # rows of each headset so far
        self.tally = Tally()
        self.words: Tensor | None = None  # of the planes that a batch shows; None: all
        self.without: int | None = None  # the word of which a batch shows nothing

    def as_read(self, synopsis: Synopsis) -> Table:
        """The same rows as a network of another sort reads them; the table's own sort has all planes of that one."""
        own = layout_of(self.columns["planes"].shape[1]).synopsis
        seen = copy.copy(self)
        seen.settings = replace(self.settings, synopsis=synopsis)
        seen.words = torch.from_numpy(words_within(synopsis, own)).to(self.device)
        return seen

    def _capacity(self) -> int:
        """The most rows that are held."""
        return sum(self._most_rows(record) for record in self.records)

    def _most_rows(self, record: GameRecord) -> int:
        """A sense and a move at each ply, as often as the keenest headset wants."""
        plies = (len(record.moves) + 1) // 2  # of each player
        return 2 * plies * sum(self._multiplicity(name) for name in seats(record))

    def _multiplicity(self, player: str) -> int:
        wanted = (p.multiplicity for p in self.plans.values() if learns_from(p, np.array([player]), self.top)[0])
        return max(wanted, default=0)

    def fill(
        self,
        progress: Callable[[Tally], None] = lambda tally: None,
        stop: threading.Event | None = None,
        chunk: int = CHUNK,
    ) -> None:
        """Makes the examples, `chunk` games at a time; the next games are walked through while some are stored."""
        with ThreadPoolExecutor(1) as ahead:
            coming = ahead.submit(self._walk, self.records[:chunk], self.settings.seed)
            for first in range(0, len(self.records), chunk):
                if stop is not None and stop.is_set():
                    return
                walked, after = coming.result(), first + chunk
                coming = ahead.submit(self._walk, self.records[after : after + chunk], self.settings.seed + after)
                self._add(self.records[first:after], first, walked)
                progress(self.tally)

    def _add(self, records: Sequence[GameRecord], first: int, examples: Examples) -> None:
        made = self._made(records, examples)
        made.columns["game"] += first
        for headset, rows in self._store(made, self.tally.kept).items():
            count = self.counts[headset]
            self.rows[headset][count : count + len(rows)] = rows
            self.counts[headset] = count + len(rows)  # only now can they be drawn
        self.tally.add(len(records), made)

    def _walk(self, records: Sequence[GameRecord], seed: int) -> Examples:
        return make_examples(records, self.settings.with_seed(seed))

    def _made(self, records: Sequence[GameRecord], walked: Examples) -> Made:
        settings = self.settings
        cleaned = clean(walked, settings.ell)
        fitting = cleaned.examples.where(np.diff(cleaned.examples.legal_offsets) <= MOST_LEGAL)
        examples, chosen = self._wanted(fitting, records)
        columns = narrow_columns(examples)
        if settings.engine_states:
            columns["engine"] = torch.from_numpy(examples.engine.astype(np.float16))
        if self.searched:
            columns["shares"] = torch.from_numpy(visit_shares(examples, records, self.searched))
        return Made(columns, chosen, cleaned, len(fitting), len(examples))

    def _store(self, made: Made, start: int) -> dict[str, Tensor]:
        """Puts rows there; int32[rows] the rows of each headset among them."""
        for name, value in made.columns.items():
            self.columns[name][start : start + made.kept] = value.to(self.device)
        return {
            headset: torch.from_numpy((np.flatnonzero(mask) + start).astype(np.int32)).to(self.device)
            for headset, mask in made.chosen.items()
        }

    def _wanted(self, examples: Examples, records: Sequence[GameRecord]) -> tuple[Examples, dict[str, Mask]]:
        """The examples that some headset learns from, and which of them each does."""
        players = players_of(examples, records)
        masks = {
            headset: learns_from(plan, players, self.top) & (examples.draws < plan.multiplicity)
            for headset, plan in self.plans.items()
        }
        some = np.logical_or.reduce(list(masks.values()))
        return examples.where(some), {headset: mask[some] for headset, mask in masks.items()}

    def draw(self, headset: str, size: int, generator: torch.Generator | None) -> Batch:
        """A random batch of one headset, with replacement."""
        chosen = torch.randint(self.counts[headset], (size,), generator=generator, device=self.device)
        return self.take(self.rows[headset][chosen].long())

    def take(self, rows: Tensor) -> Batch:
        c = {name: column[rows] for name, column in self.columns.items()}
        if self.without is not None:
            c["planes"][:, self.without] = 0
        return Batch(
            c["planes"] if self.words is None else c["planes"][:, self.words],
            c["legal"].long(),
            c["target"].long(),
            c["outcome"].float(),
            c["soon"].float(),
            c["pieces"].long(),
            c["left"].float(),
            c["shares"].float() if self.searched else None,
            c["engine"].float() if "engine" in c else None,
        )

    def in_order(self, headset: str, size: int) -> Iterator[Batch]:
        for rows in self.rows[headset][: self.counts[headset]].split(size):
            yield self.take(rows.long())


def narrow_columns(examples: Examples) -> dict[str, Tensor]:
    """The columns of a table; no row may have more than MOST_LEGAL actions."""
    legal, target = pad_legal(examples)
    columns = {
        "planes": examples.synopses.view(np.int64),
        "legal": legal,
        "target": target,
        "outcome": examples.outcomes,
        "soon": np.stack([examples.soon_won, examples.soon_lost], axis=1),
        "pieces": examples.piece_counts,
        "left": examples.left.astype(np.int16),
        "game": examples.games,
        "draw": examples.draws.astype(np.uint8),
        "states": examples.set_sizes.astype(np.int32),
    }
    return {name: torch.from_numpy(np.ascontiguousarray(column)) for name, column in columns.items()}


def visit_shares(
    examples: Examples, records: Sequence[GameRecord], searched: Mapping[int, bytes]
) -> NDArray[np.float16]:
    """float16[N, MOST_LEGAL]: shares of the visits along the legal actions; unsearched, all of the chosen one."""
    legal, target = pad_legal(examples)
    shares = np.zeros(legal.shape, np.float16)
    shares[np.arange(len(target)), target] = 1
    found = {
        (number, search.ply, search.is_sense): search
        for number, record in enumerate(records)
        if record.hash in searched
        for search in unpack(searched[record.hash])
    }
    steps = zip(examples.games.tolist(), examples.plies.tolist(), (examples.actions < SENSES).tolist(), strict=True)
    for row, step in enumerate(steps):
        if step in found:
            search = found[step]
            at = (legal[row][:, None] == search.actions).argmax(axis=0)
            shares[row] = 0
            shares[row, at] = search.shares
    return shares


def top_players(records: Iterable[GameRecord]) -> list[str]:
    """The top third by rating, of the largest part of the players that games connect."""
    connected, _ = largest_part(results_between(records))
    return [rating.name for rating in rate(connected).players if rating.top]


def results_between(records: Iterable[GameRecord]) -> list[Result]:
    """The result of each game."""
    return [(*seats(record), record.winner, 1) for record in records]


def players_of(examples: Examples, records: Sequence[GameRecord]) -> NDArray[np.str_]:
    """Who acted in each row."""
    names = np.array([seats(record) for record in records])[examples.games]  # [N, 2]
    return np.where(examples.players, names[:, 0], names[:, 1])


def learns_from(plan: Plan, players: NDArray[np.str_], top: Sequence[str]) -> Mask:
    """Which rows a headset learns from."""
    if plan.players == EVERYBODY:
        return np.ones(len(players), bool)
    return np.isin(players, list(top) if plan.players == THE_BEST else list(plan.players))


def check_games(plans: Mapping[str, Plan], records: Sequence[GameRecord], top: Sequence[str]) -> None:
    """ValueError if there is a headset that no game would train."""
    players = np.array(sorted({name for record in records for name in seats(record)}))
    without = [headset for headset, plan in plans.items() if not learns_from(plan, players, top).any()]
    if without:
        tables = ", ".join(f"[headsets.{headset}]" for headset in without)
        raise ValueError(
            f"no game trains {tables}: none of the {len(records):,} games to learn from was played by its players; "
            "leave it out of the recipe, or add games of theirs"
        )


def padded(actions: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.int16]:
    """int16[N, MOST_LEGAL], -1 past the end; of a row that has more, the first ones."""
    counts = np.diff(offsets)
    rows = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(rows)) - np.repeat(offsets[:-1], counts)
    fits = within < MOST_LEGAL
    legal = np.full((len(counts), MOST_LEGAL), -1, dtype=np.int16)
    legal[rows[fits], within[fits]] = actions[fits]
    return legal


def pad_legal(examples: Examples) -> tuple[NDArray[np.int16], NDArray[np.uint8]]:
    """int16[N, MOST_LEGAL] legal actions, and uint8[N] where among them the chosen one stands."""
    legal = padded(examples.legal, examples.legal_offsets)
    target = (legal == examples.actions[:, None]).argmax(axis=1)
    return legal, target.astype(np.uint8)
