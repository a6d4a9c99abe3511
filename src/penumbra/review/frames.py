"""A game as its review shows it: each step with the true board after it, and what both sides then hold possible.

Each side's set of states is tracked from that side's own observations alone. A set is given with the steps that change
it: the sense of its owner, and every move. `bits` is the surprise of an observation, log₂ of the share of the states
that agreed with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from penumbra.core import START_FEN, Game, GameRecord
from penumbra.rbc.marginals import opposing_pieces
from penumbra.rbc.player_view import PROTOCOL, ColorName, Event, Teller, color_name
from penumbra.rbc.tracker import ImpossibleObservation, Tracker
from penumbra.rbc.walk import replay

CAP = 50_000  # states tracked for each side; past it they are a random draw
REVIEW = "penumbra review"

Sets = dict[ColorName, dict[str, Any] | None]


class Reviewer:
    """Follows a true game, step by step."""

    def __init__(self, fen: str = START_FEN) -> None:
        self._tellers = {color: Teller(color, fen) for color in (True, False)}
        self._trackers: dict[bool, Tracker | None] = {
            color: Tracker(color, fen, cap=CAP, memory=0) for color in (True, False)
        }
        self._to_act = fen.split()[1] == "w"
        self._number = int(fen.split()[5])
        self._tracker_of(self._to_act, lambda tracker: tracker.opponent_moved(None))

    def sensed(self, game: Game, color: bool, square: int | None, contents: Sequence[int]) -> dict[str, Any]:
        """The step that was just taken, given in the view of `color`."""
        self._tellers[color].sensed(game, square, contents)
        sets: Sets = {color_name(color): self._tracker_of(color, lambda tracker: tracker.sensed(square, contents))}
        return self._step(game, color, sets)

    def moved(self, game: Game, color: bool, requested: int, taken: int, capture: int | None) -> dict[str, Any]:
        """The same for a move."""
        ended = game.reason == "KING_CAPTURE"
        self._tellers[color].moved(game, requested, taken, capture)
        own = self._tracker_of(color, lambda tracker: tracker.moved(requested, taken, capture, ended))
        sets: Sets = {color_name(color): own}
        if not ended:
            lost = game.capture
            sets[color_name(not color)] = self._tracker_of(not color, lambda tracker: tracker.opponent_moved(lost))
        step = self._step(game, color, sets)
        self._number += not color
        return step

    def _step(self, game: Game, color: bool, sets: Sets) -> dict[str, Any]:
        event: Event = self._tellers[color].events[-1]
        facts = {key: value for key, value in event.items() if key != "own"}
        return {**facts, "turn": self._number, "color": color_name(color), "fen": game.fen(), "sets": sets}

    def _tracker_of(self, color: bool, observe: Callable[[Tracker], None]) -> dict[str, Any] | None:
        """The side's set after an observation; None once a set cut to its cap has lost the truth."""
        tracker = self._trackers[color]
        if tracker is None:
            return None
        before = len(tracker)
        try:
            observe(tracker)
        except ImpossibleObservation as error:
            if error.complete:
                raise
            self._trackers[color] = None
            return None
        states = tracker.current
        return {
            "states": len(states),
            "complete": states.complete,
            "bits": round(math.log2(before / len(states)), 2) if len(states) < before else 0.0,
            "pieces": opposing_pieces(states),
        }


def header(record: GameRecord) -> dict[str, Any]:
    """What comes before the steps."""
    winner = None if record.winner is None else color_name(record.winner)
    return {
        "type": REVIEW,
        "protocol": PROTOCOL,
        "white": record.white_name or "White",
        "black": record.black_name or "Black",
        "start": record.start_fen or START_FEN,
        "steps": len(record.senses) + len(record.moves),
        "result": None if record.reason is None else {"winner": winner, "reason": record.reason},
    }


def steps_of(data: bytes) -> Iterator[dict[str, Any]]:
    """The steps of a recorded game, given by its record's bytes; the last turn may lack its move."""
    return replay(GameRecord.from_bytes(data), Reviewer)


def review_of(record: GameRecord) -> dict[str, Any]:
    """The whole review in one piece."""
    return header(record) | {"steps": list(steps_of(record.to_bytes()))}
