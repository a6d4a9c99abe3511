"""The environment of one game: PettingZoo's own tests, and a lockstep with reconchess in all that an agent is shown."""

from __future__ import annotations

import random
import re
import warnings
from itertools import count
from typing import Any

import numpy as np
import pytest
from pettingzoo.test import api_test, performance_benchmark, seed_test
from reconchess import WinReason

from penumbra.env import IllegalAction, RBCEnv, env
from penumbra.rbc.domain import ReconBlindChess, Situation, observed, start
from penumbra.rbc.synopsis import unpack
from tests.support.lockstep_env import Referee

HARMLESS = (  # what it says of every environment with action masks, and of games that are over
    "Observation space for each agent probably should be",
    "Observation is not a NumPy array",
    "We recommend agents to be named in the format",
    "Action mask numpy array is all zeros",
)
MANY = 20_000  # states: no set of the first turns is cut to so many


@pytest.mark.parametrize("observation", ["binary", "shares", "graded", "knowledge"])
def test_pettingzoo_finds_no_fault_with_its_api(observation: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for said in HARMLESS:
            warnings.filterwarnings("ignore", said)
        api_test(env(observation), num_cycles=300)


@pytest.mark.parametrize("observation", ["graded", "knowledge"])
def test_the_same_seed_and_actions_give_the_same_game(observation: Any) -> None:
    seed_test(lambda: env(observation, cap=60, ell=20), num_cycles=40)


def test_another_seed_draws_other_states() -> None:
    def last(seed: int) -> Any:
        game = RBCEnv("binary", cap=30, ell=5)
        game.reset(seed)
        for action in (0, 64 + 12 * 64 + 28, 0, 64 + 12 * 64 + 28, 0, 64 + 6 * 64 + 21, 0):
            game.step(action)
        return game.observe("black")["observation"]

    assert (last(1) == last(1)).all() and (last(1) != last(2)).any()


def test_pettingzoos_benchmark_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    clock = count()
    monkeypatch.setattr("time.time", lambda: next(clock) / 20)
    performance_benchmark(env("knowledge"))
    found = re.search(r"([\d.]+) turns per second", capsys.readouterr().out)
    assert found and float(found[1]) > 0


@pytest.mark.parametrize("seed", range(12))
def test_masks_and_knowledge_are_what_reconchess_lists_and_tells(seed: int) -> None:
    rng = random.Random(seed)
    ours, theirs = RBCEnv("knowledge"), Referee()
    ours.reset(seed)
    while not theirs.over:
        color = theirs.game.turn
        agent = "white" if color else "black"
        assert ours.agent_selection == agent
        seen = ours.observe(agent)
        assert set(np.flatnonzero(seen["action_mask"]).tolist()) == theirs.legal()
        expected = theirs.knowledge[color].planes(theirs.game.board, theirs.at_move)
        assert np.argwhere(seen["observation"] != expected).tolist() == []
        action = rng.choice(sorted(theirs.legal()))
        ours.step(action)
        theirs.act(action)
    assert_ended_alike(ours, theirs)


def assert_ended_alike(ours: RBCEnv, theirs: Referee) -> None:
    winner = theirs.game.get_winner_color()
    white = 0 if winner is None else 1 if winner else -1
    assert ours.rewards == {"white": white, "black": -white}
    assert ours.terminations == {"white": True, "black": True}
    assert ours.truncations == {"white": False, "black": False}
    expected = {WinReason.KING_CAPTURE: "KING_CAPTURE", WinReason.MOVE_LIMIT: "MOVE_LIMIT"}
    assert ours.game.reason == expected[theirs.game.get_win_reason()]
    for agent in ("white", "black"):
        _, reward, terminated, _, _ = ours.last()
        assert terminated and reward == ours._cumulative_rewards[ours.agent_selection], agent
        ours.step(None)
    assert ours.agents == []


@pytest.mark.parametrize("observation", ["binary", "graded"])
@pytest.mark.parametrize("seed", range(3))
def test_synopses_are_those_of_all_that_reconchess_leaves_possible(observation: Any, seed: int) -> None:
    rng = random.Random(seed)
    ours, theirs = RBCEnv(observation, ell=MANY, cap=MANY), Referee()
    ours.reset(seed)
    situations: dict[bool, Situation] = {color: start(color)[0] for color in (True, False)}
    domain, compared = ReconBlindChess(observation), 0
    while not theirs.over:
        color = theirs.game.turn
        for observation_made in theirs.told[color]:
            situations[color] = observed(situations[color], observation_made, MANY)
        theirs.told[color].clear()
        if len(situations[color].states) > MANY:
            break
        drawn = domain.draw(situations[color], 1, MANY, 0, False, None)
        expected = unpack(domain.sigma(drawn))[0]
        seen = ours.observe(ours.agent_selection)["observation"]
        assert sorted(set(np.argwhere(seen != expected)[:, 0].tolist())) == []
        compared += 1
        action = rng.choice(sorted(theirs.legal()))
        ours.step(action)
        theirs.act(action)
    assert compared >= 6


def test_a_waiting_agent_is_shown_what_it_saw_last() -> None:
    game = RBCEnv("knowledge")
    game.reset(1)
    game.step(27)
    before = game.observe("white")["observation"]
    game.step(64 + 12 * 64 + 28)
    waiting = game.observe("white")
    assert (waiting["observation"] == before).all() and not waiting["action_mask"].any()


@pytest.mark.parametrize(
    ("actions", "action", "message"),
    [
        ((), 64 + 12 * 64 + 28, "white: action 860 is not legal: this is 'e2e4' in the player's view, and it is time"),
        ((27,), 27, "white: action 27 is not legal: this is 'sense d4' in the player's view, and it is time for a "),
        ((27,), 64 + 12 * 64 + 36, "white: action 868 is not legal: this is 'e2e5' in the player's view, and"),
        ((), 4161, "white: action 4161 is not legal: actions are numbers from 0 to 4160"),
        ((), -1, "white: action -1 is not legal"),
        ((), None, "white: action None is not legal"),
    ],
)
def test_an_illegal_action_is_named_and_changes_nothing(actions: tuple[int, ...], action: Any, message: str) -> None:
    game = RBCEnv("knowledge")
    game.reset(1)
    for each in actions:
        game.step(each)
    before = game.observe("white")
    with pytest.raises(IllegalAction, match=re.escape(message)):
        game.step(action)
    after = game.observe("white")
    assert all((before[key] == after[key]).all() for key in ("observation", "action_mask"))
    game.step(int(np.flatnonzero(after["action_mask"])[0]))


def test_a_game_past_the_turn_limit_is_cut_off() -> None:
    game = RBCEnv("knowledge", turn_limit=2)
    game.reset(1)
    for _ in range(4):
        game.step(0)
        game.step(4160)
    assert game.truncations == {"white": True, "black": True}
    assert game.terminations == {"white": False, "black": False}
    assert game.rewards == {"white": 0, "black": 0}


def test_the_board_is_drawn_with_what_was_sensed() -> None:
    game = RBCEnv("knowledge", render_mode="ansi")
    game.reset(1)
    assert game.render() == (
        "turn 1, White to sense\n"
        "8  r  n  b  q  k  b  n  r\n7  p  p  p  p  p  p  p  p\n"
        "6  .  .  .  .  .  .  .  .\n5  .  .  .  .  .  .  .  .\n4  .  .  .  .  .  .  .  .\n3  .  .  .  .  .  .  .  .\n"
        "2  P  P  P  P  P  P  P  P\n1  R  N  B  Q  K  B  N  R\n   a  b  c  d  e  f  g  h\n"
    )
    game.step(0)
    game.step(64 + 12 * 64 + 28)
    game.step(27)  # Black's d4 is the real d5
    drawn = game.render()
    assert drawn is not None and drawn.startswith("turn 1, Black to move\n")
    assert "5  .  . [.][.][.] .  .  ." in drawn and "4  .  . [.][.][P] .  .  ." in drawn


def test_human_rendering_prints(capsys: pytest.CaptureFixture[str]) -> None:
    game = RBCEnv("knowledge", render_mode="human")
    game.reset(1)
    game.step(0)
    assert "White to move" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"observation": "pictures"}, "there is no observation 'pictures'"), ({"ell": 0}, "ell"), ({"cap": 0}, "cap")],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RBCEnv(**settings)
