"""How much chess a network and its player know: moves of real games at which at most two states were possible.

There the game is nearly chess, and Stockfish's word nearly the truth. The positions are frozen: they come with the
package, with what the player to move remembered and Stockfish's score of every move in the true state, so that figures
of different days can be compared and nothing here needs Stockfish. `studies/chess_positions.py` made the file.

A move loses what the best one's score is above its own, at most MOST hundredths of a pawn. A pass has the score of the
same position with the other player to move. What would leave the own king to be taken is not among the scores, and
loses against LOST.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penumbra.arena.score import wilson
from penumbra.core import MOVE, Context, Game, Infostates, StateSet, engine_scores
from penumbra.dsmcp import Decision
from penumbra.dsmcp.domain import Evaluator, Ints, Legal
from penumbra.games.ratings import Z
from penumbra.players.penumbra.configuration import Configuration
from penumbra.players.penumbra.factory import make_evaluators, make_penumbra
from penumbra.players.penumbra.root.engine_opinion import (
    DEPTH,
    LEAST_NODES,
    MARGIN,
    NODES_A_SECOND,
    win_probabilities,
)
from penumbra.rbc.actions import code_to_action, code_to_uci, uci_to_code, view_code
from penumbra.rbc.domain import ReconBlindChess, Situation
from penumbra.rbc.synopsis import synopsis_read_by
from penumbra.whole_files import replacing

FILE = "chess_positions.jsonl.gz"
MOST = 1000  # hundredths of a pawn that one move can lose
LOST = -1000  # the score of a move that leaves the king to be taken
BLUNDER = 250
PAWNS = {"p": 1, "n": 3, "b": 3, "r": 5, "q": 9, "k": 0}
MATERIAL = (-4, -1, 2, 5)  # pawns more than the opponent: where each class but the first begins
PARTICLES = 256  # at most, with which the player's belief begins


@dataclass(frozen=True)
class Position:
    """A move of a recorded game, as its player knew it."""

    game: str  # the record's hash
    turn: int  # of the player, from 1
    states: tuple[str, ...]  # possible, as FENs; the true one first
    remembered: Mapping[str, Any]  # the context: squares in the player's view, planes and shares in hexadecimal digits
    played: str  # the move asked for, in UCI's words, or "pass"
    result: int  # of the game for the player: 1 won, -1 lost, 0 drawn
    scores: Mapping[str, int]  # hundredths of a pawn, by what becomes of a move in the true state

    @property
    def white(self) -> bool:
        return self.states[0].split()[1] == "w"

    def situation(self) -> Situation:
        r = self.remembered
        squares = (r["last_from"], r["last_to"], r["own_capture"], r["opposing_capture"])
        previous = np.frombuffer(bytes.fromhex(r["previous"]), "<u8").astype(np.uint64)
        shares = np.frombuffer(bytes.fromhex(r["previous_shares"]), np.uint8).reshape(-1, 64)
        states = StateSet.from_fens(self.states, self.white)
        return Situation(states, MOVE, Context(*squares, previous, shares))

    def loss(self, action: int) -> int:
        """What a choice of its player costs in the true state."""
        game = Game(self.states[0])
        game.sense(None)
        game.move(action)
        score = self.scores.get(code_to_uci(view_code(game.last_taken, self.white)), LOST)
        return int(np.clip(max(self.scores.values()) - score, 0, MOST))

    def played_action(self) -> int:
        return code_to_action(view_code(uci_to_code(self.played), self.white))

    def material(self) -> int:
        """Pawns that the player has more than its opponent, in the true state."""
        placement = self.states[0].split()[0]
        difference = sum(PAWNS[c.lower()] * (1 if c.isupper() else -1) for c in placement if c.isalpha())
        return difference if self.white else -difference


def remembered(x: Situation) -> dict[str, Any]:
    """What a position keeps of a situation's context."""
    c = x.context
    return {
        "last_from": c.last_from,
        "last_to": c.last_to,
        "own_capture": c.own_capture,
        "opposing_capture": c.opposing_capture,
        "previous": c.previous.astype("<u8").tobytes().hex(),
        "previous_shares": c.previous_shares.tobytes().hex(),
    }


def read_positions(path: Path | None = None) -> list[Position]:
    """Those that come with the package, or those of a file; ValueError names the line that is none."""
    path = path or Path(str(files("penumbra.training").joinpath(FILE)))
    found = []
    try:
        lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: cannot be read as positions: {error}") from None
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            position = Position(**{**row, "states": tuple(row["states"])})
            position.situation()
            position.loss(position.played_action())
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise ValueError(f"{path}, line {number}: is no position: {error}") from None
        found.append(position)
    if not found:
        raise ValueError(f"{path}: there are no positions")
    return found


def write_positions(positions: Sequence[Position], path: Path) -> None:
    """The same positions make the same bytes."""
    text = "".join(json.dumps(asdict(position), separators=(",", ":")) + "\n" for position in positions)
    with replacing(path) as beside:
        beside.write_bytes(gzip.compress(text.encode(), mtime=0))


# -- choosing


def legal_actions(x: Situation) -> Ints:
    return Infostates.draw(x.states, 1, MOVE, 1).legal()[0]


def bare(evaluator: Evaluator, x: Situation, ell: int) -> tuple[int, float]:
    """The policy's favourite, and the value as a chance to win."""
    actions = legal_actions(x)
    domain = ReconBlindChess(synopsis_read_by(evaluator))
    features = domain.sigma(domain.draw(x, 1, ell, 0, False, None))
    priors, values = evaluator.evaluate(features, Legal(actions, np.array([0, len(actions)])), False)
    return int(actions[priors.argmax()]), (1 + float(values[0])) / 2


