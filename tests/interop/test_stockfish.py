"""Stockfish as the engine of the built-in opponents: chess by Stockfish, kings by the rules, and no game that stops."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from penumbra import core
from penumbra.arena.game_loop import play_strictly
from penumbra.configs.reader import ConfigurationError
from penumbra.core import KING_TAKEN, START_FEN, Game, StateSet
from penumbra.interop import stockfish, uci
from penumbra.interop.stockfish import StockfishEngine, find_stockfish, running
from penumbra.players import registry
from penumbra.players.opponents.engine import FAR, requests
from penumbra.players.opponents.random_player import RandomPlayer
from penumbra.players.opponents.settings import EngineSettings
from penumbra.rbc.actions import action_name
from tests.support.command_line import penumbra

PATH = find_stockfish()
WITH_ENGINE = [name for name, entry in registry.ENTRIES.items() if issubclass(entry.settings, EngineSettings)]
SMALL: dict[str, dict[str, Any]] = {
    kind: {key: 6 for key in ("states", "boards") if key in registry.entry(kind).settings.__dataclass_fields__}
    | {"nodes": 40}
    for kind in WITH_ENGINE
}
SMALL["stocky-inference"]["boards"] = 10

needs_stockfish = pytest.mark.skipif(PATH is None, reason="Stockfish is not installed")


def named_scores(engine: StockfishEngine, fen: str) -> dict[str, int]:
    states = StateSet(fen, fen.split()[1] == "w")
    actions = requests(states)
    return dict(zip(map(action_name, actions.tolist()), engine.scores(states, actions)[0].tolist(), strict=True))


@needs_stockfish
@pytest.mark.parametrize("kind", WITH_ENGINE)
def test_every_kind_can_play_with_stockfish(kind: str) -> None:
    player = registry.make_with_settings(kind, 1, {"engine": "stockfish"} | SMALL[kind])
    game = play_strictly(player, RandomPlayer(2), Game(None, full_turn_limit=3))
    assert game.over
    assert game.record().replay().winner == game.winner
    again = registry.make_with_settings(kind, 1, {"engine": "stockfish"} | SMALL[kind])
    assert play_strictly(again, RandomPlayer(2), Game(None, full_turn_limit=3)).record().to_bytes() == (
        game.record().to_bytes()
    )


@needs_stockfish
@pytest.mark.parametrize("kind", WITH_ENGINE)
def test_a_king_that_is_seen_is_taken(kind: str) -> None:
    fen = "4k3/8/8/8/8/8/8/K3R3 w - - 0 1"
    player = registry.make_with_settings(kind, 0, {"engine": "stockfish"} | SMALL[kind])
    game = Game(fen)
    player.start(True, fen)
    player.opponent_moved(None)
    square = player.choose_sense()
    player.sensed(square, [content for _, content in game.sense(square)])
    game.move(player.choose_move(game.legal_actions()))
    assert game.winner is True


@needs_stockfish
def test_scores_are_stockfishs_where_no_king_falls() -> None:
    """The queen takes a free rook, a mate is found, and what leaves the king to be taken is lost by the rules."""
    scores = named_scores(StockfishEngine(3_000), "3r3k/6pp/8/8/3Q4/8/5PPP/6K1 w - - 0 1")
    assert max(scores, key=lambda name: scores[name]) == "d4d8"
    assert scores["d4d8"] == KING_TAKEN - 2  # mate: the king is taken after one more move of each
    lost = named_scores(StockfishEngine(500), "k3r3/8/8/8/8/8/P7/4K3 w - - 0 1")
    assert {name for name, score in lost.items() if score < -FAR} == {"pass", "e1e2", "a2a3", "a2a4", "a2b3"}
    taken = named_scores(StockfishEngine(500), "4k3/8/8/8/8/8/8/K3R3 w - - 0 1")
    assert taken["e1e8"] == KING_TAKEN


@needs_stockfish
def test_requests_that_come_to_the_same_are_worth_the_same() -> None:
    """A slide stopped by a pawn is the capture; a pawn's capture of nothing is the pass, which costs a move."""
    for fen in ("4k3/8/8/p7/8/8/1P6/R3K3 w - - 0 1", "r3k3/1p6/8/8/P7/8/8/4K3 b - - 0 1"):
        scores = named_scores(StockfishEngine(2_000), fen)  # names are in the mover's own view
        assert scores["a1a5"] == scores["a1a6"] == scores["a1a8"]
        assert scores["b2c3"] == scores["pass"] < scores["a1a5"]
        assert scores["a1a4"] != scores["a1a5"]


