"""Trains a policy against Random on the vector environment, in minutes on a CPU, and says how often it then wins.

    python examples/train_a_policy.py --steps 200000

Proximal policy optimisation (Schulman et al., 2017) of a small convolutional network on binary synopses. All that
it learns from is 1 for a won game and -1 for a lost one.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from torch import Tensor, nn

from penumbra.env import RBCVectorEnv

MOST = 256  # legal actions


@dataclass(frozen=True)
class Settings:
    steps: int = 200_000  # of the learner, in all games together
    games: int = 128  # at once
    rollout: int = 64  # steps of each game between two rounds of learning
    passes: int = 2  # over the steps of a round
    batch: int = 1024
    rate: float = 1e-3
    gamma: float = 0.99  # a win soon is worth more than one late
    lam: float = 0.95
    clip: float = 0.2
    entropy: float = 0.005
    seed: int = 0


class Policy(nn.Module):
    """Log probabilities of the legal actions, and a value. A move's logit is a product of what its two squares say."""

    def __init__(self, planes: int, width: int = 32, depth: int = 16) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(planes, width, 1), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1), nn.ReLU()
        )
        self.squares = nn.Conv2d(width, 1 + 2 * depth, 1)  # the sense there, a move from there, a move to there
        self.whole = nn.Linear(width, 2)  # the pass, and the value
        self.depth = depth

    def forward(self, planes: Tensor, legal: Tensor) -> tuple[Tensor, Tensor]:
        """uint8[B, planes, 8, 8] and int16[B, L] to log probabilities [B, L] and values [B]."""
        features = self.body(planes.float())
        sense, start, end = self.squares(features).flatten(2).split([1, self.depth, self.depth], dim=1)
        moves = start.transpose(1, 2) @ end / self.depth**0.5  # [B, from, to]
        skip, value = self.whole(features.mean((2, 3))).split(1, dim=1)
        logits = torch.cat([sense.flatten(1), moves.flatten(1), skip], dim=1).gather(1, legal.long().clamp(min=0))
        return F.log_softmax(logits.masked_fill(legal < 0, -1e9), dim=1), torch.tanh(value[:, 0])


def legal_of(mask: NDArray[np.int8]) -> Tensor:
    """int16[B, MOST]: the actions that masks [B, 4161] allow, then -1."""
    rows, actions = np.nonzero(mask)
    first = np.searchsorted(rows, np.arange(len(mask)))
    legal = np.full((len(mask), MOST), -1, np.int16)
    legal[rows, np.arange(len(rows)) - first[rows]] = actions
    return torch.from_numpy(legal)


class Rollout:
    """Steps of all games between two rounds of learning, [T, games, …]."""

    def __init__(self, envs: RBCVectorEnv, settings: Settings) -> None:
        shape = (settings.rollout, settings.games)
        self.observation, self.infos = envs.reset(seed=settings.seed)
        self.seen = torch.zeros((*shape, *self.observation.shape[1:]), dtype=torch.uint8)
        self.legal = torch.zeros((*shape, MOST), dtype=torch.int16)
        self.chosen = torch.zeros((*shape, 1), dtype=torch.int64)  # its place among the legal actions
        self.before, self.rewards, self.ends = torch.zeros(shape), torch.zeros(shape), torch.zeros(shape)
        self.values = torch.zeros((settings.rollout + 1, settings.games))
        self.envs, self.settings = envs, settings

    def play(self, policy: Policy) -> list[bool]:
        """Plays on; of the games that end, whether they were won."""
        won: list[bool] = []
        with torch.no_grad():
            for t in range(self.settings.rollout):
                self.seen[t] = torch.from_numpy(self.observation)
                self.legal[t] = legal_of(self.infos["action_mask"])
                log_policy, self.values[t] = policy(self.seen[t], self.legal[t])
                self.chosen[t] = torch.multinomial(log_policy.exp(), 1)
                self.before[t] = log_policy.gather(1, self.chosen[t])[:, 0]
                actions = self.legal[t].gather(1, self.chosen[t])[:, 0].numpy()
                self.observation, reward, terminated, truncated, self.infos = self.envs.step(actions)
                ended = terminated | truncated
                self.rewards[t], self.ends[t] = torch.from_numpy(reward), torch.from_numpy(ended)
                won += (reward[ended] > 0).tolist()
            last = torch.from_numpy(self.observation)
            _, self.values[-1] = policy(last, legal_of(self.infos["action_mask"]))
        return won

    def learn(self, policy: Policy, optimizer: torch.optim.Optimizer) -> None:
        """Makes what turned out better than expected likelier."""
        gain = advantages(self.rewards, self.ends, self.values, self.settings)
        target = (gain + self.values[:-1]).flatten()
        gain = ((gain - gain.mean()) / (gain.std() + 1e-8)).flatten()
        seen, legal, chosen = (each.flatten(0, 1) for each in (self.seen, self.legal, self.chosen))
        clip = self.settings.clip
        for _ in range(self.settings.passes):
            for rows in torch.randperm(len(gain)).split(self.settings.batch):
                log_policy, value = policy(seen[rows], legal[rows])
                ratio = (log_policy.gather(1, chosen[rows])[:, 0] - self.before.flatten()[rows]).exp()
                surrogate = torch.minimum(ratio * gain[rows], ratio.clamp(1 - clip, 1 + clip) * gain[rows])
                entropy = -(log_policy.exp() * log_policy).sum(1)
                loss = -(surrogate + self.settings.entropy * entropy).mean()
                loss = loss + 0.5 * F.mse_loss(value, target[rows])
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
                optimizer.step()


