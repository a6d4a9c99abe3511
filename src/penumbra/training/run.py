"""Training runs, which `penumbra train` starts.

A run has a folder: `checkpoint.pt` to go on from, `log.jsonl`, `saliency.jsonl` and TensorBoard's files to look at, and
at the end the weights, the tables of their evaluation and what they cost. A run that was stopped goes on from its
checkpoint.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from penumbra.core import GameRecord
from penumbra.games.archive import Archive
from penumbra.network import weights
from penumbra.network.model import to_weights
from penumbra.network.quantization.rounding import KEY as RANGES
from penumbra.network.weights import WeightsError
from penumbra.training.data import CHUNK, Table, Tally, check_games, top_players
from penumbra.training.examples import split
from penumbra.training.recipe import Recipe
from penumbra.training.trainer import Log, Trainer
from penumbra.training.window import table_for
from penumbra.whole_files import append_lines

PAPER_EXAMPLES = 650_000 * 256
START = 0.05  # of the games must be examples before training begins on the fly
CHECKPOINT_EVERY = 300.0  # seconds
LOG_EVERY = 200  # steps


def read_games(archives: Iterable[str | Path]) -> list[GameRecord]:
    """All games of some archives, each once."""
    records: dict[int, GameRecord] = {}
    for path in archives:
        with Archive.open(path) as archive:
            for game in archive.games():
                records.setdefault(game.record.hash, game.record)
    if not records:
        raise ValueError("the archives hold no games")
    return list(records.values())


def read_searches(archives: Iterable[str | Path]) -> dict[int, bytes]:
    """What was searched in the games of some archives, packed, by the games' hashes."""
    found: dict[int, bytes] = {}
    for path in archives:
        with Archive.open(path) as archive:
            found |= archive.visits()
    return found


def train(
    recipe: Recipe,
    records: Sequence[GameRecord],
    out: Path,
    device: str,
    *,
    checkpoint_every: float = CHECKPOINT_EVERY,
    say: Callable[[str], None] = print,
    report: Log = lambda entry: None,
    table: Table | None = None,
    start: Path | None = None,
    searched: Mapping[int, bytes] | None = None,
    watch: Callable[[Trainer], None] = lambda trainer: None,
    log_every: int = LOG_EVERY,
    everything: bool = False,
) -> tuple[Trainer, Table]:
    """Trains by a recipe on those of the games that are not for validation; the weights are in `out` in the end.

    `table`, of an earlier call with the same games and examples, saves making it again; `watch` is called after each
    logged step. It begins with the weights `start`, if they are given; `searched` is what was searched in the games.
    With `everything` it learns from the games for validation too.
    """
    check_device(device)
    out.mkdir(parents=True, exist_ok=True)
    training = records if everything else split(records)[0]
    stop = threading.Event()
    filler: threading.Thread | None = None
    trainer = begin(recipe, device, start)
    recipe = trainer.recipe
    checkpoint = out / "checkpoint.pt"
    if checkpoint.exists():
        trainer.load(checkpoint)
        say(f"going on from step {trainer.step:,} of {checkpoint}")
    if table is None:
        top = top_players(records)
        if start is None:  # headsets that begin as they are given may stay so
            check_games(recipe.plans, training, top)
        say(f"{len(training):,} games to learn from; the top third: {', '.join(top)}")
        table = table_for(recipe, training, top, device, searched, trainer.step)
        filler = fill(table, recipe.training.on_the_fly and not recipe.examples.window, stop, say)
    log = Logs(out, report)
    last = time.monotonic()

    def each(trainer: Trainer) -> None:
        nonlocal last
        if is_first():
            watch(trainer)
        if is_first() and time.monotonic() - last >= checkpoint_every:
            last = time.monotonic()
            trainer.save(checkpoint)

    try:
        trainer.train(table, log, log_every, each)
        if is_first():
            trainer.save(checkpoint)
    except KeyboardInterrupt:
        if is_first():
            trainer.save(checkpoint)
        raise
    finally:
        stop.set()
        log.close()
        if filler is not None:
            filler.join()
    say(str(table.tally))
    if is_first():
        if not all(plan.stop_gradient for plan in recipe.plans.values()):
            trainer.recalibrate(table)
        examples = trainer.step * recipe.training.batch
        about = {
            "games": str(min(table.tally.games, len(table.records))),  # a window visits each many times
            "top": json.dumps(table.top),
            "players": json.dumps({name: plan.players for name, plan in recipe.plans.items()}),
            "steps": f"{trainer.step} of {recipe.training.batch} examples",
            "share of the paper's examples": f"{examples / PAPER_EXAMPLES:.3f}",
            "commit": commit(),
        }
        if start is not None:
            about = about_going_on(weights.load(start).about, about)
        weights.save(to_weights(trainer.network, about), out / "weights.safetensors")
        say(f"{out / 'weights.safetensors'}: {trainer.step:,} steps, {examples / PAPER_EXAMPLES:.1%} of the paper's")
    return trainer, table


