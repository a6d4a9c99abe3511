"""The vector environment: what each row is shown and earns is what reconchess says, whoever plays the other side."""

from __future__ import annotations

import re
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from penumbra import core, env
from penumbra.env import IllegalAction, RBCVectorEnv
from penumbra.network.heuristic_evaluator import HeuristicEvaluator
from tests.support.lockstep_env import Referee

PASS = 4160
NEXT_STEP, SAME_STEP, DISABLED = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED


def assert_shows(seen: NDArray[np.uint8], infos: dict[str, Any], place: int, referee: Referee) -> None:
    """A row is what reconchess would tell the player to act."""
    color = referee.game.turn
    assert (infos["player"][place], infos["step"][place]) == (color, referee.at_move)
    assert set(np.flatnonzero(infos["action_mask"][place]).tolist()) == referee.legal()
    expected = referee.knowledge[color].planes(referee.game.board, referee.at_move)
    assert np.argwhere(seen[place] != expected).tolist() == []


@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP, DISABLED])
def test_games_with_oneself_are_those_of_reconchess(mode: AutoresetMode) -> None:
    envs = RBCVectorEnv(4, "knowledge", autoreset_mode=mode)
    seen, infos = envs.reset(seed=3)
    referees = [Referee() for _ in range(4)]
    waiting = np.zeros(4, bool)
    ended = 0
    while ended < 5:
        for place in range(4):
            if not waiting[place]:
                assert_shows(seen, infos, place, referees[place])
        actions = envs.sample_actions()
        before, movers = seen.copy(), [referee.game.turn for referee in referees]
        seen, rewards, terminated, truncated, infos = envs.step(actions)
        assert not truncated.any()
        for place in range(4):
            if waiting[place]:
                referees[place], waiting[place] = Referee(), False
                assert (rewards[place], terminated[place]) == (0, False)
                continue
            referees[place].act(int(actions[place]))
            over = referees[place].over
            assert terminated[place] == over
            winner = referees[place].game.get_winner_color() if over else None
            assert rewards[place] == (0 if winner is None else 1 if winner == movers[place] else -1)
            if not over:
                continue
            ended += 1
            assert infos["_winner" if mode != SAME_STEP else "_final_info"][place]
            if mode == SAME_STEP:
                assert infos["_final_obs"][place] and (infos["final_obs"][place] == before[place]).all()
                assert infos["final_info"]["winner"][place] == (0 if winner is None else 1 if winner else -1)
                referees[place] = Referee()
            else:
                assert (seen[place] == before[place]).all()
                waiting[place] = mode == NEXT_STEP
        if mode == DISABLED and terminated.any():
            with pytest.raises(ValueError, match=r"the game in place \d is over: reset it"):
                envs.step(actions)
            seen, infos = envs.reset(options={"reset_mask": terminated})
            for place in np.flatnonzero(terminated).tolist():
                referees[place] = Referee()


@pytest.mark.parametrize("color", ["white", "black", None])
def test_the_caller_has_one_side_of_games_with_an_opponent(color: Any) -> None:
    envs = RBCVectorEnv(16, "knowledge", "random", color=color, autoreset_mode=SAME_STEP)
    _, infos = envs.reset(seed=1)
    colors, white_results = set(infos["player"].tolist()), []
    players = infos["player"]
    for _ in range(300):
        _, rewards, terminated, _, infos = envs.step(envs.sample_actions())
        going = ~terminated
        assert (infos["player"][going] == players[going]).all()
        for place in np.flatnonzero(terminated).tolist():
            sign = 1 if players[place] else -1
            assert rewards[place] == sign * infos["final_info"]["winner"][place]
            white_results.append(infos["final_info"]["winner"][place])
        players = infos["player"]
        colors |= set(players.tolist())
    assert colors == {"white": {1}, "black": {0}, None: {0, 1}}[color]
    assert {1, -1} <= set(white_results)


def test_the_opponent_of_a_lost_game_took_the_king() -> None:
    envs = RBCVectorEnv(16, "knowledge", "random", color="white", autoreset_mode=DISABLED)
    envs.reset(seed=1)
    for _ in range(2000):
        _, rewards, terminated, _, _ = envs.step(envs.sample_actions())
        if (rewards < 0).any():
            place = int(np.flatnonzero(rewards < 0)[0])
            game = envs.game(place)
            assert (game.reason, game.winner) == ("KING_CAPTURE", False)
            return
        if terminated.any():
            envs.reset(options={"reset_mask": terminated})
    raise AssertionError("chance never won")


def passes(seen: NDArray[np.uint8], masks: NDArray[np.int8]) -> NDArray[np.int64]:
    """Senses a1 and passes."""
    assert seen.shape == (len(masks), 24, 8, 8)
    return np.where(masks[:, PASS] == 1, PASS, 0)


def test_a_function_may_be_the_opponent() -> None:
    envs = RBCVectorEnv(3, "knowledge", passes, color="black")
    envs.reset(seed=1)
    for _ in range(4):
        envs.step(np.zeros(3, int))
        envs.step(np.full(3, PASS))
    record = envs.game(0).record()
    assert record.moves == [0] * 9 and record.senses[::2] == [0] * 5
    careless = RBCVectorEnv(2, "knowledge", lambda seen, masks: np.full(len(seen), 999), color="black")
    with pytest.raises(IllegalAction, match="the opponent: action 999 is not legal"):
        careless.reset(seed=1)


