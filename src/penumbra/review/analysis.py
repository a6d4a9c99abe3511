"""Games after the fact: what Penumbra would have done at each step, knowing what the player knew then.

The game is walked with one player's observations; at the steps asked for, the player thinks as it would in a game.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penumbra.core import Game, GameRecord, Infostates
from penumbra.players.penumbra.configuration import Configuration
from penumbra.players.penumbra.factory import make_penumbra
from penumbra.players.penumbra.player import PenumbraPlayer
from penumbra.players.penumbra.presets import DEFAULT, PRESETS
from penumbra.players.penumbra.recording import knowledge_marginals, real_action
from penumbra.rbc.actions import code_to_action, code_to_uci, square_name, view, view_code
from penumbra.rbc.marginals import shares

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
    `chosen`.
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
    walk = _Walk(record, configuration, turn, [c for name, c in COLORS.items() if player in (None, name)])
    walk.details = details
    steps = walk.steps()
    first = next(steps, None)
    if first is None:
        turns = (len(record.senses) + 1) // 2
        raise ValueError(f"there is no turn {turn}: the game has {turns}" if turn else "the game has no turns")
    return _chain(first, steps)


def _chain(first: dict[str, Any], rest: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    yield first
    yield from rest


class _Walk:
    """A record played again, with a Penumbra beside each player that was asked for."""

    def __init__(self, record: GameRecord, configuration: Configuration, turn: int | None, colors: list[bool]) -> None:
        self.record = record
        self.turn = turn
        self.details = False
        self.game = Game(record.start_fen or None, None, None)
        self.players: dict[bool, PenumbraPlayer] = {}
        for color in colors:
            player = make_penumbra(configuration)
            player.ponder, player.record, player.track_all = False, True, True
            player.meet(record.black_name if color else record.white_name)
            player.start(color, self.game.fen())
            self.players[color] = player

    def steps(self) -> Iterator[dict[str, Any]]:
        moves = self.record.moves
        for i, sense in enumerate(self.record.senses):
            color, number = self.game.turn, i // 2 + 1
            player = self.players.get(color)
            if self.turn is not None and number > self.turn:
                return
            asked = player is not None and self.turn in (None, number)
            if player is not None:
                player.opponent_moved(self.game.capture)
            square = sense if sense >= 0 else None
            if asked and player is not None:
                player.choose_sense()
                played = "no sense" if square is None else f"sense {square_name(view(square, color))}"
                yield self._step(player, played)
            contents = [content for _, content in self.game.sense(square)]
            if player is not None:
                player.sensed(square, contents)
            if i < len(moves):
                if asked and player is not None:
                    player.choose_move(self.game.legal_actions())
                    yield self._step(player, code_to_uci(view_code(moves[i], color)))
                _, capture = self.game.move(code_to_action(moves[i]), moves[i] >> 12)
                if player is not None and not self.game.over:
                    player.moved(moves[i], self.game.last_taken, capture)

    def _step(self, player: PenumbraPlayer, played: str) -> dict[str, Any]:
        if player.faults:
            raise RuntimeError(f"the search failed: {player.faults[-1]}")
        return {
            "player": "white" if player.color else "black",
            **player.recorded[-1],
            "chosen": real_action(player.decisions[-1].action, player.color),
            "played": played,
            "truth": self.game.fen(),
            **(_details(player) if self.details else {}),
        }


def _details(player: PenumbraPlayer) -> dict[str, Any]:
    """`knowledge`: how likely the opponent, as the particles have it, holds each of our pieces to stand where.

    `planes`: those of one drawing of ℓ states, as 16 hexadecimal digits each, bit 0 the player's own a1.
    """
    x, particles = player.situation, player.agent.belief.current.particles
    drawn = Infostates.draw(x.states, 1, x.kind, player.settings.ell, x.context, 0)
    return {
        "knowledge": {} if particles is None else shares(knowledge_marginals(particles), not player.color),
        "planes": [f"{int(plane):016x}" for plane in drawn.synopsis()[0]],
    }