def begin(recipe: Recipe, device: str, start: Path | None) -> Trainer:
    """A trainer from random weights, or from those of a file."""
    if start is None:
        return Trainer(recipe, device)
    given = weights.load(start)
    try:
        return Trainer(recipe, device, given)
    except WeightsError as error:
        raise WeightsError(f"{start}: {error}") from None


def going_on(recipe: Recipe, start: Path | None) -> Recipe:
    """The recipe for a network that begins with the weights of a file, if one is given: it reads what they read."""
    if start is None:
        return recipe
    try:
        return recipe.going_on_from(weights.load(start))
    except WeightsError as error:
        raise WeightsError(f"{start}: {error}") from None


def about_going_on(before: Mapping[str, str], about: Mapping[str, str]) -> dict[str, str]:
    """The header of weights that went on from others; a headset that was not trained keeps its players."""
    found = {**before, **{f"then {name}": value for name, value in about.items() if name != "players"}}
    players = {**json.loads(before.get("players", "{}")), **json.loads(about["players"])}
    found.pop(RANGES, None)  # of the quantisation, which no longer fit
    return {**found, "players": json.dumps(players)}


def fill(
    table: Table,
    on_the_fly: bool,
    stop: threading.Event,
    say: Callable[[str], None],
    *,
    chunk: int = CHUNK,
    share: float = START,
    seconds: float = math.inf,
) -> threading.Thread | None:
    """Makes the examples; on the fly, in a thread, and returns once a share of the games is done or the time is up."""
    began = last = time.monotonic()
    errors: list[BaseException] = []

    def progress(tally: Tally) -> None:
        nonlocal last
        if time.monotonic() - last >= 10:
            last = time.monotonic()
            rate = tally.rows / (last - began)
            say(f"examples of {tally.games:,} of {len(table.records):,} games, {rate:,.0f} a second")

    if not on_the_fly:
        table.fill(progress, stop, chunk)
        return None

    def work() -> None:
        try:
            table.fill(progress, stop, chunk)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    while thread.is_alive() and not (
        table.tally.games >= share * len(table.records) or (table.tally.games and time.monotonic() - began > seconds)
    ):
        time.sleep(0.05)
    if errors:
        raise errors[0]
    return thread


def validation_table(recipe: Recipe, records: Sequence[GameRecord], device: str, cap: int) -> Table:
    """The games for validation, one draw of each step, sets tracked up to `cap`."""
    _, validation = split(records)
    if not validation:
        raise ValueError("none of these games is for validation: one in ten is, by its hash")
    settings = replace(recipe.examples, multiplicity=1, cap=cap, window=0, seed=recipe.examples.seed + 1)
    table = Table(validation, recipe.plans, top_players(records), settings, device)
    table.fill()
    return table


class Logs:
    """A line of JSON for each entry, and TensorBoard's scalars where its package is installed."""

    def __init__(self, folder: Path, report: Log) -> None:
        self.path = folder / "log.jsonl"
        self.report = report
        self.board: Any = None
        try:
            from torch.utils.tensorboard import SummaryWriter

            self.board = SummaryWriter(str(folder / "tensorboard"))
        except ImportError:
            pass

    def __call__(self, entry: dict[str, Any]) -> None:
        if not is_first():
            return
        append_lines(self.path, json.dumps(entry) + "\n")
        if self.board is not None:
            self._draw(entry)
        self.report(entry)

    def _draw(self, entry: dict[str, Any]) -> None:
        """For TensorBoard; a full disk ends that, and not the training."""
        try:
            for name, value in entry.items():
                if isinstance(value, float):
                    self.board.add_scalar(f"{entry['headset']}/{name}", value, entry["step"])
        except OSError:
            self.board = None

    def close(self) -> None:
        if self.board is not None:
            with contextlib.suppress(OSError):
                self.board.close()


def check_device(device: str) -> None:
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise ValueError("there is no CUDA device here; use --device cpu")


def is_first() -> bool:
    """The process that writes files; the only one, unless under torchrun."""
    return not dist.is_initialized() or dist.get_rank() == 0


def join_others(device: str) -> str:
    """Joins the other processes under torchrun; the device of this one."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return device
    dist.init_process_group("nccl" if device.startswith("cuda") else "gloo")
    if device == "cuda":
        device = f"cuda:{os.environ['LOCAL_RANK']}"
        torch.cuda.set_device(device)
    return device


def commit() -> str:
    """PENUMBRA_COMMIT, or the commit of the source tree, where this is one."""
    if given := os.environ.get("PENUMBRA_COMMIT"):
        return given
    root = Path(__file__).resolve().parents[3]
    try:
        head = (root / ".git/HEAD").read_text().strip()
        return (root / ".git" / head[5:]).read_text().strip() if head.startswith("ref: ") else head
    except OSError:
        return "unknown"
