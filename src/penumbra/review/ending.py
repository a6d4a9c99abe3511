"""How a game ended, for one of its players: the last move, and, where the king was taken, what could have been known.

What the last own move risked is its verdict, as in a review (`penumbra.review.verdicts`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penumbra.core import MOVE, START_FEN, GameRecord
from penumbra.rbc.actions import SQUARE_NAMES, code_to_uci, sense_window, view, view_code
from penumbra.rbc.observations import Moved, Sensed
from penumbra.rbc.player_view import pieces_of
from penumbra.rbc.tracker import Follower
from penumbra.rbc.walk import Step, walk
from penumbra.review.verdicts import Looked

CAP = 50_000  # states followed; past it they are a random draw
GRAVE = 0.1  # of the states: where a move leaves the king to be taken in so many, the king was in danger


@dataclass
class Turn:
    """One of the player's turns."""

    number: int
    fen: str  # the true position before it
    sensed: int | None
    looked: Looked | None = None  # its move; None where a set cut to its cap had lost the truth


def explain(data: bytes, color: bool) -> dict[str, Any]:
    """The end of a recorded game, given by its record's bytes, as the player of `color` is told of it."""
    record = GameRecord.from_bytes(data)
    steps = list(walk(record))
    last = steps[-1] if steps and steps[-1].kind == MOVE else None
    start = record.start_fen or START_FEN
    facts: dict[str, Any] = {
        "before": start if last is None else last.before.fen(),
        "after": start if last is None else last.after.fen(),
        "last": None if last is None else _last(last),
        "loss": None,
    }
    if last is not None and last.after.reason == "KING_CAPTURE" and last.color != color:
        facts["loss"] = _loss(_turns(steps, color, start), facts["last"], color)
    return facts


def _last(step: Step) -> dict[str, Any] | None:
    assert isinstance(step.observation, Moved)
    taken = step.observation.taken
    if not taken:
        return None
    word = code_to_uci(view_code(taken, step.color))
    capture = step.observation.capture
    square = None if capture is None else SQUARE_NAMES[view(capture, step.color)]
    return {"from": word[:2], "to": word[2:4], "piece": pieces_of(step.before.fen())[word[:2]], "capture": square}


def _turns(steps: list[Step], color: bool, start: str) -> list[Turn]:
    """What the player could know at each of its moves."""
    follower, turns, before = Follower(color, start, cap=CAP), list[Turn](), None
    for step in steps:
        if step.color != color:
            continue
        for observation in step.told:
            states = follower.states
            if isinstance(observation, Sensed):
                turns.append(Turn(step.turn, step.before.fen(), observation.square))
                before = states
            elif isinstance(observation, Moved) and states is not None:
                turns[-1].looked = Looked(step, states, before)
            if not step.after.over:
                follower.observe(observation)
    return turns


def _loss(turns: list[Turn], last: dict[str, Any], color: bool) -> dict[str, Any]:
    """Since when the piece that took the king stood there, who saw it, and since when it was to be feared."""
    square = SQUARE_NAMES.index(last["from"])
    standing: list[Turn] = []
    for turn in reversed(turns):
        if pieces_of(turn.fen).get(last["from"]) != last["piece"]:
            break
        standing.insert(0, turn)
    seen = [turn.number for turn in standing if turn.sensed is not None and _shows(turn.sensed, square, color)]
    grave: list[Turn] = []
    for turn in reversed(turns):
        if turn.looked is None or turn.looked.danger < GRAVE:
            break
        grave.insert(0, turn)
    final = turns[-1]
    return {
        "since": standing[0].number if standing else None,
        "seen": seen[-1] if seen else None,
        "turn": final.number,
        "verdict": None if final.looked is None else final.looked.lost().to_json(),
        "turned": grave[0].number if grave else None,
    }


def _shows(sensed: int, square: int, color: bool) -> bool:
    return view(square, color) in sense_window(sensed, color)
