"""What is lost by collapsing information states: networks that differ only in the sort of synopsis that they read.

    PYTHONPATH=src python -m studies.synopses --archive games.db --out synopses.json --minutes 8
    PYTHONPATH=src python -m studies.synopses --report synopses.json

For each seed, one network of each sort learns as many steps by the same recipe, from the same draws of the same
examples in the same order: they are made once, graded, and each network sees of them what its sort has. All predict the
games kept for validation, by their hashes. Without --steps there are as many as fit into --minutes, by a trial of each
sort; a network that is not done in time is left out. The file holds every network's figures by headset and by the
number of states tracked, and the differences between sorts, all seeds together, with 95 % intervals by game. With
--generate the archive is filled first, by the built-in population; that comes on top of --minutes.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import combinations
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch

from penumbra.arena import generate
from penumbra.arena.population import read_population
from penumbra.core import GameRecord, threads
from penumbra.games.archive import Archive
from penumbra.network import weights
from penumbra.network.loading import choose_device
from penumbra.network.model import Network, to_weights
from penumbra.rbc.synopsis import Synopsis
from penumbra.training.data import Table, top_players
from penumbra.training.examples import split
from penumbra.training.game_counts import MEASURES, GameCounts, Share, all_together, count, differences, shares
from penumbra.training.recipe import Recipe, read_recipe
from penumbra.training.run import commit, read_games, validation_table
from penumbra.training.trainer import Trainer
from penumbra.whole_files import write_text

SORTS: tuple[Synopsis, ...] = get_args(Synopsis)
WHOLE: Synopsis = "graded"  # has the planes of all others
SIZES = (1, 3, 17, 129, 1_000)  # states tracked: where each class begins
EVERY_SIZE = "all"
TRIAL, WARM_UP = 30, 10  # steps
FOR_STEPS = 0.85  # of the time that is left after the trial; predicting takes the rest
LOGGED = 20  # losses of each network
SHOWN = {  # the report's columns: what each shows, and by what to multiply it
    "policy_loss": ("log loss", 1),
    "top1": ("top-1 %", 100),
    "top5": ("top-5 %", 100),
    "winner": ("winner %", 100),
    "value_loss": ("value log loss", 1),
    "value_error": ("value sq. error", 1),
}
Figures = dict[str, dict[str, GameCounts]]  # by headset, by class of size


class OutOfTime(Exception):
    """The time is up."""


class Study:
    """The games as examples, and the networks that learn from them until `ends`, by the monotonic clock."""

    def __init__(self, recipe: Recipe, records: Sequence[GameRecord], device: str, ends: float) -> None:
        self.recipe, self.device, self.ends = recipe, device, ends
        learned, kept = split(records)
        if not learned:
            raise SystemExit("none of these games is learned from: one in ten is kept for validation, by its hash")
        self.table = Table(learned, recipe.plans, top_players(records), recipe.examples, device)
        self.table.fill()
        self.kept = validation_table(recipe, records, device, recipe.examples.cap)
        self.games = len(kept)

    def of(self, synopsis: Synopsis, seed: int, steps: int) -> Recipe:
        """The recipe of one network."""
        return replace(
            self.recipe,
            architecture=replace(self.recipe.architecture, synopsis=synopsis),
            examples=replace(self.recipe.examples, synopsis=synopsis),
            training=replace(self.recipe.training, seed=seed, steps=steps, seconds=math.inf),
        )

    def steps_for(self, networks: Mapping[Synopsis, int]) -> int:
        """How many steps so many networks of each sort have time for."""
        seconds = 0.0
        for synopsis, number in networks.items():
            trial = Trainer(self.of(synopsis, 0, WARM_UP), self.device)
            rows = self.table.as_read(synopsis)
            trial.train(rows, lambda entry: None, WARM_UP)
            trial.recipe = self.of(synopsis, 0, WARM_UP + TRIAL)
            began = time.monotonic()
            trial.train(rows, lambda entry: None, WARM_UP + TRIAL)  # whose log waits for the device
            seconds += number * (time.monotonic() - began) / TRIAL
        return max(1, int(FOR_STEPS * (self.ends - time.monotonic()) / seconds))

    def train(self, synopsis: Synopsis, seed: int, steps: int) -> tuple[Trainer, list[dict[str, Any]]]:
        """A network and its losses along the way; OutOfTime if it is not done in time."""
        log: list[dict[str, Any]] = []

        def each(trainer: Trainer) -> None:
            if trainer.step < steps and time.monotonic() > self.ends:
                raise OutOfTime

        trainer = Trainer(self.of(synopsis, seed, steps), self.device)
        rows = self.table.as_read(synopsis)
        trainer.train(rows, log.append, max(1, steps // LOGGED), each)
        trainer.recalibrate(rows)
        return trainer, log

    def predict(self, network: Network) -> Figures:
        """Each headset on the games kept for validation, by the number of states tracked."""
        table = self.kept.as_read(network.architecture.synopsis)
        found: Figures = {}
        for headset in self.recipe.plans:
            rows = table.rows[headset][: table.counts[headset]].long()
            classes = np.searchsorted(SIZES, table.columns["states"][rows].cpu().numpy(), side="right") - 1
            parts = {
                name: count(network, headset, table, rows[torch.from_numpy(classes == i).to(rows.device)], self.games)
                for i, name in enumerate(size_names())
            }
            found[headset] = {EVERY_SIZE: all_together(list(parts.values())), **parts}
        return found


def size_names() -> list[str]:
    last = [str(after - 1) for after in SIZES[1:]]
    return [f"{first} to {end}" for first, end in zip(SIZES, last, strict=False)] + [f"{SIZES[-1]} and more"]


def recipe_for(options: argparse.Namespace, synopsis: Synopsis = WHOLE) -> Recipe:
    """The recipe of the file with the options' size and some of its headsets alone, for one sort of synopsis."""
    recipe = read_recipe(options.recipe)
    unknown = [name for name in options.headsets if name not in recipe.plans]
    if unknown:
        raise SystemExit(f"{options.recipe} has no headset {unknown[0]!r}; it has {', '.join(recipe.plans)}")
    plans = {name: replace(recipe.plans[name], multiplicity=options.multiplicity) for name in options.headsets}
    architecture = replace(
        recipe.architecture,
        n_width=options.width or recipe.architecture.n_width,
        n_depth=options.depth or recipe.architecture.n_depth,
        headsets=tuple(plans),
        synopsis=synopsis,
    )
    examples = replace(
        recipe.examples, cap=options.cap or recipe.examples.cap, multiplicity=options.multiplicity, synopsis=synopsis
    )
    training = replace(recipe.training, batch=options.batch or recipe.training.batch)
    return replace(recipe, architecture=architecture, plans=plans, examples=examples, training=training)


