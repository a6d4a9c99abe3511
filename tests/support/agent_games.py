"""Games in which an agent of DSMCP, or something with the same two verbs, plays against chance."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Protocol, TypeVar

from examples.phantom_tic_tac_toe.domain import FULL, Side, Situation, attempt, cells, opponent_tried, result, tried

from penumbra.core import Game
from penumbra.rbc import domain as rbc
from penumbra.rbc.actions import action_to_code
from penumbra.rbc.observations import Moved, OpponentMoved, Sensed

X = TypeVar("X", contravariant=True)


class Observer(Protocol[X]):
    def observe(self, x: X, action: int | None = None, /) -> None: ...


def play_phantom(observer: Observer[Situation], x: Situation, choose: Callable[[], int], seed: int) -> float:
    """A game against a player who tries any cell; returns our result."""
    rng = random.Random(seed)
    sides = [Side(), Side()]
    for turn in range(18):
        actor = turn % 2
        ours = actor == x.player
        cell = choose() if ours else rng.choice(cells(FULL & ~sides[actor].tried))
        before, sides[actor] = sides[actor], attempt(sides[actor], sides[1 - actor], cell)
        ended = result(sides[actor], sides[1 - actor])
        if ended is not None:
            return ended if ours else -ended
        x = tried(x, cell, sides[actor].marks != before.marks) if ours else opponent_tried(x)
        observer.observe(x, cell if ours else None)
    raise AssertionError("the game goes on although every cell was tried twice")


def play_rbc(
    observer: Observer[rbc.Situation],
    x: rbc.Situation,
    choose: Callable[[Game], int],
    opponent: Callable[[Game], int],
    turns: int,
    game: Game | None = None,
    ell: int = 128,
    cap: int = 100_000,
) -> Game:
    """At most so many turns, from the start unless a game is given."""
    game = game or Game()
    rng = random.Random(0)
    for _ in range(turns):
        if game.turn == x.states.owner:
            square = choose(game)
            x = rbc.observed(x, Sensed(square, tuple(content for _, content in game.sense(square))))
            observer.observe(x, square)
            requested = choose(game)
            _, capture = game.move(requested)
            if game.over:
                break
            x = rbc.observed(
                x, Moved(action_to_code(requested), game.last_taken, capture), ell, cap, rng.getrandbits(62)
            )
            observer.observe(x, requested)
        else:
            game.sense(opponent(game))
            x = rbc.opponent_sensed(x)
            observer.observe(x, None)
            game.move(opponent(game))
            if game.over:
                break
            x = rbc.observed(x, OpponentMoved(game.capture), ell, cap, rng.getrandbits(62))
            observer.observe(x, None)
    return game


def at_random(seed: int) -> Callable[[Game], int]:
    """Any legal action."""
    rng = random.Random(seed)
    return lambda game: rng.choice(game.legal_actions())


def peacefully(seed: int) -> Callable[[Game], int]:
    """Any legal action that does not end the game."""
    rng = random.Random(seed)

    def choose(game: Game) -> int:
        while True:
            action = rng.choice(game.legal_actions())
            after = game.copy()
            after.act(action)
            if not after.over:
                return action

    return choose
