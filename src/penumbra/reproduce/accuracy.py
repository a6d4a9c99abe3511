"""How well networks predict the games kept for validation: what Table 1 and the three cross tables are made of.

The four share one evaluation, which is kept in a file, so that whichever comes first makes it. With several networks,
runs of one training, accuracies are their means.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path

import numpy as np

from penumbra.core import GameRecord
from penumbra.games.archived_game import VALIDATION_SHARE
from penumbra.network import weights as files
from penumbra.network.model import from_weights
from penumbra.network.weights import FULL, LITE, Weights, WeightsError
from penumbra.reproduce import runs
from penumbra.reproduce.games import Games, games, looking, players_of
from penumbra.reproduce.request import Cost, ReproductionError, Request, tracking_memory
from penumbra.training.evaluation import MEASURES, Evaluation, evaluate
from penumbra.training.examples import ExampleSettings
from penumbra.training.recipe import Recipe, recipe_of
from penumbra.training.run import validation_table
from penumbra.training.window import bytes_of_rows
from penumbra.whole_files import write_text


@dataclass(frozen=True)
class Sizes:
    games: int  # of which one in ten is for validation
    most: int  # examples of each headset's data
    cap: int  # states tracked
    runs: int  # networks to train, where none are given; 0: those that come with the program


SCALES = {
    "tiny": Sizes(60, 64, 100, 0),
    "smoke": Sizes(600, 500, 2_000, 0),
    "small": Sizes(40_000, 20_000, 5_000, 0),
    "paper": Sizes(100_000, 2_000_000, 1_000_000, 5),
}
EXAMPLES_A_SECOND = {"cpu": 150.0, "cuda": 20_000.0}  # judged by all headsets of the lite and the full network


@dataclass(frozen=True)
class Judged:
    """An evaluation, and what it was made of."""

    evaluation: Evaluation
    games: Games
    recipe: Recipe  # whose games each headset has learned from
    weights: Sequence[Path]


def cost(request: Request) -> Cost:
    sizes = request.of(SCALES)
    training = Cost(0) if request.weights or not sizes.runs else runs.cost(request)
    looked_at = request.games or sizes.games
    examples = 13 * min(sizes.most, looked_at * 10)
    seconds = examples / EXAMPLES_A_SECOND[request.device] + training.seconds
    judging = bytes_of_rows(looked_at * runs.ROWS_A_GAME // VALIDATION_SHARE, ExampleSettings())
    memory = max(training.memory, judging + tracking_memory(sizes.cap))
    return looking(request, looked_at, seconds, training.steps, memory)


def judge(request: Request) -> Judged:
    """The evaluation of this request's networks, from its file if it was made before."""
    sizes = request.of(SCALES)
    found = games(request, request.games or sizes.games)
    paths = networks(request, found)
    networks_weights = [files.load(path) for path in paths]
    recipe = _recipe(networks_weights, paths)
    _check_players(recipe, found)
    path = request.out / f"evaluation-{_key(paths, found.records, sizes)}.json"
    if not path.is_file():
        table = validation_table(recipe, found.records, request.device, sizes.cap)
        size = min(sizes.most, 2048)
        results = [evaluate(from_weights(w).to(request.device), table, sizes.most, size) for w in networks_weights]
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(to_plain(mean(results))))
    return Judged(from_plain(json.loads(path.read_text())), found, recipe, paths)


def networks(request: Request, found: Games) -> list[Path]:
    """The weights given; else runs trained for this, or what comes with the program."""
    if request.weights:
        return list(request.weights)
    if request.of(SCALES).runs:
        return [run.weights for run in runs.trained(request, found)]
    return [shipped(request)]


def shipped(request: Request) -> Path:
    """The full network where there is a GPU for it, else the lite one."""
    return FULL if request.device == "cuda" else LITE


def one_network(request: Request) -> Path:
    """The weights given, those of the first run where this scale trains and it is done, or what is shipped."""
    trained = [run.weights for run in runs.runs_of(request) if run.is_done] if request.of(SCALES).runs else []
    return next(iter((*request.weights, *trained)), shipped(request))


def in_words(path: Path) -> str:
    """`full.safetensors, trained by imitation alone`."""
    games = files.load(path).about.get("improved")
    return f"{path.name}, " + ("which has learned from its own games too" if games else "trained by imitation alone")


def _recipe(given: Sequence[Weights], paths: Sequence[Path]) -> Recipe:
    recipe = recipe_of(given[0])
    for other, path in zip(given, paths, strict=True):
        if other.architecture.headsets != recipe.architecture.headsets:
            raise WeightsError(f"{path}: has other headsets than {paths[0]}; runs of one training have the same")
        if other.architecture.synopsis != recipe.architecture.synopsis:
            raise WeightsError(f"{path}: reads other synopses than {paths[0]}; runs of one training read the same")
    return recipe


def _check_players(recipe: Recipe, found: Games) -> None:
    """At least one player who has a headset must be in the games."""
    there = players_of(found.records)
    wanted = {player for plan in recipe.plans.values() if not isinstance(plan.players, str) for player in plan.players}
    if wanted and not wanted & set(there):
        has, needs = ", ".join(there[:12]), ", ".join(sorted(wanted)[:12])
        raise ReproductionError(f"none of these headsets' players is in {found.origin}, which has {has}: {needs}")


def _key(paths: Sequence[Path], records: Sequence[GameRecord], sizes: Sizes) -> str:
    whole = hashlib.blake2b(digest_size=8)
    for path in paths:
        whole.update(path.read_bytes())
    whole.update(repr((astuple(sizes), sorted(record.hash for record in records))).encode())
    return whole.hexdigest()


def mean(results: Sequence[Evaluation]) -> Evaluation:
    """Of runs with the same headsets on the same data."""
    cross = {measure: np.mean([result.cross[measure] for result in results], axis=0) for measure in MEASURES}
    return replace(results[0], cross=cross, calibration=np.mean([result.calibration for result in results], axis=0))


def to_plain(evaluation: Evaluation) -> dict[str, object]:
    return {
        "headsets": evaluation.headsets,
        "data": evaluation.data,
        "examples": evaluation.examples.tolist(),
        "cross": {measure: table.tolist() for measure, table in evaluation.cross.items()},
        "calibration": evaluation.calibration.tolist(),
    }


def from_plain(plain: dict[str, object]) -> Evaluation:
    cross = plain["cross"]
    headsets, data = plain["headsets"], plain["data"]
    assert isinstance(cross, dict) and isinstance(headsets, list) and isinstance(data, list)
    return Evaluation(
        tuple(headsets),
        tuple(data),
        np.array(plain["examples"], np.int64),
        {measure: np.array(table, np.float64) for measure, table in cross.items()},
        np.array(plain["calibration"], np.float64),
    )
