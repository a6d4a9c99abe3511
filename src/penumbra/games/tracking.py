"""Both players' sets of states through a recorded game: how large they grow, and that the truth is always in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penumbra.core import Game, GameRecord
from penumbra.rbc.actions import code_to_action
from penumbra.rbc.tracker import ImpossibleObservation, Tracker

CAP = 1_000_000  # states, the size to which figures about sets are tracked


class TruthLost(ValueError):
    """A complete set of states does not hold the true one: the record or the tracker is wrong."""


@dataclass(frozen=True)
class Track:
    """One game's sets, White's first."""

    most: tuple[int, int]  # the largest set of each player
    cut: tuple[bool, bool]  # whether the cap cut it, so that the truth may be missing from then on
    lost: tuple[bool, bool]  # whether a cut set came to contradict what was observed, where those were followed
    looks: int  # how often the truth was looked for in a complete set, and found


def track(record: GameRecord, cap: int = CAP, until_cut: bool = False) -> Track:
    """Follows a game; `TruthLost` if a complete set lacks the true state, ValueError if the record breaks the rules.

    `until_cut` follows each set only until the cap cuts it, which is what takes long in long games.
    """
    game = Game(record.start_fen or None, None, None)
    shadows = {color: _Shadow(color, game.fen(), cap, until_cut) for color in (True, False)}
    moves = record.moves
    for i, square in enumerate(record.senses):
        shadow = shadows[game.turn]
        sense = square if square >= 0 else None
        shadow.observe(game, lambda tracker, capture=game.capture: tracker.opponent_moved(capture))  # type: ignore[misc]
        contents = [content for _, content in game.sense(sense)]
        shadow.observe(game, lambda tracker, s=sense, c=contents: tracker.sensed(s, c))  # type: ignore[misc]
        if i < len(moves):
            code = moves[i]
            _, capture = game.move(code_to_action(code), code >> 12)
            taken, ended = game.last_taken, game.over
            shadow.observe(
                game,
                lambda tracker, m=code, t=taken, c=capture, e=ended: tracker.moved(m, t, c, e),  # type: ignore[misc]
            )
    white, black = shadows[True], shadows[False]
    return Track((white.most, black.most), (white.cut, black.cut), (white.lost, black.lost), white.looks + black.looks)


class _Shadow:
    """One player's tracker beside the true game."""

    def __init__(self, color: bool, fen: str, cap: int, until_cut: bool) -> None:
        self._color = color
        self._until_cut = until_cut
        self._tracker = Tracker(color, fen, cap=cap, memory=0)
        self.most = 1
        self.cut = False
        self.lost = False
        self.looks = 0

    def observe(self, game: Game, tell: Callable[[Tracker], None]) -> None:
        """Tells the tracker, and looks for the truth."""
        if self.lost or (self.cut and self._until_cut):
            return
        try:
            tell(self._tracker)
        except ImpossibleObservation as error:
            if error.complete:
                raise TruthLost(f"{_name(self._color)}'s set: {error}") from None
            self.lost = True
            return
        self.most = max(self.most, len(self._tracker))
        if not self._tracker.complete:
            self.cut = True
        elif _state(game.fen()) in self._tracker.current:
            self.looks += 1
        else:
            raise TruthLost(f"{_name(self._color)}'s set at step {self._tracker.step} lacks {game.fen()}")


def _name(color: bool) -> str:
    return "White" if color else "Black"


def _state(fen: str) -> str:
    """The FEN without the clocks, which are no part of a state."""
    return " ".join([*fen.split()[:4], "0", "1"])
