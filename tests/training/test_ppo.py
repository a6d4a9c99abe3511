"""Improvement by play: advantages by hand, what a round teaches, and the loop from games to served weights."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from studies._disturbed import of_session

from penumbra.arena.population import read_population
from penumbra.configs.shipped import find
from penumbra.core import GameRecord
from penumbra.games.archive import Archive
from penumbra.network import weights as weights_file
from penumbra.network.architecture import Architecture
from penumbra.network.model import Network, from_weights, network_input, to_weights
from penumbra.network.weights import Weights, WeightsError
from penumbra.players.penumbra.configuration import from_table
from penumbra.training import ppo
from penumbra.training.data import Table
from penumbra.training.examples import ExampleSettings
from penumbra.training.ppo import (
    HEADSET,
    MOST_CHANGE,
    MOST_RATIO,
    OWN_PLAYERS,
    Improvement,
    ImprovementRun,
    Learner,
    NewGames,
    anchor_table,
    scores,
    with_headset,
)
from penumbra.training.ppo_rollouts import Bulk, Steps, advantages, log_policy
from penumbra.training.ppo_state import StateError
from penumbra.training.selfplay import NAME
from tests.support.processes import CHESS, environment
from tests.support.processes import run_penumbra as run
from tests.support.training_games import make_archive, records

ENVIRONMENT = environment(OMP_NUM_THREADS="1")
POPULATION = """
games = 100000
opening_plies = 2
ply_limit = 20
[[player]]
name = "Penumbra"
kind = "penumbra:network"
weight = 3.0
settings = { policy = "Penumbra", nodes = 1, cap = 1000, device = "DEVICE", settings = { b = 1 } }
[[player]]
name = "Wild"
kind = "random"
"""


def tiny() -> Weights:
    torch.manual_seed(0)
    return to_weights(Network(Architecture(8, 2, ("All", "Top", "Wild"))), {"commit": "none"})


def test_the_shipped_population_plays_the_headset_that_learns(tmp_path: Path) -> None:
    path = tmp_path / "improve.toml"
    path.write_text(find("improve").read_text().replace("DEVICE", "unix:socket"))
    (learner,) = (member for member in read_population(path).members if member.name in OWN_PLAYERS)
    assert from_table(learner.settings).policies() == (HEADSET,)


def own_games(n: int = 12) -> list[GameRecord]:
    """Games in which the learner has Trout's place."""
    games = []
    for record in records():
        copy = GameRecord.from_bytes(record.to_bytes())
        if "Trout" in (copy.white_name, copy.black_name):
            copy.white_name = HEADSET if copy.white_name == "Trout" else copy.white_name
            copy.black_name = HEADSET if copy.black_name == "Trout" else copy.black_name
            games.append(copy)
    return games[:n]


def test_advantages_are_sums_of_rises_in_value() -> None:
    values = np.array([0.1, 0.3, -0.2, 0.5, 0.0], np.float32)
    outcomes = np.array([1, 1, 1, -1, -1], np.float32)
    sequences = np.array([4, 4, 4, 7, 7])
    lam = 0.5
    rises = [0.3 - 0.1, -0.2 - 0.3, 1 + 0.2, 0.0 - 0.5, -1 - 0.0]
    expected = [
        rises[0] + lam * rises[1] + lam**2 * rises[2],
        rises[1] + lam * rises[2],
        rises[2],
        rises[3] + lam * rises[4],
        rises[4],
    ]
    np.testing.assert_allclose(advantages(values, outcomes, sequences, lam), expected, rtol=1e-5)
    np.testing.assert_allclose(advantages(values, outcomes, sequences, 1.0), outcomes - values, rtol=1e-5)


