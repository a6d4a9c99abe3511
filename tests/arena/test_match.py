"""Matches: whatever a player does wrong is its own named loss, and every game is accounted for."""

from __future__ import annotations

import itertools
import json
import logging
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast
from unittest.mock import patch

import chess
import chess.engine
import pytest
from studies.imitations import planned

from penumbra.arena.entrants import Entrant, PlayerPool, entrant
from penumbra.arena.game_loop import Clock, GameLoop, play
from penumbra.arena.match import CANNOT_START, GameWorker, Job, Match, run, to_json, unsettled
from penumbra.arena.pool import Pool
from penumbra.arena.score import GameResult, Score, wilson
from penumbra.arena.sprt import Sprt
from penumbra.commands.match import summary
from penumbra.core import Game, GameRecord
from penumbra.interop.history import read_record
from penumbra.interop.isolated_player import IsolatedPlayer, PlayerFault
from penumbra.interop.limited_trout import LimitedEngine, limit_from_environment
from penumbra.interop.stockfish import find_stockfish
from penumbra.network.weights import LITE
from penumbra.players.opponents.random_player import RandomPlayer
from penumbra.players.penumbra.configuration import Configuration
from tests.support.bots import write_bot
from tests.support.command_line import penumbra
from tests.support.processes import environment
from tests.support.processes import run_penumbra as command
from tests.support.workshop import Task, Workshop

CLOCK = Clock(20.0, 0.1)

