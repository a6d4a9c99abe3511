"""A player that holds a distribution over squares for each opposing piece and averages over boards made from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penumbra.configs.reader import Count
from penumbra.core import START_FEN, StateSet
from penumbra.players.opponents.engine import Actions, Engine, tamed
from penumbra.players.opponents.piece_clouds import PAWN, PieceClouds, attackers_of
from penumbra.players.opponents.settings import EngineSettings
from penumbra.players.opponents.single_board_player import KING as OWN_KING
from penumbra.players.opponents.single_board_player import OneBoardPlayer
from penumbra.players.penumbra.recovery import read_board, write_fen
from penumbra.rbc.actions import code_parts, sense_window
from penumbra.rbc.sense_partitions import INNER_SQUARES, WINDOWS

CHECKS = 3.0  # how much more a place counts from which our king would be attacked
PAWNS = 0.5  # how much less a pawn's place counts


@dataclass(frozen=True)
class LaSalleSettings(EngineSettings):
    states: Count = 30  # boards made for each move


class LaSalle(OneBoardPlayer[LaSalleSettings]):
    kind = "LaSalle"

    def __init__(self, seed: int, settings: LaSalleSettings | None = None, engine: Engine | None = None) -> None:
        super().__init__(seed, settings or LaSalleSettings(), engine)
        self.clouds = PieceClouds(read_board(START_FEN, True))
        self._started = False

    def begin(self, fen: str) -> None:
        super().begin(fen)
        self.clouds = PieceClouds(self.board)
        self._started = (fen.split()[1] == "w") != self.color  # the first notice tells of no move if we begin

    def learn_opponent_moved(self, capture: int | None) -> None:
        super().learn_opponent_moved(capture)
        if capture is not None:
            self.clouds.take(capture, self.board)
        elif self._started:
            self.clouds.move(self.board)
        self._started = True

    def learn_sensed(self, square: int, contents: Sequence[int]) -> None:
        super().learn_sensed(square, contents)
        self.clouds.see(dict(zip(sense_window(square, self.color), contents, strict=True)))

    def learn_moved(self, requested: int, taken: int, capture: int | None) -> None:
        piece = self.board[requested & 63] if requested else 0
        super().learn_moved(requested, taken, capture)
        if capture is not None:
            self.clouds.remove(capture)
        if taken:
            start, end, _ = code_parts(taken)
            self.clouds.clear([s for s in _between(start, end) if not 1 <= self.board[s] <= 6] + [end])
        elif piece == 1:
            start, end, _ = code_parts(requested)
            if (end - start) % 8 == 0:
                self.clouds.block(start + 8)
            else:
                self.clouds.clear([end])

    def pick_sense(self) -> int:
        """Where pieces are nearest to be there or not by even chances."""
        doubt = self.clouds.p * (1 - self.clouds.p)  # float64[pieces, 64]
        masks = attackers_of(self.board.index(OWN_KING))
        for i, kind in enumerate(self.clouds.kinds):
            if kind == PAWN:
                doubt[i] *= PAWNS
            if kind in masks:
                doubt[i] *= np.where(masks[kind], CHECKS, 1)
        if self.captured_at is not None:
            doubt[:, self.captured_at] += 0.1
        return INNER_SQUARES[self.best(doubt.sum(axis=0)[WINDOWS].sum(axis=1).round(9))]

    def pick_move(self, actions: Actions) -> int:
        boards = self.clouds.boards(self.board, self.settings.states, self.rng)
        fens = {write_fen(board, self.rights, self.color, self.color) for board in boards.tolist()}
        states = StateSet.from_fens(sorted(fens), self.color)
        return self.pick(actions, tamed(self.engine.scores(states, actions)).mean(axis=0))


def _between(start: int, end: int) -> list[int]:
    """The squares between two on a line; none for a knight's move."""
    ranks, files = end // 8 - start // 8, end % 8 - start % 8
    distance = max(abs(ranks), abs(files))
    if ranks % distance or files % distance:
        return []
    return [start + i * (ranks // distance * 8 + files // distance) for i in range(1, distance)]
