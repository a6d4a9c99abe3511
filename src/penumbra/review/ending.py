"""How a game ended, for one of its players: the last move, and, where the king was taken, what could have been known.

Danger is that of `penumbra.core.danger`: the share of the states that the player held possible in which its king could
be taken right after a move.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penumbra.core import MOVE, START_FEN, GameRecord, danger
from penumbra.rbc.actions import SQUARE_NAMES, code_to_action, code_to_uci, sense_window, view, view_code
from penumbra.rbc.observations import Moved, Sensed
from penumbra.rbc.player_view import pieces_of
from penumbra.rbc.tracker import Follower
from penumbra.rbc.walk import Step, walk

CAP = 50_000  # states followed; past it they are a random draw
DRAWN = 20_000  # of them, to see where the king could be taken
GRAVE = 0.1  # danger from which on a move is one to be explained


@dataclass
class Turn:
    """One of the player's turns."""

    number: int
    fen: str  # the true position before it
    sensed: int | None = None
    states: int = 0  # possible when it moved
    exact: bool = True  # whether these were all, and all were looked at
    move: str | None = None
    danger: float = 0.0
    least: float = 0.0  # danger of the safest move


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
    follower, turns = Follower(color, start, cap=CAP), list[Turn]()
    for step in steps:
        if step.color != color:
            continue
        if isinstance(step.observation, Sensed):
            turns.append(Turn(step.turn, step.before.fen(), step.observation.square))
        else:
            _judge(turns[-1], step, follower)
        for observation in step.told:
            if not step.after.over:
                follower.observe(observation)
    return turns


def _judge(turn: Turn, step: Step, follower: Follower) -> None:
    states = follower.states
    assert isinstance(step.observation, Moved)
    if states is None:
        return
    some = states if len(states) <= DRAWN else states.sample(DRAWN, 0)
    actions = np.array(step.before.legal_actions(), dtype=np.int32)
    dangers = danger(some, actions)
    requested = step.observation.requested
    turn.states, turn.exact = len(states), states.complete and some is states
    turn.move = code_to_uci(view_code(requested, step.color)) if requested else None
    turn.danger = float(dangers[actions == code_to_action(requested)][0])
    turn.least = float(dangers.min())


def _loss(turns: list[Turn], last: dict[str, Any], color: bool) -> dict[str, Any]:
    """Who took the king, since when it stood there, who saw it, and since when it was to be feared."""
    square = SQUARE_NAMES.index(last["from"])
    standing: list[Turn] = []
    for turn in reversed(turns):
        if pieces_of(turn.fen).get(last["from"]) != last["piece"]:
            break
        standing.insert(0, turn)
    seen = [turn.number for turn in standing if turn.sensed is not None and _shows(turn.sensed, square, color)]
    grave: list[Turn] = []
    for turn in reversed(turns):
        if turn.danger < GRAVE:
            break
        grave.insert(0, turn)
    final = turns[-1]
    return {
        "since": standing[0].number if standing else None,
        "seen": seen[-1] if seen else None,
        "turn": final.number,
        "sense": SQUARE_NAMES[_inner(square)],
        "states": final.states,
        "exact": final.exact,
        "danger": round(final.danger, 6),
        "least": round(final.least, 6),
        "move": final.move,
        "turned": grave[0].number if grave else None,
    }


def _shows(sensed: int, square: int, color: bool) -> bool:
    return view(square, color) in sense_window(sensed, color)


def _inner(square: int) -> int:
    """The nearest square whose window lies wholly on the board."""
    file, rank = square % 8, square // 8
    return min(max(rank, 1), 6) * 8 + min(max(file, 1), 6)
