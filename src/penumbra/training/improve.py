"""Improvement by play: `python -m penumbra.training.improve WEIGHTS --population CONFIG --archive GAMES --out FOLDER`.

The headset `Penumbra` begins as a copy of `Top` and learns from its own games by proximal policy optimisation: against
the built-in players of a population, played by the mill, and against itself and the other headsets, played in bulk. All
games ask one inference process, which is given the new weights after each round; all go into archives.

    Â   generalised advantage: the λ-weighted sum of what the value rises by, step by step, until the result
    ρ   probability of the action now, divided by that before the round; clipped to 1 ± ε

A round's games are made into examples by the native replayer like any others, so nothing but games is stored. The other
headsets go on learning to imitate, or the tower would leave them behind; `All` learns from the new games too. The
tower's statistics stay as they are.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from penumbra.arena.archive import Archive
from penumbra.core import GameRecord, set_threads
from penumbra.network import weights as weights_file
from penumbra.network.choice import OWN
from penumbra.network.model import Heads, from_weights, to_weights, unpack
from penumbra.network.shared import inference_process, load_at
from penumbra.network.weights import Weights, WeightsError
from penumbra.training.data import MOST_LEGAL, Batch, Table, batch_of, players_of, top_players
from penumbra.training.examples import ExampleSettings, make_examples, split
from penumbra.training.loss import legal_logits, losses, total
from penumbra.training.recipe import LossWeights, Plan, recipe_of
from penumbra.training.selfplay import NAME
from penumbra.training.train import commit, read_games

HEADSET, TEACHER = OWN
OWN_PLAYERS = (HEADSET, f"{HEADSET}Twin", NAME + HEADSET)  # names under which it plays
INTERRUPTED = 130


@dataclass(frozen=True)
class Improvement:
    """How play becomes weights."""

    games: int = 1500  # of a round, at least
    learning_rate: float = 0.0003
    weight_decay: float = 0.01
    batch: int = 2048
    epochs: int = 2
    clip: float = 0.2  # ε
    lam: float = 0.95  # λ
    entropy: float = 0.003
    most_divergence: float = 0.05  # a round ends when the policy has moved so far from the one that played
    loss: LossWeights = field(default_factory=lambda: LossWeights(value=0.5))
    examples: ExampleSettings = field(default_factory=lambda: ExampleSettings(cap=1000, settle=False))
    seed: int = 0


def with_headset(weights: Weights, name: str = HEADSET, like: str = TEACHER) -> Weights:
    """Weights with one headset more, which begins as a copy of another; as they are if it is there already."""
    a = weights.architecture
    if name in a.headsets:
        return weights
    if like not in a.headsets:
        raise WeightsError(f"there is no headset {like!r} to begin from; there are {', '.join(a.headsets)}")
    prefix = f"headsets.{like}."
    copied = {
        f"headsets.{name}.{k.removeprefix(prefix)}": t for k, t in weights.tensors.items() if k.startswith(prefix)
    }
    players = json.loads(weights.about.get("players", "{}")) | {name: list(OWN_PLAYERS)}
    return Weights(
        replace(a, headsets=(*a.headsets, name)),
        weights.tensors | copied,
        {**weights.about, "players": json.dumps(players)},
    )


def advantages(
    values: NDArray[np.float32], outcomes: NDArray[np.float32], sequences: NDArray[np.int64], lam: float
) -> NDArray[np.float32]:
    """Â of each row. Rows of one sequence, a player's steps in a game, stand one after the other in order of play."""
    result = np.empty_like(values)
    after, following = 0.0, 0.0
    for i in range(len(values) - 1, -1, -1):
        if i == len(values) - 1 or sequences[i] != sequences[i + 1]:
            after, following = float(outcomes[i]), 0.0
        following = after - float(values[i]) + lam * following
        result[i] = following
        after = float(values[i])
    return result


@dataclass
class Round:
    """The steps of one round's games on the device."""

    steps: Batch  # of every player
    own: Tensor  # int64: which rows are the learner's
    advantage: Tensor  # float32, along `own`: normalised
    before: Tensor  # float32, along `own`: log probability of the action under the policy before the round

    def rows(self, chosen: Tensor) -> Batch:
        return self.steps.take(chosen)


