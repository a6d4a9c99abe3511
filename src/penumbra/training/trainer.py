"""The training loop: one headset a step, chosen by its weight, on random batches of its examples.

The paper's recipe is plain SGD at 0.0005, 650,000 batches of 256. Momentum or AdamW, a cosine schedule, larger batches
and mixed precision stand beside it. A headset with `stop_gradient` learns from the tower without teaching it: neither
the tower's weights nor its statistics change.

Under torchrun every process draws batches of its own, and gradients are averaged.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from penumbra.network.model import Heads, Network, from_weights, network_input
from penumbra.network.weights import Weights, WeightsError
from penumbra.training.data import Batch, Table
from penumbra.training.loss import losses, total
from penumbra.training.recipe import Recipe

RECALIBRATION = 100  # batches of `All` from which the tower's statistics are taken before export
Log = Callable[[dict[str, Any]], None]


class CheckpointError(ValueError):
    """A checkpoint that cannot be used, and why."""


class Trainer:
    def __init__(self, recipe: Recipe, device: str) -> None:
        training = recipe.training
        torch.manual_seed(training.seed)
        self.recipe = recipe
        self.device = torch.device(device)
        self.network = Network(recipe.architecture).to(self.device, memory_format=torch.channels_last)
        rank = dist.get_rank() if dist.is_initialized() else 0
        self.draws = torch.Generator(self.device).manual_seed(training.seed + 1_000 * rank)
        self.choices = torch.Generator().manual_seed(training.seed)
        self.optimizer = self._make_optimizer()
        self.step = 0
        self.seconds = 0.0  # of training so far, over all runs

    def _make_optimizer(self) -> torch.optim.Optimizer:
        t = self.recipe.training
        parameters = list(self.network.parameters())
        if t.optimizer == "adamw":
            return torch.optim.AdamW(parameters, t.learning_rate, weight_decay=t.weight_decay)
        return torch.optim.SGD(parameters, t.learning_rate, t.momentum, weight_decay=t.weight_decay)

    def begin_from(self, weights: Weights) -> None:
        """Takes a network's weights; WeightsError if size, headsets or synopsis differ, or auxiliary heads lack."""
        if weights.architecture != self.recipe.architecture or not weights.has_auxiliary_heads:
            raise WeightsError(
                "is not a network of the recipe's size, headsets and synopsis, with the heads that training needs"
            )
        self.network.load_state_dict(from_weights(weights).state_dict())

    def done(self) -> float:
        """The share of the steps or of the seconds that is spent."""
        t = self.recipe.training
        return min(max(self.step / max(t.steps, 1), self.seconds / t.seconds), 1.0)

    def learning_rate(self) -> float:
        t = self.recipe.training
        share = 0.5 + 0.5 * math.cos(math.pi * self.done()) if t.schedule == "cosine" else 1.0
        return t.learning_rate * share * min(1.0, (self.step + 1) / (t.warm_up + 1))

    def train(self, table: Table, log: Log, every: int = 200, each: Callable[[Trainer], None] | None = None) -> None:
        """Trains until the steps or the seconds are spent; `each` is called after each logged step."""
        t = self.recipe.training
        plans = self.recipe.plans
        last, last_step = time.monotonic(), self.step
        self.network.train()
        while self.done() < 1:
            names = [name for name in plans if table.counts[name]]
            odds = torch.tensor([float(plans[name].weight) for name in names])
            name = names[int(torch.multinomial(odds, 1, generator=self.choices))]
            for group in self.optimizer.param_groups:
                group["lr"] = self.learning_rate()
            parts = self.update(table.draw(name, t.batch, self.draws), name)
            self.step += 1
            if self.step % every == 0 or self.step == t.steps:
                numbers = {part: float(value.detach()) for part, value in parts.items()}  # waits for the device
                now = time.monotonic()
                self.seconds += now - last
                rate = (self.step - last_step) * t.batch * processes() / (now - last)
                if not all(map(math.isfinite, numbers.values())):
                    raise CheckpointError(f"step {self.step}: the loss of {name} is not finite; learn at a lower rate")
                log({"step": self.step, "seconds": self.seconds, "examples/s": rate, "headset": name, **numbers})
                last, last_step = now, self.step
                if each is not None:
                    each(self)
                    last = time.monotonic()

    def update(self, batch: Batch, name: str) -> dict[str, torch.Tensor]:
        """One step of one headset; the loss of each of its heads."""
        recipe = self.recipe
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=recipe.training.mixed_precision):
            parts = losses(self.heads(batch, name, recipe.plans[name].stop_gradient), batch)
        total(parts, recipe.loss).backward()
        if processes() > 1:
            average_gradients(self.network)
        self.optimizer.step()
        return parts

    def heads(self, batch: Batch, name: str, stop_gradient: bool) -> Heads:
        planes = network_input(batch.planes)
        tower = self.network.tower
        if stop_gradient:
            training = tower.training
            tower.eval()
            with torch.no_grad():
                x = tower(planes)
            tower.train(training)
        else:
            x = tower(planes)
        heads: Heads = self.network.headset(name)(x)
        return heads

    @torch.no_grad()
    def recalibrate(self, table: Table, batches: int = RECALIBRATION) -> None:
        """Takes the statistics of the tower's normalisation anew, from `All` alone: headsets have pulled at them."""
        name = "All" if "All" in table.counts else next(iter(table.counts))
        norms = [module for module in self.network.tower.modules() if isinstance(module, torch.nn.BatchNorm2d)]
        usual = [norm.momentum for norm in norms]
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None  # a plain mean over the batches
        self.network.tower.train()
        for _ in range(batches):
            planes = table.draw(name, self.recipe.training.batch, self.draws).planes
            self.network.tower(network_input(planes))
        for norm, momentum in zip(norms, usual, strict=True):
            norm.momentum = momentum

    def save(self, path: Path) -> None:
        """Writes a checkpoint, whole or not at all: on a full disk, or of what is spoilt, the old one stays."""
        if not all(bool(parameter.isfinite().all()) for parameter in self.network.parameters()):
            raise CheckpointError(f"{path}: weights are no longer finite; the checkpoint before them stays")
        state = {
            "recipe": asdict(self.recipe) | {"plans": {n: asdict(p) for n, p in self.recipe.plans.items()}},
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "draws": self.draws.get_state(),
            "choices": self.choices.get_state(),
            "step": self.step,
            "seconds": self.seconds,
        }
        unfinished = path.with_suffix(".part")
        try:
            torch.save(state, unfinished)
            unfinished.replace(path)
        except (OSError, RuntimeError) as error:
            unfinished.unlink(missing_ok=True)
            raise CheckpointError(f"{path}: could not be written ({error}); the checkpoint before it stays") from None

    def load(self, path: Path) -> None:
        """Goes on from a checkpoint; the same numbers follow as if it had never stopped."""
        try:
            state = torch.load(path, map_location="cpu", weights_only=True)
            network, optimizer = state["network"], state["optimizer"]
        except Exception as error:  # whatever the file holds
            raise CheckpointError(f"{path}: is not a checkpoint ({str(error).splitlines()[0]})") from None
        try:
            self.network.load_state_dict(network)
        except RuntimeError:
            raise CheckpointError(f"{path}: is a checkpoint of another network; choose another folder") from None
        self.optimizer.load_state_dict(optimizer)
        self.draws.set_state(state["draws"])
        self.choices.set_state(state["choices"])
        self.step, self.seconds = state["step"], state["seconds"]


def processes() -> int:
    return dist.get_world_size() if dist.is_initialized() else 1


def average_gradients(network: Network) -> None:
    """The mean of all processes' gradients, in one message. All have trained the same headset."""
    gradients = [parameter.grad for parameter in network.parameters() if parameter.grad is not None]
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    at = 0
    for gradient in gradients:
        gradient.copy_(flat[at : at + gradient.numel()].view_as(gradient))
        at += gradient.numel()
