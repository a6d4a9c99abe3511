"""What a value should learn: networks that differ only in the targets of their values.

    PYTHONPATH=src python -m studies.values --archive games.db --out values.json --minutes 9
    PYTHONPATH=src python -m studies.values --report values.json

For each seed, one network of each arm learns as many steps by the same recipe, from the same draws of the same examples
in the same order; they are made once. The arms learn side by side, each in a process of its own. All predict the games
kept for validation, by their hashes, and choose at the frozen moves where Stockfish's scores are stored, so that no
Stockfish is needed: by the policy alone, and by the value one step ahead. Without --steps there are as many as fit into
--minutes, by a trial of all arms at once. The same command goes on where it was stopped or out of time, from the
examples and checkpoints in the folder beside the file.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import BrokenBarrierError
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from penumbra.core import threads
from penumbra.network import weights
from penumbra.network.loading import choose_device
from penumbra.network.model import Network, network_input, to_weights
from penumbra.network.torch_evaluator import TorchEvaluator
from penumbra.training import centipawns
from penumbra.training.data import Table, top_players
from penumbra.training.examples import split
from penumbra.training.game_counts import (
    LEAST_CHANCE,
    MEASURES,
    RESAMPLES,
    ROWS_AT_ONCE,
    GameCounts,
    all_together,
    count,
    differences,
)
from penumbra.training.recipe import Recipe, read_recipe
from penumbra.training.run import commit, read_games
from penumbra.training.trainer import Trainer
from penumbra.whole_files import replacing, write_text
from studies.synopses import OutOfTime, conclude, make_games, recipe_for, study_parser

ARMS: dict[str, dict[str, Any]] = {  # by name: what [loss] has beside the recipe's
    "result": {},
    "softened": {"softening": 0.1},
    "engine-head": {"engine": 0.3},
    "mixed-0.3": {"mixing": 0.3},
    "mixed-0.6": {"mixing": 0.6},
    "mixed-0.6-half-20": {"mixing": 0.6, "mixing_half": 20.0},
    "truth-0.3": {"mixing": 0.3, "engine_of": "truth"},
    "mixed-0.3-and-head": {"mixing": 0.3, "engine": 0.3},
}
USUAL = ("result", "softened", "engine-head", "mixed-0.3", "mixed-0.6")
TRIAL, WARM_UP = 30, 10  # steps
FOR_STEPS = 0.8  # of the time that is left after the trial; predicting takes the rest
LOOKS = 50  # at the clock, of each network
PATIENCE = 300.0  # seconds for all processes to begin
EXAMPLES = "examples.pt"
WIDTH = 30  # of a column of the report
SHOWN = {  # the report's columns: what each shows, and by what to multiply it
    "top1": ("top-1 %", 100),
    "winner": ("winner %", 100),
    "value_loss": ("winner log loss", 1),
    "value_error": ("sq. error", 1),
    "calibration_error": ("calibration error", 1),
    "policy_loss": ("policy log loss", 1),
    "value_centipawns": ("value: cp lost", 1),
    "value_blunders": ("value: blunders %", 100),
    "policy_centipawns": ("policy: cp lost", 1),
    "policy_blunders": ("policy: blunders %", 100),
}


# -- examples, made once and read by all processes


def store(table: Table, path: Path) -> None:
    """Writes the rows of a table, without its games."""
    state = {
        "columns": {name: column[: table.tally.kept].clone() for name, column in table.columns.items()},
        "rows": {name: rows[: table.counts[name]].clone() for name, rows in table.rows.items()},
        "top": table.top,
        "games": len(table.records),
        "tally": asdict(table.tally),
    }
    with replacing(path) as beside:
        torch.save(state, beside)


def stored(path: Path, recipe: Recipe, device: str) -> tuple[Table, dict[str, Any]]:
    """The table of a file on the device, and what else the file says."""
    state = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    table = Table([], recipe.plans, state["top"], recipe.examples, device)
    table.columns = {name: column.to(device) for name, column in state["columns"].items()}
    table.rows = {name: rows.to(device) for name, rows in state["rows"].items()}
    table.counts = {name: len(rows) for name, rows in table.rows.items()}
    table.tally.kept = len(table.columns["game"])
    return table, state


def make_tables(recipe: Recipe, archives: Sequence[Path], folder: Path) -> None:
    """Examples to learn from, and those of the games kept for validation, one draw of each step."""
    records = read_games(archives)
    top = top_players(records)
    once = replace(recipe.examples, multiplicity=1, seed=recipe.examples.seed + 1)
    for name, games, settings in zip(("kept", "learned"), split(records)[::-1], (once, recipe.examples), strict=True):
        if not games:
            raise SystemExit("there must be games to learn from, and one in ten, by its hash, to predict")
        table = Table(games, recipe.plans, top, settings, "cpu")
        table.fill()
        print(f"{name}: {table.tally}", flush=True)
        store(table, folder / f"{name}-{EXAMPLES}")


# -- one process


@dataclass(frozen=True)
class Work:
    """What every process is told."""

    recipe: Recipe
    folder: Path
    device: str
    ends: float  # by the monotonic clock
    positions: int
    weights: Path | None
    threads: int


class Worker:
    """The examples in the memory of a process, and the networks that learn there."""

    def __init__(self, work: Work) -> None:
        torch.set_num_threads(work.threads)
        self.work = work
        self.learned, _ = stored(work.folder / f"learned-{EXAMPLES}", work.recipe, work.device)
        self.kept, about = stored(work.folder / f"kept-{EXAMPLES}", work.recipe, work.device)
        self.games: int = about["games"]

    def recipe_of(self, arm: str, seed: int, steps: int) -> Recipe:
        recipe = self.work.recipe
        training = replace(recipe.training, seed=seed, steps=steps, seconds=math.inf)
        return replace(recipe, loss=replace(recipe.loss, **ARMS[arm]), training=training)

    def seconds_a_step(self, arm: str) -> float:
        """Learns a few steps with the other processes, which do so at the same moment."""
        trial = Trainer(self.recipe_of(arm, 0, WARM_UP), self.work.device)
        trial.train(self.learned, lambda entry: None, WARM_UP)
        trial.recipe = self.recipe_of(arm, 0, WARM_UP + TRIAL)
        began = time.monotonic()
        trial.train(self.learned, lambda entry: None, WARM_UP + TRIAL)  # whose log waits for the device
        return (time.monotonic() - began) / TRIAL

    def train(self, arm: str, seed: int, steps: int) -> Trainer:
        """A network, from its checkpoint if there is one; OutOfTime, with a checkpoint, if it is not done in time."""
        if time.monotonic() > self.work.ends:
            raise OutOfTime
        trainer = Trainer(self.recipe_of(arm, seed, steps), self.work.device)
        checkpoint = self.work.folder / f"{arm}-{seed}.pt"
        if checkpoint.exists():
            trainer.load(checkpoint)

        def each(trainer: Trainer) -> None:
            if trainer.step < steps and time.monotonic() > self.work.ends:
                trainer.save(checkpoint)
                raise OutOfTime

        trainer.train(self.learned, lambda entry: None, max(1, steps // LOOKS), each)
        trainer.recalibrate(self.learned)
        checkpoint.unlink(missing_ok=True)
        return trainer

    def judge(self, arm: str, seed: int, steps: int) -> dict[str, Any]:
        """A network's figures; those by game go into a file of the folder."""
        began = time.monotonic()
        trainer = self.train(arm, seed, steps)
        network = trainer.network
        learned = time.monotonic() - began
        arrays: dict[str, NDArray[np.float64]] = {}
        found: dict[str, Any] = {}
        for headset in self.work.recipe.plans:
            rows = self.kept.rows[headset].long()
            counts = count(network, headset, self.kept, rows, self.games)
            arrays |= {f"{headset}/{name}": getattr(counts, name) for name in ("sums", "of", "bins")}
            arrays[f"{headset}/material"] = self.by_material(network, headset, rows)
            found[headset] = {**means(counts), "calibration": counts.calibration().tolist()}
        np.savez_compressed(self.work.folder / f"{arm}-{seed}.npz", **arrays)  # type: ignore[arg-type]
        if self.work.weights:
            self.work.weights.mkdir(parents=True, exist_ok=True)
            given = {"steps": str(steps), "commit": commit(), "value learns": json.dumps(ARMS[arm])}
            file = self.work.weights / f"{arm}-{seed}.safetensors"
            weights.save(weights.for_play(to_weights(network, given)), file)
        found[next(iter(found))] |= self.choices(network)
        return {"arm": arm, "seed": seed, "seconds": learned, "headsets": found}

    def by_material(self, network: Network, headset: str, rows: torch.Tensor) -> NDArray[np.float64]:
        """float64[games, classes, 3]: examples, chances that the value gives, games won with a draw half; summed."""
        found = np.zeros((self.games, len(centipawns.material_names()), 3))
        for part in rows.split(ROWS_AT_ONCE):
            batch = self.kept.take(part)
            with torch.no_grad():
                value = network.headset(headset).predict(network.tower(network_input(batch.planes)))[1]
            classes = np.searchsorted(centipawns.MATERIAL, material(batch.pieces), side="right")
            said, won = ((1 + number.float().cpu().numpy()) / 2 for number in (value, batch.outcome))
            at = (self.kept.columns["game"][part].cpu().numpy(), classes)
            np.add.at(found, at, np.stack([np.ones_like(won), said, won], axis=1))
        return found

    def choices(self, network: Network) -> dict[str, float]:
        """Centipawns lost at the frozen positions."""
        positions = centipawns.read_positions()[: self.work.positions]
        if not positions:
            return {}
        names = network.architecture.headsets
        policy, value = ("Top" if "Top" in names else names[0]), ("All" if "All" in names else names[0])
        evaluator = TorchEvaluator(network, self.work.device, policy=policy, value=value)
        ell = self.work.recipe.examples.ell
        lost = np.zeros((2, len(positions)), np.int64)
        for i, position in enumerate(positions):
            x = position.situation()
            favourite, _ = centipawns.bare(evaluator, x, ell)
            lost[:, i] = [position.loss(a) for a in (centipawns.one_step_ahead(evaluator, x, ell), favourite)]
        found: dict[str, float] = {}
        for name, losses in zip(("value", "policy"), lost, strict=True):
            row = centipawns.row_of(name, losses)
            found |= {f"{name}_centipawns": row.loss, f"{name}_blunders": row.blunders}
        return found


