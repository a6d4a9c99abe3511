"""What a player did in its games and what came of it, step by step: what improvement by play learns from.

Games come in bulk, many advancing together between the learner and itself or other headsets, each step remembered as it
was played until its game ends; or as records of games played elsewhere, gone through again by the native replayer.

    Â      generalised advantage: the λ-weighted sum of what the value rises by, step by step, until the result
    goal   what the value learns: the result, or the λ-return, value + Â, by a λ of its own
"""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from penumbra.core import GameBatch, GameRecord
from penumbra.network.model import Network, network_input
from penumbra.training.data import MOST_LEGAL, narrow_columns, padded, players_of
from penumbra.training.examples import ExampleSettings, make_examples
from penumbra.training.loss import legal_logits
from penumbra.training.selfplay import NAME

LONGEST = 600  # steps of a game: a sense and a move for each of 300 plies
BLOCK = 1 << 14  # games whose headsets are drawn at once
ROWS_AT_ONCE = 8192  # of inference


@dataclass
class Steps:
    """Steps of finished games, on the device. Narrow columns; a batch of them is taken by `take`."""

    planes: Tensor  # int64[N, words] of one sort of synopsis
    legal: Tensor  # int16[N, MOST_LEGAL], -1 past the end
    target: Tensor  # uint8[N] position of the action within `legal`
    before: Tensor  # float32[N] log probability of the action under the policy that played
    advantage: Tensor  # float32[N] Â
    goal: Tensor  # float32[N] what the value learns

    def __len__(self) -> int:
        return len(self.target)

    def take(self, rows: Tensor) -> Steps:
        return Steps(*(getattr(self, column.name)[rows] for column in fields(self)))

    def followed_by(self, *others: Steps) -> Steps:
        columns = ([getattr(steps, c.name) for steps in (self, *others)] for c in fields(self))
        return Steps(*(torch.cat(column) for column in columns))


def log_policy(policy: Tensor, legal: Tensor) -> Tensor:
    """[B, MOST_LEGAL] log probabilities along the legal actions, -inf past the end."""
    return F.log_softmax(legal_logits(policy, legal.long()), dim=1)


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


def goals(
    values: NDArray[np.float32], outcomes: NDArray[np.float32], sequences: NDArray[np.int64], lam: float
) -> NDArray[np.float32]:
    """The λ-return of each row; with λ = 1 it is the result."""
    return outcomes if lam == 1 else values + advantages(values, outcomes, sequences, lam)


def steps_of_games(
    records: Sequence[GameRecord],
    players: Sequence[str],
    network: Network,
    headset: str,
    settings: ExampleSettings,
    lam: float,
    value_lam: float = 1.0,
) -> Steps:
    """Some players' steps in games played elsewhere, judged by the network as it is now."""
    device = next(network.parameters()).device
    examples = make_examples(records, settings)
    own = np.isin(players_of(examples, records), players) & (np.diff(examples.legal_offsets) <= MOST_LEGAL)
    examples = examples.take(np.flatnonzero(own))
    sequence = examples.games.astype(np.int64) * 2 + examples.players
    examples = examples.take(np.argsort(sequence, kind="stable"))
    columns = {name: column.to(device) for name, column in narrow_columns(examples).items()}
    before, values = [], []
    with torch.no_grad():
        for rows in torch.arange(len(examples), device=device).split(ROWS_AT_ONCE):
            x = network.tower(network_input(columns["planes"][rows]))
            policy, value = network.headset(headset).predict(x)
            chosen = columns["target"][rows].long()[:, None]
            before.append(log_policy(policy, columns["legal"][rows]).gather(1, chosen).squeeze(1))
            values.append(value.float())
    outcomes = examples.outcomes.astype(np.float32)
    judged = torch.cat(values).cpu().numpy()
    gain = advantages(judged, outcomes, np.sort(sequence, kind="stable"), lam)
    goal = goals(judged, outcomes, np.sort(sequence, kind="stable"), value_lam)
    steps = Steps(
        columns["planes"],
        columns["legal"],
        columns["target"],
        torch.cat(before),
        torch.from_numpy(gain).to(device),
        torch.from_numpy(goal).to(device),
    )
    fit = np.flatnonzero(~(examples.cut & (examples.set_sizes < settings.ell)))  # where the truth does not stand out
    return steps.take(torch.from_numpy(fit).to(device))


