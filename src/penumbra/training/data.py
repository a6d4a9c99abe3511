"""Examples on the device that trains: made once from games, then drawn from at random, headset by headset.

A headset learns from some players' steps: `All` from everybody's, `Top` from those of the players named so, and any
other name from the steps of the player of that name. Legal actions are padded to a fixed width, so that a batch is a
gather.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from penumbra.core import GameRecord
from penumbra.training.examples import Examples, ExampleSettings, clean, make_examples

MOST_LEGAL = 160  # actions kept of one row; rows with more are left out


@dataclass
class Batch:
    """B examples on the device."""

    planes: Tensor  # int64[B, 104]
    legal: Tensor  # int64[B, MOST_LEGAL], -1 past the end
    target: Tensor  # int64[B] position of the action within `legal`
    outcome: Tensor  # float32[B]
    soon: Tensor  # float32[B, 2] won, lost soon
    pieces: Tensor  # int64[B, 12]


@dataclass
class Table:
    """All examples of some games, on one device, and the rows that each headset learns from."""

    columns: Batch
    rows: dict[str, Tensor]  # int64 row numbers, by headset
    report: str

    def draw(self, headset: str, size: int, generator: torch.Generator) -> Batch:
        """A random batch of one headset, with replacement."""
        rows = self.rows[headset]
        chosen = rows[torch.randint(len(rows), (size,), generator=generator, device=rows.device)]
        return self.take(chosen)

    def take(self, rows: Tensor) -> Batch:
        c = self.columns
        legal, pieces = c.legal[rows].long(), c.pieces[rows].long()
        return Batch(c.planes[rows], legal, c.target[rows], c.outcome[rows], c.soon[rows], pieces)

    def in_order(self, headset: str, size: int) -> Iterator[Batch]:
        for rows in self.rows[headset].split(size):
            yield self.take(rows)


def build(
    records: Sequence[GameRecord],
    headsets: Iterable[str],
    top: Iterable[str],
    settings: ExampleSettings,
    device: str,
    chunk: int = 512,
) -> Table:
    """Walks the games `chunk` at a time; what does not belong into training is left out."""
    parts: list[tuple[Examples, list[str]]] = []
    rows = kept = 0
    for first in range(0, len(records), chunk):
        some = records[first : first + chunk]
        cleaned = clean(make_examples(some, settings), settings.limit)
        examples = cleaned.examples
        narrow = np.flatnonzero(np.diff(examples.legal_offsets) <= MOST_LEGAL)
        examples = examples.take(narrow)
        names = [
            some[game].white_name if white else some[game].black_name
            for game, white in zip(examples.games, examples.players, strict=True)
        ]
        rows += cleaned.rows
        kept += len(examples)
        parts.append((examples, names))
    players = np.array([name for _, names in parts for name in names])
    columns = to_device([examples for examples, _ in parts], device)
    best = set(top)
    by_headset = {}
    for headset in headsets:
        wanted = best if headset == "Top" else {headset}
        chosen = np.ones(len(players), bool) if headset == "All" else np.isin(players, list(wanted))
        by_headset[headset] = torch.from_numpy(np.flatnonzero(chosen)).to(device)
    return Table(columns, by_headset, f"{kept:,} of {rows:,} examples of {len(records):,} games")


def to_device(parts: Sequence[Examples], device: str) -> Batch:
    def column(values: Iterable[np.ndarray]) -> Tensor:
        return torch.cat([torch.from_numpy(np.ascontiguousarray(value)) for value in values]).to(device)

    padded = [pad_legal(part) for part in parts]
    return Batch(
        column(part.synopses.view(np.int64) for part in parts),
        column(legal for legal, _ in padded),
        column(target for _, target in padded),
        column(part.outcomes.astype(np.float32) for part in parts),
        column(np.stack([part.soon_won, part.soon_lost], axis=1).astype(np.float32) for part in parts),
        column(part.piece_counts for part in parts),
    )


def pad_legal(examples: Examples) -> tuple[np.ndarray, np.ndarray]:
    """int16[N, MOST_LEGAL] legal actions, and int64[N] where among them the chosen one stands."""
    counts = np.diff(examples.legal_offsets)
    rows = np.repeat(np.arange(len(examples)), counts)
    within = np.arange(len(rows)) - np.repeat(examples.legal_offsets[:-1], counts)
    legal = np.full((len(examples), MOST_LEGAL), -1, dtype=np.int16)
    legal[rows, within] = examples.legal
    target = (legal == examples.actions[:, None]).argmax(axis=1)
    return legal, target.astype(np.int64)