def material(pieces: torch.Tensor) -> NDArray[np.int64]:
    """int64[B]: pawns that the player has more, of the true counts of its own pieces and the opposing ones."""
    worth = np.array([centipawns.PAWNS[kind] for kind in "pnbrqk"])
    counts = pieces.cpu().numpy()
    return np.asarray((counts[:, :6] - counts[:, 6:]) @ worth)


def means(counts: GameCounts) -> dict[str, float | None]:
    """How many examples, each measure over them, and by how much the value is off, on average over its bins."""
    sums, of = counts.sums.sum(axis=0).tolist(), counts.of.sum(axis=0).tolist()
    found = {measure: sums[i] / of[i] if of[i] else None for i, measure in enumerate(MEASURES)}
    n, value, outcome = counts.calibration().T
    error = float((n * np.abs(value - outcome)).sum() / n.sum() / 2) if n.sum() else None
    return {"examples": of[0], **found, "calibration_error": error}


_worker: Worker
_together: Any  # a barrier for all processes


def _begin(work: Work, barrier: Any) -> None:
    global _worker, _together
    _worker, _together = Worker(work), barrier


def _trial(arm: str) -> float:
    _together.wait(PATIENCE)
    return _worker.seconds_a_step(arm)


def _judge(arm: str, seed: int, steps: int) -> dict[str, Any] | None:
    """None: out of time."""
    try:
        return _worker.judge(arm, seed, steps)
    except OutOfTime:
        return None


