"""Puzzles found in recorded games: each player's exact set is followed, and every step is tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from penumbra.core import START_FEN, GameRecord
from penumbra.rbc.observations import Moved
from penumbra.rbc.player_view import Event, PlayerView
from penumbra.rbc.tracker import Follower
from penumbra.rbc.walk import Step, walk
from penumbra.review.puzzles.judging import left_by, sure_moves
from penumbra.review.puzzles.kinds import Found, find, names
from penumbra.review.puzzles.puzzle import Grade, Kind, Puzzle

CAP = 4_000  # states: a player whose set grows beyond is not followed any more
FIRST_TURN = 4  # openings ask nothing
EVENTS = 5  # of the player's own that are remembered: two turns

Bucket = tuple[Kind, Grade]


class _Side:
    """What one player knows as a game goes on."""

    def __init__(self, color: bool, fen: str) -> None:
        self.view = PlayerView(color, fen)
        self.follower: Follower | None = Follower(color, fen, cap=CAP)

    def follow(self, step: Step) -> Iterator[Puzzle]:
        """Is told of a step of its own, and yields what could be asked before it was made."""
        for observation in step.told:
            states = None if self.follower is None else self.follower.states
            if states is not None and not states.complete:
                self.follower = states = None
            if states is not None and observation is step.observation and step.turn >= FIRST_TURN:
                for found in find(states, step.kind):
                    puzzle = with_an_end(self._puzzle(found, step, states.fens()))
                    if puzzle is not None:
                        yield puzzle
            self.view.observe(observation, step.after)
            if self.follower is not None and not step.after.over:
                self.follower.observe(observation)

    def _puzzle(self, found: Found, step: Step, fens: list[str]) -> Puzzle:
        states = sorted(" ".join(fen.split()[:4]) for fen in fens)
        return Puzzle(
            found.kind,
            found.difficulty,
            step.color,
            step.turn,
            tuple(states),
            states.index(" ".join(step.before.fen().split()[:4])),
            tuple(_plain(event) for event in self.view.events[-EVENTS:]),
            tuple(names(found, step.color)),
            found.reason,
        )


def puzzles_of(record: GameRecord) -> list[Puzzle]:
    """The puzzles of a game: of each player and kind the hardest, since positions one turn apart ask the same."""
    fen = record.start_fen or START_FEN
    sides = {color: _Side(color, fen) for color in (True, False)}
    best: dict[tuple[bool, Kind], Puzzle] = {}
    for step in walk(record):
        for puzzle in sides[step.color].follow(step):
            key = (step.color, puzzle.kind)
            if key not in best or puzzle.difficulty > best[key].difficulty:
                best[key] = puzzle
        if isinstance(step.observation, Moved) and all(side.follower is None for side in sides.values()):
            break
    return list(best.values())


def with_an_end(puzzle: Puzzle) -> Puzzle | None:
    """A puzzle whose right senses show that a move takes the king for certain, where one is asked for.

    If they did not in the game, another state is the true one of the puzzle, the first in which they do.
    """
    if puzzle.kind != "sense":
        return puzzle
    for truth in (puzzle.truth, *range(len(puzzle.states))):
        other = replace(puzzle, truth=truth)
        if all(sure_moves(left_by(other, square)) for square in other.solutions):
            return other
    return None


def room_for(puzzles: Iterable[Puzzle], counts: Counter[Bucket], most: int | None) -> list[Puzzle]:
    """Those of which fewer than `most` of the same kind and grade are there; `counts` is counted on."""
    kept = []
    for puzzle in puzzles:
        bucket = (puzzle.kind, puzzle.grade)
        if most is None or counts[bucket] < most:
            counts[bucket] += 1
            kept.append(puzzle)
    return kept


def _plain(event: Event) -> Event:
    """Without the own pieces, which a puzzle shows."""
    return {key: value for key, value in event.items() if key not in ("own", "step")}
