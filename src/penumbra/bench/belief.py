"""How good beliefs are, without playing: recorded games, followed from the seat of one of their players.

An agent is told what that player was told, and refills its belief at each of that player's decisions, before the sense
and before the move, as it would in a game; it never searches. Each belief is scored against the true state, beside the
uniform distribution over the same set (`penumbra.bench.belief_score`). The arms differ in τ̂: the policy of one headset
in all games, in each game that of the headset recognised by the opponent's name, or a mixture of several ("Top+All")
weighed by behaviour.

Sets of one state are left out, since nothing is uncertain there. A game is followed until its set is cut: then the
truth may be missing from it. Nothing is read from the node table, which only a search would fill, so
`belief_bandit = "paper"` is the same as `"policy"` here.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from penumbra.bench.belief_score import Comparison, compare
from penumbra.bench.report import Row
from penumbra.core import MOVE, START_FEN, GameRecord, threads
from penumbra.dsmcp.domain import Evaluator
from penumbra.games.archive import Archive
from penumbra.network.loading import network_evaluator, network_headsets
from penumbra.network.weights import WeightsError
from penumbra.players.penumbra.configuration import Configuration, headset
from penumbra.players.penumbra.factory import opponent_evaluators
from penumbra.players.penumbra.player import PenumbraPlayer
from penumbra.players.player import tell
from penumbra.rbc.observations import Moved
from penumbra.rbc.walk import Step
from penumbra.rbc.walk import walk as steps_of

RECOGNISED = "recognised"  # the arm whose headset depends on the opponent's name
UNRECOGNISED = "Top"  # its headset where the name says nothing
HEADSETS = ("Top", "All", RECOGNISED)
LARGEST = (2, 8, 32, 128, 512, 2048, 10_000)  # states of each bin's largest sets; the last bin has no limit
RESAMPLES = 2_000  # of the bootstrap


@dataclass(frozen=True)
class Plan:
    """How beliefs are made."""

    seconds: float | None = None  # for each step, of which the belief takes its share; None: as long as it takes
    particles: int = 512  # wanted, where `seconds` is None
    cap: int = 50_000  # states of a set; a game is followed until there are more
    turns: int = 100  # of the player; a game is followed no further
    seed: int = 0
    configuration: Configuration = field(default_factory=Configuration)  # weights, device and settings


@dataclass(frozen=True)
class Look:
    """One decision of one game."""

    turn: int  # of the player, from 1
    kind: int  # SENSE or MOVE: which of the two comes next
    seconds: float  # that refilling took
    processor_seconds: float  # of all threads; fewer where a busy machine gave its processors to others
    score: Comparison


@dataclass(frozen=True)
class Walk:
    """One game from one seat, with one headset as τ̂."""

    headset: str
    looks: Sequence[Look]
    refills: int  # decisions, those at sets of one state included
    cut: int  # decisions left out because the set had been cut


@dataclass(frozen=True)
class Difference:
    """The belief's mean loss less the uniform distribution's, and its 95 % interval over games."""

    mean: float
    low: float | None  # None: of fewer than two games
    high: float | None


@dataclass(frozen=True, kw_only=True)
class BeliefRow(Row):
    """All decisions of one arm at sets of some sizes. `value` is the log loss of the squares, summed over the board."""

    headset: str
    states: str
    games: int
    decisions: int
    difference: Difference
    state_loss: float  # -ln of the true state's probability
    uniform_state_loss: float
    state_difference: Difference
    probability: float  # of the true state
    uniform_probability: float
    rank: float
    uniform_rank: float
    missing: float  # share of decisions at which no particle stands for the true state
    particles: float
    distinct: float  # states that particles stand for
    seconds: float


def run(
    archive: Path,
    plan: Plan,
    headsets: Sequence[str] = HEADSETS,
    games: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    say: Callable[[str], None] = lambda line: None,
) -> list[BeliefRow]:
    """`belief.HEADSET.STATES` for each arm and bin, and `belief.HEADSET.all`.

    `games` of the archive, or of a file of reconchess' games, are drawn by the plan's seed, and a seat in each, which
    does not depend on the other games. `say` hears of games that cannot be read, `progress` of games done.
    """
    records = read_records(archive, games, plan.seed, say)
    walks: dict[str, list[Walk]] = {name: [] for name in headsets}
    for number, record in enumerate(records):
        rng = random.Random(record.hash ^ plan.seed)
        color, seed = rng.random() < 0.5, rng.getrandbits(32)
        opponent = record.black_name if color else record.white_name
        known: dict[str, Walk] = {}  # by headset: arms with the same τ̂ have the same beliefs
        for name in headsets:
            chosen, evaluator = tau(plan.configuration, name, opponent)
            if chosen not in known:
                known[chosen] = walk(record, color, chosen, evaluator, plan, seed)
            walks[name].append(known[chosen])
        progress(number + 1, len(records))
    return [row for name in headsets for row in rows_of(name, walks[name], plan)]


def read_records(path: Path, games: int | None, seed: int, say: Callable[[str], None]) -> list[GameRecord]:
    """Games drawn at random, in the order they stand in the archive, the file or the folder."""
    troubles: list[ValueError] = []
    if is_archive(path):
        with Archive.open(path) as archive:
            found = [game.record for game in archive.sample(len(archive) if games is None else games, seed)]
    else:
        from penumbra.interop.game_files import find_files, read_games

        found = [record for file in find_files([path]) for record in read_games(file, troubles.append)]
        drawn = random.Random(seed).sample(range(len(found)), min(games or len(found), len(found)))
        found = [found[i] for i in sorted(drawn)]
    if not found:
        raise troubles[0] if troubles else ValueError(f"{path}: there are no games in it")
    for trouble in troubles:
        say(str(trouble))
    return found


def is_archive(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(16) == b"SQLite format 3\0"


def tau(configuration: Configuration, name: str, opponent: str) -> tuple[str, Evaluator]:
    """The headset that this arm takes the opponent to be, and the evaluator whose τ̂ is its policy."""
    if configuration.evaluator != "network":
        raise ValueError(f"evaluator = {configuration.evaluator} has no headsets; beliefs are measured with a network")
    names = network_headsets(configuration.weights, configuration.device)
    chosen = (headset("auto", opponent, names) or UNRECOGNISED) if name == RECOGNISED else name
    parts = chosen.split("+")
    for part in parts:
        if part not in names:
            raise WeightsError(f"there is no headset {part!r}; there are {', '.join((*names, RECOGNISED))}")
    evaluators = {part: network_evaluator(configuration.weights, configuration.device, part) for part in parts}
    return chosen, opponent_evaluators(evaluators, configuration.seed)[0]


# -- one game


def walk(record: GameRecord, color: bool, chosen: str, evaluator: Evaluator, plan: Plan, seed: int) -> Walk:
    """The player of that colour, with the beliefs it would have had."""
    settings = plan.configuration.dsmcp().replace(seed=seed)
    player = PenumbraPlayer(evaluator, settings, cap=plan.cap)
    player.track_all = True
    player.start(color, record.start_fen or START_FEN)
    seat = _Seat(player, plan)
    for step in steps_of(record):
        if step.turn > plan.turns:
            break
        if step.color == color:
            seat.follow(step)
    return Walk(chosen, seat.looks, seat.refills, seat.cut)


class _Seat:
    """Tells the player what the recorded one was told, and looks at its belief wherever that one decided."""

    def __init__(self, player: PenumbraPlayer, plan: Plan) -> None:
        self.player, self.plan = player, plan
        self.refills = self.cut = 0
        self.looks: list[Look] = []
        self.whole = True  # the set is exact

    def follow(self, step: Step) -> None:
        for observation in step.told:
            if self.whole and not step.after.over:
                tell(self.player, observation)
            if not isinstance(observation, Moved):
                self.decide(step)

    def decide(self, step: Step) -> None:
        """Something was observed, and a decision follows."""
        if self.whole:
            self.whole = self.player.situation.states.complete and not self.player.recoveries
        if not self.whole:
            self.cut += 1
            return
        if self.player.situation.kind == MOVE:
            self.player.recognise()
        agent, plan, began, used = self.player.agent, self.plan, time.monotonic(), time.process_time()
        n = plan.particles if plan.seconds is None else agent.settings.n_particles
        particles = agent.refilled(n, began, plan.seconds)
        took, used = time.monotonic() - began, time.process_time() - used
        self.refills += 1
        x = agent.x
        if len(x.states) > 1:
            self.looks.append(Look(step.turn, x.kind, took, used, compare(x, particles, step.after.fen())))


# -- many games


def rows_of(name: str, walks: Sequence[Walk], plan: Plan) -> list[BeliefRow]:
    """One row for each bin that has decisions, and one for all of them."""
    parts = [(_label(number), [_in_bin(walk.looks, number) for walk in walks]) for number in range(len(LARGEST) + 1)]
    rows = [_row(name, label, looks, plan) for label, looks in parts if any(looks)]
    whole = [list(walk.looks) for walk in walks]
    return [*rows, _row(name, "all", whole, plan, _note(walks, plan))] if any(whole) else rows


def _label(number: int) -> str:
    low = LARGEST[number - 1] + 1 if number else 2
    if number == len(LARGEST):
        return f"{low}+"
    return f"{low}" if low == LARGEST[number] else f"{low}-{LARGEST[number]}"


def _in_bin(looks: Sequence[Look], number: int) -> list[Look]:
    return [look for look in looks if np.searchsorted(LARGEST, look.score.states) == number]


def _note(walks: Sequence[Walk], plan: Plan) -> str:
    looks = [look for walk in walks for look in walk.looks]
    refills, cut = sum(walk.refills for walk in walks), sum(walk.cut for walk in walks)
    budget = f"{plan.particles} particles"
    if plan.seconds is not None:
        share = sum(look.processor_seconds for look in looks) / sum(look.seconds for look in looks)
        budget = f"{plan.seconds:g} s a step, {threads()} threads that had {share:.2f} processors"
    headsets = ", ".join(f"{name} {count}" for name, count in Counter(walk.headset for walk in walks).most_common())
    return (
        f"{len(walks)} games, {budget}; τ̂ by games: {headsets}; left out: {refills - len(looks):,} decisions at sets "
        f"of one state, {cut:,} in {sum(walk.cut > 0 for walk in walks)} games after the set was cut at {plan.cap:,}"
    )


def _row(name: str, label: str, games: Sequence[Sequence[Look]], plan: Plan, note: str = "") -> BeliefRow:
    """`games` are the looks of each game that was followed, few or none of them in this bin."""
    looks = [look for game in games for look in game]
    scores = [look.score for look in looks]

    def mean(value: Callable[[Comparison], float]) -> float:
        return float(np.mean([value(score) for score in scores]))

    def difference(value: Callable[[Comparison], float]) -> Difference:
        return bootstrap([[value(look.score) for look in game] for game in games], plan.seed)

    return BeliefRow(
        f"belief.{name}.{label}",
        mean(lambda score: score.belief.squares),
        "nats/board",
        "uniform",
        mean(lambda score: score.uniform.squares),
        note,
        headset=name,
        states=label,
        games=sum(bool(game) for game in games),
        decisions=len(looks),
        difference=difference(lambda score: score.belief.squares - score.uniform.squares),
        state_loss=mean(lambda score: score.belief.state),
        uniform_state_loss=mean(lambda score: score.uniform.state),
        state_difference=difference(lambda score: score.belief.state - score.uniform.state),
        probability=mean(lambda score: score.belief.probability),
        uniform_probability=mean(lambda score: score.uniform.probability),
        rank=mean(lambda score: score.belief.rank),
        uniform_rank=mean(lambda score: score.uniform.rank),
        missing=mean(lambda score: score.missing),
        particles=mean(lambda score: score.particles),
        distinct=mean(lambda score: score.distinct),
        seconds=float(np.mean([look.seconds for look in looks])),
    )


def bootstrap(games: Sequence[Sequence[float]], seed: int) -> Difference:
    """The mean of all values, and its interval if other games of the same kind had been drawn."""
    sums = np.array([sum(values) for values in games])
    counts = np.array([len(values) for values in games])
    mean = float(sums.sum() / counts.sum())
    if (counts > 0).sum() < 2:
        return Difference(mean, None, None)
    n = len(games)
    times: npt.NDArray[np.int64] = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), RESAMPLES)
    drawn = times @ counts
    low, high = np.percentile((times @ sums)[drawn > 0] / drawn[drawn > 0], [2.5, 97.5])
    return Difference(mean, float(low), float(high))
