"""Other games that look the same to one player: the opponent's moves are replaced, and no observation changes."""

from __future__ import annotations

import random
from dataclasses import dataclass

from penumbra.core import Game, StateSet
from penumbra.players.player import Player
from penumbra.rbc.actions import action_to_code, code_to_action
from penumbra.rbc.observations import Moved, OpponentMoved
from penumbra.rbc.tracker import Tracker


@dataclass
class PlayedTurn:
    """Senses and moves are in the view of the player who made them."""

    color: bool
    sense: int | None
    move: int  # a code


@dataclass
class Story:
    """A game up to some move, and the position before each of its turns and after the last."""

    turns: list[PlayedTurn]
    fens: list[str]

    def script(self, color: bool) -> list[tuple[int | None, int]]:
        return [(turn.sense, code_to_action(turn.move)) for turn in self.turns if turn.color == color]


def play(white: Player, black: Player, plies: int, last: bool) -> Story:
    """A game between two players of at most so many moves, up to a move of `last` that does not end it."""
    game, story = Game(), Story([], [])
    players = {True: white, False: black}
    for color, player in players.items():
        player.start(color, game.fen())
    for _ in range(plies):
        color = game.turn
        player = players[color]
        story.fens.append(game.fen())
        player.opponent_moved(game.capture)
        square = player.choose_sense()
        player.sensed(square, [content for _, content in game.sense(square)])
        action = player.choose_move(game.legal_actions())
        _, capture = game.move(action)
        if game.over:
            break
        story.turns.append(PlayedTurn(color, square, game.last_request))
        player.moved(game.last_request, game.last_taken, capture)
    else:
        story.fens.append(game.fen())
    while story.turns[-1].color != last:
        story.turns.pop()
        story.fens.pop()
    return story


def other_history(story: Story, viewer: bool, rng: random.Random) -> Story:
    """A game in which `viewer` does and observes the same, and its opponent plays what leads to another position.

    The sets of states that the viewer tracked are pruned backwards from one other state at the end; a walk from the
    start that stays inside them cannot fail.
    """
    tracker = track(story, viewer)
    truth = _position(story.fens[-1])
    others = [fen for fen in tracker.current.fens() if _position(fen) != truth]
    goal = StateSet.from_fens([rng.choice(others)], viewer)
    kept = {tracker.step: goal}
    for step in reversed(range(tracker.step)):
        states, after = tracker.sets[step], kept[step + 1]
        match tracker.observations.get(step):
            case OpponentMoved(capture) if states.turn != viewer:
                kept[step] = states.prune_to_parents_of_expansion(after, capture)
            case Moved(requested, taken, capture):
                kept[step] = states.prune_to_parents_of_move(after, requested, taken, capture)
            case _:
                kept[step] = after  # a sense, or the opponent's: nothing moves
    return _walk(story, viewer, kept, rng)


def track(story: Story, viewer: bool) -> Tracker:
    """What the viewer holds possible at the end, when its turn begins."""
    game, tracker = Game(), Tracker(viewer)
    for turn in story.turns:
        ours = turn.color == viewer
        if ours:
            tracker.opponent_moved(game.capture)
        contents = [content for _, content in game.sense(turn.sense)]
        _, capture = game.move(code_to_action(turn.move), turn.move >> 12)
        if ours:
            tracker.sensed(turn.sense, contents)
            tracker.moved(turn.move, game.last_taken, capture)
    tracker.opponent_moved(game.capture)
    return tracker


def _walk(story: Story, viewer: bool, kept: dict[int, StateSet], rng: random.Random) -> Story:
    game, other = Game(), Story([], [])
    for i, turn in enumerate(story.turns):
        other.fens.append(game.fen())
        sense, move = turn.sense, turn.move
        if turn.color != viewer:
            sense = rng.randrange(64)
            move = _other_move(game, kept[2 * i + 2], move, rng)
        game.sense(sense)
        game.move(code_to_action(move), move >> 12)
        other.turns.append(PlayedTurn(turn.color, sense, move))
    other.fens.append(game.fen())
    return other


def _other_move(game: Game, after: StateSet, usual: int, rng: random.Random) -> int:
    """A move that leads into `after`, another than usual where there is one."""
    found = []
    at_move = game.copy()
    at_move.sense(None)
    for action in at_move.legal_actions():
        tried = at_move.copy()
        tried.move(action)
        if not tried.over and tried.fen() in after:
            found.append(action_to_code(action))
    return rng.choice([code for code in found if code != usual] or found)


def _position(fen: str) -> str:
    return " ".join(fen.split()[:4])