def run(options: argparse.Namespace) -> None:
    """Trains and judges all networks, and writes the file after each."""
    began = time.monotonic()
    device = choose_device(options.device)
    if options.generate:
        make_games(options.archive[0], options.generate, options.workers)
    ends = time.monotonic() + 60 * options.minutes
    records = read_games(options.archive)
    study = Study(recipe_for(options), records, device, ends)
    print(f"learned from: {study.table.tally}\npredicted: {study.kept.tally}")
    print(f"{time.monotonic() - began:.0f} s until all examples were made", flush=True)
    steps = options.steps or study.steps_for(dict.fromkeys(SORTS, len(options.seeds)))
    about = {
        **{name: getattr(study.recipe.architecture, name) for name in ("n_width", "n_depth", "headsets")},
        "steps": steps,
        "batch": study.recipe.training.batch,
        "examples": asdict(study.recipe.examples),
        "learned_from": asdict(study.table.tally),
        "predicted": asdict(study.kept.tally),
        "device": device,
        "commit": commit(),
    }
    runs: list[dict[str, Any]] = []
    judged: dict[Synopsis, list[Figures]] = {synopsis: [] for synopsis in SORTS}
    for synopsis, seed in ((synopsis, seed) for seed in options.seeds for synopsis in SORTS):
        at = time.monotonic()
        try:
            trainer, log = study.train(synopsis, seed, steps)
        except OutOfTime:
            print(f"out of time: {synopsis}, seed {seed} and what follows are left out")
            break
        figures = study.predict(trainer.network)
        seconds = time.monotonic() - at
        if options.weights:
            options.weights.mkdir(parents=True, exist_ok=True)
            given = {"steps": str(steps), "commit": commit()}
            file = options.weights / f"{synopsis}-{seed}.safetensors"
            weights.save(weights.for_play(to_weights(trainer.network, given)), file)
        judged[synopsis].append(figures)
        runs.append({"synopsis": synopsis, "seed": seed, "seconds": seconds, "log": log, "headsets": as_data(figures)})
        data = {"about": {**about, "seconds": time.monotonic() - began}, "runs": runs, "differences": compare(judged)}
        write_text(options.out, json.dumps(data) + "\n")
        shown = ", ".join(f"{measure} {s.value:.4f}" for measure, s in _shares(figures, options.headsets[0]).items())
        print(f"{synopsis}, seed {seed}: {steps} steps, {seconds:.0f} s; {options.headsets[0]}: {shown}", flush=True)


