"""Steps a second of random games in the vector environment, observations included, on two cores.

A step is a sense or a move, so a ply of reconchess, which has both, counts as two. The peers play one game on one core:
reconchess without any array of observations, OpenSpiel (where it is installed) with its observation tensor.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from importlib.util import find_spec

import reconchess

from penumbra.bench.report import Row, rates
from penumbra.bench.rules import random_local_game
from penumbra.env import Observation, RBCVectorEnv
from penumbra.env import env as one_game
from penumbra.training.sample_positions import on_threads

SEED = 1
CORES = 2
GAMES = 128
ELL, CAP = 128, 500
WARM_UP = 120  # steps of all games, after which they are of all lengths
VIEWS: tuple[Observation, ...] = ("binary", "graded", "knowledge")
AT_ONCE = 8  # steps between two looks at the clock


def run(seconds: float, warm_up: int = WARM_UP) -> list[Row]:
    """`env.binary`, `env.graded`, `env.knowledge`, `env.aec`, and OpenSpiel as another peer of the last but one."""
    peers = {"reconchess": (random_local_game(reconchess.LocalGame, random.Random(SEED).random), 2)}
    if find_spec("pyspiel") is not None:
        peers["OpenSpiel"] = (_open_spiel_game(random.Random(SEED)), 1)
    with on_threads(CORES):
        ours = [_vector(view, warm_up) for view in VIEWS] + [_single(random.Random(SEED))]
        speeds = rates([*ours, *(play for play, _ in peers.values())], seconds)
    named = {name: speed * steps for (name, (_, steps)), speed in zip(peers.items(), speeds[len(ours) :], strict=True)}
    note = f"random legal actions, {GAMES} games of both players, ℓ = {ELL}, at most {CAP} states, {CORES} threads"
    rows = [
        Row(f"env.{view}", speed, "steps/s", "reconchess", named["reconchess"], note)
        for view, speed in zip(VIEWS, speeds, strict=False)
    ]
    aec = "one game in PettingZoo's API, raw knowledge, with an action mask; one core"
    rows.append(Row("env.aec", speeds[len(VIEWS)], "steps/s", "reconchess", named["reconchess"], aec))
    if "OpenSpiel" in named:
        rows.append(Row("env.knowledge.openspiel", rows[2].value, "steps/s", "OpenSpiel", named["OpenSpiel"], note))
    return rows


def _vector(view: Observation, warm_up: int) -> Callable[[], int]:
    envs = RBCVectorEnv(GAMES, view, ell=ELL, cap=CAP)
    envs.reset(seed=SEED)

    def play(steps: int = AT_ONCE) -> int:
        for _ in range(steps):
            envs.step(envs.sample_actions())
        return steps * GAMES

    play(warm_up)
    return play


def _single(rng: random.Random) -> Callable[[], int]:
    game = one_game("knowledge")

    def play() -> int:
        game.reset(rng.randrange(1 << 30))
        steps = 0
        for _ in game.agent_iter():
            seen, _, terminated, _, _ = game.last()
            if terminated:
                break
            assert seen is not None
            game.step(int(rng.choice(seen["action_mask"].nonzero()[0])))
            steps += 1
        return steps

    return play


def _open_spiel_game(rng: random.Random) -> Callable[[], int]:
    import pyspiel

    game = pyspiel.load_game("rbc")

    def play() -> int:
        state = game.new_initial_state()
        steps = 0
        while not state.is_terminal():
            state.observation_tensor(state.current_player())
            state.apply_action(rng.choice(state.legal_actions()))
            steps += 1
        return steps

    return play