def test_the_new_headset_begins_as_a_copy() -> None:
    given = tiny()
    more = with_headset(given)
    assert more.architecture.headsets == ("All", "Top", "Wild", HEADSET)
    for name, tensor in more.tensors.items():
        if name.startswith(f"headsets.{HEADSET}."):
            assert (tensor == given.tensors[name.replace(HEADSET, "Top")]).all()
    assert json.loads(more.about["players"])[HEADSET] == list(OWN_PLAYERS)
    assert with_headset(more) is more
    with pytest.raises(WeightsError, match="no headset 'Nobody'"):
        with_headset(given, "Other", "Nobody")


def test_a_round_makes_good_actions_likelier_and_bad_ones_rarer(tmp_path: Path) -> None:
    plan = replace(Improvement(), batch=256, epochs=8, most_divergence=10.0, learning_rate=0.0003, warm_up=0)
    learner = Learner(tiny(), plan, "cpu")
    played = learner.steps_of(own_games())
    assert len(played) > 200
    before = learner.network.state_dict()
    statistics = {k: v.clone() for k, v in before.items() if "running" in k}
    wild = before["headsets.Wild.policy.weight"].clone()
    anchors = anchor_table(tiny(), [make_archive(tmp_path / "games.db")], 10, learner.plan.examples, "cpu")
    learned = learner.learn(played, anchors)
    assert learned["updates"] > 4 and learned["divergence"] > 0
    assert abs(float(played.advantage.mean())) < 0.01 and 0.99 < float(played.advantage.std()) < 1.01
    change = (log_of_actions(learner, played) - played.before).numpy()
    gain = played.advantage.numpy()
    assert change[gain > 0.5].mean() > 0 > change[gain < -0.5].mean()
    after = learner.network.state_dict()
    assert all((after[k] == v).all() for k, v in statistics.items())
    assert (after["headsets.Wild.policy.weight"] != wild).any()  # it goes on imitating


def test_weights_as_they_are_shipped_learn_too(tmp_path: Path) -> None:
    """Without auxiliary heads, which only training needs: the imitating headsets go on learning their policies."""
    lean = to_weights(Network(Architecture(8, 2, ("All", "Top", "Wild")), auxiliary=False), {})
    learner = Learner(lean, replace(Improvement(), batch=64, epochs=8, most_divergence=9.0), "cpu")
    wild = learner.network.state_dict()["headsets.Wild.policy.weight"].clone()
    anchors = anchor_table(lean, [make_archive(tmp_path / "games.db")], 10, learner.plan.examples, "cpu")
    assert learner.learn(learner.steps_of(own_games()), anchors)["updates"] > 1
    assert (learner.network.state_dict()["headsets.Wild.policy.weight"] != wild).any()


def log_of_actions(learner: Learner, steps: Steps) -> torch.Tensor:
    with torch.no_grad():
        x = learner.network.tower(network_input(steps.planes))
        policy, _ = learner.network.headset(HEADSET).predict(x)
    return log_policy(policy, steps.legal).gather(1, steps.target.long()[:, None]).squeeze(1)


def test_a_round_stops_when_the_policy_has_gone_far() -> None:
    learner = Learner(tiny(), replace(Improvement(), batch=128, epochs=50, most_divergence=1e-4), "cpu")
    assert learner.learn(learner.steps_of(own_games()), None)["updates"] < 50


def test_one_step_that_was_all_but_impossible_does_not_outweigh_the_others() -> None:
    learner = Learner(tiny(), replace(Improvement(), batch=64), "cpu")
    played = learner.steps_of(own_games()).take(torch.arange(64))
    played.before[:] = log_of_actions(learner, played)
    played.advantage[:] = 1.0
    played.before[7], played.advantage[7] = -40.0, -1.0
    numbers = learner.update(played, None)
    assert numbers is not None
    assert numbers["gain"] == pytest.approx((63 - MOST_RATIO) / 64, abs=0.01)  # and not -e^38
    assert numbers["divergence"] == pytest.approx(MOST_CHANGE**2 / 2 / 64, abs=0.01)


