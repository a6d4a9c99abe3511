"""The training loop: one headset a step, chosen by its weight, on random batches of its examples.

The paper's recipe is plain SGD at 0.0005, 650,000 batches of 256. Momentum or AdamW, a cosine schedule, larger batches
and mixed precision stand beside it. A headset with `stop_gradient` learns from the tower without teaching it: neither
the tower's weights nor its statistics change.

Under torchrun every process draws batches of its own, and gradients are averaged.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

import torch
import torch.distributed as dist

from penumbra.network.model import Heads, Network, from_weights, network_input
from penumbra.network.weights import Weights, WeightsError
from penumbra.training.data import Batch
from penumbra.training.loss import losses, total
from penumbra.training.recipe import Recipe
from penumbra.whole_files import WriteError, replacing

RECALIBRATION = 100  # batches of `All` from which the tower's statistics are taken before export
SHARE = "share"  # of the learning rate, of a group of parameters
Log = Callable[[dict[str, Any]], None]
FROM_CHECKPOINT = "the same command goes on from the last checkpoint"


class CheckpointError(ValueError):
    """A checkpoint that cannot be used, and why."""


class Rows(Protocol):
    """What is learned from: a table, or a part of one."""

    @property
    def counts(self) -> Mapping[str, int]:
        """How many rows each headset has."""

    def draw(self, headset: str, size: int, generator: torch.Generator | None) -> Batch:
        """A random batch of one headset, with replacement."""


class Trainer:
    """Learns by a recipe, from random weights or from `start`; WeightsError if these do not fit the recipe."""

    def __init__(self, recipe: Recipe, device: str, start: Weights | None = None) -> None:
        training = recipe.training
        torch.manual_seed(training.seed)
        self.recipe = recipe if start is None else recipe.going_on_from(start)
        self.device = torch.device(device)
        if start is None:
            network = Network(recipe.architecture, engine=recipe.loss.engine > 0)
        else:
            network = beginning(self.recipe, start)
        self.network = network.to(self.device, memory_format=torch.channels_last)
        rank = dist.get_rank() if dist.is_initialized() else 0
        self.draws = torch.Generator(self.device).manual_seed(training.seed + 1_000 * rank)
        self.choices = torch.Generator().manual_seed(training.seed)
        self.optimizer = self._make_optimizer()
        self.step = 0
        self.seconds = 0.0  # of training so far, over all runs

    def _make_optimizer(self) -> torch.optim.Optimizer:
        t = self.recipe.training
        parameters: list[Any] = list(self.network.parameters())
        if t.value_rate != 1:  # not by a weight of the loss, which is nothing to AdamW where no other loss moves these
            named = list(self.network.named_parameters())
            groups = {1.0: [p for name, p in named if ".value." not in name]}
            groups[t.value_rate] = [p for name, p in named if ".value." in name]
            parameters = [{"params": group, SHARE: share} for share, group in groups.items()]
        if t.optimizer == "adamw":
            return torch.optim.AdamW(parameters, t.learning_rate, weight_decay=t.weight_decay)
        return torch.optim.SGD(parameters, t.learning_rate, t.momentum, weight_decay=t.weight_decay)

    def done(self) -> float:
        """The share of the steps or of the seconds that is spent."""
        t = self.recipe.training
        return min(max(self.step / max(t.steps, 1), self.seconds / t.seconds), 1.0)

    def learning_rate(self) -> float:
        t = self.recipe.training
        share = 0.5 + 0.5 * math.cos(math.pi * self.done()) if t.schedule == "cosine" else 1.0
        return t.learning_rate * share * min(1.0, (self.step + 1) / (t.warm_up + 1))

    def learn(self, rows: Rows) -> tuple[str, dict[str, torch.Tensor]]:
        """One step: (the headset, drawn by its weight of those that have examples; the loss of each of its heads)."""
        t = self.recipe.training
        plans = self.recipe.plans
        names = [name for name in plans if rows.counts[name]]
        odds = torch.tensor([float(plans[name].weight) for name in names])
        name = names[int(torch.multinomial(odds, 1, generator=self.choices))]
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate() * group.get(SHARE, 1.0)
        parts = self.update(rows.draw(name, t.batch, self.draws), name)
        self.step += 1
        return name, parts

    def train(self, table: Rows, log: Log, every: int = 200, each: Callable[[Trainer], None] | None = None) -> None:
        """Trains until the steps or the seconds are spent; `each` is called after each logged step."""
        t = self.recipe.training
        last, last_step = time.monotonic(), self.step
        self.network.train()
        while self.done() < 1:
            name, parts = self.learn(table)
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
            heads = self.heads(batch, name, recipe.plans[name].stop_gradient)
            parts = losses(heads, batch, recipe.loss)
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
    def recalibrate(self, table: Rows, batches: int = RECALIBRATION) -> None:
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
        try:
            with replacing(path, FROM_CHECKPOINT) as beside:
                torch.save(state, beside)
        except (OSError, RuntimeError) as error:  # torch's own writer knows no errno
            text = f"{path}: could not be written ({error}); what was there before is kept; {FROM_CHECKPOINT}"
            raise CheckpointError(str(error) if isinstance(error, WriteError) else text) from None

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


def beginning(recipe: Recipe, weights: Weights) -> Network:
    """The network of some weights, with copies of `All` for the headsets that only the recipe has.

    Heads for the engine's chance that only the recipe has begin as copies of the value's.
    """
    if recipe.loss.need_auxiliary_heads and not weights.has_auxiliary_heads:
        raise WeightsError("has no auxiliary heads; the recipe needs them unless soon and pieces of [loss] are 0")
    tensors = dict(weights.tensors)
    for headset in set(recipe.architecture.headsets) - set(weights.architecture.headsets):
        for name, tensor in weights.tensors.items():
            if name.startswith("headsets.All."):
                tensors[name.replace("All", headset, 1)] = tensor
    if recipe.loss.engine and not weights.has_engine_heads:
        values = {name: tensor for name, tensor in tensors.items() if ".value." in name}
        tensors |= {name.replace(".value.", ".engine.", 1): tensor for name, tensor in values.items()}
    return from_weights(Weights(recipe.architecture, tensors, weights.about))


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