def one_step_ahead(evaluator: Evaluator, x: Situation, ell: int) -> int:
    """The move after which the value of the opponent, who knew the state, is least: on average over the states."""
    domain = ReconBlindChess(synopsis_read_by(evaluator))
    actions, fens = legal_actions(x), x.states.fens()
    rows = len(fens) * len(actions)
    other = Infostates.from_fens([[fen] for fen in fens for _ in actions], not x.states.owner, MOVE, ell)
    most = np.full(rows, ell, np.int32)
    own = domain.draw(x, rows, ell, 0, False, other)
    _, other, won = domain.advance(own, other, np.tile(actions, len(fens)), most, most, 0, False)
    _, values = evaluator.evaluate(domain.sigma(other), domain.legal(other, False), False)
    of_ours = np.where(won == 1, 1, -values).reshape(len(fens), len(actions)).mean(axis=0)
    return int(actions[of_ours.argmax()])


def by_engine(configuration: Configuration, position: Position, seconds: float) -> int:
    """The largest win probability by the engine alone, with the nodes that it has for the player's opinion."""
    x, root = position.situation(), configuration.root_settings()
    actions, nodes = legal_actions(x), int(root.engine_share * seconds * NODES_A_SECOND / len(x.states))
    scores = engine_scores(x.states, actions, DEPTH, max(LEAST_NODES, nodes), MARGIN)
    return int(actions[win_probabilities(scores).mean(axis=0).argmax()])


def searched(configuration: Configuration, position: Position) -> Decision:
    """What the player decides. Its belief begins here: in every particle the opponent knows the state."""
    player = make_penumbra(configuration)
    x = position.situation()
    try:
        player.start(position.white, position.states[0])
        settings, agent = player.settings, player.agent
        rows = min(settings.n_particles, PARTICLES)
        agent.belief.start(x, agent.domain.singletons(None, x, rows, settings.ell, settings.seed or 0))
        player.choose_move(legal_actions(x).tolist())
    finally:
        player.close()
    if player.faults:
        raise RuntimeError(f"the search failed at {position.states[0]}: {player.faults[-1]}")
    return player.decisions[-1]


# -- the figures


@dataclass(frozen=True)
class Row:
    """What one way to choose loses, with 95 % intervals."""

    name: str
    loss: float  # hundredths of a pawn a move
    loss_low: float
    loss_high: float
    blunders: float  # share of the moves that lose more than BLUNDER
    blunders_low: float
    blunders_high: float


@dataclass(frozen=True)
class MaterialRow:
    """What was said of positions with so much material, and what came of them; None where there are none."""

    name: str
    positions: int
    value: float | None  # of the network, as a chance to win
    searched: float | None  # of the player without the engine's opinion
    won: float | None  # share of the games, a draw half
    won_low: float
    won_high: float


@dataclass(frozen=True)
class Result:
    positions: int
    seconds: float
    rows: tuple[Row, ...]
    material: tuple[MaterialRow, ...]


def evaluate(
    configuration: Configuration,
    positions: Sequence[Position],
    seconds: float,
    report: Callable[[int], None] = lambda done: None,
) -> Result:
    """The policy alone, the engine alone, and the player at so many seconds a move without the engine and with it."""
    shipped = replace(configuration, seconds=seconds, seed=0)
    plain = replace(shipped, root={**shipped.root, "engine_weight": 0.0})
    evaluator, _ = make_evaluators(shipped, "")
    names = (
        *("played in the games", "the policy alone", "the engine alone"),
        *("the player without the engine's opinion", "the player"),
    )
    losses = np.zeros((len(names), len(positions)), np.int64)
    said = np.zeros((2, len(positions)))
    for i, position in enumerate(positions):
        favourite, said[0, i] = bare(evaluator, position.situation(), shipped.dsmcp().ell)
        decision = searched(plain, position)
        said[1, i] = decision.value
        alone = by_engine(shipped, position, seconds)
        choices = (position.played_action(), favourite, alone, decision.action, searched(shipped, position).action)
        losses[:, i] = [position.loss(action) for action in choices]
        report(i + 1)
    rows = tuple(row_of(name, lost) for name, lost in zip(names, losses, strict=True))
    return Result(len(positions), seconds, rows, by_material(positions, said))


def row_of(name: str, lost: NDArray[np.int64]) -> Row:
    """Of what each position lost."""
    mean, blunders = float(lost.mean()), int((lost > BLUNDER).sum())
    error = Z * float(lost.std()) / math.sqrt(len(lost))
    return Row(name, mean, mean - error, mean + error, blunders / len(lost), *wilson(blunders, len(lost)))


def by_material(positions: Sequence[Position], said: NDArray[np.float64]) -> tuple[MaterialRow, ...]:
    """`said`: float64[2, positions], chances to win by the network and by the search, NaN where it did not say."""
    classes = np.searchsorted(MATERIAL, [position.material() for position in positions], side="right")
    won = np.array([(1 + position.result) / 2 for position in positions])
    rows = []
    for i, name in enumerate(material_names()):
        chosen = classes == i
        n = int(chosen.sum())
        value, searched, share = (_mean(numbers[chosen]) for numbers in (*said, won))
        rows.append(MaterialRow(name, n, value, searched, share, *wilson(float(won[chosen].sum()), n)))
    return tuple(rows)


def material_names() -> list[str]:
    first, *_, last = MATERIAL
    between = [f"{low:+d} to {after - 1:+d}" for low, after in pairwise(MATERIAL)]
    return [f"{first - 1:+d} and less", *between, f"{last:+d} and more"]


def _mean(numbers: NDArray[np.float64]) -> float | None:
    numbers = numbers[np.isfinite(numbers)]
    return float(numbers.mean()) if len(numbers) else None
