"""LocalGame in lockstep with reconchess: no difference in any answer, any error or any history."""

from __future__ import annotations

import json
import random
from collections import Counter
from copy import deepcopy

import chess
import pytest
import reconchess
from reconchess.bots import attacker_bot
from reconchess.bots.attacker_bot import AttackerBot
from reconchess.bots.random_bot import RandomBot
from reconchess.history import GameHistoryEncoder

from penumbra.interop.history import history_to_record, record_to_history
from penumbra.interop.local_game import LocalGame
from tests.oracles.state_set import taken_move
from tests.support.evidence import scale
from tests.support.lockstep import HAND_MADE, FakeClock, Lockstep, middle_game

GAMES = scale(1_000, 20_000)
BATCHES = 20


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """One clock for both games."""
    clock = FakeClock()
    monkeypatch.setattr("reconchess.game.datetime", clock)
    return clock


def play_one(seed: int, clock: FakeClock) -> str:
    """A game of one of five kinds: plain, from a middle game, short of time, with other limits, resigned."""
    rng = random.Random(seed)
    kind = seed % 5
    if kind == 0:
        return Lockstep(rng, clock).play()
    if kind == 1:
        return Lockstep(rng, clock, middle_game(rng), seconds_per_player=None, seconds_increment=None).play(pace=1)
    if kind == 2:
        return Lockstep(rng, clock, seconds_per_player=20, seconds_increment=1).play(pace=0.8)
    if kind == 3:
        limits = {"reversible_moves_limit": rng.randrange(1, 30), "full_turn_limit": rng.choice([None, 1, 10, 30])}
        return Lockstep(rng, clock, middle_game(rng), **limits).play()
    return Lockstep(rng, clock, middle_game(rng), reversible_moves_limit=None, full_turn_limit=40).play(resigns=True)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_games_cannot_be_told_apart(batch: int, clock: FakeClock) -> None:
    for seed in range(batch * GAMES // BATCHES, (batch + 1) * GAMES // BATCHES):
        text = play_one(seed, clock)
        history = json.loads(text, cls=reconchess.history.GameHistoryDecoder)
        assert json.dumps(record_to_history(history_to_record(history)), cls=GameHistoryEncoder) == text


def test_all_five_reasons_for_an_end_are_met(clock: FakeClock) -> None:
    reasons = {json.loads(play_one(seed, clock))["win_reason"]["value"] for seed in range(60)}
    assert reasons == set(reconchess.WinReason.__members__)


def test_special_moves_are_met_often(clock: FakeClock) -> None:
    """Else the games would prove little about castling, en passant, promotion and moves that fail."""
    met: Counter[str] = Counter()
    for seed in range(100):
        history = json.loads(play_one(seed, clock), cls=reconchess.history.GameHistoryDecoder)
        for turn in filter(history.has_move, history.turns()):
            board, taken = history.truth_board_before_move(turn), history.taken_move(turn)
            met["castling"] += taken is not None and board.is_castling(taken)
            met["en passant"] += taken is not None and board.is_en_passant(taken)
            met["promotion"] += taken is not None and taken.promotion == chess.QUEEN
            met["underpromotion"] += taken is not None and taken.promotion in (chess.KNIGHT, chess.ROOK, chess.BISHOP)
            met["failure"] += taken is None and history.requested_move(turn) is not None
    assert min(met[kind] for kind in ("castling", "en passant", "promotion", "underpromotion", "failure")) >= 20, met


@pytest.mark.parametrize("fen", HAND_MADE)
def test_every_listed_move_has_the_same_outcome(fen: str) -> None:
    """From each hand-made position and each position one listed move on, so that the replies to it are met too."""
    for first in [None, *reconchess.utilities.move_actions(chess.Board(fen))]:
        board = chess.Board(fen)
        start = LocalGame(fen=fen)
        start.move(first)
        board.push(taken_move(board, first) or chess.Move.null())
        assert start.board.fen(en_passant="fen") == board.fen(en_passant="fen")
        if start.is_over():
            continue
        position = board.fen(en_passant="fen")
        for move in set(reconchess.utilities.move_actions(board)):
            ours, theirs = LocalGame(fen=position), reconchess.LocalGame()
            theirs.board = chess.Board(position)
            assert ours.move(move) == theirs.move(move), (position, move)
            assert ours.board.fen(en_passant="fen") == theirs.board.fen(en_passant="fen")


@pytest.mark.parametrize("bots", [(RandomBot, AttackerBot), (AttackerBot, RandomBot), (AttackerBot, AttackerBot)])
def test_reconchess_players_run_on_it_unchanged(bots: tuple[type, type], monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bots with the same luck play the same game on both."""
    attacks = deepcopy(attacker_bot.QUICK_ATTACKS)
    for seed in range(10):
        games = []
        for game in (LocalGame(), reconchess.LocalGame()):
            random.seed(seed)
            monkeypatch.setattr(attacker_bot, "QUICK_ATTACKS", deepcopy(attacks))  # the bot uses them up
            winner, reason, history = reconchess.play_local_game(bots[0](), bots[1](), game=game)
            games.append((winner, reason, json.dumps(history, cls=GameHistoryEncoder)))
        assert games[0] == games[1]
