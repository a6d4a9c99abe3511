"""Situations for tests of the kernels: random games as the oracles walk them, and recorded games of real players.

Recorded games are followed with python-chess and reconchess; only the exact sets are native, and those are compared
with an oracle elsewhere.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import chess

from penumbra import core
from penumbra.interop.history import history_to_record
from penumbra.rbc.actions import parse_action
from tests.oracles.infostate import advance, context_of_mover, context_of_other, listed_actions
from tests.oracles.positions import random_placement, random_walk
from tests.oracles.shares import previous_shares, shares
from tests.oracles.state_set import state_of
from tests.oracles.synopsis import MOVE, SENSE, Context, synopsis
from tests.oracles.views import PASS, move_code, viewer_capture, viewer_square, window_contents
from tests.oracles.walks import Step, cut, walk
from tests.support import DATA
from tests.support.evidence import scale
from tests.support.kernels import core_context

REAL_GAMES = DATA / "real_games.jsonl"
SCALE = scale(1, 10)  # how many times the usual number of random cases


@cache
def random_steps(walks: int, plies: int, limit: int) -> list[Step]:
    """All steps of random games from the start, from later positions and from random placements, in equal parts."""
    steps: list[Step] = []
    for seed in range(walks):
        rng = random.Random(seed)
        steps += walk(rng, random_start(rng, seed % 3), plies, limit)
    return steps


def random_start(rng: random.Random, kind: int) -> chess.Board:
    if kind == 0:
        return chess.Board()
    return random_walk(rng, rng.randrange(80)) if kind == 1 else random_placement(rng)


def scripted_steps(start: chess.Board, words: str, limit: int) -> Iterator[Step]:
    """A game of the given actions, as `sense e4`, `e2e4` or `pass`, in the actor's own squares; sets as in `walk`."""
    rng, truth = random.Random(0), state_of(start)
    states = {color: frozenset([truth]) for color in chess.COLORS}
    context = {color: Context() for color in chess.COLORS}
    for action in map(parse_action, words.split(", ")):
        actor, other = truth.turn, not truth.turn
        step = Step(SENSE if action < 64 else MOVE, truth, dict(states), dict(context), action)
        yield step
        outcome = advance(states[actor], states[other], truth, action)
        if step.kind == MOVE:
            planes = synopsis(actor, MOVE, step.actor_boards(), context[actor])
            seen = previous_shares(actor, step.actor_boards())
            context[actor] = context_of_mover(context[actor], outcome, planes, seen, actor)
            context[other] = context_of_other(context[other], outcome, other)
        truth = outcome.truth
        states[actor] = cut(outcome.actor, truth, limit, rng)
        states[other] = cut(outcome.other, truth, limit, rng)


@cache
def real_games() -> list[dict[str, Any]]:
    """Six short games between programs nobody here wrote, as reconchess writes games."""
    return [json.loads(line) for line in REAL_GAMES.read_text().splitlines()]


@cache
def real_records() -> list[core.GameRecord]:
    from reconchess.history import GameHistoryDecoder

    return [history_to_record(json.loads(line, cls=GameHistoryDecoder)) for line in REAL_GAMES.read_text().splitlines()]


@dataclass(frozen=True)
class Moment:
    """A player before one of its actions in a recorded game; a skipped sense has none.

    `states` is all that the player holds possible, nothing ever cut. `context` lacks the previous turn's planes, for
    those depend on what was drawn from the set.
    """

    ply: int
    player: chess.Color
    kind: int
    board: chess.Board
    states: core.StateSet
    context: Context
    action: int

    def legal(self) -> set[int]:
        return set(chess.SQUARES) if self.kind == SENSE else listed_actions(self.board) | {PASS}


def moments(game: dict[str, Any]) -> Iterator[Moment]:
    """Both players' moments of a game from the usual start, in the order of play."""
    states = {color: core.StateSet(chess.STARTING_FEN, color) for color in chess.COLORS}
    context = {color: Context() for color in chess.COLORS}
    capture: chess.Square | None = None
    turns = sum(len(moves) for moves in game["requested_moves"].values())
    for ply in range(turns):
        player, turn = ply % 2 == 0, ply // 2

        def said(key: str, player: chess.Color = player, turn: int = turn) -> Any:
            return game[key]["true" if player else "false"][turn]

        board = chess.Board(said("fens_before_move"))
        if ply > 0:
            seen = viewer_capture(capture, player)
            states[player] = states[player].expand(seen)
            context[player] = replace(context[player], last_opposing_capture=seen)
        if said("senses") is not None:
            square = viewer_square(said("senses"), player)
            yield Moment(ply, player, SENSE, board, states[player], context[player], square)
            states[player] = states[player].filter_sense(square, window_contents(board, square, player))
        requested, taken, capture = read_move(said("requested_moves")), read_move(said("taken_moves")), None
        action = PASS
        if requested is not None:
            action = 64 + 64 * viewer_square(requested.from_square, player) + viewer_square(requested.to_square, player)
        yield Moment(ply, player, MOVE, board, states[player], context[player], action)
        capture = said("capture_squares")
        if capture is not None and board.piece_type_at(capture) == chess.KING:
            return
        states[player] = states[player].apply_move(
            move_code(requested, player), move_code(taken, player), viewer_capture(capture, player)
        )
        context[player] = replace(
            context[player],
            last_from=None if taken is None else viewer_square(taken.from_square, player),
            last_to=None if taken is None else viewer_square(taken.to_square, player),
            last_own_capture=viewer_capture(capture, player),
        )


def read_move(value: dict[str, str] | None) -> chess.Move | None:
    return None if value is None else chess.Move.from_uci(value["value"])


@dataclass(frozen=True)
class Known:
    """One information state: the player to act, the kind of step, some states, and what is remembered."""

    player: chess.Color
    kind: int
    fens: list[str]
    context: Context

    def planes(self) -> list[int]:
        """The oracle's synopsis."""
        return synopsis(self.player, self.kind, map(chess.Board, self.fens), self.context)

    def shares(self) -> list[bytes]:
        """The oracle's shares."""
        return shares(self.player, self.kind, map(chess.Board, self.fens), self.context)


def known(game: dict[str, Any], size: int, seed: int) -> Iterator[Known]:
    """The information states of a recorded game, each over at most `size` states drawn anew, with a whole memory."""
    previous: dict[chess.Color, tuple[int, ...]] = dict.fromkeys(chess.COLORS, Context().previous)
    seen: dict[chess.Color, tuple[bytes, ...]] = dict.fromkeys(chess.COLORS, Context().previous_shares)
    for moment in moments(game):
        context = replace(moment.context, previous=previous[moment.player], previous_shares=seen[moment.player])
        state = Known(moment.player, moment.kind, moment.states.sample(size, seed).fens(), context)
        yield state
        if moment.kind == MOVE:
            previous[moment.player] = tuple(state.planes()[18:36])
            seen[moment.player] = previous_shares(moment.player, map(chess.Board, state.fens))


def mirrored(state: Known) -> Known:
    """The same with ranks mirrored and colours exchanged."""
    fens = [chess.Board(fen).mirror().fen(en_passant="fen") for fen in state.fens]
    return Known(not state.player, state.kind, fens, state.context)


def rows_of(states: Sequence[Known], limit: int = 128) -> core.Infostates:
    """One native row for each information state."""
    rows = [core.Infostates.from_fens([s.fens], s.player, s.kind, limit, [core_context(s.context)]) for s in states]
    return core.Infostates.concatenate(rows)