# What a bad player does at its second turn, and the reason and detail it must be remembered for.
BAD = {
    "raises": ("choose_move(self, m, s)", "raise KeyError('no idea')", "crash", "choose_move: KeyError: 'no idea'"),
    "exits": ("choose_sense(self, a, m, s)", "sys.exit(3)", "crash", "SystemExit"),
    "dies": ("choose_move(self, m, s)", "os._exit(7)", "killed", "the process exited with code 7"),
    "is killed": ("choose_move(self, m, s)", "os.kill(os.getpid(), signal.SIGKILL)", "killed", "ended by SIGKILL"),
    "sleeps": ("choose_move(self, m, s)", "time.sleep(60)", "hang", "choose_move gave no answer in"),
    "is nonsense": ("choose_move(self, m, s)", "return lambda: 0", "nonsense", "is not a move"),
    "has no such square": ("choose_sense(self, a, m, s)", "return 'e4'", "nonsense", "'e4' is not a square"),
    "cheats": ("choose_move(self, m, s)", "return chess.Move(chess.A1, chess.H8)", "illegal action", ""),
    "fails at the result": ("handle_sense_result(self, r)", "raise ValueError('eh')", "crash", "ValueError: eh"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_player_loses_by_name_and_only_its_game(name: str, tmp_path: Path) -> None:
    """In the game loop: it loses, and its next game starts in a fresh process as if nothing had been."""
    method, body, reason, detail = BAD[name]
    bad = IsolatedPlayer(str(write_bot(tmp_path, name, method, body)))
    clock = Clock(0.5, 0.1) if name == "sleeps" else CLOCK
    try:
        for color in (True, False) if name in ("raises", "is killed") else (True,):
            good = RandomPlayer(1)
            outcome = play(bad, good, clock) if color else play(good, bad, clock)
            assert (outcome.winner, outcome.reason) == (not color, reason)
            assert detail in outcome.detail
            assert "\n" not in outcome.detail
            assert outcome.record.winner is not color
            assert outcome.record.reason == ("TIMEOUT" if reason == "hang" else "RESIGN")
            outcome.record.replay()  # a whole record all the same
    finally:
        bad.close()


def test_a_process_killed_from_outside_is_a_loss(tmp_path: Path) -> None:
    bad = IsolatedPlayer("reconchess.bots.random_bot")

    class Killer(RandomPlayer):
        turns = 0

        def opponent_moved(self, capture: int | None) -> None:
            self.turns += 1
            if self.turns == 3:
                assert bad.pid is not None
                os.kill(bad.pid, signal.SIGKILL)

    try:
        outcome = play(Killer(1), bad, CLOCK)
    finally:
        bad.close()
    assert (outcome.winner, outcome.reason) == (True, "killed")
    assert "SIGKILL" in outcome.detail


def test_a_match_with_a_bad_player_has_all_its_games(tmp_path: Path) -> None:
    """Four games in one worker: each a loss by name; written, counted, and in the order they were asked for."""
    bot = write_bot(tmp_path, "dies", *BAD["dies"][:2])
    out = tmp_path / "out"
    match = Match(entrant("random"), entrant(str(bot)), 4, CLOCK, workers=1, out=out)
    score, interrupted = run(match)
    assert not interrupted
    assert [result.number for result in score.results] == [0, 1, 2, 3]
    assert [result.a_is_white for result in score.results] == [True, False, True, False]
    assert score.reasons("a") == {"killed": 4}
    assert score.losses("b")["killed"] == 4 and score.losses("a") == dict.fromkeys(score.losses("a"), 0)
    data = json.loads((out / "match.json").read_text())
    assert (data["asked_for"], data["played"], data["a_wins"]) == (4, 4, 4)
    assert data == json.loads(json.dumps(to_json(match, score, False)))
    for number in range(1, 5):
        assert read_record(out / f"{number:04d}.json").reason == "RESIGN"


def test_isolated_players_print_into_their_own_file(tmp_path: Path) -> None:
    bot = write_bot(tmp_path, "talks", "handle_sense_result(self, r)", "print('what a board')")
    log = tmp_path / "talks.log"
    player = IsolatedPlayer(str(bot), log=str(log))
    player.load()
    player.start(True, Game().fen())
    for _ in range(2):
        player.opponent_moved(None)
    player.sensed(0, (1, 1, 4, 2))
    player.close()
    assert "what a board" in log.read_text()


def test_what_a_player_prints_onto_a_full_disk_does_not_lose_it_the_game(tmp_path: Path) -> None:
    bot = write_bot(tmp_path, "talks", "handle_sense_result(self, r)", "print('what a board', flush=True)")
    player = IsolatedPlayer(str(bot), log="/dev/full")
    player.load()
    player.start(True, Game().fen())
    for _ in range(2):
        player.opponent_moved(None)
    player.sensed(0, (1, 1, 4, 2))
    player.close()


def test_a_log_on_a_full_disk_ends_and_says_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "penumbra.log").symlink_to("/dev/full")
    logger = logging.getLogger("penumbra")
    before = list(logger.handlers)
    GameWorker(1, str(tmp_path)).close()
    try:
        logger.warning("lost track")
    finally:
        logger.handlers = before
    assert capsys.readouterr() == ("", "")


def test_an_isolated_player_has_a_process_of_its_own_for_each_game(tmp_path: Path) -> None:
    """What it leaves behind in its module is gone, unless it is to be kept."""
    bot = write_bot(tmp_path, "counts", "choose_move(self, m, s)", "pass")
    bot.write_text(bot.read_text() + "    games = []\n")
    bot.write_text(bot.read_text().replace("self.turns = 0", "self.turns = 0; self.games.append(1); print(self.games)"))
    for keep, last in ((False, "[1]"), (True, "[1, 1]")):
        logs = tmp_path / str(keep)
        logs.mkdir()
        pool = PlayerPool(str(logs))
        for seed in range(2):
            pool.player(Entrant("counts", str(bot), keep=keep), True, seed).start(True, Game().fen())
        pool.close()
        assert (logs / "counts.log").read_text().splitlines() == ["[1]", last]


def test_an_isolated_game_repeats_itself_by_seed() -> None:
    games = []
    player = IsolatedPlayer("reconchess.bots.random_bot")
    for _ in range(2):
        player.seed(5)
        games.append(play(player, RandomPlayer(2), Clock(None)).record.to_bytes())
    player.close()
    assert games[0] == games[1]


def test_a_player_that_cannot_be_loaded_is_one_line(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("import no_such_module_anywhere")
    with pytest.raises(ValueError, match=r"broken.py cannot be loaded: ModuleNotFoundError: .*no_such_module"):
        entrant(str(broken))
    (tmp_path / "empty.py").write_text("")
    with pytest.raises(ValueError, match="did not contain any subclasses"):
        entrant(str(tmp_path / "empty.py"))
    with pytest.raises(ValueError, match="there is no player 'nobody'"):
        entrant("nobody")


def test_a_call_after_the_end_of_the_process_is_a_fault() -> None:
    player = IsolatedPlayer("reconchess.bots.random_bot")
    player.load()
    assert player.name == "RandomBot" and player.pid is not None
    os.kill(player.pid, signal.SIGKILL)
    with pytest.raises(PlayerFault, match="killed"):
        player.start(True, Game().fen())
    player.close()


# -- the game loop's own clock


class Thinker(RandomPlayer):
    """Takes so long for every move, on a clock that nobody really waits for."""

    def __init__(self, seconds: float, world: list[float]) -> None:
        super().__init__(1)
        self.seconds = seconds
        self.world = world
        self.told: list[float | None] = []

    def tell_time(self, seconds_left: float | None) -> None:
        self.told.append(seconds_left)

    def choose_move(self, actions: Sequence[int]) -> int:
        self.world[0] += self.seconds
        return super().choose_move(actions)


def test_clocks_are_kept_as_reconchess_keeps_them() -> None:
    """Ten seconds, one more a turn, three used: the fifth turn ends at nothing, and nothing is too little."""
    world = [0.0]
    slow, quick = Thinker(3.0, world), Thinker(0.0, world)
    outcome = GameLoop({True: slow, False: quick}, Clock(10, 1), Game(), now=lambda: world[0]).play()
    assert (outcome.winner, outcome.reason) == (False, "time")
    assert slow.told[:4] == [10, 10, 8, 8]
    assert quick.told[:4] == [10, 10, 11, 11]
    assert len(outcome.record.moves) == 9
    assert outcome.least_left[0] == -1 and outcome.record.reason == "TIMEOUT"


def test_without_a_clock_nobody_is_told_the_time() -> None:
    world = [0.0]
    slow = Thinker(1000.0, world)
    outcome = GameLoop({True: slow, False: RandomPlayer(1)}, Clock(None), Game(), now=lambda: world[0]).play()
    assert outcome.reason in ("king capture", "move limit")
    assert set(slow.told) == {None}


@pytest.mark.parametrize("action", [64, -1, 4161, None, "e2e4"])
def test_what_is_not_listed_is_an_illegal_action(action: object) -> None:
    class Cheat(RandomPlayer):
        def choose_move(self, actions: Sequence[int]) -> int:
            return action  # type: ignore[return-value]

    outcome = play(RandomPlayer(1), Cheat(2), CLOCK)
    assert (outcome.winner, outcome.reason) == (True, "illegal action")


def test_a_player_of_ours_that_raises_loses_too() -> None:
    class Broken(RandomPlayer):
        def choose_sense(self) -> int:
            raise RuntimeError("no more")

    outcome = play(Broken(1), RandomPlayer(2), CLOCK)
    assert (outcome.winner, outcome.reason, outcome.detail) == (False, "crash", "RuntimeError: no more")


# -- workers


def test_workers_that_die_are_replaced_and_their_games_played_again(tmp_path: Path) -> None:
    numbers = [1, 10, 2, 11, 3, 12, 4]
    pool: Pool[Task, int] = Pool(Workshop, 2)
    try:
        answers = {index: (answer, why) for index, answer, why in pool.run([Task(str(tmp_path), n) for n in numbers])}
    finally:
        pool.close()
    assert [answers[i][0] for i in range(7)] == [1, 100, 4, None, 9, None, 16]
    assert "a worker died (exit code -9)" in answers[3][1]
    assert answers[5][1] == "RuntimeError: a fault of the harness"


# -- scores


def test_wilson_intervals() -> None:
    """Against values from the literature (Newcombe 1998, Brown et al. 2001)."""
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=1e-4)
    assert wilson(1, 29) == pytest.approx((0.0061, 0.1718), abs=1e-4)
    assert wilson(0, 0) == (0.0, 1.0)


def test_scores_count_draws_half_and_leave_unsettled_games_out() -> None:
    def game(winner: str | None, reason: str, settled: bool = True) -> GameResult:
        return GameResult(0, True, winner, reason, "", 0, 0.0, (None, None), b"", 0, settled=settled)

    won, drawn, lost = game("a", "king capture"), game(None, "move limit"), game("b", "time")
    score = Score([game("a", "time"), won, drawn, lost, game(None, "", False)])
    assert (score.points, score.rate) == (2.5, 0.625)
    assert score.reasons("a") == {"time": 1, "king capture": 1}
    assert score.losses("a")["time"] == 1
    assert score.line() == "2.5 of 4, 62 % (22 % to 91 %)"


# -- a sequential test


@pytest.mark.parametrize(("truth", "right", "draws"), [(0.0, 0.0, 0.0), (60.0, 60.0, 0.0), (60.0, 60.0, 0.3)])
def test_a_sequential_test_is_wrong_as_seldom_as_it_promises(truth: float, right: float, draws: float) -> None:
    """One match in twenty: 300 simulated ones may be off by three standard deviations."""
    rng, test, matches, wrong, games = random.Random(7), Sprt(0, 60), 300, 0, 0
    score = 1 / (1 + 10 ** (-truth / 400))
    for _ in range(matches):
        tally = [0, 0, 0]
        while (verdict := test.verdict(*tally)) is None:
            draw = rng.random() < draws
            won = rng.random() < (score - draws / 2) / (1 - draws)
            tally[1 if draw else 0 if won else 2] += 1
            games += 1
        wrong += verdict != right
    assert wrong / matches < 0.05 + 3 * (0.05 * 0.95 / matches) ** 0.5
    assert games / matches < 1_000


def test_a_sequential_test_by_hand() -> None:
    """60 wins of 100 without draws, 0 against 100 Elo; the half games of smoothing are counted."""
    s1 = 1 / (1 + 10 ** (-0.25))
    n, w, d = 101.5, 60.5, 0.5
    mean = (w + d / 2) / n
    variance = (w + d / 4) / n - mean**2
    expected = n * (s1 - 0.5) * (2 * mean - 0.5 - s1) / (2 * variance)
    assert Sprt(0, 100).log_ratio(60, 0, 40) == pytest.approx(expected)
    assert Sprt(0, 100).log_ratio(0, 0, 0) == pytest.approx(Sprt(0, 100).log_ratio(1, 0, 1), abs=0.2)
    with pytest.raises(ValueError, match="elo1 = 5 is not above elo0 = 5"):
        Sprt(5, 5)


def test_a_match_stops_when_it_is_clear() -> None:
    quick = Entrant("trout", kind="trout", settings={"depth": 1, "nodes": 300})
    match = Match(quick, Entrant("random"), 1_000, Clock(None), sprt=Sprt(0, 400))
    score, interrupted = run(match)
    assert not interrupted
    assert 3 < len(score.settled) < 40
    assert to_json(match, score, False)["sprt"]["holds"] == 400
    assert match.sprt is not None and match.sprt.verdict(*score.tally) == 400


def test_the_command_says_what_is_not_clear() -> None:
    answer = penumbra("match", "random", "random", "--sprt", "--games", "2", "--clock", "none")
    assert "sequential test of 0 against 30 Elo: not yet clear (log-likelihood ratio" in answer.stdout
    answer = penumbra("match", "random", "random", "--sprt", "--elo1", "-10")
    assert (answer.returncode, answer.stderr.count("\n")) == (1, 1)


# -- kinds and what they imitate


def test_our_kinds_play_what_they_imitate() -> None:
    match = planned("attacker", 4, 100, seed=3, out=None)
    score, _ = run(match)
    assert len(score.settled) == 4
    assert {record.white_name for record in map(_record, score.results)} == {"Attacker", "AttackerBot"}
    assert score.losses("b") == dict.fromkeys(score.losses("b"), 0)


def _record(result: GameResult) -> GameRecord:
    return GameRecord.from_bytes(result.record)


@pytest.mark.skipif(find_stockfish() is None, reason="Stockfish is not installed")
def test_both_trouts_play_with_stockfish_and_few_nodes() -> None:
    match = planned("trout", 2, 50, seed=1, out=None)
    assert match.a.settings["nodes"] == int(match.b.environment["PENUMBRA_TROUT_NODES"]) == 50
    score, _ = run(match)
    assert len(score.settled) == 2
    assert {record.white_name for record in map(_record, score.results)} == {"Trout", "LimitedTrout"}


def test_the_limit_of_reconchess_trout_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    class Engine:
        def play(self, board: chess.Board, limit: chess.engine.Limit) -> chess.engine.Limit:
            return limit

    def asked() -> object:
        limit = limit_from_environment()
        assert limit is not None
        engine = LimitedEngine(cast(chess.engine.SimpleEngine, Engine()), limit)
        return engine.play(chess.Board(), chess.engine.Limit(time=0.5))

    monkeypatch.delenv("PENUMBRA_TROUT_NODES", raising=False)
    assert limit_from_environment() is None
    monkeypatch.setenv("PENUMBRA_TROUT_SECONDS", "0.02")
    assert asked() == chess.engine.Limit(time=0.02)
    monkeypatch.setenv("PENUMBRA_TROUT_NODES", "70")
    assert asked() == chess.engine.Limit(nodes=70)


# -- the command


def test_the_command_plays_built_in_players_and_presets(tmp_path: Path) -> None:
    result = command(
        *("match", "penumbra:simple", "random", "--games", "2", "--nodes", "40", "--workers", "2", "--json"),
        *("--out", str(tmp_path / "games"), "--record", "--config", str(_small(tmp_path))),
    )
    assert result.returncode == 0, result.stderr
    data = json.loads(result.stdout)
    assert (data["asked_for"], data["played"], data["unsettled"]) == (2, 2, 0)
    assert data["a_wins"] + data["b_wins"] + data["draws"] == 2
    assert data["a_losses_by_fault"] == dict.fromkeys(data["a_losses_by_fault"], 0)
    game = data["games"][1]
    assert game["a_is_white"] is False and len(game["moves"]) == game["plies"]
    record = read_record(tmp_path / "games" / "0002.json")
    assert (record.white_name, record.black_name) == ("Random", "PenumbraSimple")
    decisions = json.loads((tmp_path / "games" / "0002.black.decisions.json").read_text())
    assert decisions["settings"]["static_analysis"] is False


def _small(folder: Path) -> Path:
    path = folder / "small.toml"
    path.write_text('evaluator = "heuristic"\ncap = 2000\n[settings]\ntable_entries = 4096\n')
    return path


def test_the_same_seed_gives_the_same_match_for_any_number_of_workers(tmp_path: Path) -> None:
    configuration = Configuration(evaluator="heuristic", nodes=40, cap=2_000, settings={"table_entries": 4096})
    records = []
    for workers in (1, 2):
        match = Match(entrant("penumbra", configuration), Entrant("random"), 2, Clock(None), workers=workers, seed=3)
        records.append([result.record for result in run(match)[0].results])
    assert records[0] == records[1]


def test_openings_at_random_are_the_same_for_every_two_games() -> None:
    match = Match(Entrant("random"), Entrant("attacker"), 6, Clock(None), opening_plies=3)
    score, _ = run(match)
    openings = [tuple(GameRecord.from_bytes(result.record).moves[:3]) for result in score.results]
    assert openings[::2] == openings[1::2] and len(set(openings)) == 3
    assert [result.a_is_white for result in score.results] == [True, False] * 3


def test_games_that_repeat_themselves_are_told_of() -> None:
    match = Match(Entrant("random"), Entrant("attacker"), 4, Clock(None))
    score, _ = run(match)
    assert score.different == 4 and "differ" not in summary(match, score, False)
    again = Score([*score.results, replace(score.results[0], number=4)])
    assert again.different == to_json(match, again, False)["different"] == 4
    assert "only 4 of these games differ" in summary(match, again, False)


def test_an_interrupt_ends_the_match_with_what_was_played(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "penumbra", "match", "random", "random", "--games", "100000", "--out", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        start_new_session=True,
    )
    assert process.stdout is not None
    first = process.stdout.readline()
    assert first == "random v random: 100,000 games at 900 s and 5 s a turn, 1 at a time\n"
    assert process.stdout.readline().startswith("game 1: random v random: ")
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "")
    assert "interrupted: " in out
    data = json.loads((tmp_path / "match.json").read_text())
    assert data["interrupted"] is True
    assert 0 < data["played"] == len(data["games"]) < 100000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["random"], "Missing argument"),
        (["random", "nobody"], "there is no player 'nobody'"),
        (["random", "random", "--games", "0"], "--games"),
        (["random", "random", "--clock", "soon"], "--clock: 'soon' is not SECONDS+INCREMENT"),
        (["random", "random", "--record"], "--record needs --out"),
        (["random", "random", "--config", "nowhere.toml"], "nowhere.toml: cannot be read"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = penumbra("match", *arguments)
    assert result.returncode not in (0, None)
    assert result.stderr.startswith("penumbra: ") and result.stderr.count("\n") == 1
    assert message in result.stderr


# -- players that cannot start


def test_a_player_that_cannot_start_ends_the_match_and_loses_nothing(tmp_path: Path) -> None:
    """Penumbra whose file of weights is cut off."""
    (tmp_path / "cut.safetensors").write_bytes(LITE.read_bytes()[:100_000])
    configuration, out = tmp_path / "cut.toml", tmp_path / "out"
    configuration.write_text(f'weights = "{tmp_path / "cut.safetensors"}"\ndevice = "cpu"\n')
    result = penumbra("match", "penumbra", "random", "--config", configuration, "--clock", "none", "--out", out)
    assert result.returncode == 1
    assert result.stderr.startswith("penumbra: penumbra cannot start: ") and result.stderr.count("\n") == 1
    assert "cut.safetensors: cannot be read as weights" in result.stderr
    assert "wins" not in result.stdout
    data = json.loads((out / "match.json").read_text())
    assert (data["played"], data["b_wins"], data["a_losses_by_fault"]["crash"]) == (0, 0, 0)


def test_weights_that_go_missing_between_two_games_lose_none(tmp_path: Path) -> None:
    """The worker of one match has read them, that of the next one cannot."""
    path = tmp_path / "w.safetensors"
    path.write_bytes(LITE.read_bytes())
    settings = {"weights": str(path), "device": "cpu", "settings": {"table_entries": 1024}}
    match = Match(entrant("penumbra:network", settings=settings), Entrant("random"), 1, Clock(None))
    score, _ = run(match)
    assert len(score.settled) == 1
    path.unlink()
    with pytest.raises(ValueError, match=r"penumbra:network cannot start: .*w.safetensors: there are no weights"):
        run(match)


def test_a_reconchess_player_that_fails_at_the_start_loses_nothing(tmp_path: Path) -> None:
    bot = write_bot(tmp_path, "broken", "choose_sense(self, a, m, s)", "pass")
    bot.write_text(
        bot.read_text() + "    def handle_game_start(self, color, board, name):\n        raise KeyError('no')\n"
    )
    match = Match(Entrant("random"), entrant(str(bot)), 2, CLOCK)
    with pytest.raises(ValueError, match=r"broken.py cannot start: start: KeyError: 'no' .*; 0 games "):
        run(match)


def test_games_that_ended_by_a_crash_are_told_apart_from_those_played_out(tmp_path: Path) -> None:
    bot = write_bot(tmp_path, "raises", *BAD["raises"][:2])
    match = Match(entrant("random"), entrant(str(bot), label="Broken"), 2, CLOCK)
    score, _ = run(match)
    lines = summary(match, score, False).splitlines()
    assert lines[1] == "  2 of these games ended by a player's fault; the others: no games"
    assert lines[2].startswith("  game 1: Broken lost by a fault, crash: choose_move: KeyError: 'no idea'")


def test_a_match_of_any_length_begins_at_once() -> None:
    """Its games are made as they are played."""
    taken: list[int] = []

    def two(pool: object, jobs: Iterable[Job]) -> Iterator[tuple[int, GameResult | None, str]]:
        for job in itertools.islice(jobs, 2):
            taken.append(job.number)
            yield job.number, unsettled(job, CANNOT_START, "no") if taken == [0, 1] else None, "a worker died"

    match = Match(Entrant("random"), Entrant("random"), 300_000_000, Clock(None))
    with patch.object(Pool, "run", two), pytest.raises(ValueError, match="no; 0 games were played before"):
        run(match)
    assert taken == [0, 1]