class Bulk:
    """Games in bulk between a headset and itself or others."""

    def __init__(
        self,
        network: Network,
        headset: str,
        opponents: Sequence[str],
        *,
        steps: int = 100_000,  # of a round, at least
        at_once: int = 1024,
        cap: int = 500,
        ell: int = 128,
        lam: float = 0.95,
        value_lam: float = 1.0,
        against_itself: float = 0.5,  # share of the games, of those not against past selves
        past_selves: int = 0,  # how many are played at a time
        against_past: float = 0.25,  # share of the games, where there are past selves
        seed: int = 0,
    ) -> None:
        self.device = next(network.parameters()).device
        self.dtype = torch.float16 if self.device.type == "cuda" else torch.float32
        self.network = copy.deepcopy(network).eval().to(self.device, self.dtype)
        self.headsets = (headset, *(name for name in opponents if name != headset))
        self.against_itself = against_itself if len(self.headsets) > 1 else 1.0
        self.lam, self.value_lam = lam, value_lam
        self.seed = seed
        self.past: list[tuple[str, Network]] = []  # names and networks, which play by `headset`
        self.past_selves, self.against_past = past_selves, against_past if past_selves else 0.0
        architecture = network.architecture
        self.batch = GameBatch(1 << 40, at_once, ell, cap, seed, LONGEST // 2, synopsis=architecture.synopsis)
        self.cast = np.empty((0, 2), np.int8)  # of each game: which headset plays White, which Black
        self.random = torch.Generator(self.device).manual_seed(seed)
        self.least = steps
        room = (LONGEST + 8) * at_once + 2 * steps  # no step is overwritten before its game has ended and been learned
        self.planes = torch.empty((room, architecture.layout.words), dtype=torch.int64, device=self.device)
        self.legal = torch.empty((room, MOST_LEGAL), dtype=torch.int16, device=self.device)
        self.target = torch.empty(room, dtype=torch.uint8, device=self.device)
        self.before = torch.empty(room, dtype=torch.float32, device=self.device)
        self.values = np.empty(room, np.float32)
        self.next = 0  # where the next step goes
        self.rows_of: dict[tuple[int, int], list[int]] = {}  # by game and player: where its steps are
        self.finished: list[GameRecord] = []
        self.spent = 0.0  # seconds of the last round that went into playing
        self.native = 0.0  # of these, into rules, sets and synopses
        self._stopped = False
        self._newer: dict[str, Tensor] | None = None
        self._lock = threading.Lock()

    def refresh(self, network: Network) -> None:
        """From the next step on, play with these weights."""
        state = {name: tensor.detach().clone() for name, tensor in network.state_dict().items()}
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        with self._lock:
            self._newer = state

    def stop(self) -> None:
        """Whoever plays in a thread hears of it at the next step."""
        self._stopped = True

    def meet(self, past: Sequence[tuple[str, Network]]) -> None:
        """From the next step on, these past selves play, also in games that others of them have begun."""
        if len(past) != self.past_selves:
            raise ValueError(f"{len(past)} past selves for {self.past_selves} places")
        self.past = [(name, network.eval().to(self.device, self.dtype)) for name, network in past]

    def play(self) -> Steps:
        """Plays on until there is a round's worth of steps of the headset in finished games; these steps."""
        rows: list[int] = []
        gains, of_value = [], []
        began, self.native = time.monotonic(), 0.0
        while len(rows) < self.least and not self._stopped:
            for record_rows, gain, goal in self.step():
                rows += record_rows
                gains.append(gain)
                of_value.append(goal)
        at = torch.tensor(rows, device=self.device)
        self.spent = time.monotonic() - began
        return Steps(
            self.planes[at],
            self.legal[at],
            self.target[at],
            self.before[at],
            torch.from_numpy(np.concatenate(gains)).to(self.device),
            torch.from_numpy(np.concatenate(of_value)).to(self.device),
        )

    def step(self) -> Iterator[tuple[list[int], NDArray[np.float32], NDArray[np.float32]]]:
        """One step of all games; (where its steps are, Â, goals) of the headset in each game that ends by it."""
        with self._lock:
            if self._newer is not None:
                self.network.load_state_dict(self._newer)
                if self.device.type == "cuda":
                    torch.cuda.current_stream().synchronize()  # before what is copied from can be used again
                self._newer = None
        batch = self.batch
        numbers, players = batch.numbers(), batch.players()
        side = self.headsets_of(numbers)[np.arange(len(numbers)), 1 - players]
        where = self.remember(numbers, players, side)
        chosen, began = self.choose(side, where), time.monotonic()
        batch.act(chosen)
        self.native += time.monotonic() - began
        for number, record in batch.take_finished():
            white, black = self.cast[number]
            record.white_name, record.black_name = self.name_of(white), self.name_of(black)
            self.finished.append(record)
            for player in (1, 0):
                rows = self.rows_of.pop((number, player), None)
                if rows is None:
                    continue
                outcome = 0.0 if record.winner is None else 1.0 if record.winner == bool(player) else -1.0
                values, of_game = self.values[rows], np.zeros(len(rows), np.int64)
                outcomes = np.full(len(rows), outcome, np.float32)
                gain = advantages(values, outcomes, of_game, self.lam)
                yield rows, gain, goals(values, outcomes, of_game, self.value_lam)

    def name_of(self, player: int) -> str:
        """Of a headset, or of the past self that has this place now."""
        past = player - len(self.headsets)
        return NAME + (self.headsets[player] if past < 0 else f"{self.headsets[0]}@{self.past[past][0]}")

    def headsets_of(self, numbers: NDArray[np.int64]) -> NDArray[np.int8]:
        """int8[rows, 2]: which headset plays White and Black in these games; past selves come after them."""
        while len(self.cast) <= numbers.max(initial=0):
            rng = np.random.default_rng((self.seed, len(self.cast)))
            cast = np.zeros((BLOCK, 2), np.int8)
            other = rng.integers(1, len(self.headsets), size=BLOCK) if len(self.headsets) > 1 else 0
            cast[np.arange(BLOCK), rng.integers(2, size=BLOCK)] = other
            cast[rng.random(BLOCK) < self.against_itself] = 0
            if self.past_selves:
                chosen = np.flatnonzero(rng.random(BLOCK) < self.against_past)
                cast[chosen] = 0
                place = len(self.headsets) + rng.integers(self.past_selves, size=len(chosen))
                cast[chosen, rng.integers(2, size=len(chosen))] = place
            self.cast = np.concatenate([self.cast, cast])
        return self.cast[numbers]

    def remember(self, numbers: NDArray[np.int64], players: NDArray[np.uint8], side: NDArray[np.int8]) -> Tensor:
        """Places for the steps of all rows; those of the headset are kept until their games end."""
        room = len(self.values)
        where = (self.next + np.arange(len(numbers))) % room
        self.next = (self.next + len(numbers)) % room
        for row in np.flatnonzero(side == 0).tolist():
            self.rows_of.setdefault((int(numbers[row]), int(players[row])), []).append(int(where[row]))
        return torch.from_numpy(where)

    @torch.inference_mode()
    def choose(self, side: NDArray[np.int8], where: Tensor) -> NDArray[np.int32]:
        """An action for each row, drawn from the policy of its headset; each step is stored."""
        began = time.monotonic()
        seen, actions_and_offsets = self.batch.synopsis(), self.batch.legal()
        self.native += time.monotonic() - began
        planes = torch.from_numpy(seen.view(np.int64)).to(self.device)
        legal = torch.from_numpy(padded(*actions_and_offsets)).to(self.device)
        read = network_input(planes, self.dtype)
        x = self.network.tower(read)
        logs = torch.empty(legal.shape, device=self.device)
        values = torch.zeros(len(planes), device=self.device)
        for i, name in enumerate(self.headsets):
            rows = torch.from_numpy(np.flatnonzero(side == i)).to(self.device)
            if not len(rows):
                continue
            if i == 0:
                policy, value = self.network.headset(name).predict(x[rows])
                values[rows] = value.float()
            else:
                policy = self.network.headset(name).policy_logits(x[rows])
            logs[rows] = log_policy(policy, legal[rows])
        for i, (_, network) in enumerate(self.past, len(self.headsets)):
            rows = torch.from_numpy(np.flatnonzero(side == i)).to(self.device)
            if len(rows):
                policy = network.headset(self.headsets[0]).policy_logits(network.tower(read[rows]))
                logs[rows] = log_policy(policy, legal[rows])
        noise = -torch.log(torch.empty_like(logs).exponential_(generator=self.random))
        target = (logs + noise).argmax(dim=1)
        at = where.to(self.device)
        self.planes[at], self.legal[at], self.target[at] = planes, legal, target.to(torch.uint8)
        self.before[at] = logs.gather(1, target[:, None]).squeeze(1)
        actions = legal.gather(1, target[:, None]).squeeze(1)
        both = torch.stack([actions.float(), values]).cpu().numpy()
        self.values[where.numpy()] = both[1]
        return np.asarray(both[0], np.int32)

    def state(self) -> dict[str, Any]:
        """All that a batch of the same settings needs to go on as this one, but for its past selves."""
        begun, numbers, actions, offsets = self.batch.under_way()
        places = [(game, player, rows) for (game, player), rows in self.rows_of.items()]
        rows = [row for _, _, own in places for row in own]
        at = torch.tensor(rows, dtype=torch.long, device=self.device)
        return {
            "network": self.network.state_dict(),
            "random": self.random.get_state(),
            "begun": begun,
            "games": [torch.from_numpy(column.copy()) for column in (numbers, actions, offsets)],
            "places": [(game, player, len(own)) for game, player, own in places],
            "steps": [column[at].cpu() for column in (self.planes, self.legal, self.target, self.before)],
            "values": torch.from_numpy(self.values[rows]),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Goes on from there; ValueError if it is the state of another sort of batch."""
        self.network.load_state_dict(state["network"])
        self.random.set_state(state["random"])
        self.batch.resume(state["begun"], *(column.numpy() for column in state["games"]))
        for column, kept in zip((self.planes, self.legal, self.target, self.before), state["steps"], strict=True):
            column[: len(kept)] = kept.to(self.device)
        self.next = len(state["values"])
        self.values[: self.next] = state["values"].numpy()
        self.rows_of, at = {}, 0
        for game, player, count in state["places"]:
            self.rows_of[game, player] = list(range(at, at + count))
            at += count