@needs_stockfish
def test_what_was_asked_before_changes_nothing() -> None:
    engine = StockfishEngine(1_000)
    states = StateSet(START_FEN, True).apply_move(0, 0, None).expand(None)
    actions = requests(states)
    together = engine.scores(states, actions)
    for i in (3, 0):
        alone = engine.scores(StateSet(states.fen(i), True), actions)
        assert (together[i] == alone[0]).all()
    assert (engine.values(states) == engine.values(states)).all()


@needs_stockfish
def test_with_one_line_the_rest_is_worse() -> None:
    scores = named_scores(StockfishEngine(500, lines=1), START_FEN)
    ordered = sorted(scores.values())
    assert ordered[-1] - ordered[-2] == stockfish.UNLISTED
    assert len(set(ordered[:-1])) == 1


@needs_stockfish
def test_seconds_come_before_nodes() -> None:
    scores = named_scores(StockfishEngine(10**12, seconds=0.05), START_FEN)  # so many nodes would take days
    assert max(scores.values()) - min(scores.values()) > 20


@needs_stockfish
def test_positions_that_are_not_chess_are_the_native_engines() -> None:
    many = "qqqqkqqq/qqqqqqqq/8/8/8/8/PPPPPPPP/QQQQKQQQ w - - 0 1".replace("8/8/8", "8/8/Q7")
    assert sum(c.isalpha() for c in many.split()[0]) > stockfish.MOST_PIECES
    for fen in (many, "k7/2Q5/1K6/8/8/8/8/8 b - - 0 1", "R3k3/R7/8/8/8/8/8/4K3 b - - 0 1"):
        states = StateSet(fen, fen.split()[1] == "w")
        actions = requests(states)
        scores = StockfishEngine(200).scores(states, actions)
        assert (scores == core.engine_scores(states, actions, 1, 1)).all()


@needs_stockfish
def test_a_stockfish_that_dies_is_started_anew() -> None:
    assert PATH is not None
    engine = StockfishEngine(500)
    before = named_scores(engine, START_FEN)
    first = running(PATH).pid
    os.kill(first, signal.SIGKILL)
    assert named_scores(engine, START_FEN) == before
    assert running(PATH).pid != first


@pytest.mark.parametrize("script", ["exit 1", "sleep 60", "echo nonsense; read x; echo uciok; read x; exit 0"])
def test_where_stockfish_never_answers_the_native_engine_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    broken = tmp_path / "stockfish"
    broken.write_text(f"#!/bin/sh\n{script}\n")
    broken.chmod(0o755)
    monkeypatch.setenv("STOCKFISH_EXECUTABLE", str(broken))
    monkeypatch.setattr(uci, "SILENCE", 0.2)
    states = StateSet(START_FEN, True)
    actions = requests(states)
    engine = StockfishEngine(100)
    assert (engine.scores(states, actions) == core.engine_scores(states, actions, 1, 1)).all()
    assert (engine.values(states) == core.engine_values(states, 1, 1)).all()
    stockfish.stop()


def test_a_stockfish_that_is_missing_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STOCKFISH_EXECUTABLE", str(tmp_path / "nowhere"))
    for kind in WITH_ENGINE:
        with pytest.raises(ConfigurationError, match="it is not found; install it, or set STOCKFISH_EXECUTABLE"):
            registry.make_with_settings(kind, 0, {"engine": "stockfish"})
    config = tmp_path / "population.toml"
    player = '[[player]]\nname = "{}"\nkind = "trout"\nsettings = {{ engine = "{}" }}\n'
    config.write_text("games = 2\n" + player.format("A", "native") + player.format("B", "stockfish"))
    answer = penumbra("generate", config, "--archive", tmp_path / "games.db")
    assert (answer.returncode, answer.stderr.count("\n")) == (1, 1)
    assert "player 2 (B): engine = 'stockfish': it is not found" in answer.stderr


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"engine": "lc0"}, "engine = 'lc0': it is one of native, stockfish"),
        ({"seconds": -1.0}, "seconds = -1.0: it must be a number from 0"),
        ({"lines": -1}, "lines = -1: it must be a whole number from 0"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        registry.make_with_settings("oracle", 0, settings)


@needs_stockfish
def test_values_are_for_the_player_to_move() -> None:
    good, bad = "4k3/8/8/8/8/8/8/R3K3 w - - 0 1", "3qk2q/8/8/8/8/8/8/R3K3 w - - 0 1"
    states = StateSet.from_fens([good, bad], True)
    by_fen = dict(zip(states.fens(), StockfishEngine(500).values(states).tolist(), strict=True))
    assert by_fen[good] > 300
    assert by_fen[bad] < -300
