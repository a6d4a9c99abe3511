"""Judgement added at the root: danger, repetition, the engine's opinion, each by itself; all off is the paper."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from penumbra.configs.reader import ConfigurationError
from penumbra.core import MOVE, SENSE, Context, Infostates, StateSet
from penumbra.dsmcp.domain import Floats, Ints
from penumbra.dsmcp.root_policy import AtRoot, Root, RootPolicy
from penumbra.dsmcp.settings import PRESETS as PAPER
from penumbra.players.penumbra.configuration import from_table
from penumbra.players.penumbra.presets import DEFAULT, PRESETS
from penumbra.players.penumbra.root import RootJudgement, engine_sense
from penumbra.players.penumbra.root.danger import Danger, danger_of
from penumbra.players.penumbra.root.engine_opinion import EngineOpinion, drawn, state_weights, win_probabilities
from penumbra.players.penumbra.root.engine_sense import EngineSense, worths
from penumbra.players.penumbra.root.repetition import PATIENCE, WAITING, Repetition
from penumbra.players.penumbra.root_settings import RootSettings
from penumbra.rbc.actions import parse_action, parse_square
from penumbra.rbc.domain import Situation


def situation(*fens: str) -> tuple[Situation, Ints]:
    """White before its move in any of these states, and its moves."""
    x = Situation(StateSet.from_fens(list(fens), True), MOVE, Context())
    actions, _ = Infostates.draw(x.states, 1, MOVE, 1).legal()
    return x, actions


def judged(part: RootPolicy[Situation, Infostates], x: Situation, actions: Ints, pi: Floats | None = None) -> Floats:
    pi = np.full(len(actions), 1 / len(actions), np.float32) if pi is None else pi
    return part.prior(AtRoot(x, None, actions, pi, None, np.random.default_rng(0)))


# The rook on e8 attacks the king in the first state and is elsewhere in the second.
PINNED = ("4r2k/8/8/8/8/8/8/4K2R w - - 0 1", "r6k/8/8/8/8/8/8/4K2R w - - 0 1")


def test_all_off_is_the_paper() -> None:
    x, actions = situation(*PINNED)
    pi = np.full(len(actions), 1 / len(actions), np.float32)
    nothing = RootJudgement(RootSettings())
    assert not nothing.parts
    assert judged(nothing, x, actions, pi) is pi
    for name in PAPER:
        assert PRESETS[name].root == RootSettings()
        assert PRESETS[name].dsmcp == PAPER[name]
        assert (PRESETS[name].policy, PRESETS[name].value, PRESETS[name].replies) == (("Top",), "All", ())
    assert PRESETS[DEFAULT].root != RootSettings()


def test_danger_scales_the_prior_and_the_reckless_are_dropped() -> None:
    x, actions = situation(*PINNED)
    danger = danger_of(x, actions, 0)
    stay, leave = (actions.tolist().index(parse_action(word)) for word in ("h1g1", "e1f1"))
    assert (danger[stay], danger[leave]) == (0.5, 0.0)
    scaled = judged(Danger(2.0, 1.0), x, actions)
    np.testing.assert_allclose(scaled * len(actions), (1 - danger) ** 2, rtol=1e-6)
    dropped = judged(Danger(0.0, 0.15), x, actions)
    assert dropped[stay] == 0
    np.testing.assert_allclose(dropped[danger <= danger.min() + 0.15] * len(actions), 1, rtol=1e-6)


def test_where_every_move_is_deadly_all_are_considered() -> None:
    """The king stands in the corner, and whatever it does a rook takes it."""
    x, actions = situation("6k1/8/8/8/8/8/r7/1r5K w - - 0 1")
    assert (danger_of(x, actions, 0) == 1).all()
    assert (judged(Danger(4.0, 0.15), x, actions) > 0).all()


def test_repeated_moves_are_scored_down_only_beside_moves_of_about_the_same_worth() -> None:
    actions = np.array([70, 71, 72], np.int32)
    root = Root(0, actions, np.full(3, 1 / 3, np.float32), 0.0)
    part = Repetition(0.5)
    n, q = np.array([90.0, 5.0, 5.0]), np.array([63.0, 0.5, 3.2])  # worth 0.7, 0.1 and 0.64
    assert part.score(root, n, q, q).argmax() == 0
    part.asked.update({70: PATIENCE})
    assert part.score(root, n, q, q) is q  # it may be asked for a fifth time
    part.asked.update({70: 10})
    assert part.score(root, n, q, q).argmax() == 2  # never the one that loses


def test_after_long_waiting_the_prior_counts_repetitions_too_and_a_capture_ends_it() -> None:
    x, actions = situation(*PINNED)
    part = Repetition(0.5)
    usual = int(actions[0])
    for _ in range(WAITING - 1):
        part.moved(usual, captured=False)
    assert judged(part, x, actions).std() == 0
    part.moved(usual, captured=False)
    prior = judged(part, x, actions)
    assert prior[0] < 1e-5 < prior[1]
    part.moved(usual, captured=True)
    assert not part.asked


def test_the_engine_takes_a_queen_that_hangs_and_minds_where_the_belief_stands() -> None:
    hanging = "3q3k/8/8/8/8/8/8/3RK3 w - - 0 1"
    guarded = "3q2rk/8/8/8/8/8/8/3RK3 w - - 0 1"  # the rook is taken back
    x, actions = situation(hanging)
    take = actions.tolist().index(parse_action("d1d8"))
    opinion = EngineOpinion(RootSettings(engine_weight=16.0))
    assert judged(opinion, x, actions).argmax() == take
    assert judged(opinion, x, actions)[take] > 20 * np.median(judged(opinion, x, actions))
    x, actions = situation(hanging, guarded)
    np.testing.assert_allclose(state_weights(x, None), 0.5)
    particles = Infostates.draw(StateSet(guarded, False), 5, MOVE)  # the opponent knows that it stands there
    weights = state_weights(x, particles)
    assert weights[list(x.states.fens()).index(next(f for f in x.states.fens() if "3q2rk" in f))] > 0.9
    states, shares = drawn(x, particles, 4, np.random.default_rng(0))
    assert len(states) == 1 and shares.tolist() == [1.0]


def test_the_engine_is_asked_only_where_few_states_are_possible() -> None:
    x, actions = situation(*PINNED)
    pi = np.full(len(actions), 1 / len(actions), np.float32)
    assert judged(EngineOpinion(RootSettings(engine_weight=16.0, engine_states=1)), x, actions, pi) is pi
    assert judged(EngineOpinion(RootSettings(engine_weight=16.0, engine_states=2)), x, actions, pi) is not pi


def test_the_engine_counts_less_the_more_states_are_possible_as_fast_as_is_said() -> None:
    """ln(prior / π) is the weight, by the states, times differences of win probabilities."""
    x, actions = situation(*PINNED)
    assert len(x.states) == 2
    spread = {
        fall: float(
            np.ptp(np.log(judged(EngineOpinion(RootSettings(engine_weight=4.0, engine_fall=fall)), x, actions)))
        )
        for fall in (0.0, 0.5, 1.0)
    }
    assert spread[0.0] > 0
    assert spread[0.5] == pytest.approx(spread[0.0] / math.sqrt(2), rel=1e-4)
    assert spread[1.0] == pytest.approx(spread[0.0] / 2, rel=1e-4)


def test_win_probabilities_of_scores() -> None:
    wins = win_probabilities(np.array([[0, 100, -100, 30000, 29990, -29999]], np.int32))[0]
    assert wins[0] == 0.5
    assert wins[1] == pytest.approx(1 - wins[2])
    assert wins[3] == 1.0
    assert 0.9 < wins[4] < 1 and 0 < wins[5] < 0.1


def test_won_positions_are_told_apart_and_so_are_lost_ones() -> None:
    """A rook more or less is worth something wherever it is; most where nobody is ahead."""
    rooks = win_probabilities(np.array([[-1500, -1000, -500, 0, 500, 1000, 1500]], np.int32))[0]
    gains = np.diff(rooks)
    assert (gains > 0.01).all() and gains.argmax() in (2, 3) and gains == pytest.approx(gains[::-1])


def test_bad_root_settings_are_refused_in_one_line() -> None:
    for change, words in [
        ({"prudence": -1}, "prudence = -1: it must be a number from 0"),
        ({"reckless": 2}, "reckless = 2: it must be a number from 0 to 1"),
    ]:
        with pytest.raises(ConfigurationError, match=words):
            RootSettings().replace(**change)
    with pytest.raises(ConfigurationError, match="root: there is no 'bravery'; there are prudence"):
        from_table({"root": {"bravery": 1}})
    with pytest.raises(ConfigurationError, match="root = 3: it must be a table"):
        from_table({"root": 3})
    assert from_table({"root": {"prudence": 1.0}}).root_settings().prudence == 1.0


def test_a_senses_worth_costs_no_more_than_its_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def noted(states: StateSet, weights: object, nodes: int) -> dict[int, float]:
        asked.append(nodes)
        return {0: 0.5}

    monkeypatch.setattr(engine_sense, "worths", noted)
    states = StateSet.from_fens(["3kr3/8/8/8/8/8/8/3RK2R w - - 0 1", "4r2k/8/8/8/8/8/8/3RK2R w - - 0 1"], True)
    particles = Infostates.concatenate([Infostates.draw(StateSet(fen, False), 8, SENSE) for fen in states.fens()])
    actions, pi, rng = np.zeros(1, np.int32), np.ones(1, np.float32), np.random.default_rng(0)
    for seconds in (None, 100.0, 0.05, 0.0):
        EngineSense(30.0).prior(AtRoot(Situation(states, SENSE, Context()), particles, actions, pi, seconds, rng))
    assert asked == [100_000, 100_000, 2_500, 1]


def test_a_sense_is_worth_what_the_next_move_gains_by_it() -> None:
    """The black king stands on d8 or on h8; only a look tells which rook takes it, before ours is taken."""
    states = StateSet.from_fens(["3kr3/8/8/8/8/8/8/3RK2R w - - 0 1", "4r2k/8/8/8/8/8/8/3RK2R w - - 0 1"], True)
    worth = worths(states, np.array([0.5, 0.5]))
    d7, g7, b2 = (parse_square(name) for name in ("d7", "g7", "b2"))
    assert worth[d7] == worth[g7] == max(worth.values())  # each shows one of the two squares
    assert worth[d7] > worth[b2] + 0.05
    x = Situation(states, SENSE, Context())
    particles = Infostates.concatenate(
        [Infostates.draw(StateSet(fen, False), 8, SENSE) for fen in states.fens()]  # it knows where it stands
    )
    actions = np.array([d7, b2], np.int32)
    at = AtRoot(x, particles, actions, np.full(2, 0.5, np.float32), None, np.random.default_rng(0))
    first, second = EngineSense(30.0).prior(at)
    assert first > 4 * second
    hurried = EngineSense(30.0).prior(replace(at, seconds=0.0))  # one ply is always looked at
    assert hurried[0] > 4 * hurried[1]
    assert EngineSense(30.0).prior(replace(at, particles=None)) is at.pi
