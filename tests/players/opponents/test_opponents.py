"""The built-in opponents: whole games by the rules, nothing seen that should not be, and each kind's own way."""

from __future__ import annotations

import collections
import random
from collections.abc import Sequence
from typing import Any

import chess
import numpy as np
import pytest
from reconchess.bots.attacker_bot import QUICK_ATTACKS, AttackerBot

from penumbra import core
from penumbra.arena.game_loop import play_strictly
from penumbra.configs.reader import ConfigurationError
from penumbra.core import Game, StateSet
from penumbra.players import registry
from penumbra.players.opponents.attacker import SCRIPTS, Attacker
from penumbra.players.opponents.engine import NativeEngine, in_check, requests
from penumbra.players.opponents.la_salle import LaSalle, LaSalleSettings
from penumbra.players.opponents.openings import OPENINGS
from penumbra.players.opponents.oracle import Oracle
from penumbra.players.opponents.piece_clouds import KING, PieceClouds
from penumbra.players.opponents.random_player import RandomPlayer
from penumbra.players.opponents.tracking_player import TrackingPlayer
from penumbra.players.opponents.trout import Trout, TroutSettings
from penumbra.players.penumbra.configuration import Configuration
from penumbra.players.player import Player
from penumbra.rbc.actions import (
    PASS,
    action_to_code,
    code_to_action,
    parse_action,
    parse_square,
    sense_window,
    uci_to_code,
)
from penumbra.rbc.sense_partitions import INNER_SQUARES, boards, sense_groups
from penumbra.rbc.tracker import Tracker
from tests.oracles.chi_square import upper_limit
from tests.support.processes import run_python

KINDS = [name for name, entry in registry.ENTRIES.items() if entry.settings is not Configuration and not entry.module]
THINKING = [kind for kind in KINDS if kind not in ("random", "attacker")]
TRACKING = ["stocky-inference", "oracle", "dynamic-entropy", "strange-fish", "strange-fish-2"]
SMALL: dict[str, dict[str, Any]] = {kind: {"states": 8, "cap": 300} for kind in TRACKING} | {
    "full-monte": {"playouts": 3, "plies": 3},
    "la-salle": {"states": 8},
}


def small(kind: str, seed: int, **settings: Any) -> Player:
    """A player that thinks little, so that whole games are short work."""
    return registry.make_with_settings(kind, seed, SMALL.get(kind, {}) | settings)


def limited_game() -> Game:
    return Game(None, full_turn_limit=40)


def game_of(player: Player, other: Player, color: bool, game: Game) -> Game:
    """A game to its end in which `player` has that colour."""
    white, black = (player, other) if color else (other, player)
    return play_strictly(white, black, game)


# -- all kinds


