"""Who plays the other side in the vector environment: chance, a network or a policy in bulk, or players one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from penumbra.core import ACTIONS, GameFleet
from penumbra.dsmcp.domain import Evaluator, Legal
from penumbra.env.illegal_action import IllegalAction
from penumbra.env.observation import Observation
from penumbra.players.player import Player, tell
from penumbra.players.registry import ENTRIES, UnknownPlayer, make
from penumbra.rbc.actions import action_to_code
from penumbra.rbc.synopsis import synopsis_read_by
from penumbra.rbc.walk import move, sense
from penumbra.training.selfplay import draw, network_policies

SELF = "self"
NETWORK = "network"
HEADSET = "Top"

Places = NDArray[np.int64]
Policy = Callable[[NDArray[np.uint8], NDArray[np.int8]], NDArray[np.integer[Any]]]


class Opponent(Protocol):
    """Plays the other side of all games of a fleet."""

    @property
    def view(self) -> str:
        """How it looks at its games; '' where it does not."""

    def begin(self, fleet: GameFleet, places: Places, white: NDArray[np.bool_], seed: int) -> None:
        """New games have been set up in these places, where it has these colours."""

    def act(self, fleet: GameFleet, places: Places, seed: int) -> None:
        """Plays a step, or a whole turn, of the games in these places."""

    def end(self, fleet: GameFleet, places: Iterable[int]) -> None:
        """The games in these places are over."""

    def close(self) -> None:
        """Ends what it has started."""


class _Bulk:
    """One that remembers nothing of its games."""

    def begin(self, fleet: GameFleet, places: Places, white: NDArray[np.bool_], seed: int) -> None:
        pass

    def end(self, fleet: GameFleet, places: Iterable[int]) -> None:
        pass

    def close(self) -> None:
        pass


class Chance(_Bulk):
    """Any legal action, all equally likely: the player Random, without Python for each game."""

    view = ""

    def act(self, fleet: GameFleet, places: Places, seed: int) -> None:
        fleet.act(places, fleet.random_actions(places, seed))


class Network(_Bulk):
    """Actions drawn from a network's policy."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.view = synopsis_read_by(evaluator)
        self._evaluator = evaluator

    def act(self, fleet: GameFleet, places: Places, seed: int) -> None:
        legal = Legal(*fleet.legal(places))
        priors, _ = self._evaluator.evaluate(fleet.features(places, self.view), legal, False)
        fleet.act(places, draw(priors, legal, np.ones(len(places)), np.random.default_rng(seed)))


class Function(_Bulk):
    """A function from observations and action masks to actions, as one that is being trained is."""

    def __init__(self, policy: Policy, observation: Observation) -> None:
        self.view = observation
        self._policy = policy

    def act(self, fleet: GameFleet, places: Places, seed: int) -> None:
        seen = np.empty((len(fleet), GameFleet.planes(self.view), 8, 8), np.uint8)
        masks = np.zeros((len(fleet), ACTIONS), np.int8)
        fleet.observe(places, seen)
        fleet.mask(places, masks)
        chosen = np.asarray(self._policy(seen[places], masks[places]))
        for row in np.flatnonzero(masks[places, chosen] == 0)[:1]:
            raise IllegalAction(int(chosen[row]), int(fleet.steps()[places[row]]), "the opponent")
        fleet.act(places, chosen.astype(np.int32))


class Players:
    """A player of its own for each place; what they do is Python's work."""

    view = ""

    def __init__(self, make_player: Callable[[int], Player]) -> None:
        self._make = make_player
        self._players: dict[int, Player] = {}

    def begin(self, fleet: GameFleet, places: Places, white: NDArray[np.bool_], seed: int) -> None:
        for i, place in enumerate(places.tolist()):
            if place not in self._players:
                self._players[place] = self._make(seed + place)
            self._players[place].meet("learner")
            self._players[place].start(bool(white[i]), fleet.game(place).fen())

    def act(self, fleet: GameFleet, places: Places, seed: int) -> None:
        for place in places.tolist():
            self._turn(fleet, place, self._players[place])

    def _turn(self, fleet: GameFleet, place: int, player: Player) -> None:
        game = fleet.game(place)
        player.opponent_moved(game.capture)
        player.tell_time(None)
        square = player.choose_sense()
        tell(player, sense(game, square).observation)
        player.tell_time(None)
        code = action_to_code(player.choose_move(game.legal_actions()), player.promotion)
        step = move(game, code)
        if not game.over:
            tell(player, step.observation)
        fleet.turn(place, square, code)

    def end(self, fleet: GameFleet, places: Iterable[int]) -> None:
        for place in places:
            game = fleet.game(place)
            self._players[place].game_over(game.winner, game.reason, game.record())

    def close(self) -> None:
        for player in self._players.values():
            player.close()
        self._players = {}


def opponent_of(given: str | Evaluator | Policy, observation: Observation) -> Opponent | None:
    """None for "self", with whom the caller plays both sides. ValueError if there is no such opponent."""
    if isinstance(given, str):
        if given == SELF:
            return None
        if given == "random":
            return Chance()
        if given == NETWORK:
            return Network(network_policies(None, "cpu")(HEADSET))
        if given not in ENTRIES:
            raise ValueError(f"{UnknownPlayer(given)}; or {SELF} or {NETWORK}")
        return Players(lambda seed: make(given, seed))
    if hasattr(given, "evaluate"):
        return Network(given)
    if callable(given):
        return Function(given, observation)
    raise ValueError(f"an opponent is a player's name, {SELF}, {NETWORK}, an evaluator or a policy, not {given!r}")
