"""Recognition by behaviour: the headset that foresees what is observed gains weight; the belief acts by the mixture."""

from __future__ import annotations

import numpy as np
import pytest

from penumbra.core import Game
from penumbra.dsmcp.domain import Features, Floats, Legal
from penumbra.network.weights import WeightsError
from penumbra.players.penumbra import factory
from penumbra.players.penumbra.configuration import from_table
from penumbra.players.penumbra.opponent_model import DOUBT, FIRST, OpponentModel
from penumbra.players.penumbra.player import PenumbraPlayer
from penumbra.rbc.actions import action_to_code, parse_action, parse_square


class Always:
    """Gives nearly all of its policy to one action wherever that is legal, and has a value of its own."""

    def __init__(self, action: str, value: float) -> None:
        self.action, self.value = parse_action(action), value

    def evaluate(self, features: Features, legal: Legal, opponent: bool) -> tuple[Floats, Floats]:
        sizes = np.diff(legal.offsets)
        priors = np.where(legal.actions == self.action, 1.0, 1e-3)
        sums = np.repeat(np.add.reduceat(priors, legal.offsets[:-1]), sizes)
        return (priors / sums).astype(np.float32), np.full(len(features), self.value, np.float32)


def model_of(**actions: str) -> OpponentModel:
    evaluators = {name: Always(action, i / 10) for i, (name, action) in enumerate(actions.items())}
    return OpponentModel(evaluators, np.random.default_rng(0))


def told(model: OpponentModel, moves: list[str], senses: list[str]) -> PenumbraPlayer:
    """White's player after these moves of both, sensing these squares, its model asked before each move."""
    player = PenumbraPlayer(lambda: (model.replies, model))
    player.start(True)
    game = Game()
    for ply, word in enumerate(moves):
        action = parse_action(word)
        if ply % 2:
            game.act(parse_square("a1"))
            game.act(action)
            continue
        player.opponent_moved(game.capture)
        player.agent.belief.refill(64, float("inf"))
        square = parse_square(senses[ply // 2])
        player.sensed(square, [content for _, content in game.sense(square)])
        player.recognise()
        if action not in game.legal_actions():
            break
        game.act(action)
        player.moved(action_to_code(action), action_to_code(action), None)
    return player


# Black answers 1. e4 by e5, seen by sensing e6's window. Actions are seen from the mover's side: e7e5 is e2e4 to Black.
GAME = ["e2e4", "e2e4", "d2d3"]


def test_the_headset_that_foresaw_the_move_gains_weight_and_none_is_ruled_out() -> None:
    model = model_of(Wrong="a2a3", Right="e2e4")
    before = model.weights
    assert before[0] / before[1] == pytest.approx(np.exp(FIRST))
    told(model, GAME, ["e7", "e6"])
    after = model.weights
    assert after[1] > 0.8 > before[1]
    assert after[0] > DOUBT / 10
    assert model.shares() == {"Wrong": round(after[0], 4), "Right": round(after[1], 4)}


def test_an_observation_that_all_foresee_alike_tells_nothing() -> None:
    model = model_of(One="a2a3", Other="h2h3")
    before = model.weights
    told(model, GAME, ["e7", "e6"])  # neither pawn is in the window, and neither headset had foreseen e5
    np.testing.assert_allclose(model.weights, before, atol=0.05)


def test_rows_are_shared_out_by_the_weights_and_answers_stay_with_their_rows() -> None:
    model = model_of(One="a2a3", Other="h2h3")
    model.observed[:] = [0.0, FIRST]  # as likely as each other
    actions = np.array([parse_action("a2a3"), parse_action("h2h3")], np.int32)
    n = 400
    legal = Legal(np.tile(actions, n), 2 * np.arange(n + 1))
    priors, values = model.evaluate(np.zeros((n, 104), np.uint64), legal, True)
    first = priors.reshape(n, 2)[:, 0] > 0.5
    np.testing.assert_array_equal(first, values < 0.05)  # One has the value 0, Other 0.1
    assert 0.4 < first.mean() < 0.6
    _, values = model.replies.evaluate(
        np.zeros((3, 104), np.uint64), Legal(np.tile(actions, 3), 2 * np.arange(4)), True
    )
    assert set(values.tolist()) == {0.0}  # ties go to the first
    model.observed[1] += 1
    _, values = model.replies.evaluate(np.zeros((1, 104), np.uint64), Legal(actions, np.array([0, 2])), True)
    assert values[0] == np.float32(0.1)


def test_names_come_before_behaviour_and_headsets_that_do_not_exist_are_refused() -> None:
    several = from_table({"device": "cpu", "unrecognised": "All, Top"})
    replies, model = factory.make_evaluators(several, "somebody")
    assert isinstance(model, OpponentModel) and model.names == ("All", "Top") and replies is model.replies
    replies, known = factory.make_evaluators(several, "TroutBot")
    assert replies is known and not isinstance(known, OpponentModel)
    replies, one = factory.make_evaluators(from_table({"device": "cpu", "unrecognised": "Top"}), "somebody")
    assert replies is one and not isinstance(one, OpponentModel)
    with pytest.raises(WeightsError, match="no headset 'Nobody'"):
        factory.make_evaluators(from_table({"device": "cpu", "unrecognised": "All, Nobody"}), "somebody")
