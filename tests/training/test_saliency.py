"""Saliency: against gradients taken bit by bit, and gathered during training without a trace in it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from penumbra.network.architecture import Architecture
from penumbra.network.model import Network, unpack
from penumbra.rbc.synopsis import LAYOUTS
from penumbra.training import saliency
from penumbra.training.data import Batch, Table, top_players
from penumbra.training.examples import split
from penumbra.training.loss import losses, total
from penumbra.training.recipe import LossWeights, read_recipe
from penumbra.training.run import train, validation_table
from penumbra.training.saliency import Saliency, SaliencyError, SaliencyLog
from penumbra.training.trainer import Trainer
from tests.support.training_games import records, write_recipe

WEIGHTS = LossWeights(policy=1.0, value=0.7, soon=0.2, pieces=0.1)

PLANES = len(LAYOUTS["binary"].planes)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    recipe = read_recipe(write_recipe(tmp_path_factory.mktemp("recipe")))
    table = Table(split(records())[1], recipe.plans, top_players(records()), recipe.examples, "cpu")
    table.fill()
    return table


def tiny() -> Network:
    """Statistics of the normalisation other than the initial ones, so that the mode matters."""
    torch.manual_seed(3)
    network = Network(Architecture(4, 1, ("All",)))
    network.train()
    network(torch.randint(0, 2, (32, PLANES, 8, 8)).float(), "All")
    return network


def row(batch: Batch, i: int) -> Batch:
    return Batch(*(column[i : i + 1] for column in vars(batch).values() if column is not None))


def slow(network: Network, batch: Batch) -> Saliency:
    """One example, one bit at a time: the definitions in plain loops."""
    network.eval()
    sizes: dict[tuple[str, int, int], list[float]] = {}  # |g| by kind, plane and the bit's value
    for i in range(len(batch.target)):
        one = row(batch, i)
        for kind in saliency.KINDS:
            bits = unpack(one.planes, torch.float32).requires_grad_()
            heads = network(bits, "All")
            if kind == "loss":
                number = total(losses(heads, one), WEIGHTS)
            else:
                legal = one.legal[0][one.legal[0] >= 0]
                number = torch.log(torch.softmax(heads.policy[0][legal], dim=0)[one.target[0]])
            number.backward()
            assert bits.grad is not None
            for plane in range(PLANES):
                for square in range(64):
                    value = int(one.planes[0, plane]) >> square & 1
                    g = float(bits.grad[0, plane, square // 8, square % 8])
                    sizes.setdefault((kind, plane, value), []).append(abs(g))

    def mean(numbers: list[float]) -> float:
        return sum(numbers) / len(numbers) if numbers else math.nan

    def of(kind: str, plane: int, value: int) -> list[float]:
        return sizes.get((kind, plane, value), [])

    planes, kinds = range(PLANES), saliency.KINDS
    return Saliency(
        np.array([len(of("loss", p, 1)) / (64 * len(batch.target)) for p in planes]),
        {k: np.array([mean(of(k, p, 0) + of(k, p, 1)) for p in planes]) for k in kinds},
        {k: np.array([[mean(of(k, p, v)) for p in planes] for v in (0, 1)]) for k in kinds},
    )


def close(a: Saliency, b: Saliency) -> None:
    np.testing.assert_allclose(a.ones, b.ones, atol=1e-7)
    for kind in saliency.KINDS:
        np.testing.assert_allclose(a.pbs[kind], b.pbs[kind], rtol=2e-4)
        np.testing.assert_allclose(a.per_bit[kind], b.per_bit[kind], rtol=2e-4)


def test_is_the_mean_of_absolute_gradients_over_bits(table: Table) -> None:
    batch = table.draw("All", 5, torch.Generator().manual_seed(1))
    found = saliency.measure(tiny(), "All", batch, WEIGHTS)
    close(found, slow(tiny(), batch))
    assert np.isnan(found.per_bit["loss"]).any()  # planes without a single bit of one value
    for kind in saliency.KINDS:
        np.testing.assert_allclose(found.pbs_of_bits(kind), found.pbs[kind], rtol=1e-5)


def test_gradients_are_those_of_finite_differences(table: Table) -> None:
    """A batch of one: PbS 1 of a plane with one bit is how fast ln π(a) changes when that bit does."""
    network = tiny().double().eval()
    batch = table.draw("All", 1, torch.Generator().manual_seed(2))
    masks = [int(mask) % 2**64 for mask in batch.planes[0]]
    plane = next(p for p in range(PLANES) if masks[p].bit_count() == 1)
    square = masks[plane].bit_length() - 1
    bits = unpack(batch.planes, torch.float64)

    def log_probability(change: float) -> float:
        moved = bits.clone()
        moved[0, plane, square // 8, square % 8] += change
        legal = batch.legal[0][batch.legal[0] >= 0]
        return float(torch.log_softmax(network(moved, "All").policy[0][legal], dim=0)[batch.target[0]])

    with torch.no_grad():
        slope = (log_probability(1e-5) - log_probability(-1e-5)) / 2e-5
    found = saliency.measure(tiny(), "All", batch, WEIGHTS)
    assert found.per_bit["action"][1][plane] == pytest.approx(abs(slope), rel=1e-3)


def test_several_batches_are_averaged_by_their_bits(table: Table) -> None:
    """The average over batches of one size is what all their bits together would give."""
    network = tiny()
    batches = [table.draw("All", 4, torch.Generator().manual_seed(seed)) for seed in range(3)]
    names = [name for name, column in vars(batches[0]).items() if column is not None]
    whole = Batch(*(torch.cat([vars(batch)[name] for batch in batches]) for name in names))
    average = saliency.average([saliency.measure(network, "All", batch, WEIGHTS) for batch in batches])
    close(average, saliency.measure(network, "All", whole, WEIGHTS))


def test_training_does_not_notice_that_it_is_watched(table: Table, tmp_path: Path) -> None:
    recipe = read_recipe(write_recipe(tmp_path))
    states = []
    for every in (0, 2):
        trainer = Trainer(recipe, "cpu")
        log = SaliencyLog(tmp_path / "log.jsonl", table, every, batch=8) if every else None
        trainer.train(table, lambda entry: None, every=1, each=log)
        states.append(trainer.network.state_dict())
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    found = saliency.read(tmp_path / "log.jsonl")
    assert list(found) == ["All", "Top", "Wild"]
    assert list(found["All"]) == [1, 2, 4, 6]
    assert (found["All"][6].pbs["loss"] > 0).any()


def test_a_run_that_goes_on_goes_on_with_its_log(table: Table, tmp_path: Path) -> None:
    path = tmp_path / saliency.FILE
    recipe = read_recipe(write_recipe(tmp_path))
    trainer = Trainer(replace(recipe, training=replace(recipe.training, steps=3)), "cpu")
    trainer.train(table, lambda entry: None, every=1, each=SaliencyLog(path, table, 2, batch=4))
    trainer.recipe = recipe
    trainer.train(table, lambda entry: None, every=1, each=SaliencyLog(path, table, 2, batch=4))
    assert list(saliency.read(path)["All"]) == [1, 2, 4, 6]


def test_train_writes_it_beside_its_log(tmp_path: Path) -> None:
    recipe = read_recipe(write_recipe(tmp_path, steps=2))
    judges = validation_table(recipe, list(records()), "cpu", cap=200)
    log = SaliencyLog(tmp_path / "run" / saliency.FILE, judges, 1, batch=4)
    train(recipe, list(records()), tmp_path / "run", "cpu", say=lambda text: None, watch=log)
    assert list(saliency.read(tmp_path / "run" / saliency.FILE)["Top"]) == [2]


@pytest.mark.parametrize("text", ["", "{", '{"step": 1, "headset": "All", "ones": [1]}', "[]"])
def test_a_bad_log_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(text)
    with pytest.raises(SaliencyError, match=r"log\.jsonl"):
        saliency.read(path)
    with pytest.raises(SaliencyError, match="cannot be read"):
        saliency.read(tmp_path / "none.jsonl")


def test_rows_are_json_without_nan(table: Table, tmp_path: Path) -> None:
    def refuse(text: str) -> Any:
        raise ValueError(text)

    log = SaliencyLog(tmp_path / "log.jsonl", table, 1, batch=2)
    recipe = read_recipe(write_recipe(tmp_path, steps=1))
    Trainer(recipe, "cpu").train(table, lambda entry: None, each=log)
    rows = [json.loads(line, parse_constant=refuse) for line in log.path.read_text().splitlines()]
    assert any(None in row["loss PbS 1"] for row in rows)