@pytest.mark.parametrize("observation", ["binary", "knowledge"])
@pytest.mark.parametrize("opponent", [HeuristicEvaluator(), "hunter", "penumbra:network", "network"])
def test_networks_and_players_may_be_the_opponent(opponent: Any, observation: Any) -> None:
    envs = RBCVectorEnv(2, observation, opponent, cap=100, autoreset_mode=SAME_STEP, turn_limit=6)
    seen, infos = envs.reset(seed=2)
    assert envs.observation_space.contains(seen)
    games = 0
    for _ in range(30):
        _, rewards, terminated, truncated, infos = envs.step(envs.sample_actions())
        assert (rewards[truncated] == 0).all() and not (terminated & truncated).any()
        games += int((terminated | truncated).sum())
        assert (infos["ply"] <= 12).all()
    assert games >= 4
    envs.close()


@pytest.mark.parametrize("observation", ["binary", "shares", "graded", "knowledge"])
def test_spaces_hold_what_is_returned(observation: Any) -> None:
    envs = RBCVectorEnv(5, observation)
    seen, infos = envs.reset(seed=1)
    for _ in range(40):
        assert envs.observation_space.contains(seen) and seen.shape == envs.observation_space.shape
        assert seen.max() == (1 if observation == "binary" else 255)
        actions = envs.sample_actions()
        assert envs.action_space.contains(actions.astype(np.int64))
        assert (infos["action_mask"][np.arange(5), actions] == 1).all()
        assert envs.single_action_space.sample(infos["action_mask"][0]) in np.flatnonzero(infos["action_mask"][0])
        seen, *_, infos = envs.step(actions)


def test_a_row_is_what_the_environment_of_one_game_shows() -> None:
    """Synopses with room for all states are free of chance, so both must draw the same planes."""
    envs, one = RBCVectorEnv(2, "graded", ell=9000, cap=9000), env.RBCEnv("graded", ell=9000, cap=9000)
    seen, infos = envs.reset(seed=1)
    one.reset(7)
    for _ in range(9):
        agent = one.observe(one.agent_selection)
        assert (seen[1] == agent["observation"]).all() and (infos["action_mask"][1] == agent["action_mask"]).all()
        actions = envs.sample_actions()
        one.step(int(actions[1]))
        seen, *_, infos = envs.step(actions)


@pytest.mark.parametrize("opponent", ["self", "random", HeuristicEvaluator()])
def test_seed_and_actions_decide_everything_whatever_the_number_of_threads(opponent: Any) -> None:
    def play(threads: int) -> list[Any]:
        core.set_threads(threads)
        envs = RBCVectorEnv(24, "binary", opponent, ell=16, cap=40)
        seen, infos = envs.reset(seed=5)
        rows = [seen.copy(), infos["action_mask"].copy()]
        for _ in range(60):
            seen, rewards, terminated, _, infos = envs.step(envs.sample_actions())
            rows += [seen.copy(), rewards, terminated, infos["player"]]
        return rows

    before = core.threads()
    try:
        alone, together = play(1), play(4)
    finally:
        core.set_threads(before)
    assert all((a == b).all() for a, b in zip(alone, together, strict=True))


def test_what_was_returned_last_outlives_one_more_step() -> None:
    envs = RBCVectorEnv(4, "knowledge")
    first, infos = envs.reset(seed=1)
    kept, mask, mask_kept = first.copy(), infos["action_mask"], infos["action_mask"].copy()
    second, *_ = envs.step(envs.sample_actions())
    assert (first == kept).all() and (mask == mask_kept).all() and not (second == kept).all()
    third, *_ = envs.step(envs.sample_actions())
    assert third is first


@pytest.mark.parametrize(
    ("actions", "error", "message"),
    [
        ([0, PASS], IllegalAction, "place 1: action 4160 is not legal: this is 'pass' in the player's view"),
        ([-1, 0], IllegalAction, "place 0: action -1 is not legal: actions are numbers from 0 to 4160"),
        ([0, 0, 0], ValueError, "step takes 2 whole numbers, not int64[3]"),
        ([0.0, 1.0], ValueError, "step takes 2 whole numbers, not float64[2]"),
    ],
)
def test_illegal_actions_are_named_and_change_nothing(actions: Any, error: type[Exception], message: str) -> None:
    envs = RBCVectorEnv(2, "knowledge")
    seen, _ = envs.reset(seed=1)
    before = seen.copy()
    with pytest.raises(error, match=re.escape(message)):
        envs.step(actions)
    assert (seen == before).all()
    assert envs.game(0).record().senses == []
    envs.step([0, 0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"opponent": "nobody"}, "there is no player 'nobody'; known are penumbra, .*; or self or network"),
        ({"opponent": 3}, "an opponent is a player's name"),
        ({"observation": "all"}, "there is no observation 'all'"),
        ({"color": "red"}, "color is 'white', 'black' or None"),
        ({"num_envs": 0}, "at least one game"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RBCVectorEnv(**settings)


def test_gymnasium_makes_it_by_its_id() -> None:
    envs = gymnasium.make_vec("penumbra.env:penumbra/RBC-v0", num_envs=3, observation="knowledge")
    seen, _ = envs.reset(seed=1)
    assert seen.shape == (3, 24, 8, 8)
    assert envs.metadata["autoreset_mode"] == NEXT_STEP


def test_boards_are_drawn() -> None:
    envs = RBCVectorEnv(2, "knowledge", render_mode="ansi")
    envs.reset(seed=1)
    boards = envs.render()
    assert boards is not None and len(boards) == 2 and boards[0].startswith("8  r  n  b  q")
    assert RBCVectorEnv(2, "knowledge").render() is None
