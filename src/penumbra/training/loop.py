"""The training loop: one headset a step, chosen by its weight, on random batches of its examples.

The paper's recipe is plain SGD at 0.0005, 650,000 batches of 256. Momentum or AdamW, a cosine schedule, larger batches
and mixed precision stand beside it. A headset with `stop_gradient` learns from the tower without teaching it: neither
the tower's weights nor its statistics change.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import torch

from penumbra.network.model import Architecture, Heads, Network, unpack
from penumbra.training.data import Batch, Table
from penumbra.training.loss import Weights, accuracies, losses, total


@dataclass(frozen=True)
class HeadsetPlan:
    weight: float = 1.0
    stop_gradient: bool = False


@dataclass(frozen=True)
class TrainingSettings:
    architecture: Architecture = field(default_factory=Architecture)
    headsets: dict[str, HeadsetPlan] = field(default_factory=lambda: {"All": HeadsetPlan(15), "Top": HeadsetPlan(13)})
    optimizer: Literal["sgd", "adamw"] = "sgd"
    learning_rate: float = 0.0005  # ε
    momentum: float = 0.0
    weight_decay: float = 0.0
    schedule: Literal["constant", "cosine"] = "constant"
    batch: int = 256
    steps: int = 650_000  # n_batches
    seconds: float = math.inf  # stop earlier, the schedule following the time
    mixed_precision: bool = False
    weights: Weights = field(default_factory=Weights)
    seed: int = 0


class Trainer:
    def __init__(self, settings: TrainingSettings, device: str) -> None:
        torch.manual_seed(settings.seed)
        self.settings = settings
        self.device = device
        self.network = Network(settings.architecture).to(device, memory_format=torch.channels_last)
        self.generator = torch.Generator(device).manual_seed(settings.seed)
        self.choices = torch.Generator().manual_seed(settings.seed)
        parameters = list(self.network.parameters())
        if settings.optimizer == "sgd":
            self.optimizer: torch.optim.Optimizer = torch.optim.SGD(
                parameters, settings.learning_rate, settings.momentum, weight_decay=settings.weight_decay
            )
        else:
            self.optimizer = torch.optim.AdamW(parameters, settings.learning_rate, weight_decay=settings.weight_decay)
        self.step = 0

    def train(self, table: Table, log: Callable[[dict[str, float]], None], every: int = 200) -> None:
        """Trains until the steps or the seconds are spent."""
        s = self.settings
        names = [name for name in s.headsets if len(table.rows[name])]
        odds = torch.tensor([float(s.headsets[name].weight) for name in names])
        began = time.monotonic()
        self.network.train()
        sums: dict[str, float] = {}
        while self.step < s.steps and time.monotonic() - began < s.seconds:
            name = names[int(torch.multinomial(odds, 1, generator=self.choices))]
            done = max(self.step / s.steps, (time.monotonic() - began) / s.seconds)
            for group in self.optimizer.param_groups:
                share = 0.5 + 0.5 * math.cos(math.pi * done) if s.schedule == "cosine" else 1.0
                group["lr"] = s.learning_rate * share
            parts = self.update(table.draw(name, s.batch, self.generator), name)
            self.step += 1
            if self.step % every == 0:
                sums = {part: float(value.detach()) for part, value in parts.items()}
                rate = self.step * s.batch / (time.monotonic() - began)
                log({"step": self.step, "examples/s": rate, "seconds": time.monotonic() - began, **sums})

    def update(self, batch: Batch, name: str) -> dict[str, torch.Tensor]:
        s = self.settings
        stop = s.headsets[name].stop_gradient
        device = torch.device(self.device).type
        with torch.autocast(device, torch.bfloat16, enabled=s.mixed_precision):
            parts = losses(self.heads(batch, name, stop), batch)
        self.optimizer.zero_grad(set_to_none=True)
        total(parts, s.weights).backward()
        self.optimizer.step()
        return parts

    def heads(self, batch: Batch, name: str, stop_gradient: bool) -> Heads:
        planes = unpack(batch.planes, torch.float32).contiguous(memory_format=torch.channels_last)
        if stop_gradient:
            self.network.tower.eval()
            with torch.no_grad():
                x = self.network.tower(planes)
            self.network.tower.train()
        else:
            x = self.network.tower(planes)
        heads: Heads = self.network.headset(name)(x)
        return heads

    @torch.no_grad()
    def evaluate(self, table: Table, headset: str, data: str, most: int = 50_000, size: int = 2048) -> dict[str, float]:
        """Accuracies of one headset on the examples of another (or its own)."""
        self.network.eval()
        sums: dict[str, list[float]] = {}
        seen = 0
        for batch in table.in_order(data, size):
            with torch.autocast(torch.device(self.device).type, torch.bfloat16, enabled=self.settings.mixed_precision):
                heads = self.heads(batch, headset, stop_gradient=True)
            self.network.tower.eval()
            for what, (hits, of) in accuracies(heads, batch).items():
                entry = sums.setdefault(what, [0.0, 0.0])
                entry[0] += hits
                entry[1] += of
            seen += len(batch.target)
            if seen >= most:
                break
        self.network.train()
        return {what: hits / max(of, 1) for what, (hits, of) in sums.items()} | {"examples": seen}


def jsonl_log(path: Path) -> Callable[[dict[str, float]], None]:
    """Appends each entry as a line of JSON, and prints it."""

    def log(entry: dict[str, float]) -> None:
        with path.open("a") as file:
            file.write(json.dumps(entry) + "\n")
        print("  ".join(f"{name} {value:,.4g}" for name, value in entry.items()), flush=True)

    return log
