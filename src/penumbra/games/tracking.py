"""Both players' sets of states through a recorded game: how large they grow, and that the truth is always in them."""

from __future__ import annotations

from dataclasses import dataclass

from penumbra.core import START_FEN, GameRecord
from penumbra.rbc.observations import Observation
from penumbra.rbc.tracker import Follower
from penumbra.rbc.walk import walk

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
    fen = record.start_fen or START_FEN
    white, black = (_Side(Follower(color, fen, cap=cap), until_cut) for color in (True, False))
    for step in walk(record):
        truth = _state(step.after.fen())
        for observation in step.told:
            try:
                (white if step.color else black).observe(observation, truth)
            except ValueError as error:
                raise TruthLost(f"{'White' if step.color else 'Black'}'s set: {error}") from None
    return Track((white.most, black.most), (white.cut, black.cut), (white.lost, black.lost), white.looks + black.looks)


@dataclass
class _Side:
    """One player's set beside the true game."""

    follower: Follower
    until_cut: bool
    most: int = 1
    cut: bool = False
    lost: bool = False
    looks: int = 0

    def observe(self, observation: Observation, truth: str) -> None:
        """Follows the set, and looks for the truth; ValueError where it should be there and is not."""
        if self.lost or (self.cut and self.until_cut):
            return
        states = self.follower.observe(observation)
        if states is None:
            self.lost = True
            return
        self.most = max(self.most, len(states))
        if not states.complete:
            self.cut = True
        elif truth in states:
            self.looks += 1
        else:
            raise ValueError(f"after {observation} it lacks {truth}")


def _state(fen: str) -> str:
    """The FEN without the clocks, which are no part of a state."""
    return " ".join([*fen.split()[:4], "0", "1"])