class Learner:
    def __init__(self, weights: Weights, plan: Improvement, device: str) -> None:
        torch.manual_seed(plan.seed)
        self.plan = plan
        self.about = weights.about
        self.device = torch.device(device)
        self.network = from_weights(with_headset(weights)).to(self.device, memory_format=torch.channels_last)
        self.optimizer = torch.optim.AdamW(
            self.network.parameters(), plan.learning_rate, weight_decay=plan.weight_decay
        )
        self.rng = torch.Generator().manual_seed(plan.seed)
        self.steps = 0
        self.games = 0

    def tower(self, batch: Batch) -> Tensor:
        planes = unpack(batch.planes, torch.float32).contiguous(memory_format=torch.channels_last)
        x: Tensor = self.network.tower(planes)
        return x

    def autocast(self) -> torch.autocast:
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda")

    def prepare(self, records: Sequence[GameRecord]) -> Round:
        """Examples of the games, and what the policy and the value that played them say."""
        examples = make_examples(records, self.plan.examples.with_seed(self.games))
        examples = examples.take(np.flatnonzero(np.diff(examples.legal_offsets) <= MOST_LEGAL))
        sequence = examples.games.astype(np.int64) * 2 + examples.players
        examples = examples.take(np.argsort(sequence, kind="stable"))
        sequence = np.sort(sequence, kind="stable")
        steps = batch_of(examples, self.device)
        mine = np.isin(players_of(examples, records), OWN_PLAYERS)
        own = np.flatnonzero(mine)
        logps, values = [], []
        with torch.no_grad(), self.autocast():
            for rows in torch.from_numpy(own).to(self.device).split(8192):
                batch = steps.take(rows)
                policy, value = self.network.headset(HEADSET).predict(self.tower(batch))
                logps.append(self.log_policy(policy, batch).gather(1, batch.target[:, None]).squeeze(1))
                values.append(value.float())
        value = torch.cat(values).cpu().numpy()
        gain = advantages(value, examples.outcomes[own].astype(np.float32), sequence[own], self.plan.lam)
        fit = ~(examples.cut & (examples.set_sizes < self.plan.examples.limit))[own]
        gain = (gain - gain[fit].mean()) / (gain[fit].std() + 1e-6)
        kept = torch.from_numpy(np.flatnonzero(fit)).to(self.device)
        self.games += len(records)
        return Round(
            steps,
            torch.from_numpy(own).to(self.device)[kept],
            torch.from_numpy(gain).to(self.device)[kept],
            torch.cat(logps)[kept],
        )

    @staticmethod
    def log_policy(policy: Tensor, batch: Batch) -> Tensor:
        return F.log_softmax(legal_logits(policy, batch), dim=1)

    def learn(self, played: Round, anchors: Table | None) -> dict[str, float]:
        """The epochs of one round; means of what was lost and how far the policy went."""
        plan, sums, count = self.plan, dict[str, float](), 0
        n = len(played.own)
        for _ in range(plan.epochs):
            order = torch.randperm(n, generator=self.rng).to(self.device)
            for some in order.split(plan.batch):
                if len(some) < plan.batch // 2 < n:
                    continue  # too few to tell much
                parts = self.update(played, some, anchors)
                count += 1
                for name, value in parts.items():
                    sums[name] = sums.get(name, 0.0) + value
                if parts["divergence"] > plan.most_divergence:
                    return {name: value / count for name, value in sums.items()} | {"updates": count}
        return {name: value / count for name, value in sums.items()} | {"updates": count}

    def update(self, played: Round, some: Tensor, anchors: Table | None) -> dict[str, float]:
        """One step of the optimiser: the own headset, `All` on the same games, and one that imitates."""
        plan = self.plan
        self.optimizer.zero_grad(set_to_none=True)
        batch = played.rows(played.own[some])
        with self.autocast():
            heads: Heads = self.network.headset(HEADSET)(self.tower(batch))
            parts = losses(heads, batch)
        log_policy = self.log_policy(heads.policy, batch)
        now = log_policy.gather(1, batch.target[:, None]).squeeze(1)
        ratio = torch.exp(now - played.before[some])
        gain = played.advantage[some]
        surrogate = torch.minimum(ratio * gain, ratio.clamp(1 - plan.clip, 1 + plan.clip) * gain).mean()
        entropy = -(log_policy.exp() * log_policy.masked_fill(batch.legal < 0, 0)).sum(dim=1).mean()
        own = total({**parts, "policy": -surrogate - plan.entropy * entropy}, plan.loss)
        own.backward()
        everybody = torch.randint(len(played.steps), (plan.batch // 2,), device=self.device)
        self.imitate("All", played.rows(everybody))
        if anchors is not None:
            names = [name for name, count in anchors.counts.items() if count and name != HEADSET]
            name = names[int(torch.randint(len(names), (), generator=self.rng))]
            self.imitate(name, anchors.draw(name, plan.batch // 2, None))
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimizer.step()
        self.steps += 1
        with torch.no_grad():
            divergence = (ratio - 1 - torch.log(ratio)).mean()
            clipped = ((ratio - 1).abs() > plan.clip).float().mean()
        numbers = torch.stack([divergence, clipped, entropy, parts["value"], surrogate]).tolist()
        return dict(zip(("divergence", "clipped", "entropy", "value", "gain"), numbers, strict=True))

    def imitate(self, name: str, batch: Batch) -> None:
        with self.autocast():
            parts = losses(self.network.headset(name)(self.tower(batch)), batch)
        (0.5 * total(parts, self.plan.loss)).backward()  # type: ignore[no-untyped-call]

    def weights(self) -> Weights:
        about = {
            **self.about,
            "players": json.dumps(json.loads(self.about.get("players", "{}")) | {HEADSET: list(OWN_PLAYERS)}),
            "improved": f"{self.steps} steps of {self.plan.batch} on {self.games} own games",
            "commit": commit(),
        }
        return to_weights(self.network, about)


def scores(records: Sequence[GameRecord]) -> dict[str, tuple[float, int]]:
    """Points of the learner and games, by opponent; against itself they say nothing and are left out."""
    table: dict[str, tuple[float, int]] = {}
    for record in records:
        own = [name in OWN_PLAYERS for name in (record.white_name, record.black_name)]
        if own[0] == own[1]:
            continue
        opponent = record.black_name if own[0] else record.white_name
        points = 0.5 if record.winner is None else float(record.winner == own[0])
        before, games = table.get(opponent, (0.0, 0))
        table[opponent] = before + points, games + 1
    return table


class NewGames:
    """What is new in some archives since the last look. An archive that is not there yet has nothing."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.last = dict.fromkeys(paths, 0)

    def __call__(self) -> list[GameRecord]:
        found = []
        for path, last in self.last.items():
            if not path.exists():
                continue
            with contextlib.suppress(ValueError), Archive.open(path) as archive:
                for game in archive.games(after=last):
                    self.last[path] = game.id
                    found.append(game.record)
        return [r for r in found if {r.white_name, r.black_name} & set(OWN_PLAYERS)]


@contextlib.contextmanager
def player_process(module: str, arguments: Sequence[Any], threads: int, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that plays games for as long as the block lasts."""
    environment = os.environ | {"PENUMBRA_THREADS": str(threads)}
    with log.open("wb") as file:
        command = [sys.executable, "-m", module, *map(str, arguments)]
        process = subprocess.Popen(command, env=environment, stdout=file, stderr=file, stdin=subprocess.DEVNULL)
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def improve(
    weights: Weights,
    plan: Improvement,
    new_games: NewGames,
    anchors: Table | None,
    out: Path,
    address: str,
    device: str,
    seconds: float,
    players: Sequence[subprocess.Popen[bytes]],
) -> Learner:
    """Rounds of play and learning until the time is up; the weights of the last round are in `out`."""
    learner = Learner(weights, plan, device)
    began = time.monotonic()
    games: list[GameRecord] = []
    number = 0
    while True:
        left = began + seconds - time.monotonic()
        games += new_games()
        if len(games) < plan.games and left > 0:
            if any(process.poll() is not None for process in players):
                raise ValueError(f"a process that plays has ended; see its log in {out}")
            time.sleep(0.5)
            continue
        if not games or left <= -5:
            break
        number += 1
        prepared = learner.prepare(games)
        numbers = learner.learn(prepared, anchors)
        weights_file.save(learner.weights(), out / "weights.safetensors")
        load_at(address, out / "weights.safetensors")
        entry = {
            "round": number,
            "seconds": round(time.monotonic() - began, 1),
            "games": learner.games,
            "rows": len(prepared.own),
            **{name: round(value, 4) for name, value in numbers.items()},
            "scores": {name: [points, count] for name, (points, count) in sorted(scores(games).items())},
        }
        with (out / "log.jsonl").open("a") as file:
            file.write(json.dumps(entry) + "\n")
        print(_line(entry), flush=True)
        games = []
        if left <= 0:
            break
    return learner


def _line(entry: dict[str, Any]) -> str:
    rest = " ".join(f"{name} {entry[name]}" for name in ("games", "rows", "updates", "divergence", "entropy", "value"))
    against = " ".join(f"{name} {points:g}/{games}" for name, (points, games) in entry["scores"].items())
    return f"round {entry['round']} at {entry['seconds']:.0f} s: {rest}; {against}"


def anchor_table(
    weights: Weights, archives: Sequence[Path], games: int, settings: ExampleSettings, device: str
) -> Table:
    """Games from which the other headsets go on learning, some of those in the archives."""
    records = read_games(archives)
    training, _ = split(records)
    chosen = np.random.default_rng(settings.seed).permutation(len(training))[:games]
    plans: dict[str, Plan] = dict(recipe_of(weights).plans)
    table = Table([training[i] for i in chosen], plans, top_players(records), settings, device)
    table.fill()
    return table


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m penumbra.training.improve", description=__doc__)
    parser.add_argument("weights", type=Path, help="to begin with, complete with the heads that training needs")
    parser.add_argument("--population", type=Path, help="players to play against (TOML); DEVICE stands for the process")
    parser.add_argument("--workers", type=int, default=2, help="processes that play against them")
    parser.add_argument("--selfplay", action="append", default=[], help="a headset for games in bulk; repeatedly")
    parser.add_argument("--selfplay-threads", type=int, default=2)
    parser.add_argument("--at-once", type=int, default=512, help="games in bulk that advance together")
    parser.add_argument("--archive", type=Path, action="append", help="games that the other headsets learn from")
    parser.add_argument("--anchor-games", type=int, default=5000, help="how many of them")
    parser.add_argument("--out", type=Path, required=True, help="a folder for weights, games and logs")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--games", type=int, default=Improvement.games, help="of a round, at least")
    parser.add_argument("--learning-rate", type=float, default=Improvement.learning_rate)
    parser.add_argument("--entropy", type=float, default=Improvement.entropy)
    parser.add_argument("--cap", type=int, default=1000, help="states tracked in examples and games in bulk")
    parser.add_argument("--threads", type=int, default=2, help="that make examples")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    given = parser.parse_args()
    try:
        return run(given)
    except (ValueError, OSError) as error:
        print(f"penumbra: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"penumbra: interrupted; the weights of the last round are in {given.out}", file=sys.stderr)
        return INTERRUPTED


def run(given: argparse.Namespace) -> int:
    if not given.population and not given.selfplay:
        raise ValueError("nobody to play with; give --population or --selfplay")
    plan = Improvement(
        games=given.games,
        learning_rate=given.learning_rate,
        entropy=given.entropy,
        examples=ExampleSettings(cap=given.cap, settle=False),
        seed=given.seed,
    )
    out: Path = given.out
    out.mkdir(parents=True, exist_ok=True)
    set_threads(given.threads)
    weights = with_headset(weights_file.load(given.weights))
    if not weights.has_auxiliary_heads:
        raise WeightsError(f"{given.weights}: has no auxiliary heads; training needs those of penumbra train")
    served = out / "weights.safetensors"
    weights_file.save(weights, served)
    address = out / "inference"
    archives = {"population": out / "population.db", "selfplay": out / "selfplay.db"}
    anchors = None
    if given.archive:
        anchors = anchor_table(weights, given.archive, given.anchor_games, ExampleSettings(cap=given.cap), given.device)
    with inference_process(address, str(served), given.device) as device, contextlib.ExitStack() as processes:
        players = []
        if given.population:
            population = out / "population.toml"
            population.write_text(given.population.read_text().replace("DEVICE", device))
            arguments = [
                population,
                "--archive",
                archives["population"],
                "--workers",
                given.workers,
                "--seed",
                given.seed,
            ]
            log = out / "population.log"
            players.append(processes.enter_context(player_process("penumbra.arena.generate", arguments, 1, log)))
        if given.selfplay:
            headsets = [word for name in given.selfplay for word in ("--headset", name)]
            arguments = [
                "--archive",
                archives["selfplay"],
                "--games",
                10**7,
                "--at-once",
                given.at_once,
                "--cap",
                given.cap,
            ]
            arguments += ["--seed", given.seed, "--device", device, *headsets]
            log = out / "selfplay.log"
            threads = given.selfplay_threads
            players.append(
                processes.enter_context(player_process("penumbra.training.selfplay", arguments, threads, log))
            )
        new = NewGames(list(archives.values()))
        learner = improve(weights, plan, new, anchors, out, str(address), given.device, given.seconds, players)
    print(f"{served}: {learner.steps:,} steps, {learner.games:,} games")
    return 0


if __name__ == "__main__":
    sys.exit(main())