def test_a_ratio_past_all_numbers_teaches_nothing_wrong() -> None:
    learner = Learner(tiny(), replace(Improvement(), batch=64), "cpu")
    played = learner.steps_of(own_games()).take(torch.arange(64))
    played.advantage[:] = 1.0
    played.before[7] = -200.0  # e^200 is infinite
    numbers = learner.update(played, None)
    assert numbers is not None and all(np.isfinite(list(numbers.values())))
    assert all(parameter.isfinite().all() for parameter in learner.network.parameters())


def test_an_update_without_a_finite_gradient_is_left_out() -> None:
    learner = Learner(tiny(), replace(Improvement(), batch=64, epochs=2, most_divergence=10.0), "cpu")
    played = learner.steps_of(own_games()).take(torch.arange(256))
    played.goal[7] = float("nan")
    numbers = learner.learn(played, None)
    assert (numbers.pop("updates"), numbers.pop("skipped")) == (6, 2)  # in each epoch the batch that has it
    assert all(np.isfinite(list(numbers.values())))
    assert all(parameter.isfinite().all() for parameter in learner.network.parameters())

    before = {name: tensor.copy() for name, tensor in learner.weights(learner.network).tensors.items()}
    played.goal[:] = float("nan")
    with pytest.raises(ValueError, match="no update of a round had a finite gradient"):
        learner.learn(played, None)
    for name, tensor in learner.weights(learner.network).tensors.items():
        assert np.array_equal(tensor, before[name])


def test_what_is_kept_is_a_running_mean_of_the_weights() -> None:
    learner = Learner(tiny(), replace(Improvement(), batch=64, averaging=0.75, learning_rate=0.01, warm_up=0), "cpu")
    played = learner.steps_of(own_games()).take(torch.arange(64))
    wanted = None
    for _ in range(3):
        learner.update(played, None)
        now = learner.network.tower.state_dict()
        wanted = {k: v.clone() if wanted is None else 0.75 * wanted[k] + 0.25 * v for k, v in now.items()}
    assert wanted is not None
    kept, playing = learner.weights().tensors, learner.weights(learner.network).tensors
    moved = False
    for name, tensor in wanted.items():
        np.testing.assert_allclose(kept[f"tower.{name}"], tensor, rtol=1e-4, atol=1e-6)
        moved |= bool(np.abs(playing[f"tower.{name}"] - kept[f"tower.{name}"]).max() > 1e-4)
    assert moved


def test_a_teacher_of_another_size_is_followed_at_first() -> None:
    torch.manual_seed(5)
    decided = Network(Architecture(12, 1, ("Top",)))
    with torch.no_grad():
        decided.headset("Top").policy.weight.mul_(30)
    teacher = to_weights(decided, {})
    plan = replace(Improvement(), batch=128, epochs=30, learning_rate=0.003, warm_up=0, value=0.0, most_divergence=9.0)
    learner = Learner(tiny(), plan, "cpu", teacher)
    played = learner.steps_of(own_games())

    def distance() -> float:
        with torch.no_grad():
            x = learner.network.tower(network_input(played.planes))
            logs = log_policy(learner.network.headset(HEADSET).policy_logits(x), played.legal)
            wanted = learner.taught(played)
            return float((wanted * (wanted.clamp(min=1e-9).log() - logs).masked_fill(wanted == 0, 0)).sum(1).mean())

    before = distance()
    played.advantage[:] = torch.randn(len(played)) * 0.001
    learner.learn(played, None, left=1.0)
    assert distance() < before / 2
    now = {name: tensor.clone() for name, tensor in learner.network.state_dict().items()}
    alone = Learner(tiny(), plan, "cpu")
    alone.network.load_state_dict(now)
    learner.optimizer = torch.optim.SGD(learner.network.parameters(), 0.001)
    alone.optimizer = torch.optim.SGD(alone.network.parameters(), 0.001)
    some = played.take(torch.arange(64))
    learner.update(some, None, 0.0)  # in the second half of the time
    alone.update(some, None)
    assert all((alone.network.state_dict()[name] == v).all() for name, v in learner.network.state_dict().items())