def make_games(archive: Path, minutes: float, workers: int) -> None:
    population = read_population("population", minutes=minutes, workers=workers)
    with Archive.open_or_create(archive) as to:
        print(f"{archive}: {generate.run(population, to).line()}", flush=True)


def _shares(figures: Figures, headset: str, size: str = EVERY_SIZE) -> dict[str, Share]:
    counts = figures[headset][size]
    return shares(counts, np.ones(len(counts.sums), bool))


def as_data(figures: Figures) -> dict[str, Any]:
    """By headset: means by class of size, and the calibration of the value."""
    return {
        headset: {
            "sizes": {size: means(counts) for size, counts in by_size.items()},
            "calibration": by_size[EVERY_SIZE].calibration().tolist(),
        }
        for headset, by_size in figures.items()
    }


def means(counts: GameCounts) -> dict[str, float | None]:
    """How many examples, and each measure over them."""
    sums, of = counts.sums.sum(axis=0).tolist(), counts.of.sum(axis=0).tolist()
    found = {measure: sums[i] / of[i] if of[i] else None for i, measure in enumerate(MEASURES)}
    return {"examples": of[0], **found}


def compare(judged: Mapping[Synopsis, Sequence[Figures]]) -> list[dict[str, Any]]:
    """Each pair of sorts, over the seeds that both have: how much the second is above the first."""
    found = []
    for first, second in combinations(SORTS, 2):
        seeds = min(len(judged[first]), len(judged[second]))
        for headset, size in _classes(judged[first][:1]) if seeds else ():
            one, other = (all_together([f[headset][size] for f in judged[sort][:seeds]]) for sort in (first, second))
            measures = {
                measure: [number if math.isfinite(number) else None for number in asdict(share).values()]
                for measure, share in differences(other, one).items()
            }
            found.append({"of": second, "to": first, "headset": headset, "size": size, "measures": measures})
    return found


def _classes(figures: Sequence[Figures]) -> Iterator[tuple[str, str]]:
    for headset, by_size in figures[0].items():
        for size in by_size:
            yield headset, size


def report(data: Mapping[str, Any]) -> None:
    """Means over seeds ± their standard deviation, the differences between sorts, and the calibration."""
    about, runs = data["about"], data["runs"]
    print(
        f"{about['n_depth']} × {about['n_width']}, {about['steps']:,} steps of {about['batch']:,} examples from "
        f"{about['learned_from']['games']:,} games, {about['predicted']['games']:,} predicted; {about['seconds']:.0f} s"
    )
    for headset in about["headsets"]:
        for size in runs[0]["headsets"][headset]["sizes"]:
            n = runs[0]["headsets"][headset]["sizes"][size]["examples"]
            print(f"\n{headset}, states: {size}, {n:,.0f} examples")
            if not n:
                continue
            print(f"{'':<18}" + "".join(f"{label:>26}" for label, _ in SHOWN.values()))
            for synopsis in SORTS:
                of = [run["headsets"][headset]["sizes"][size] for run in runs if run["synopsis"] == synopsis]
                if of:
                    print(f"{synopsis:<10} {len(of)} seeds" + "".join(_spread(of, m) for m in SHOWN))
            for row in data["differences"]:
                if (row["headset"], row["size"]) == (headset, size):
                    cells = "".join(_interval(row["measures"][measure], SHOWN[measure][1]) for measure in SHOWN)
                    print(f"{row['of']:>6} - {row['to']:<9}" + cells)
        _show_calibration(headset, runs)