@pytest.mark.parametrize("color", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_plays_whole_games(kind: str, color: bool) -> None:
    player, other = small(kind, 1), RandomPlayer(2)
    game = game_of(player, other, color, limited_game())
    assert game.over
    assert game.reason in ("KING_CAPTURE", "MOVE_LIMIT", "TURN_LIMIT")
    assert game.record().replay().winner == game.winner


def turn(player: Player, game: Game, capture: int | None) -> tuple[int, tuple[int, ...], list[int], int]:
    """(sense, what it showed, the moves listed, move) of a player's turn in a game; the move is not made."""
    player.opponent_moved(capture)
    square = player.choose_sense()
    assert square is not None
    contents = tuple(content for _, content in game.sense(square))
    player.sensed(square, contents)
    actions = game.legal_actions()
    return square, contents, actions, player.choose_move(actions)


@pytest.mark.parametrize("color", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_sees_more_than_its_observations(kind: str, color: bool) -> None:
    """A twin with the same seed plays each turn in another state of the exact set, and chooses the same."""
    player, twin, other = small(kind, 3), small(kind, 3), RandomPlayer(4)
    game, rng, swapped = Game(), random.Random(5), 0
    for p, c in ((player, color), (twin, color), (other, not color)):
        p.start(c, game.fen())
    tracker = Tracker(color, memory=0)
    for _ in range(12):
        if game.over:
            break
        if game.turn != color:
            _, _, _, action = turn(other, game, game.capture)
            game.move(action)
            continue
        tracker.opponent_moved(game.capture)
        capture, before = game.capture, tracker.current
        chosen = turn(player, game, capture)
        tracker.sensed(chosen[0], chosen[1])
        truth = game.fen().split()[0]
        others = [fen for fen in tracker.current if fen.split()[0] != truth]
        fen = rng.choice(others) if others else tracker.current.fen(0)
        assert fen in before
        swapped += bool(others)
        assert turn(twin, Game(fen), capture) == chosen
        requested = action_to_code(chosen[3])
        _, captured = game.move(chosen[3])
        if not game.over:
            for p in (player, twin):
                p.moved(requested, game.last_taken, captured)
            tracker.moved(requested, game.last_taken, captured)
    assert swapped >= 3


@pytest.mark.parametrize("kind", THINKING)
def test_a_king_that_is_seen_is_taken(kind: str) -> None:
    fen = "4k3/8/8/8/8/8/8/K3R3 w - - 0 1"
    player = small(kind, 0)
    player.start(True, fen)
    game = Game(fen)
    game.move(turn(player, game, None)[3])
    assert game.winner is True


@pytest.mark.parametrize("kind", THINKING)
def test_every_kind_beats_chance(kind: str) -> None:
    wins = 0
    for seed in range(4):
        color = seed % 2 == 0
        player, other = small(kind, seed), RandomPlayer(seed)
        game = game_of(player, other, color, limited_game())
        wins += game.winner is color
    assert wins >= 3


@pytest.mark.parametrize("kind", TRACKING)
def test_a_player_whose_cap_loses_the_truth_plays_on(kind: str) -> None:
    """Ten states are soon the wrong ones: the set is rebuilt and never empty."""
    for seed in range(2):
        player = small(kind, seed, cap=10)
        assert isinstance(player, TrackingPlayer)
        game = play_strictly(player, small("trout", seed), game=limited_game())
        assert game.over
        assert len(player.states) >= 1


def test_seeds_matter() -> None:
    games = {play_strictly(small("trout", seed), small("oracle", seed)).record().to_bytes() for seed in range(4)}
    assert len(games) > 1


def test_opponents_need_no_chess_package() -> None:
    script = """
import sys
for name in ("chess", "reconchess", "typer", "rich", "matplotlib", "torch"):
    sys.modules[name] = None
from penumbra.arena.game_loop import play_strictly
from penumbra.players import registry
from penumbra.players.penumbra.configuration import Configuration
print(len(registry.ENTRIES), play_strictly(registry.make("trout", 1), registry.make("random", 1)).reason)
"""
    run = run_python("-c", script)
    assert (run.returncode, run.stdout, run.stderr) == (0, f"{len(registry.ENTRIES)} KING_CAPTURE\n", "")


# -- Random and Attacker, as reconchess has them


def test_random_moves_are_uniform_and_the_pass_is_one_of_them() -> None:
    game = Game()
    game.sense(None)
    actions = game.legal_actions()
    player, n = registry.make("random", 1), 4000
    counts = collections.Counter(player.choose_move(actions) for _ in range(n))
    assert set(counts) == set(actions)
    mean = n / len(actions)
    assert sum((count - mean) ** 2 / mean for count in counts.values()) < upper_limit(len(actions) - 1)
    assert {player.choose_sense() for _ in range(2000)} == set(range(64))


def test_the_attacks_are_those_of_reconchess() -> None:
    theirs = [tuple(code_to_action(uci_to_code(move.uci())) for move in attack) for attack in QUICK_ATTACKS]
    assert list(SCRIPTS.values()) == theirs


def test_every_attack_is_as_likely() -> None:
    n, counts = 800, collections.Counter[tuple[int, ...]]()
    for seed in range(n):
        attacker = Attacker(seed)
        attacker.start(True, core.START_FEN)
        counts[tuple(attacker.choose_move(range(PASS + 1)) for _ in range(3))] += 1
    assert len(counts) == 4
    assert sum((count - n / 4) ** 2 / (n / 4) for count in counts.values()) < upper_limit(3)


@pytest.mark.parametrize("script", range(4))
def test_the_attacker_keeps_step_with_reconchess(script: int) -> None:
    """Whatever moves are listed, both ask for the same, the moves not listed left out, and pass at last."""
    rng = random.Random(script)
    moves = QUICK_ATTACKS[script]
    for _ in range(20):
        theirs = AttackerBot()
        theirs.move_sequence = list(moves)
        ours = registry.make_with_settings("attacker", 0, {"script": list(SCRIPTS)[script]})
        ours.start(True, core.START_FEN)
        for _ in range(8):
            some = rng.sample(moves, rng.randint(0, len(moves)))
            wanted = theirs.choose_move([*some, chess.Move.from_uci("a2a3")], 0)
            actions = [*(code_to_action(uci_to_code(move.uci())) for move in some), parse_action("a2a3"), PASS]
            assert ours.choose_move(actions) == (PASS if wanted is None else parse_action(wanted.uci()))


# -- single kinds


def trout(fen: str, color: bool = True) -> Trout:
    player = Trout(1, TroutSettings(temperature=0))
    player.start(color, fen)
    return player


def test_trout_senses_where_it_lost_a_piece_and_believes_what_it_sees() -> None:
    player = trout(core.START_FEN)
    square = parse_square("e2")
    player.opponent_moved(square)
    assert player.choose_sense() == square
    contents = [0] * 9
    contents[4] = 8  # a knight on e2
    player.sensed(square, contents)
    assert player.board[square] == 8
    assert player.board[parse_square("d1")] == 0


def test_trout_senses_where_it_means_to_capture() -> None:
    player = trout("k7/pp6/8/3q4/4P3/8/8/K7 w - - 0 1")
    player.opponent_moved(None)
    assert player.choose_sense() == parse_square("d5")


def test_trout_senses_off_its_own_pieces_otherwise() -> None:
    squares = set()
    for seed in range(60):
        player = Trout(seed)
        player.start(False, core.START_FEN)
        player.opponent_moved(None)
        squares.add(player.choose_sense())
    assert min(squares) >= 16
    assert len(squares) > 20


def test_one_board_always_has_both_kings_and_right_own_pieces() -> None:
    for seed in range(4):
        player, other = Trout(seed), registry.make("random", seed)
        game = Game(None, full_turn_limit=30)
        player.start(True, game.fen())
        other.start(False, game.fen())
        while not game.over:
            if not game.turn:
                game.move(turn(other, game, game.capture)[3])
                continue
            action = turn(player, game, game.capture)[3]
            own = boards(StateSet(game.fen(), True))[0]
            assert [c if c <= 6 else 0 for c in player.board] == [int(c) if c <= 6 else 0 for c in own]
            assert player.board.count(12) == 1
            _, capture = game.move(action)
            if not game.over:
                player.moved(action_to_code(action), game.last_taken, capture)


def test_castling_is_lost_on_the_one_board_as_in_the_game() -> None:
    fen = "4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1"
    player = trout(fen)
    code = uci_to_code("h1g1")
    player.moved(code, code, None)
    assert player.fen().split()[2] == "Q"
    code = uci_to_code("e1c1")
    player.moved(code, code, None)
    assert player.fen() == "4k3/8/8/8/8/8/8/2KR2R1 w - - 0 1"


def test_oracle_senses_a_possible_check_first() -> None:
    """One state of many has a check by a queen from h4; everything else is uncertain on the far side."""
    fens = [f"{row}/8/8/8/8/8/8/4K3 w - - 0 1" for row in ("k7", "1k6", "2k5", "k1n5", "k2n4", "1k1n4")]
    player = Oracle(0)
    player.start(True, core.START_FEN)
    player.states = StateSet.from_fens([*fens, "k7/8/8/8/7q/8/8/4K3 w - - 0 1"], True)
    square = player.choose_sense()
    assert parse_square("h4") in sense_window(square, True)


@pytest.mark.parametrize("kind", ["strange-fish", "strange-fish-2"])
def test_strange_fish_senses_what_decides_its_move(kind: str) -> None:
    """The queen a1 takes the king on a8 or h8, whichever it is; knights that matter to no move stand elsewhere."""
    fens = [f"{king}/8/8/{knight}/8/8/8/Q3K3 w - - 0 1" for king in ("k7", "7k") for knight in ("2n5", "3n4", "4n3")]
    player = registry.make(kind, 0)
    assert isinstance(player, TrackingPlayer)
    player.start(True, core.START_FEN)
    player.states = StateSet.from_fens(fens, True)
    window = sense_window(int(player.choose_sense() or 0), True)
    assert parse_square("a8") in window or parse_square("h8") in window


def test_openings_are_followed_by_both_colours() -> None:
    for color in (True, False):
        player = small("trout", 1, opening="english")
        game = game_of(player, RandomPlayer(1), color, Game(None, full_turn_limit=3))
        assert code_to_action(game.record().moves[0 if color else 1]) == OPENINGS["english"][0]


def test_temperature_and_noise_spread_the_choices() -> None:
    game = Game()
    game.sense(None)
    actions = game.legal_actions()

    def choices(**settings: float) -> set[int]:
        found = set()
        for seed in range(30):
            player = registry.make_with_settings("oracle", seed, settings)
            player.start(True, core.START_FEN)
            player.opponent_moved(None)
            found.add(player.choose_move(actions))
        return found

    assert len(choices(temperature=0.0)) <= 2  # the king's pawn and the queen's are as good
    assert len(choices(temperature=2000.0)) > 8
    senses = set()
    for seed in range(60):
        player = registry.make_with_settings("oracle", seed, {"sense_noise": 1.0})
        player.start(True, core.START_FEN)
        player.opponent_moved(None)
        senses.add(player.choose_sense())
    assert len(senses) > 20


# -- what they are made of


def test_sense_groups_are_what_filtering_would_leave() -> None:
    for owner in (True, False):
        states = StateSet(core.START_FEN, owner)
        states = states.apply_move(0, 0, None) if owner else states
        states = states.expand(None)
        all_boards, groups = boards(states), sense_groups(states)
        for i, square in enumerate(INNER_SQUARES[::5]):
            window = list(sense_window(square, owner))
            for s in range(0, len(states), 7):
                left = states.filter_sense(square, all_boards[s, window].tolist())
                assert len(left) == (groups[i * 5] == groups[i * 5, s]).sum()


def test_checks_are_seen() -> None:
    fens = ["4k3/8/8/8/8/8/8/R3K3 w - - 0 1", "k3r3/8/8/8/8/8/8/R3K3 w - - 0 1", "k7/8/8/8/8/5n2/8/R3K3 w - - 0 1"]
    assert in_check(StateSet.from_fens(fens, True)).tolist() == [False, True, True]


def test_clouds_stay_distributions_with_one_king() -> None:
    """Through whole games against chance: sums of one, what was seen is certain."""
    for seed in range(3):
        player, other = LaSalle(seed, LaSalleSettings(states=4)), RandomPlayer(seed)
        game = Game(None, full_turn_limit=25)
        player.start(False, game.fen())
        other.start(True, game.fen())
        while not game.over:
            if game.turn:
                game.move(turn(other, game, game.capture)[3])
                continue
            square, contents, _, action = turn(player, game, game.capture)
            clouds = player.clouds
            assert np.allclose(clouds.p.sum(axis=1), 1)
            assert clouds.kinds.count(KING) == 1
            for at, content in zip(sense_window(square, False), contents, strict=True):
                assert clouds.p[:, at].sum() == pytest.approx(float(content > 6))
            _, capture = game.move(action)
            if not game.over:
                player.moved(action_to_code(action), game.last_taken, capture)


def test_clouds_of_a_known_board_make_that_board() -> None:
    board = boards(StateSet(core.START_FEN, True))[0].tolist()
    made = PieceClouds(board).boards(board, 5, np.random.default_rng(0))
    assert (made == board).all()


def test_an_engine_of_ones_own_is_asked_instead() -> None:
    class Passive(NativeEngine):
        """Thinks nothing better than the pass."""

        def scores(self, states: StateSet, actions: np.ndarray[Any, np.dtype[np.int32]]) -> np.ndarray[Any, Any]:
            return np.tile(np.where(actions == PASS, 500, 0).astype(np.int32), (len(states), 1))

    player = Oracle(0, engine=Passive(1, 1))
    player.start(True, core.START_FEN)
    player.opponent_moved(None)
    assert player.choose_move(requests(player.states).tolist()) == PASS


# -- bad settings


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        ("trout", {"deepness": 3}, "trout: there is no 'deepness'; there are name, engine"),
        ("trout", {"cap": 100}, "trout: there is no 'cap'"),
        ("trout", {"depth": 0}, "trout: depth = 0: it must be a whole number from 1"),
        ("oracle", {"nodes": 2.5}, "nodes = 2.5: it must be a whole number"),
        ("oracle", {"cap": True}, "cap = True: it must be a whole number"),
        ("oracle", {"temperature": -1}, "temperature = -1: it must be a number from 0"),
        ("oracle", {"temperature": float("nan")}, "temperature = nan: it must be a number"),
        ("oracle", {"sense_noise": 1.5}, "sense_noise = 1.5: it must be a number from 0 to 1"),
        ("oracle", {"opening": "sicilian"}, "opening = 'sicilian': it is one of none, random, english"),
        ("strange-fish", {"sense": "smell"}, "sense = 'smell': it is one of scores, outcome"),
        ("attacker", {"script": "queen"}, "script = 'queen': it is one of random, queenside-b5"),
        ("random", {"name": 3}, "name = 3: it must be a text"),
    ],
)
def test_bad_settings_are_refused(kind: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message.replace("(", r"\(")):
        registry.make_with_settings(kind, 0, settings)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_name_of_its_own_or_the_one_it_is_given(kind: str) -> None:
    names: Sequence[str] = [registry.make(k, 0).name for k in KINDS]
    assert len(set(names)) == len(KINDS)
    assert registry.make_with_settings(kind, 0, {"name": "Nemo"}).name == "Nemo"
    assert registry.make(kind, 1).name == registry.entry(kind).title


def test_a_name_that_is_not_known_is_answered_with_those_that_are() -> None:
    for make in (registry.make, lambda name, seed: registry.make_with_settings(name, seed, {})):
        with pytest.raises(ValueError, match=r"^there is no player 'shark'; known are penumbra, .*:random$"):
            make("shark", 0)