def train(settings: Settings) -> tuple[Policy, list[tuple[int, float, float]]]:
    """The policy, and after each round: steps so far, share of the last 300 games won, seconds of processor."""
    torch.manual_seed(settings.seed)
    envs = RBCVectorEnv(settings.games, "binary", "random", autoreset_mode=AutoresetMode.SAME_STEP)
    rollout = Rollout(envs, settings)
    policy = Policy(rollout.seen.shape[2])
    optimizer = torch.optim.Adam(policy.parameters(), settings.rate)
    won: list[bool] = []
    curve, began = [], time.process_time()
    size = settings.rollout * settings.games
    for steps in range(size, max(size, settings.steps) + 1, size):
        won += rollout.play(policy)
        rollout.learn(policy, optimizer)
        curve.append((steps, float(np.mean(won[-300:] or [False])), time.process_time() - began))
        print("{:>9,} steps, {:.0%} of the last games won, {:.0f} s of processor".format(*curve[-1]), flush=True)
    return policy, curve


def advantages(rewards: Tensor, ends: Tensor, values: Tensor, settings: Settings) -> Tensor:
    """Generalised advantages [T, games]."""
    gain, following = torch.zeros_like(rewards), torch.zeros(rewards.shape[1])
    for t in reversed(range(len(rewards))):
        goes_on = 1 - ends[t]
        rise = rewards[t] + settings.gamma * goes_on * values[t + 1] - values[t]
        following = gain[t] = rise + settings.gamma * settings.lam * goes_on * following
    return gain


def share_won(policy: Policy, games: int, seed: int = 1) -> float:
    """Of so many games against Random, half of them as Black on average."""
    envs = RBCVectorEnv(min(games, 100), "binary", "random", autoreset_mode=AutoresetMode.SAME_STEP)
    observation, infos = envs.reset(seed=seed)
    results: list[float] = []
    while len(results) < games:
        with torch.no_grad():
            legal = legal_of(infos["action_mask"])
            log_policy, _ = policy(torch.from_numpy(observation), legal)
        actions = legal.gather(1, log_policy.argmax(1, keepdim=True))[:, 0]
        observation, reward, terminated, truncated, infos = envs.step(actions.numpy())
        results += reward[terminated | truncated].tolist()
    return float(np.mean(np.array(results) > 0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=Settings.steps)
    parser.add_argument("--seed", type=int, default=Settings.seed)
    given = parser.parse_args()
    policy, _ = train(Settings(steps=given.steps, seed=given.seed))
    print(f"{share_won(policy, 1000):.1%} of 1,000 games against Random won")


if __name__ == "__main__":
    main()