def _spread(of: Sequence[Mapping[str, Any]], measure: str) -> str:
    _, scale = SHOWN[measure]
    values = [scale * figures[measure] for figures in of if figures[measure] is not None]
    if not values:
        return f"{'–':>26}"
    deviation = np.std(values, ddof=1) if len(values) > 1 else math.nan
    digits = 1 if scale > 1 else 3
    return f"{f'{np.mean(values):.{digits}f} ± {deviation:.{digits + 1}f}':>26}"


def _interval(interval: Sequence[float | None], scale: int) -> str:
    numbers = [scale * number for number in interval if number is not None]
    if len(numbers) < 3:
        return f"{'–':>26}"
    value, low, high = numbers
    digits = 1 if scale > 1 else 3
    return f"{f'{value:+.{digits}f} ({low:+.{digits}f} to {high:+.{digits}f})':>26}"


def _show_calibration(headset: str, runs: Sequence[Mapping[str, Any]]) -> None:
    """The mean outcome at each mean value, over all seeds of a sort."""
    print(f"\n{headset}, mean outcome (mean value, examples) by bins of the value")
    for synopsis in SORTS:
        bins = [np.array(run["headsets"][headset]["calibration"]) for run in runs if run["synopsis"] == synopsis]
        if bins:
            n = np.sum([one[:, 0] for one in bins], axis=0)
            sums = np.sum([one[:, :1] * one[:, 1:] for one in bins], axis=0)
            value, outcome = (sums / np.maximum(n, 1)[:, None]).T
            cells = (f"{o:+.2f} ({v:+.2f}, {k:,.0f})" for k, v, o in zip(n, value, outcome, strict=True) if k)
            print(f"{synopsis:<10} " + "  ".join(cells))


def study_parser(description: str | None, out: str, minutes: float) -> argparse.ArgumentParser:
    """What a study of networks takes: games, what to write, how much, and all that `recipe_for` reads."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--archive", type=Path, nargs="+", help="the games")
    parser.add_argument("--out", type=Path, default=Path(out), help="the file of figures to write")
    parser.add_argument("--weights", type=Path, help="a folder for the networks, without auxiliary heads")
    parser.add_argument("--report", type=Path, help="only print the tables of such a file")
    parser.add_argument("--generate", type=float, default=0.0, help="minutes of new games for the first archive")
    parser.add_argument("--workers", type=int, default=threads(), help="processes, for --generate")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--minutes", type=float, default=minutes, help="for examples, learning and predicting together")
    parser.add_argument("--steps", type=int, default=0, help="of each network; 0: as many as there is time for")
    parser.add_argument("--recipe", default="lite", help="how to learn; of which the following change something")
    parser.add_argument("--headsets", nargs="+", default=["All", "Top"], help="of the recipe's")
    parser.add_argument("--width", type=int, default=0, help="channels of the tower")
    parser.add_argument("--depth", type=int, default=0, help="blocks of the tower")
    parser.add_argument("--batch", type=int, default=0)
    parser.add_argument("--cap", type=int, default=0, help="states tracked by each player")
    parser.add_argument("--multiplicity", type=int, default=4, help="examples made of each step, by different draws")
    parser.add_argument("--device", default="auto")
    return parser


def conclude(
    parser: argparse.ArgumentParser, run: Callable[[argparse.Namespace], None], report: Callable[[Any], None]
) -> None:
    """Runs a study as its command line says, or only shows the figures of an earlier run."""
    options = parser.parse_args()
    if options.report:
        report(json.loads(options.report.read_text()))
    elif options.archive:
        run(options)
    else:
        parser.error("give --archive, or --report of a file")


def main() -> None:
    conclude(study_parser(__doc__, "synopses.json", minutes=8.0), run, report)


if __name__ == "__main__":
    main()
