"""A game as its review shows it: each step with the true board after it, and what both sides then hold possible.

Each side's set of states is tracked from that side's own observations alone. A set is given with the steps that change
it: the sense of its owner, and every move. `bits` is the surprise of an observation, log₂ of the share of the states
that agreed with it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from penumbra.core import START_FEN, GameRecord, StateSet
from penumbra.rbc.marginals import opposing_pieces
from penumbra.rbc.observations import Moved, Observation, OpponentMoved, Sensed
from penumbra.rbc.player_view import PROTOCOL, ColorName, PlayerView, color_name
from penumbra.rbc.tracker import Follower
from penumbra.rbc.walk import Step, walk
from penumbra.review.verdicts import Verdict
from penumbra.review.verdicts import verdict as verdict_on

CAP = 50_000  # states tracked for each side; past it they are a random draw
REVIEW = "penumbra review"

Sets = dict[ColorName, dict[str, Any] | None]


class Reviewer:
    """Follows a true game, recorded or live, step by step; `judge` adds verdicts on its moves."""

    def __init__(self, fen: str = START_FEN, judge: bool = False) -> None:
        self._judge = judge
        self._before_sense: StateSet | None = None  # what the player to move held possible before its sense
        self._views = {color: PlayerView(color, fen) for color in (True, False)}
        self._followers = {color: Follower(color, fen, cap=CAP) for color in (True, False)}
        self._follow(fen.split()[1] == "w", OpponentMoved(None))

    def review(self, step: Step) -> dict[str, Any]:
        """The step as the page shows it. The other player is told of a move at once, not when its turn begins."""
        color, game = step.color, step.after
        view = self._views[color]
        verdict = self._verdict(step) if self._judge else None
        for observation in step.told:
            view.observe(observation, game)
        sets: Sets = {color_name(color): self._follow(color, step.observation)}
        if isinstance(step.observation, Moved) and not step.observation.ended:
            sets[color_name(not color)] = self._follow(not color, OpponentMoved(game.capture))
        facts = {key: value for key, value in view.events[-1].items() if key != "own"}
        turn = step.before.fullmove_number
        told = {} if verdict is None else {"verdict": verdict.to_json()}
        return {**facts, "turn": turn, "color": color_name(color), "fen": game.fen(), "sets": sets, **told}

    def _verdict(self, step: Step) -> Verdict | None:
        """On the move that a step is, by the states that its player held possible."""
        states = self._followers[step.color].states
        if isinstance(step.observation, Sensed):
            self._before_sense = states
            return None
        return None if states is None or states.turn != step.color else verdict_on(step, states, self._before_sense)

    def _follow(self, color: bool, observation: Observation) -> dict[str, Any] | None:
        """The side's set after an observation; None once a set cut to its cap has lost the truth."""
        follower = self._followers[color]
        before, states = follower.states, follower.observe(observation)
        if before is None or states is None:
            return None
        return {
            "states": len(states),
            "complete": states.complete,
            "bits": round(math.log2(len(before) / len(states)), 2) if len(states) < len(before) else 0.0,
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
    record = GameRecord.from_bytes(data)
    reviewer = Reviewer(record.start_fen or START_FEN, judge=True)
    return (reviewer.review(step) for step in walk(record))


def review_of(record: GameRecord) -> dict[str, Any]:
    """The whole review in one piece."""
    steps = list(steps_of(record.to_bytes()))
    return header(record) | {"steps": steps, "mistakes": mistakes_of(steps)}


def mistakes_of(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The moves of a review that a better one would have spared its player something, the worst first."""
    found = [(step["verdict"], position) for position, step in enumerate(steps) if "verdict" in step]
    worst = sorted(found, key=lambda item: -item[0]["cost"])
    return [
        {"position": position, "color": steps[position]["color"], "cost": told["cost"], "text": told["text"]}
        for told, position in worst
        if told["cost"] > 0
    ]