def test_what_was_measured_for_eight_bits_does_not_outlive_learning() -> None:
    """The ranges of the activations are those of the weights before; `penumbra export` measures them anew."""
    given = replace(tiny(), about={"ranges": "{}", "games": "7"})
    assert dict(Learner(given, Improvement(), "cpu").weights().about).keys() >= {"games"}
    assert "ranges" not in Learner(given, Improvement(), "cpu").weights().about


def test_bulk_games_remember_each_step_as_it_was_played() -> None:
    learner = Learner(tiny(), Improvement(), "cpu")
    bulk = Bulk(learner.network, HEADSET, ["Wild", "All"], steps=300, at_once=6, cap=100, lam=1.0, seed=3)
    steps = bulk.play()
    own = [[n == NAME + HEADSET for n in (g.white_name, g.black_name)] for g in bulk.finished]
    assert all(any(sides) for sides in own)  # in every game, as one side or both
    assert {g.white_name for g in bulk.finished} | {g.black_name for g in bulk.finished} > {NAME + HEADSET}
    assert len(steps) >= 300
    actions = steps.legal.gather(1, steps.target.long()[:, None]).squeeze(1)
    expected = []
    for game, sides in zip(bulk.finished, own, strict=True):
        for player in (True, False):
            if sides[0 if player else 1]:
                turns = (len(game.moves) + (1 if player else 0)) // 2
                expected.append((2 * turns, 0.0 if game.winner is None else 1.0 if game.winner == player else -1.0))
    assert len(steps) == sum(count for count, _ in expected)
    assert steps.goal.tolist() == [outcome for count, outcome in expected for _ in range(count)]
    assert (actions[0::2] < 64).all() and (actions[1::2] >= 64).all()  # senses and moves take turns
    torch.testing.assert_close(log_of_actions(learner, steps), steps.before, atol=1e-4, rtol=1e-4)


def test_bulk_games_go_on_with_new_weights() -> None:
    learner = Learner(tiny(), Improvement(), "cpu")
    bulk = Bulk(learner.network, HEADSET, [], steps=50, at_once=4, cap=100)
    assert bulk.against_itself == 1.0
    bulk.play()
    with torch.no_grad():
        learner.network.headset(HEADSET).policy.weight.mul_(3)
    bulk.refresh(learner.network)
    for _ in range(700):  # until every game of the old weights has ended
        list(bulk.step())
    steps = bulk.play()
    torch.testing.assert_close(log_of_actions(learner, steps), steps.before, atol=1e-4, rtol=1e-4)


def test_values_may_learn_lambda_returns() -> None:
    """Counted from the end: half of the next step's return, half of its value."""
    bulk = Bulk(
        from_weights(tiny_learner()), HEADSET, [], steps=100, at_once=3, cap=100, lam=0.0, value_lam=0.5, seed=3
    )
    results = Bulk(from_weights(tiny_learner()), HEADSET, [], steps=100, at_once=3, cap=100, lam=0.0, seed=3)
    found, given = bulk.play(), results.play()
    assert torch.equal(found.target, given.target) and torch.equal(found.advantage, given.advantage)
    network = from_weights(tiny_learner())
    with torch.no_grad():
        values = network.headset(HEADSET).predict(network.tower(network_input(found.planes)))[1]
    ends = [i for i in range(len(found)) if abs(float(given.advantage[i] + values[i] - given.goal[i])) < 1e-5]
    assert {1.0, -1.0, 0.0} >= {float(given.goal[i]) for i in ends} and len(ends) >= 2
    following = 0.0
    for i in range(len(found) - 1, -1, -1):
        following = float(given.goal[i]) if i in ends else 0.5 * (following + float(values[i + 1]))
        assert float(found.goal[i]) == pytest.approx(following, abs=1e-4)


def tiny_learner() -> Weights:
    return with_headset(tiny())


