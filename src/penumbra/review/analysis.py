"""Games after the fact: what Penumbra would have done at each step, knowing what the player knew then.

The game is walked with one player's observations; at the steps asked for, the player thinks as it would in a game.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from penumbra.core import START_FEN, GameRecord
from penumbra.players.penumbra.configuration import Configuration
from penumbra.players.penumbra.presets import DEFAULT, PRESETS
from penumbra.players.penumbra.recording import knowledge_marginals, real_action
from penumbra.players.session import Session
from penumbra.rbc.actions import code_to_uci, square_name, view, view_code
from penumbra.rbc.marginals import shares
from penumbra.rbc.observations import Moved, Sensed
from penumbra.rbc.walk import walk

SECONDS = 1.0  # for each step, where nothing else was asked for
COLORS = {"white": True, "black": False}


def analyse(
    game: GameRecord | str | Path,
    *,
    turn: int | None = None,
    player: str | None = None,
    preset: str = DEFAULT,
    seconds: float | None = None,
    nodes: int | None = None,
    seed: int = 0,
) -> Iterator[dict[str, Any]]:
    """What Penumbra would have done in a game: one decision for each step of `turn` of `player`, or of all and both.

    `game` is a record, or the path of a game as reconchess writes it. A step is thought about for so many seconds, or
    nodes. Decisions are as `penumbra.players.penumbra.recording` writes them, with what was `played` beside what was
    `chosen`, and what that `cost` of the chance to win.
    """
    if preset not in PRESETS:
        raise ValueError(f"there is no preset {preset!r}; there are {', '.join(PRESETS)}")
    if seconds is None and nodes is None:
        seconds = SECONDS
    configuration = Configuration(preset=preset, seconds=seconds, nodes=nodes, seed=seed)
    return analyse_as(configuration, game, turn, player)


def analyse_as(
    configuration: Configuration,
    game: GameRecord | str | Path,
    turn: int | None = None,
    player: str | None = None,
    details: bool = False,
) -> Iterator[dict[str, Any]]:
    """The same by Penumbra as configured.

    `details` adds what the opponent is believed to know and the planes of the synopsis.
    """
    if player is not None and player not in COLORS:
        raise ValueError(f"there is no player {player!r}; players are white and black")
    if turn is not None and turn < 1:
        raise ValueError(f"there is no turn {turn}; turns count from 1")
    if isinstance(game, GameRecord):
        record = game
    else:
        from penumbra.interop.history import read_record

        record = read_record(game)
    steps = _decisions(
        record, configuration, turn, [c for name, c in COLORS.items() if player in (None, name)], details
    )
    first = next(steps, None)
    if first is None:
        turns = (len(record.senses) + 1) // 2
        raise ValueError(f"there is no turn {turn}: the game has {turns}" if turn else "the game has no turns")
    return _chain(first, steps)


def _chain(first: dict[str, Any], rest: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    yield first
    yield from rest


def _decisions(
    record: GameRecord, configuration: Configuration, turn: int | None, colors: list[bool], details: bool
) -> Iterator[dict[str, Any]]:
    """The game walked with a session beside each player that was asked for."""
    sessions = {color: session_of(record, color, configuration) for color in colors}
    return decisions(record, sessions, None if turn is None else (turn, turn), details)


def session_of(record: GameRecord, color: bool, configuration: Configuration, **options: Any) -> Session:
    """A session at the start of a game, for one of its players."""
    opponent = record.black_name if color else record.white_name
    return Session(color, record.start_fen or START_FEN, configuration, opponent=opponent, **options)


def decisions(
    record: GameRecord, sessions: Mapping[bool, Session], turns: tuple[int, int] | None, details: bool
) -> Iterator[dict[str, Any]]:
    """The game walked with these sessions, and a decision for each of their steps within the first and last turn."""
    for step in walk(record):
        if turns is not None and step.turn > turns[1]:
            return
        if step.color not in sessions:
            continue
        session = sessions[step.color]
        for observation in step.told:
            if (turns is None or step.turn >= turns[0]) and observation is step.observation:
                decision = decision_of(session, details)
                yield decision | compared(decision, step.observation, step.color) | {"truth": step.before.fen()}
            session.observe(observation)


def decision_of(session: Session, details: bool = False) -> dict[str, Any]:
    """What Penumbra would do now."""
    decision = session.decide()
    return {
        "player": "white" if session.color else "black",
        **session.described(decision),
        "chosen": real_action(decision.action, session.color),
        **(_details(session) if details else {}),
    }


def compared(decision: dict[str, Any], observation: Sensed | Moved, color: bool) -> dict[str, Any]:
    """What was done instead, and what it cost."""
    done = played(observation, color)
    return {"played": done, "cost": cost_of(decision["actions"], decision["action"], done)}


def cost_of(actions: list[dict[str, Any]], chosen: str, played: str) -> float | None:
    """How much of the chance to win what was played gives up beside what was chosen; None: one was not searched."""
    values = {entry["action"]: entry["value"] for entry in actions if entry["visits"]}
    best, other = values.get(chosen), values.get(played[:4] if len(played) == len("e7e8q") else played)
    return None if best is None or other is None else round(max(0.0, best - other), 6)


def played(observation: Sensed | Moved, color: bool) -> str:
    """What was done, in real squares."""
    match observation:
        case Sensed(square):
            return "no sense" if square is None else f"sense {square_name(view(square, color))}"
        case Moved(requested):
            return code_to_uci(view_code(requested, color))


def _details(session: Session) -> dict[str, Any]:
    """`knowledge`: how likely the opponent, as the particles have it, holds each of our pieces to stand where.

    `planes`: those of one drawing of ℓ states, as 16 hexadecimal digits each, bit 0 the player's own a1.
    """
    particles = session.particles
    return {
        "knowledge": {} if particles is None else shares(knowledge_marginals(particles), not session.color),
        "planes": [f"{int(plane):016x}" for plane in session.infostates().synopsis()[0]],
    }