# -- all of them


def run(options: argparse.Namespace) -> None:
    """Trains and judges what the file does not have yet, and writes it after each network."""
    ends = time.monotonic() + 60 * options.minutes
    device = choose_device(options.device)
    folder: Path = options.out.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    if options.generate and not options.archive[0].exists():
        make_games(options.archive[0], options.generate, options.workers)
    recipe = recipe_for(options, options.synopsis or read_recipe(options.recipe).architecture.synopsis)
    recipe = replace(recipe, examples=replace(recipe.examples, engine_states=options.engine_states))
    data = begun(options, recipe)
    if not (folder / f"learned-{EXAMPLES}").exists():
        make_tables(recipe, options.archive, folder)
    data["about"] |= {
        name: stored(folder / f"{name}-{EXAMPLES}", recipe, "cpu")[1]["tally"] for name in ("learned", "kept")
    }
    data["about"]["engine"] = of_engine(stored(folder / f"kept-{EXAMPLES}", recipe, "cpu")[0])
    done = {(run["arm"], run["seed"]) for run in data["runs"]}
    tasks = [(arm, seed) for seed in options.seeds for arm in options.arms if (arm, seed) not in done]
    side_by_side = min(options.parallel or (len(options.arms) if device.startswith("cuda") else 1), max(1, len(tasks)))
    own = max(1, threads() // side_by_side)
    work = Work(recipe, folder, device, ends, options.positions, options.weights, own)
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(side_by_side, context, _begin, (work, context.Barrier(side_by_side)))
    with pool:
        if tasks and not data["about"].get("steps"):
            data["about"]["steps"] = options.steps or steps_for(pool, tasks, side_by_side, ends)
            write(options.out, data)
        steps = data["about"].get("steps", 0)
        waiting = [pool.submit(_judge, arm, seed, steps) for arm, seed in tasks]
        for future in as_completed(waiting):
            if (result := future.result()) is None:
                continue
            data["runs"].append(result)
            write(options.out, data)
            first = next(iter(result["headsets"].values()))
            shown = ", ".join(f"{SHOWN[m][0]} {SHOWN[m][1] * first[m]:.4g}" for m in SHOWN if first.get(m) is not None)
            print(
                f"{result['arm']}, seed {result['seed']}: {steps} steps, {result['seconds']:.0f} s; {shown}", flush=True
            )
    if left := len(tasks) - (len(data["runs"]) - len(done)):
        print(f"out of time: {left} networks are not done; the same command goes on with them")
    data["differences"] = compare(folder, data)
    data["material"] = material_tables(folder, data)
    write(options.out, data)
    report(data)


def begun(options: argparse.Namespace, recipe: Recipe) -> dict[str, Any]:
    """What the file has, if it is of the same study; SystemExit if it is of another."""
    given = {
        "n_width": recipe.architecture.n_width,
        "n_depth": recipe.architecture.n_depth,
        "synopsis": recipe.architecture.synopsis,
        "headsets": list(recipe.plans),
        "batch": recipe.training.batch,
        "examples": asdict(recipe.examples),
        "archives": [str(path) for path in options.archive],
        "positions": options.positions,
    }
    if not options.out.exists():
        return {"about": {"given": given, "commit": commit()}, "runs": []}
    data: dict[str, Any] = json.loads(options.out.read_text())
    other = [name for name, value in given.items() if data["about"]["given"].get(name) != value]
    if other or (options.steps and data["about"].get("steps", options.steps) != options.steps):
        raise SystemExit(f"{options.out} has networks of another {(other or ['steps'])[0]}; choose another file")
    return data


def steps_for(pool: ProcessPoolExecutor, tasks: Sequence[tuple[str, int]], side_by_side: int, ends: float) -> int:
    """How many steps there is time for, by a trial of as many networks at once as will learn at once."""
    try:
        trials = list(pool.map(_trial, [arm for arm, _ in tasks[:side_by_side]]))
    except BrokenBarrierError:
        raise SystemExit("the processes did not begin in time; try again with a smaller --parallel") from None
    rounds = math.ceil(len(tasks) / side_by_side)
    return max(1, int(FOR_STEPS * (ends - time.monotonic()) / rounds / max(trials)))


def write(path: Path, data: Mapping[str, Any]) -> None:
    write_text(path, json.dumps(data) + "\n")


def of_engine(kept: Table) -> dict[str, dict[str, float]]:
    """What the engine's own chances say of the winner, with no network."""
    batch = kept.take(torch.arange(kept.tally.kept))
    assert batch.engine is not None
    decided = batch.outcome != 0
    won = batch.outcome[decided] > 0
    found = {}
    for name, chance in zip(("set", "truth"), batch.engine[decided].T, strict=True):
        of_result = torch.where(won, chance, 1 - chance).clamp(min=LEAST_CHANCE)
        right = ((chance > 0.5) == won).float().mean()
        found[name] = {"winner": float(right), "value_loss": float(-of_result.log().mean())}
    return found


# -- what came of it


def _counts(folder: Path, arm: str, seed: int, headset: str) -> GameCounts:
    with np.load(folder / f"{arm}-{seed}.npz") as arrays:
        return GameCounts(*(arrays[f"{headset}/{name}"] for name in ("sums", "of", "bins")))


def _material(folder: Path, arm: str, seed: int, headset: str) -> NDArray[np.float64]:
    with np.load(folder / f"{arm}-{seed}.npz") as arrays:
        return np.asarray(arrays[f"{headset}/material"])


def _seeds(data: Mapping[str, Any]) -> dict[str, list[int]]:
    """By arm, in order: the seeds that are done."""
    found = {arm: sorted(run["seed"] for run in data["runs"] if run["arm"] == arm) for arm in ARMS}
    return {arm: seeds for arm, seeds in found.items() if seeds}


def compare(folder: Path, data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each arm against the first, over the seeds that both have, by game: how much it is above."""
    seeds, found = _seeds(data), []
    first, *others = seeds or [""]
    for arm in others:
        both = [seed for seed in seeds[arm] if seed in seeds[first]]
        for headset in data["about"]["given"]["headsets"] if both else ():
            one, other = (all_together([_counts(folder, a, seed, headset) for seed in both]) for a in (arm, first))
            measures = {
                m: [number if math.isfinite(number) else None for number in asdict(share).values()]
                for m, share in differences(one, other).items()
            }
            found.append({"of": arm, "to": first, "headset": headset, "measures": measures})
    return found


def material_tables(folder: Path, data: Mapping[str, Any]) -> dict[str, dict[str, list[Any]]]:
    """By headset and arm: (examples, chance said, share won, by how much too hopeful with its interval by game)."""
    found: dict[str, dict[str, list[Any]]] = {}
    for headset in data["about"]["given"]["headsets"]:
        for arm, seeds in _seeds(data).items():
            sums = sum(_material(folder, arm, seed, headset) for seed in seeds) / len(seeds)
            found.setdefault(headset, {})[arm] = [_class_row(of_class) for of_class in np.swapaxes(sums, 0, 1)]
    return found


def _class_row(sums: NDArray[np.float64]) -> list[float] | None:
    sums = sums[sums[:, 0] > 0]
    if not len(sums):
        return None
    n, said, won = sums.sum(axis=0)
    times = np.random.default_rng(0).multinomial(len(sums), np.full(len(sums), 1 / len(sums)), RESAMPLES)
    drawn = times @ sums
    low, high = np.percentile((drawn[:, 1] - drawn[:, 2]) / drawn[:, 0], [2.5, 97.5])
    return [float(x) for x in (n, said / n, won / n, (said - won) / n, low, high)]


def report(data: Mapping[str, Any]) -> None:
    """Means over seeds ± their standard deviation, differences from the first arm, and the value by material."""
    about, seeds = data["about"], _seeds(data)
    given = about["given"]
    print(
        f"\n{given['n_depth']} × {given['n_width']}, {given['synopsis']}, {about.get('steps', 0):,} steps of "
        f"{given['batch']:,} examples from {about['learned']['games']:,} games, {about['kept']['games']:,} predicted"
    )
    for name, figures in about["engine"].items():
        print(
            f"the engine alone ({name}): winner {100 * figures['winner']:.1f} %, log loss {figures['value_loss']:.3f}"
        )
    for headset in given["headsets"] if seeds else ():
        of_arm = {a: [run["headsets"][headset] for run in data["runs"] if run["arm"] == a] for a in seeds}
        print(f"\n{headset}\n{'':<28}" + "".join(f"{arm:>{WIDTH}}" for arm in seeds))
        for measure, (label, scale) in SHOWN.items():
            if any(measure in figures for figures in of_arm[next(iter(seeds))]):
                print(f"{label:<28}" + "".join(_spread([f.get(measure) for f in of_arm[arm]], scale) for arm in seeds))
        rows = {row["of"]: row for row in data.get("differences", []) if row["headset"] == headset}
        for measure in MEASURES if rows else ():
            cells = "".join(
                _interval(rows[arm]["measures"][measure]) if arm in rows else f"{'':>{WIDTH}}" for arm in seeds
            )
            print(f"{measure + ' above ' + next(iter(seeds)):<28}" + cells)
        for i, name in enumerate(centipawns.material_names() if "material" in data else ()):
            cells = "".join(_hope(data["material"][headset][arm][i]) for arm in seeds)
            print(f"{name + ' pawns: said (won)':<28}" + cells)


def _spread(numbers: Iterator[float | None] | Sequence[float | None], scale: int) -> str:
    values = [scale * number for number in numbers if number is not None]
    if not values:
        return f"{'–':>{WIDTH}}"
    deviation = np.std(values, ddof=1) if len(values) > 1 else math.nan
    return f"{f'{np.mean(values):.3f} ± {deviation:.3f}':>{WIDTH}}"


def _interval(interval: Sequence[float | None]) -> str:
    if None in interval:
        return f"{'–':>{WIDTH}}"
    value, low, high = interval
    return f"{f'{value:+.3f} ({low:+.3f} to {high:+.3f})':>{WIDTH}}"


def _hope(row: Sequence[float] | None) -> str:
    return (
        f"{'–':>{WIDTH}}"
        if row is None
        else f"{f'{row[1]:.2f} ({row[2]:.2f}), {row[4]:+.2f} to {row[5]:+.2f}':>{WIDTH}}"
    )


def main() -> None:
    parser = study_parser(__doc__, "values.json", minutes=9.0)
    parser.add_argument(
        "--arms", nargs="+", default=list(USUAL), choices=list(ARMS), metavar="ARM", help=", ".join(ARMS)
    )
    parser.add_argument("--parallel", type=int, default=0, help="networks at once; 0: all arms on a GPU, else one")
    parser.add_argument("--engine-states", type=int, default=16, help="of each set, of which the engine is asked")
    parser.add_argument("--positions", type=int, default=400, help="frozen moves to choose at")
    parser.add_argument("--synopsis", choices=("binary", "shares", "graded"), help="by default the recipe's")
    conclude(parser, run, report)


if __name__ == "__main__":
    main()