def test_only_the_largest_advantages_are_learned_from(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Steps] = []
    learner = Learner(tiny(), replace(Improvement(), batch=10_000, epochs=1, largest=0.25), "cpu")
    update = learner.update

    def updating(batch: Steps, *rest: Any) -> dict[str, float] | None:
        seen.append(batch)
        return update(batch, *rest)

    monkeypatch.setattr(learner, "update", updating)
    played = learner.steps_of(own_games())
    learner.learn(played, None)
    assert len(seen) == 1 and len(seen[0]) == round(0.25 * len(played))
    sizes = played.advantage.abs().sort(descending=True).values
    assert seen[0].advantage.abs().min() == sizes[len(seen[0]) - 1]


@pytest.mark.parametrize(("left", "weight"), [(1.0, 2.0), (0.5, 1.0), (0.0, 0.5)])
def test_the_magnet_holds_less_and_less_down_to_its_floor(
    left: float, weight: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = Learner(tiny(), replace(Improvement(), epochs=1, magnet=2.0, magnet_floor=0.5), "cpu")
    held: list[float] = []
    update = learner.update

    def updating(batch: Steps, anchors: Table | None, teaching: float, holding: float) -> dict[str, float] | None:
        held.append(holding)
        return update(batch, anchors, teaching, holding)

    monkeypatch.setattr(learner, "update", updating)
    learner.learn(learner.steps_of(own_games()), None, left)
    assert held[0] == weight


def test_a_strong_magnet_keeps_the_policy_where_it_began() -> None:
    moved = []
    for magnet in (0.0, 50.0):
        plan = replace(
            Improvement(),
            batch=256,
            epochs=6,
            learning_rate=0.001,
            warm_up=0,
            most_divergence=10.0,
            magnet_floor=magnet,
        )
        learner = Learner(tiny(), plan, "cpu")
        played = learner.steps_of(own_games())
        learner.learn(played, None)
        moved.append(float((log_of_actions(learner, played) - played.before).square().mean()))
    assert moved[1] < 0.3 * moved[0]


def test_the_pull_is_the_divergence_from_the_magnet() -> None:
    learner = Learner(tiny(), replace(Improvement(), magnet=1.0), "cpu")
    some = learner.steps_of(own_games(3)).take(torch.arange(5))
    with torch.no_grad():
        learner.network.headset(HEADSET).policy.weight.mul_(2)
        logs = []
        for network in (learner.network, learner.magnet):
            assert network is not None
            policy, _ = network.headset(HEADSET).predict(network.tower(network_input(some.planes)))
            logs.append(log_policy(policy, some.legal))
        pulled = float(learner.pulled(some, logs[0]))
    slow = 0.0
    for i in range(5):
        for now, then in zip(logs[0][i].tolist(), logs[1][i].tolist(), strict=True):
            slow += math.exp(now) * (now - then) / 5 if now > -math.inf else 0
    assert pulled == pytest.approx(slow, rel=1e-4) and pulled > 0


def test_the_learning_rate_falls_to_what_is_left_of_it() -> None:
    learner = Learner(tiny(), replace(Improvement(), learning_rate=0.01, warm_up=0, last_rate=0.05, epochs=1), "cpu")
    learner.learn(learner.steps_of(own_games()), None, left=0.0)
    assert learner.optimizer.param_groups[0]["lr"] == pytest.approx(0.0005)


def improvement(out: Path, rounds: int, **changes: Any) -> ImprovementRun:
    plan = replace(Improvement(), steps=150, batch=64, examples=ExampleSettings(cap=100, settle=False), seed=7)
    weights_file.save(tiny(), out.parent / "tiny.safetensors")
    archive = out.parent / "games.db"
    if not archive.exists():
        make_archive(archive, 12)
    given = ImprovementRun(
        out.parent / "tiny.safetensors", out, 600.0, replace(plan, magnet=0.1), "cpu", at_once=6, rounds=rounds,
        opponents=("Wild",), archives=(archive,), league_every=1,
    )  # fmt: skip
    return replace(given, **changes)


def test_a_run_that_is_stopped_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    """Weights, their running mean, the optimiser, generators, games under way and the league."""
    for name in ("straight", "parted"):
        (tmp_path / name).mkdir()
    straight, parted = tmp_path / "straight/out", tmp_path / "parted/out"
    ppo.run(improvement(straight, 4))
    ppo.run(improvement(parted, 4, seconds=0.0))  # no round, but one is played
    for rounds in (1, 3):
        stop_after(rounds, partial(ppo.run, improvement(parted, 4)))
    ppo.run(improvement(parted, 4))
    for file in (
        "weights.safetensors",
        "playing.safetensors",
        "league/000000.safetensors",
        "league/000003.safetensors",
    ):
        one, other = (weights_file.load(folder / file).tensors for folder in (straight, parted))
        assert all(np.array_equal(tensor, other[name]) for name, tensor in one.items()), file
    logs = [
        [
            {k: v for k, v in json.loads(line).items() if k not in ("seconds", "times")}
            for line in (out / "log.jsonl").read_text().splitlines()
        ]
        for out in (straight, parted)
    ]
    assert len(logs[0]) == 4 and logs[0] == logs[1]
    for line in (straight / "log.jsonl").read_text().splitlines():
        times = json.loads(line)["times"]
        assert 0 <= times["waiting"] <= times["playing"] + 1 and 0 < times["native"] < times["playing"]
        assert times["learning"] > 0
    assert any("@" in name for entry in logs[0] for name in entry["scores"])
    games = []
    for out in (straight, parted):
        with Archive.open(out / "selfplay.db") as archive:
            games.append([game.record.to_bytes() for game in archive.games()])
    assert games[0] == games[1] and len(games[0]) > 4
    states = [torch.load(out / "state.pt", weights_only=True) for out in (straight, parted)]
    assert same_state(*states)


def stop_after(rounds: int, run: Callable[[], None]) -> None:
    """Lets the time be up after so many rounds over all runs."""
    clock, log = time.monotonic, ppo.Improver.log
    passed = [0.0]

    def logging(self: ppo.Improver, number: int, *rest: Any) -> None:
        log(self, number, *rest)
        if number == rounds:
            passed[0] = 1e6

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ppo.Improver, "log", logging)
        patch.setattr(time, "monotonic", lambda: clock() + passed[0])
        run()


