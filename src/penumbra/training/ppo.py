"""Improvement by play, which `penumbra improve` runs.

The headset `Penumbra` begins as a copy of `Top` and learns from its own games by proximal policy optimisation: games in
bulk against itself and other headsets, and, if a population is given, generated games against the built-in players,
through an inference server that is given the new weights after each round. All games go into archives.

    Â   advantage of an action, see rollouts.py
    ρ   probability of the action now, divided by that when it was played; clipped to 1 ± ε, and to MOST_RATIO for
        bad actions, or a single one that was all but impossible when it was played would outweigh all others

What else may be asked for is off by default: values that learn λ-returns rather than results, learning from the steps
with the largest advantages alone, a magnet that holds the policy near the one it began with, and a league of past
selves as opponents. A run that is stopped goes on from its state (`ppo_state.py`).

With a teacher it learns the policy of another network as well, on its own states, the less the longer it has
learned: a large network soon plays like a small one that has come far.

The other headsets go on learning to imitate, or the tower would leave them behind; the value of `All`, which is that of
the search, learns from the new games too. The tower's statistics stay as they are. Play and learning run side by side:
a round's games are those of the weights before the last. What is kept are not the last weights but a running mean of
them, `weights.safetensors`; those that play are `playing.safetensors`.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from penumbra.configs.shipped import find
from penumbra.core import GameRecord, set_threads
from penumbra.games.archive import Archive, NewGame
from penumbra.network import weights as weights_file
from penumbra.network.inference_server import load_at, running_server
from penumbra.network.loading import OWN
from penumbra.network.model import Network, from_weights, network_input, to_weights
from penumbra.network.quantization.rounding import KEY as RANGES
from penumbra.network.weights import Weights, WeightsError
from penumbra.rbc.synopsis import Synopsis
from penumbra.training.data import Table, top_players
from penumbra.training.examples import ExampleSettings, split
from penumbra.training.league import League
from penumbra.training.loss import losses, total
from penumbra.training.ppo_rollouts import Bulk, Steps, log_policy, steps_of_games
from penumbra.training.ppo_state import STATE, fitting, keep_rounds, load_state, save_state
from penumbra.training.recipe import LossWeights, recipe_of
from penumbra.training.run import commit, read_games
from penumbra.training.selfplay import NAME, SOURCE
from penumbra.whole_files import append_lines, write_text

HEADSET, TEACHER = OWN
OWN_PLAYERS = (HEADSET, NAME + HEADSET)  # names under which it plays
PLAYING = "playing.safetensors"
MOST_RATIO = 3.0
MOST_CHANGE = 2.0  # of the logarithm of an action's probability, as far as it counts as divergence
MOST_LOG_RATIO = 20.0  # e^88 is infinite, and nought times its gradient is no number
STATE_EVERY = 300.0  # seconds between two states to go on from
SWITCH_SECONDS = 0.0005  # Python's own 0.005 make the learner wait for the thread that plays at every turn
# `penumbra`, until the process whose number is its first argument has ended.
PENUMBRA_WITH = """
import sys, threading
from penumbra.__main__ import main
from penumbra.arena.pool import leave_with
threading.Thread(target=leave_with, args=(int(sys.argv.pop(1)),), daemon=True).start()
main()
"""


@dataclass(frozen=True)
class Improvement:
    """How play becomes weights."""

    steps: int = 100_000  # of the learner's in bulk games of a round, at least
    learning_rate: float = 0.0001
    warm_up: int = 50  # updates
    weight_decay: float = 0.01
    batch: int = 2048
    epochs: int = 2
    clip: float = 0.2  # ε
    lam: float = 0.95  # λ of advantages
    value_lam: float = 1.0  # λ of what values learn; 1: the result
    largest: float = 1.0  # share of the steps of a round that are learned from, those with the largest |Â|
    last_rate: float = 0.1  # what is left of the learning rate at the end
    magnet: float = (
        0.0  # at first, the weight of the policy's divergence from the one it began with; falls with the time
    )
    magnet_floor: float = 0.0  # the least that weight falls to
    entropy: float = 0.003
    value: float = 0.5  # weight of its loss
    anchoring: float = 0.5  # weight of imitation beside improvement
    teaching: float = 1.0  # weight of a teacher's policy at the beginning; none is left at half time
    averaging: float = 0.998  # what the running mean of the weights keeps of itself at each update
    generated_weight: int = 1  # how often a generated game counts beside one in bulk: there are far fewer
    most_divergence: float = 0.05  # a round ends when the policy has moved so far from the one that played, untaught
    loss: LossWeights = field(default_factory=lambda: LossWeights(value=0.3))  # of imitation
    examples: ExampleSettings = field(default_factory=lambda: ExampleSettings(cap=500, settle=False))
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
        f"headsets.{name}.{key.removeprefix(prefix)}": tensor
        for key, tensor in weights.tensors.items()
        if key.startswith(prefix)
    }
    players = json.loads(weights.about.get("players", "{}")) | {name: list(OWN_PLAYERS)}
    about = {**weights.about, "players": json.dumps(players)}
    return Weights(replace(a, headsets=(*a.headsets, name)), weights.tensors | copied, about)


class Learner:
    def __init__(self, weights: Weights, plan: Improvement, device: str, teacher: Weights | None = None) -> None:
        torch.manual_seed(plan.seed)
        self.plan = plan
        self.teacher = None
        if teacher is not None:
            self.teacher = from_weights(with_headset(teacher)).to(device, memory_format=torch.channels_last)
        self.about = {name: said for name, said in with_headset(weights).about.items() if name != RANGES}
        self.device = torch.device(device)
        self.network = from_weights(with_headset(weights)).to(self.device, memory_format=torch.channels_last)
        self.mean = AveragedModel(self.network, multi_avg_fn=get_ema_multi_avg_fn(plan.averaging))
        self.optimizer = torch.optim.AdamW(
            self.network.parameters(),
            plan.learning_rate,
            weight_decay=plan.weight_decay,
            fused=self.device.type == "cuda",
        )
        self.magnet = copy.deepcopy(self.network).eval() if plan.magnet or plan.magnet_floor else None
        self.random = torch.Generator().manual_seed(plan.seed)
        self.draws = torch.Generator(self.device).manual_seed(plan.seed)  # of examples to imitate
        self.updates = 0
        self.games = 0

    def learn(self, played: Steps, anchors: Table | None, left: float = 1.0) -> dict[str, float]:
        """The epochs of one round, with the share of the time that is left; means of what came of it."""
        plan, seen, skipped = self.plan, list[dict[str, float]](), 0
        gain = played.advantage
        played.advantage = (gain - gain.mean()) / (gain.std() + 1e-6)
        if plan.largest < 1:
            kept = max(1, round(plan.largest * len(played)))
            played = played.take(played.advantage.abs().topk(kept).indices.sort().values)
        holding = max(plan.magnet * left, plan.magnet_floor)
        teaching = plan.teaching * max(0.0, 2 * left - 1) if self.teacher is not None else 0.0
        for _ in range(plan.epochs):
            order = torch.randperm(len(played), generator=self.random).to(self.device)
            for some in order.split(plan.batch):
                if len(some) < plan.batch // 2 < len(played):
                    continue  # too few to tell much
                rate = (
                    plan.learning_rate
                    * (plan.last_rate + (1 - plan.last_rate) * left)
                    * min(1.0, (self.updates + 1) / (plan.warm_up + 1))
                )
                for group in self.optimizer.param_groups:
                    group["lr"] = rate
                numbers = self.update(played.take(some), anchors, teaching, holding)
                if numbers is None:
                    skipped += 1
                    continue
                seen.append(numbers)
                if numbers["divergence"] > plan.most_divergence * (1 + 9 * teaching):
                    break
            else:
                continue
            break
        if not seen:
            raise ValueError("no update of a round had a finite gradient; the weights are as before")
        means = {name: float(np.mean([parts[name] for parts in seen])) for name in seen[0]}
        return {"updates": len(seen), "skipped": skipped, **means}

    def update(
        self, batch: Steps, anchors: Table | None, teaching: float = 0.0, holding: float = 0.0
    ) -> dict[str, float] | None:
        """One step of the optimiser: the own headset, the value of `All`, every other time one that imitates.

        Where the gradient is not finite nothing is learned, and the answer is None.
        """
        plan = self.plan
        self.optimizer.zero_grad(set_to_none=True)
        x = self.network.tower(network_input(batch.planes))
        target = batch.target.long()
        policy, value = self.network.headset(HEADSET).predict(x)
        logs = log_policy(policy, batch.legal)
        now = logs.gather(1, target[:, None]).squeeze(1)
        change = now - batch.before
        ratio = torch.exp(change.clamp(max=MOST_LOG_RATIO))
        gain = batch.advantage
        bounded = torch.where(gain < 0, ratio.clamp(max=MOST_RATIO), ratio)
        surrogate = torch.minimum(bounded * gain, ratio.clamp(1 - plan.clip, 1 + plan.clip) * gain).mean()
        entropy = -(logs.exp() * logs.masked_fill(batch.legal < 0, 0)).sum(dim=1).mean()
        value_loss = F.mse_loss(value, batch.goal)
        loss = plan.value * value_loss - surrogate - plan.entropy * entropy
        if "All" in self.network.architecture.headsets:
            value = self.network.headset("All").predict(x)[1]
            loss = loss + plan.anchoring * plan.loss.value * F.mse_loss(value, batch.goal)
        if teaching:
            loss = loss - teaching * (self.taught(batch) * logs.masked_fill(batch.legal < 0, 0)).sum(dim=1).mean()
        if holding:
            loss = loss + holding * self.pulled(batch, logs)
        loss.backward()
        if anchors is not None and self.updates % 2:
            self.imitate(anchors)
        norm = torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        if not norm.isfinite():
            least, most = change.detach().aminmax()
            print(f"an update is left out, its gradient is not finite: loss {loss:.4g}, ln ρ {least:.4g} to {most:.4g}")
            return None
        self.optimizer.step()
        self.mean.update_parameters(self.network)
        self.updates += 1
        with torch.no_grad():
            # Of the second order, and no one step decides it.
            divergence = change.clamp(-MOST_CHANGE, MOST_CHANGE).square().mean() / 2
            clipped = ((ratio - 1).abs() > plan.clip).float().mean()
        numbers = torch.stack([divergence, clipped, entropy, value_loss, surrogate]).tolist()
        return dict(zip(("divergence", "clipped", "entropy", "value", "gain"), numbers, strict=True))

    @torch.no_grad()
    def taught(self, batch: Steps) -> Tensor:
        """The teacher's policy."""
        assert self.teacher is not None
        x = self.teacher.tower(network_input(batch.planes))
        return log_policy(self.teacher.headset(HEADSET).policy_logits(x), batch.legal).exp()

    def pulled(self, batch: Steps, logs: Tensor) -> Tensor:
        """The mean divergence KL(π, ρ) of the policy, ln π being `logs`, from the magnet's, ρ."""
        assert self.magnet is not None
        with torch.no_grad():
            x = self.magnet.tower(network_input(batch.planes))
            held = log_policy(self.magnet.headset(HEADSET).policy_logits(x), batch.legal)
        return (logs.exp() * (logs - held).masked_fill(batch.legal < 0, 0)).sum(dim=1).mean()

    def imitate(self, anchors: Table) -> None:
        names = [name for name, count in anchors.counts.items() if count and name != HEADSET]
        name = names[int(torch.randint(len(names), (), generator=self.random))]
        batch = anchors.draw(name, self.plan.batch // 2, self.draws)
        heads = self.network.headset(name)(self.network.tower(network_input(batch.planes)))
        (self.plan.anchoring * total(losses(heads, batch, self.plan.loss), self.plan.loss)).backward()  # type: ignore[no-untyped-call]

    def steps_of(self, records: Sequence[GameRecord]) -> Steps:
        """What the learner did in generated games."""
        synopsis = self.network.architecture.synopsis
        settings = replace(self.plan.examples, seed=self.games, synopsis=synopsis)
        return steps_of_games(records, OWN_PLAYERS, self.network, HEADSET, settings, self.plan.lam, self.plan.value_lam)

    def weights(self, network: Network | None = None) -> Weights:
        """The running mean as weights, or another network of the same make."""
        now = f"{self.updates} updates of {self.plan.batch} steps from {self.games} own games"
        about = {
            **self.about,
            "improved": "; ".join(filter(None, [self.about.get("improved"), now])),
            "commit": commit(),
        }
        return to_weights(network or self.mean.module, about)

    def state(self) -> dict[str, Any]:
        """All that learning goes on from."""
        return {
            "network": self.network.state_dict(),
            "mean": self.mean.state_dict(),
            "magnet": None if self.magnet is None else self.magnet.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "random": self.random.get_state(),
            "draws": self.draws.get_state(),
            "updates": self.updates,
            "games": self.games,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Goes on from there; ValueError or RuntimeError where it does not fit."""
        self.network.load_state_dict(state["network"])
        self.mean.load_state_dict(state["mean"])
        if self.magnet is not None and state["magnet"] is not None:
            self.magnet.load_state_dict(state["magnet"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.random.set_state(state["random"])
        self.draws.set_state(state["draws"])
        self.updates, self.games = state["updates"], state["games"]


class BulkThread:
    """Bulk games in a thread of their own: a round is played while the one before is learned from.

    Between rounds nothing is played, so that what is played does not depend on how long learning takes.
    """

    def __init__(self, bulk: Bulk) -> None:
        self.bulk = bulk
        self._pool = ThreadPoolExecutor(1)
        self._playing: Future[tuple[Steps, list[GameRecord]]] | None = None

    def begin(self) -> None:
        """Begins to play a round."""
        self._playing = self._pool.submit(self._play)

    def _play(self) -> tuple[Steps, list[GameRecord]]:
        cuda = self.bulk.device.type == "cuda"
        with torch.cuda.stream(torch.cuda.Stream()) if cuda else contextlib.nullcontext():
            steps = self.bulk.play()
            games, self.bulk.finished = self.bulk.finished, []
            if cuda:
                torch.cuda.current_stream().synchronize()
        return steps, games

    def round(self) -> tuple[Steps, list[GameRecord]]:
        """The round that was begun, once it is played."""
        assert self._playing is not None
        return self._playing.result()

    def times(self) -> dict[str, float]:
        """Seconds that the last round took to play, and of these those of rules, sets and synopses."""
        return {"playing": self.bulk.spent, "native": self.bulk.native}

    def stop(self) -> None:
        self.bulk.stop()
        self._pool.shutdown()


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
    """The learner's games in an archive since the last look; none while there is no archive yet."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.last = 0

    def __call__(self) -> list[GameRecord]:
        found: list[GameRecord] = []
        if not self.path.exists():
            return found
        with contextlib.suppress(ValueError), Archive.open(self.path) as archive:
            for game in archive.games(after=self.last):
                self.last = game.id
                if game.white in OWN_PLAYERS or game.black in OWN_PLAYERS:
                    found.append(game.record)
        return found


@contextlib.contextmanager
def generation_process(population: Path, archive: Path, workers: int, seed: int, log: Path) -> Iterator[Any]:
    """`penumbra generate`, for as long as the block lasts; a call says whether it has ended before.

    It ends with this process even if that is killed.
    """
    command = [sys.executable, "-c", PENUMBRA_WITH, os.getpid(), "generate", population, "--archive", archive]
    command += ["--workers", workers, "--seed", seed]
    environment = os.environ | {"PENUMBRA_THREADS": "1"}
    with log.open("wb") as file:
        process = subprocess.Popen(
            [*map(str, command)], env=environment, stdout=file, stderr=file, stdin=subprocess.DEVNULL
        )
        try:
            yield lambda: process.poll() is not None
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@dataclass
class Improver:
    """A learner, those it plays with, and a folder."""

    learner: Learner
    bulk: BulkThread
    anchors: Table | None
    out: Path
    rounds: int = 0  # after which it ends, and by which the learning rate falls; 0: the time alone decides
    league: League | None = None
    league_every: int = 1  # rounds between two members
    serve: str = ""  # the address of the inference server of generation
    number: int = 0  # of rounds so far
    played: tuple[Steps, list[GameRecord]] | None = None  # and not yet learned from
    saved: float = field(default_factory=time.monotonic)

    def run(self, seconds: float, ended: Any = lambda: False) -> None:
        """Rounds of play and learning until the time is up; the weights of the last round are in the folder."""
        learner, began = self.learner, time.monotonic()
        new_games = NewGames(self.out / "population.db")
        if self.played is None:
            self.begin()
        with Archive.open_or_create(self.out / "selfplay.db") as archive:
            while (spent := time.monotonic() - began) < seconds and not (self.rounds and self.number >= self.rounds):
                if ended():
                    raise ValueError(f"generation has ended; see {self.out / 'population.log'}")
                waiting = time.monotonic()
                played, games = self.played or self.bulk.round()
                times = {"waiting": time.monotonic() - waiting} | self.bulk.times()
                if self.played is None and time.monotonic() - self.saved >= STATE_EVERY:
                    self.save_state((played, games))
                self.played = None
                self.begin()
                archive.add(NewGame(game, SOURCE) for game in games)
                generated = new_games()
                from_generated = [learner.steps_of(generated)] * learner.plan.generated_weight if generated else []
                everything = played.followed_by(*from_generated)
                learner.games += len(games) + len(generated)
                left = 1 - self.number / self.rounds if self.rounds else 1 - spent / seconds
                learning = time.monotonic()
                numbers = learner.learn(everything, self.anchors, left)
                times["learning"] = time.monotonic() - learning
                self.number += 1
                seen = time.monotonic() - began
                self.log(self.number, seen, len(everything), numbers, times, scores([*games, *generated]))
                self.save()
        self.save_state(self.played or self.bulk.round())

    def begin(self) -> None:
        """The next round, with the weights of now and the league's members of that round."""
        bulk = self.bulk.bulk
        bulk.refresh(self.learner.network)
        if self.league is not None:
            if self.number % self.league_every == 0:
                self.league.add(self.learner.weights(), self.number)
            bulk.meet(self.league.opponents(self.number + 1, bulk.past_selves))
        self.bulk.begin()

    def save_state(self, played: tuple[Steps, list[GameRecord]]) -> None:
        """All that the run goes on from, at a moment when nothing is played."""
        state = {"number": self.number, "learner": self.learner.state(), "bulk": self.bulk.bulk.state()}
        save_state(self.out / STATE, state, *played)
        self.saved = time.monotonic()

    def go_on(self) -> None:
        """From the state of the folder; StateError if it is of another run."""
        state, self.played = load_state(self.out / STATE, self.learner.device)
        with fitting(self.out / STATE):
            self.learner.restore(state["learner"])
            self.bulk.bulk.restore(state["bulk"])
        self.number = state["number"]
        keep_rounds(self.out / "log.jsonl", self.number)

    def save(self) -> None:
        weights_file.save(self.learner.weights(), self.out / "weights.safetensors")
        playing = self.out / PLAYING
        weights_file.save(self.learner.weights(self.learner.network), playing)
        if self.serve:
            load_at(self.serve, playing)

    def log(
        self,
        number: int,
        seconds: float,
        steps: int,
        numbers: dict[str, float],
        times: dict[str, float],
        table: dict[str, tuple[float, int]],
    ) -> None:
        entry = {
            "round": number,
            "seconds": round(seconds, 1),
            "games": self.learner.games,
            "steps": steps,
            **{name: round(value, 4) for name, value in numbers.items()},
            "times": {name: round(value, 3) for name, value in times.items()},
            "scores": {name: list(score) for name, score in sorted(table.items())},
        }
        append_lines(self.out / "log.jsonl", json.dumps(entry) + "\n")
        rest = " ".join(f"{name} {value:.4g}" for name, value in numbers.items())
        took = " ".join(f"{name} {value:.1f}" for name, value in times.items())
        against = " ".join(f"{name} {points:g}/{games}" for name, (points, games) in sorted(table.items()))
        done = f"{self.learner.games:,} games, {steps:,} steps"
        print(f"round {number} at {seconds:.0f} s: {done}; {rest}; seconds: {took}; {against}")
        sys.stdout.flush()


def anchor_table(
    weights: Weights, archives: Sequence[Path], games: int, settings: ExampleSettings, device: str
) -> Table:
    """Games from which the other headsets go on learning, some of those in the archives."""
    records = read_games(archives)
    training, _ = split(records)
    chosen = np.random.default_rng(settings.seed).permutation(len(training))[:games]
    table = Table([training[i] for i in chosen], recipe_of(weights).plans, top_players(records), settings, device)
    table.fill()
    return table


@dataclass(frozen=True)
class ImprovementRun:
    """One run: what begins, for how long, and with whom it plays."""

    weights: Path
    out: Path  # a folder for weights, games and logs
    seconds: float
    plan: Improvement
    device: str  # cpu or cuda
    teacher: Path | None = None  # weights of any size whose policy it learns at first
    synopsis: Synopsis | None = None  # what the network is to read; None: what it reads
    opponents: tuple[str, ...] = ()  # headsets in bulk games
    against_itself: float = 0.5  # share of the bulk games
    at_once: int = 1024  # bulk games that advance together
    population: Path | None = None  # players to play too
    workers: int = 2  # processes that play against them
    archives: tuple[Path, ...] = ()  # games that the other headsets learn from
    anchor_games: int = 5000  # how many of them
    rounds: int = 0  # at most, over all runs in the folder; 0: any number
    league_every: int = 0  # rounds between two past selves that become opponents; 0: none does
    past_selves: int = 2  # of the league, met at a time
    against_past: float = 0.25  # share of the bulk games against them
    threads: int | None = None  # that play in bulk and make examples; None: all cores


def reading(path: Path, synopsis: Synopsis | None) -> Weights:
    """The weights of a file, which are given that sort of synopsis from now on."""
    weights = weights_file.load(path)
    try:
        return weights_file.reading(weights, synopsis or weights.architecture.synopsis)
    except WeightsError as error:
        raise WeightsError(f"{path}: {error}") from None


def run(given: ImprovementRun) -> None:
    """Learns until the time is up; ValueError, before anything is played, if what is given does not fit together."""
    plan, out = given.plan, given.out
    weights = reading(given.weights, given.synopsis)
    unknown = set(given.opponents) - set(weights.architecture.headsets)
    if unknown:
        raise WeightsError(f"{given.weights}: there is no headset {', '.join(sorted(unknown))}")
    out.mkdir(parents=True, exist_ok=True)
    if given.threads:
        set_threads(given.threads)
    torch.backends.cudnn.allow_tf32 = torch.backends.cudnn.benchmark = True
    sys.setswitchinterval(SWITCH_SECONDS)
    teacher = reading(given.teacher, weights.architecture.synopsis) if given.teacher else None
    learner = Learner(weights, plan, given.device, teacher)
    anchors = None
    if given.archives:
        settings = ExampleSettings(cap=plan.examples.cap, synopsis=weights.architecture.synopsis)
        anchors = anchor_table(weights, given.archives, given.anchor_games, settings, given.device)
    bulk = Bulk(
        learner.network,
        HEADSET,
        given.opponents,
        steps=plan.steps,
        at_once=given.at_once,
        cap=plan.examples.cap,
        lam=plan.lam,
        value_lam=plan.value_lam,
        against_itself=given.against_itself,
        past_selves=given.past_selves if given.league_every else 0,
        against_past=given.against_past,
        seed=plan.seed,
    )
    league = None
    if given.league_every:
        league = League(out / "league", learner.network.architecture, HEADSET, plan.seed)
    improver = Improver(learner, BulkThread(bulk), anchors, out, given.rounds, league, given.league_every)
    try:
        if (out / STATE).exists():
            improver.go_on()
            print(f"going on after round {improver.number} of {out / STATE}", flush=True)
        improver.save()
        if given.population:
            with_generation(improver, given, given.population)
        else:
            improver.run(given.seconds)
    finally:
        improver.bulk.stop()
    print(f"{out / 'weights.safetensors'}: {learner.updates:,} updates, {learner.games:,} games")


def with_generation(improver: Improver, given: ImprovementRun, players: Path) -> None:
    """Plays against a population as well, which asks an inference server for the learner's moves."""
    out, served = improver.out, improver.out / PLAYING
    population = out / "population.toml"
    with running_server(out / "inference", str(served), given.device) as device:
        improver.serve = str(out / "inference")
        write_text(population, find(players).read_text().replace("DEVICE", device))
        archive, log = out / "population.db", out / "population.log"
        with generation_process(population, archive, given.workers, given.plan.seed, log) as ended:
            improver.run(given.seconds, ended)
