"""Random games as both players live through them: step by step, their sets, their memories and the truth."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

import chess

from tests.oracles.infostate import advance, context_of_mover, context_of_other
from tests.oracles.positions import random_request
from tests.oracles.shares import previous_shares
from tests.oracles.state_set import State, board_of, state_of
from tests.oracles.synopsis import MOVE, SENSE, Context, synopsis
from tests.oracles.views import action_of_move


@dataclass(frozen=True)
class Step:
    """Everything before one step's action. The truth is in both players' sets; `action` is what is done next."""

    kind: int
    truth: State
    states: dict[chess.Color, frozenset[State]]
    context: dict[chess.Color, Context]
    action: int

    @property
    def actor(self) -> chess.Color:
        return self.truth.turn

    def actor_boards(self) -> list[chess.Board]:
        """The actor's states in a fixed order."""
        return [board_of(state) for state in sorted(self.states[self.actor], key=repr)]


def walk(rng: random.Random, start: chess.Board, plies: int, limit: int) -> Iterator[Step]:
    """A game of `plies` turns from a position both players know; sets past `limit` are cut at random, truth kept.

    No king is ever taken. Promotions are to a queen, as actions have it.
    """
    truth = state_of(start)
    states = {color: frozenset([truth]) for color in chess.COLORS}
    context = {color: Context() for color in chess.COLORS}
    for _ in range(plies):
        actor, other = truth.turn, not truth.turn
        square = rng.randrange(64)
        yield Step(SENSE, truth, dict(states), dict(context), square)
        states[actor] = advance(states[actor], states[other], truth, square).actor
        action = random_move(board_of(truth), rng)
        step = Step(MOVE, truth, dict(states), dict(context), action)
        yield step
        outcome = advance(states[actor], states[other], truth, action)
        planes = synopsis(actor, MOVE, step.actor_boards(), context[actor])
        seen = previous_shares(actor, step.actor_boards())
        context[actor] = context_of_mover(context[actor], outcome, planes, seen, actor)
        context[other] = context_of_other(context[other], outcome, other)
        truth = outcome.truth
        states[actor] = cut(outcome.actor, truth, limit, rng)
        states[other] = cut(outcome.other, truth, limit, rng)


def random_move(board: chess.Board, rng: random.Random) -> int:
    request = random_request(board, rng)
    while request is not None and request.promotion not in (None, chess.QUEEN):
        request = random_request(board, rng)
    return action_of_move(request, board.turn)


def cut(states: frozenset[State], truth: State, limit: int, rng: random.Random) -> frozenset[State]:
    others = sorted(states - {truth}, key=repr)
    return frozenset([truth, *(others if len(others) < limit else rng.sample(others, limit - 1))])