def same_state(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return bool(torch.equal(one, other))
    if isinstance(one, dict):
        return set(one) == set(other) and all(same_state(value, other[key]) for key, value in one.items())
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same_state, one, other))
    return bool(one == other)


def test_states_and_leagues_that_do_not_fit_are_refused_by_name(tmp_path: Path) -> None:
    out = tmp_path / "out"
    ppo.run(improvement(out, 1))
    kept = (out / "state.pt").read_bytes()
    with pytest.raises(StateError, match=r"state\.pt: is the state of a run with other weights or settings"):
        ppo.run(improvement(out, 1, at_once=3))
    (out / "state.pt").write_bytes(kept[:1000])
    with pytest.raises(StateError, match=r"state\.pt: is not the state of a run"):
        ppo.run(improvement(out, 1))
    (out / "state.pt").write_bytes(kept)
    broken = out / "league/000000.safetensors"
    whole = broken.read_bytes()
    broken.write_bytes(whole[:-9])
    with pytest.raises(WeightsError, match=r"league/000000\.safetensors: cannot be read as weights"):
        ppo.run(improvement(out, 1))
    other = to_weights(Network(Architecture(4, 1, (HEADSET,))), {})
    weights_file.save(other, broken)
    with pytest.raises(WeightsError, match=r"000000\.safetensors: is not a past self of this network"):
        ppo.run(improvement(out, 1))
    broken.write_bytes(whole)
    (out / "league/old.safetensors").write_bytes(whole)
    with pytest.raises(WeightsError, match=r"old\.safetensors: is no member of a league"):
        ppo.run(improvement(out, 1))


