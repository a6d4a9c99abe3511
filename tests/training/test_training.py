"""Training: what is learned from what, that it can be learned, and that nothing is lost when it stops."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from penumbra.configs.reader import ConfigurationError
from penumbra.games.archive import is_validation
from penumbra.network.architecture import Architecture
from penumbra.network.model import unpack
from penumbra.network.weights import shapes_of
from penumbra.reproduce import published
from penumbra.training import run as training
from penumbra.training.data import Batch, Table, top_players
from penumbra.training.evaluation import evaluate
from penumbra.training.examples import split
from penumbra.training.loss import policy_loss
from penumbra.training.recipe import Plan, Recipe, Training, read_recipe
from penumbra.training.trainer import CheckpointError, Trainer
from tests.support.command_line import penumbra
from tests.support.processes import environment
from tests.support.training_games import make_archive, records, write_recipe

ENVIRONMENT = environment(OMP_NUM_THREADS="1")


def silent(entry: dict[str, Any]) -> None:
    pass


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    recipe = read_recipe(write_recipe(tmp_path_factory.mktemp("recipe")))
    learned, _ = split(records())
    table = Table(learned, recipe.plans, top_players(records()), recipe.examples, "cpu")
    table.fill()
    return table


def test_validation_games_never_enter_training(table: Table) -> None:
    learned, kept = split(records())
    assert kept and learned
    assert {record.hash for record in table.records} == {record.hash for record in learned}
    assert not {record.hash for record in table.records} & {record.hash for record in kept}
    assert all(is_validation(record) for record in kept)
    assert table.tally.games == len(learned)


def test_headsets_learn_from_their_players(table: Table) -> None:
    assert table.counts["All"] == 2 * sum(int(draw == 0) for draw in _draws(table))
    assert 0 < table.counts["Wild"] < table.counts["All"] / 2
    assert table.top == top_players(records()) != ["Wild"]
    rows = set(table.rows["All"][: table.counts["All"]].tolist())
    for name in ("Top", "Wild"):
        own = table.rows[name][: table.counts[name]].tolist()
        assert len(own) == len(set(own)) and set(own) <= rows


def _draws(table: Table) -> list[int]:
    """Which draw each row of the table is: the two draws of a step stand side by side."""
    assert table.tally.kept % 2 == 0
    return [row % 2 for row in range(table.tally.kept)]


def test_rows_hold_the_action_that_was_chosen(table: Table) -> None:
    batch = table.take(torch.arange(table.tally.kept))
    chosen = batch.legal.gather(1, batch.target[:, None])
    assert (chosen >= 0).all()
    assert ((batch.legal >= 0).sum(1) >= 1).all()
    # A sense is chosen among senses alone, a move among moves.
    legal = batch.legal
    is_sense = (chosen < 64)[:, 0]
    assert ((legal < 64) | (legal < 0))[is_sense].all() and ((legal >= 64) | (legal < 0))[~is_sense].all()


def test_overfits_512_examples(table: Table) -> None:
    """512 different ones: players who chose differently in the same situation cannot both be predicted."""
    settings = Training(optimizer="adamw", learning_rate=0.01, batch=128)
    trainer = Trainer(Recipe(Architecture(16, 1, ("All",)), {"All": Plan("all")}, settings), "cpu")
    _, first = np.unique(table.columns["planes"][: table.tally.kept].numpy(), axis=0, return_index=True)
    few = torch.from_numpy(first[:512])
    assert len(few) == 512
    order = torch.Generator().manual_seed(1)
    for _ in range(60):  # passes
        for part in few[torch.randperm(512, generator=order)].split(128):
            trainer.update(table.take(part), "All")
        if _top1(trainer, table.take(few)) > 0.99:
            return
    pytest.fail(f"only {_top1(trainer, table.take(few)):.1%} of the actions were learned")


def _top1(trainer: Trainer, batch: Batch) -> float:
    trainer.network.eval()
    with torch.no_grad():
        logits = trainer.heads(batch, "All", stop_gradient=True).policy.gather(1, batch.legal.clamp(min=0))
    trainer.network.train()
    logits[batch.legal < 0] = -torch.inf
    return float((logits.argmax(1) == batch.target).float().mean())


def test_a_softmax_over_all_actions_learns_which_are_legal(recipe: Recipe, table: Table) -> None:
    """It lowers the logits of actions that a batch does not allow; a softmax over legal ones never touches them."""
    batch = table.draw("All", 64, torch.Generator().manual_seed(0))
    slopes = {}
    for softmax in ("legal", "all"):
        policy = torch.randn(64, 4161, generator=torch.Generator().manual_seed(1)).requires_grad_()
        policy_loss(policy, batch, softmax).backward()
        assert policy.grad is not None
        never = torch.ones(4161, dtype=torch.bool)
        never[batch.legal[batch.legal >= 0]] = False
        slopes[softmax] = policy.grad[:, never]
        chosen = policy.grad.gather(1, batch.legal.gather(1, batch.target[:, None]))
        assert (chosen <= 0).all() and policy.grad.sum().abs() < 1e-5
    assert (slopes["legal"] == 0).all() and (slopes["all"] > 0).all()
    shares = torch.zeros(batch.legal.shape).scatter(1, batch.target[:, None], 1.0)
    searched = policy_loss(policy, replace(batch, shares=shares), "all")
    assert searched.item() == pytest.approx(policy_loss(policy, batch, "all").item(), rel=1e-6)


def test_a_stop_gradient_headset_leaves_the_tower_untouched(recipe: Recipe, table: Table) -> None:
    trainer = Trainer(recipe, "cpu")
    trainer.network.train()
    tower = {name: tensor.clone() for name, tensor in trainer.network.tower.state_dict().items()}
    own = {name: tensor.clone() for name, tensor in trainer.network.headset("Wild").state_dict().items()}
    for _ in range(3):
        trainer.update(table.draw("Wild", 16, trainer.draws), "Wild")
    assert all(torch.equal(tower[name], tensor) for name, tensor in trainer.network.tower.state_dict().items())
    assert any(not torch.equal(own[name], t) for name, t in trainer.network.headset("Wild").state_dict().items())
    trainer.update(table.draw("All", 16, trainer.draws), "All")
    changed = [n for n, tensor in trainer.network.tower.state_dict().items() if not torch.equal(tower[n], tensor)]
    assert any("running_mean" in name for name in changed) and any("weight" in name for name in changed)


def test_headsets_are_visited_in_proportion_to_their_weights(
    recipe: Recipe, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    visits: Counter[str] = Counter()

    def count(self: Trainer, batch: Batch, name: str) -> dict[str, torch.Tensor]:
        visits[name] += 1
        return {"policy": torch.zeros(())}

    monkeypatch.setattr(Trainer, "update", count)
    trainer = Trainer(replace(recipe, training=replace(recipe.training, steps=6000, batch=1)), "cpu")
    trainer.train(table, silent)
    for name, share in (("All", 3 / 6), ("Top", 2 / 6), ("Wild", 1 / 6)):
        sigma = (share * (1 - share) / 6000) ** 0.5
        assert abs(visits[name] / 6000 - share) < 4 * sigma


def test_a_checkpoint_goes_on_to_the_same_numbers(recipe: Recipe, table: Table, tmp_path: Path) -> None:
    def trained(steps: list[int]) -> list[dict[str, Any]]:
        logs: list[dict[str, Any]] = []
        checkpoint = tmp_path / f"{len(steps)}.pt"
        for stop in steps:
            trainer = Trainer(recipe, "cpu")
            if checkpoint.exists():
                trainer.load(checkpoint)
            trainer.recipe = replace(recipe, training=replace(recipe.training, steps=stop))
            trainer.train(table, logs.append, every=1)
            trainer.save(checkpoint)
        return [{k: v for k, v in entry.items() if k not in ("seconds", "examples/s")} for entry in logs]

    assert trained([6]) == trained([2, 3, 6])


def test_a_full_disk_leaves_the_old_checkpoint(
    recipe: Recipe, table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = Trainer(recipe, "cpu")
    trainer.save(tmp_path / "checkpoint.pt")
    before = (tmp_path / "checkpoint.pt").read_bytes()

    def full(state: object, path: Path) -> None:
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(CheckpointError, match="No space left"):
        trainer.save(tmp_path / "checkpoint.pt")
    assert (tmp_path / "checkpoint.pt").read_bytes() == before
    assert [path.name for path in tmp_path.glob("*.p*t")] == ["checkpoint.pt"]


def test_a_loss_that_is_no_number_ends_training_and_leaves_the_old_checkpoint(
    recipe: Recipe, table: Table, tmp_path: Path
) -> None:
    trainer = Trainer(recipe, "cpu")
    trainer.save(tmp_path / "checkpoint.pt")
    before = (tmp_path / "checkpoint.pt").read_bytes()
    with torch.no_grad():
        trainer.network.headset("Wild").policy.bias[3] = float("nan")
    with pytest.raises(CheckpointError, match="no longer finite; the checkpoint before them stays"):
        trainer.save(tmp_path / "checkpoint.pt")
    assert (tmp_path / "checkpoint.pt").read_bytes() == before
    with torch.no_grad():
        trainer.network.tower[0].first.weight[0] = float("inf")
    with pytest.raises(CheckpointError, match=r"step 1: the loss of \w+ is not finite"):
        trainer.train(table, silent, every=1)


def test_recalibration_takes_the_statistics_of_all(recipe: Recipe, table: Table) -> None:
    trainer = Trainer(recipe, "cpu")
    norm = trainer.network.tower[0].first_norm
    norm.running_mean += 100.0
    trainer.recalibrate(table, batches=20)
    planes = table.take(table.rows["All"][: table.counts["All"]].long()).planes
    with torch.no_grad():
        truth = trainer.network.tower[0].first(unpack(planes, torch.float32)).mean((0, 2, 3))
    assert torch.allclose(norm.running_mean, truth, atol=0.05)
    assert norm.momentum == 0.1


def test_evaluation_is_that_of_a_slow_count(recipe: Recipe, table: Table) -> None:
    network = Trainer(recipe, "cpu").network.eval()
    result = evaluate(network, table, most=200, size=100)
    assert result.headsets == result.data == ("All", "Top", "Wild")
    rows = table.rows["Wild"][:200].long()
    batch = table.take(rows)
    with torch.no_grad():
        heads = network(unpack(batch.planes, torch.float32), "Top")
    hits = five = right = decided = 0
    for i in range(len(rows)):
        legal = batch.legal[i][batch.legal[i] >= 0]
        order = heads.policy[i][legal].argsort(descending=True)[:5].tolist()
        hits += order[0] == int(batch.target[i])
        five += int(batch.target[i]) in order
        if batch.outcome[i]:
            decided += 1
            right += (float(heads.value[i]) > 0) == (float(batch.outcome[i]) > 0)
    at = (result.headsets.index("Top"), result.data.index("Wild"))
    assert result.examples[at[1]] == len(rows)
    assert result.cross["top1"][at] == pytest.approx(hits / len(rows))
    assert result.cross["top5"][at] == pytest.approx(five / len(rows))
    assert result.cross["winner"][at] == pytest.approx(right / decided)
    everybody = table.take(table.rows["All"][:200].long())
    assert result.calibration[:, 0].sum() == (everybody.outcome != 0).sum()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[network]\nn_widht = 3\n[headsets.All]\n", "network: there is no 'n_widht'; there are n_width"),
        (
            "[headsets.All]\nplayers = 'best'\n",
            "headsets.All: players = 'best': it is one of all, top or a list",
        ),
        ("[training]\noptimizer = 'lion'\n[headsets.All]\n", "it is one of sgd, adamw"),
        ("[training]\nbatch = -1\n[headsets.All]\n", "training: batch = -1: it must be a whole number from 1"),
        ("[network]\nn_width = 3\n", "no headsets"),
        ("[headsets.All\n", "is not TOML"),
        ("[games]\n", "there is no 'games'"),
    ],
)
def test_recipes_that_cannot_be(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(ConfigurationError) as error:
        read_recipe(path)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_the_shipped_recipes_can_be_read() -> None:
    paper = read_recipe("paper")
    assert paper.architecture == Architecture(128, 10, tuple(paper.plans)) and len(paper.plans) == 14
    assert (paper.training.learning_rate, paper.training.batch, paper.training.steps) == (0.0005, 256, 650_000)
    assert paper.loss.softmax == "all" and paper.loss.need_auxiliary_heads
    assert {name: (plan.weight, plan.multiplicity, plan.stop_gradient) for name, plan in paper.plans.items()} == {
        row["headset"]: (float(row["weight"]), round(float(row["multiplicity"])), row["stop gradient"] == "Yes")
        for row in published.rows("table1")
    }
    for name in ("full", "lite"):
        assert "Top" in read_recipe(name).plans


def test_the_next_recipes_differ_from_the_shipped_ones_in_what_they_say() -> None:
    """And their networks, with the headset that plays, fit into 30 MB together, in half precision."""
    size = 0
    for name in ("lite", "full"):
        before, graded = read_recipe(name), read_recipe(f"{name}-graded")
        assert graded.architecture == replace(before.architecture, synopsis="graded")
        assert graded.plans == before.plans and graded.loss == replace(before.loss, mixing=0.3)
        assert graded.examples == replace(before.examples, synopsis="graded", engine_states=16)
        assert replace(graded.training, seconds=math.inf) == before.training and 0 < graded.training.seconds < 600
        with_own = replace(graded.architecture, headsets=(*graded.plans, "Penumbra"))
        size += 2 * sum(math.prod(shape) for shape in shapes_of(with_own, auxiliary=False).values())
    assert size < 30_000_000


def test_a_recipe_may_be_like_another_beside_it(tmp_path: Path) -> None:
    write_recipe(tmp_path, steps=9)
    (tmp_path / "more.toml").write_text('like = "tiny.toml"\n[training]\nbatch = 7\n[headsets.Wild]\nweight = 4\n')
    base, more = read_recipe(tmp_path / "tiny.toml"), read_recipe(tmp_path / "more.toml", steps=3)
    assert more.training == replace(base.training, batch=7, steps=3)
    assert more.plans == {**base.plans, "Wild": replace(base.plans["Wild"], weight=4)}


@pytest.mark.parametrize(
    ("like", "message"),
    [
        ('"bad.toml"', "bad.toml: like = 'bad.toml': it must be the name of a recipe that is not like this one"),
        ("3", "bad.toml: like = 3: it must be the name of a recipe"),
        ('"nobody"', "bad.toml: nobody: there is no such file, and no configuration of that name"),
        ('"worse.toml"', "worse.toml: is not TOML"),
    ],
)
def test_recipes_that_are_like_none(tmp_path: Path, like: str, message: str) -> None:
    (tmp_path / "worse.toml").write_text("[training\n")
    (tmp_path / "bad.toml").write_text(f"like = {like}\n")
    with pytest.raises(ConfigurationError) as error:
        read_recipe(tmp_path / "bad.toml")
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_killed_run_goes_on(tmp_path: Path) -> None:
    """The log has every step once, but for those in flight when the run was killed."""
    archive = make_archive(tmp_path / "games.db", games=16)
    recipe = tmp_path / "tiny.toml"
    recipe.write_text(write_recipe(tmp_path, steps=4000).read_text().replace("batch = 32", "batch = 4"))
    command = [sys.executable, "-m", "penumbra", "train", str(recipe), "--archive", str(archive)]
    command += [
        "--out",
        str(tmp_path / "run"),
        "--device",
        "cpu",
        "--validation-examples",
        "0",
        "--checkpoint-every",
        "0",
    ]
    checkpoint = tmp_path / "run" / "checkpoint.pt"
    process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    while process.poll() is None and not checkpoint.exists():
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = torch.load(checkpoint, weights_only=True)["step"]
    assert 0 < kept < 4000
    recipe.write_text(recipe.read_text().replace("steps = 4000", f"steps = {kept + 200}"))
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert f"going on from step {kept:,}" in done.stdout
    steps = [json.loads(line)["step"] for line in (tmp_path / "run/log.jsonl").read_text().splitlines()]
    assert steps[-1] == kept + 200 and set(range(200, kept + 201, 200)) <= set(steps)
    assert (tmp_path / "run/weights.safetensors").exists()


def test_gradients_are_averaged_over_processes(tmp_path: Path) -> None:
    """Two processes with different batches end with the same weights, and these are not those of one alone."""
    script = tmp_path / "two.py"
    script.write_text(
        "import sys, torch, torch.distributed as dist\n"
        "from pathlib import Path\n"
        "from penumbra.training import run as training\n"
        "from penumbra.training.recipe import read_recipe\n"
        "device = training.join_others('cpu')\n"
        "torch.set_num_threads(1)\n"
        "out = Path(sys.argv[3]) / str(dist.get_rank())\n"
        "trainer, _ = training.train(read_recipe(sys.argv[1]), training.read_games([sys.argv[2]]), out, device)\n"
        "torch.save(trainer.network.headset('All').state_dict(), out / 'all.pt')\n"
        "dist.destroy_process_group()\n"
    )
    archive, recipe = make_archive(tmp_path / "games.db", games=12), write_recipe(tmp_path, steps=4)
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "29511"]
    subprocess.run([*command, str(script), str(recipe), str(archive), str(tmp_path)], check=True, env=ENVIRONMENT)
    weights = [torch.load(tmp_path / rank / "all.pt", weights_only=True) for rank in "01"]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0] if "running" not in name)
    assert not (tmp_path / "1/weights.safetensors").exists()
    single, _ = training.train(read_recipe(recipe), training.read_games([archive]), tmp_path / "single", "cpu")
    alone = single.network.headset("All").state_dict()
    assert any(not torch.equal(weights[0][name], alone[name]) for name in weights[0])


def test_bad_input_to_train_is_one_line(tmp_path: Path) -> None:
    recipe = write_recipe(tmp_path)
    (tmp_path / "graded").mkdir()
    graded = write_recipe(tmp_path / "graded", synopsis="graded")
    (tmp_path / "grey").mkdir()
    grey = write_recipe(tmp_path / "grey", synopsis="grey")
    for arguments, message in (
        (("train", str(recipe), str(graded), "--archive", "x", "--out", "y"), "read different synopses"),
        (
            ("train", str(grey), "--archive", "x", "--out", "y"),
            "synopsis = 'grey': it is one of binary, shares, graded",
        ),
        (("train", str(tmp_path / "none.toml"), "--archive", "x", "--out", "y"), "there is no such file"),
        (("train", str(recipe), "--archive", str(tmp_path / "none.db"), "--out", "y"), "none.db"),
        (("train", str(recipe), "--archive", str(recipe), "--out", "y", "--device", "cuda"), "no CUDA device"),
        (("evaluate", str(recipe), "--archive", str(recipe)), "cannot be read as weights"),
        (("export", str(tmp_path / "none"), "x.onnx"), "none"),
    ):
        result = penumbra(*arguments)
        assert result.returncode == 1 and message in result.stderr
        assert result.stderr.count("\n") == 1


def test_a_headset_that_no_game_would_train_is_refused_by_name(recipe: Recipe, tmp_path: Path) -> None:
    plans = {**recipe.plans, "Nobody": Plan(("Nobody", "NobodyElse")), "Penumbra": Plan(("Penumbra",))}
    with pytest.raises(ValueError, match=r"no game trains \[headsets.Nobody\], \[headsets.Penumbra\]: none of the"):
        training.train(replace(recipe, plans=plans), records(), tmp_path, "cpu", say=lambda line: None)


def test_tables_can_be_filled_while_they_are_drawn_from(recipe: Recipe) -> None:
    import threading

    learned, _ = split(records())
    table = Table(learned, recipe.plans, top_players(records()), recipe.examples, "cpu")
    thread = training.fill(table, True, threading.Event(), lambda line: None)
    assert thread is not None
    batch = table.draw("All", 64, torch.Generator().manual_seed(1))
    assert (batch.legal.gather(1, batch.target[:, None]) >= 0).all()
    thread.join()
    assert table.tally.games == len(learned)
    assert np.isfinite(batch.outcome.numpy()).all()