def test_scores_are_the_learners_against_others() -> None:
    games = own_games()
    table = scores(games)
    assert set(table) <= {"Wild", "Hasty"} and sum(count for _, count in table.values()) == len(games)
    wins = sum(((g.white_name if g.winner else g.black_name) == HEADSET) for g in games if g.winner is not None)
    draws = sum(g.winner is None for g in games)
    assert sum(points for points, _ in table.values()) == wins + draws / 2


def test_new_games_are_seen_once(tmp_path: Path) -> None:
    path = tmp_path / "games.db"
    new = NewGames(path)
    assert new() == []
    make_archive(path, 5)
    assert new() == []  # none of the learner's
    assert new.last == 5
    with Archive.open(path) as archive:
        assert [game.id for game in archive.games(after=3)] == [4, 5]


def test_the_loop(tmp_path: Path) -> None:
    """Games against a population and in bulk through one inference server, learned from, and served."""
    weights_file.save(tiny(), tmp_path / "tiny.safetensors")
    (tmp_path / "population.toml").write_text(POPULATION)
    out = tmp_path / "out"
    command: list[object] = ["improve", tmp_path / "tiny.safetensors"]
    command += ["--out", out]
    command += ["--population", tmp_path / "population.toml", "--workers", 1, "--opponent", "Wild", "--minutes", 0.17]
    command += ["--at-once", 8, "--steps", 500, "--cap", 200, "--threads", 1]
    command += ["--archive", make_archive(tmp_path / "games.db"), "--anchor-games", 10]
    ran = run(*command, without=CHESS, OMP_NUM_THREADS="1")
    assert ran.returncode == 0, ran.stderr
    rounds = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    assert rounds and all(entry["updates"] >= 1 for entry in rounds)
    assert sum(sum(count for _, count in entry["scores"].values()) for entry in rounds) > 0
    improved = weights_file.load(out / "weights.safetensors")
    assert HEADSET in improved.architecture.headsets and "own games" in improved.about["improved"]
    playing = weights_file.load(out / "playing.safetensors")
    assert any((tensor != improved.tensors[name]).any() for name, tensor in playing.tensors.items())
    for games in ("population.db", "selfplay.db"):
        with Archive.open(out / games) as archive:
            assert len(archive) > 0


def test_generation_ends_with_a_run_that_is_killed(tmp_path: Path) -> None:
    """Nobody else would end it, and it would play for ever into the archive of the run that goes on."""
    population, archive = tmp_path / "population.toml", tmp_path / "games.db"
    population.write_text("games = 100000\n" + "".join(f'[[player]]\nname = "{n}"\nkind = "random"\n' for n in "AB"))
    script = (
        "import sys, time; from pathlib import Path; from penumbra.training import ppo\n"
        "population, archive, log = map(Path, sys.argv[1:])\n"
        "with ppo.generation_process(population, archive, 1, 0, log): print('begun', flush=True); time.sleep(100)"
    )
    command = [sys.executable, "-c", script, str(population), str(archive), str(tmp_path / "log")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=ENVIRONMENT, start_new_session=True)
    assert process.stdout is not None and process.stdout.readline() == b"begun\n"
    wait_for(archive.exists)
    assert of_session(process.pid)
    process.kill()
    process.communicate()
    try:
        wait_for(lambda: not of_session(process.pid))
    finally:
        for left in of_session(process.pid):
            os.kill(left, signal.SIGKILL)


def wait_for(condition: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_what_cannot_be_improved_is_refused(tmp_path: Path) -> None:
    def refused(*arguments: object) -> str:
        ran = run("improve", *arguments, "--minutes", "0.02", OMP_NUM_THREADS="1")
        assert ran.returncode == 1 and ran.stderr.count("\n") == 1, ran.stderr
        return ran.stderr

    out = ["--out", tmp_path / "out"]
    weights_file.save(tiny(), tmp_path / "tiny.safetensors")
    assert "there is no headset Nobody" in refused(tmp_path / "tiny.safetensors", *out, "--opponent", "Nobody")
