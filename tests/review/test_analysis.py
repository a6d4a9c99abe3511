"""Decisions after the fact: `penumbra.analyse`, `penumbra analyse`, and what a recorded decision holds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import penumbra
from penumbra.arena.game_loop import play_strictly
from penumbra.commands.analyse import lines
from penumbra.core import Game, GameRecord
from penumbra.interop.history import read_record, write_record
from penumbra.players.opponents.hunter import Hunter
from penumbra.players.opponents.random_player import RandomPlayer
from penumbra.players.penumbra.configuration import Configuration
from penumbra.players.penumbra.factory import make_penumbra
from penumbra.players.penumbra.recording import belief_marginals, set_marginals
from penumbra.rbc.actions import parse_action, parse_square
from penumbra.review.analysis import analyse_as, cost_of
from tests.support import DATA
from tests.support.command_line import penumbra as run

BELIEF = (
    r"^  belief: [\d,]+ particles from [\d,]+ a turn ago, [\d,]+ singletons?, [\d.,]+ rejections each, \d+\.\d\d s$"
)
PAPER_GAME = DATA / "paper_game.json"


@pytest.fixture(scope="module")
def game() -> GameRecord:
    return play_strictly(Hunter(6), RandomPlayer(6)).record()


@pytest.fixture(scope="module")
def game_file(game: GameRecord, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("games") / "game.json"
    write_record(path, game)
    return path


def test_a_turn_has_a_sense_and_a_move(game: GameRecord) -> None:
    steps = list(penumbra.analyse(game, turn=3, player="black", nodes=200))
    assert [(s["player"], s["turn"], s["step"]) for s in steps] == [("black", 3, "sense"), ("black", 3, "move")]
    for step in steps:
        assert step["states"] > 0 and step["particles"] > 0 and step["nodes"] >= 200
        actions = step["actions"]
        assert sum(a["policy"] for a in actions) == pytest.approx(1, abs=1e-3)
        assert [a["visits"] for a in actions] == sorted((a["visits"] for a in actions), reverse=True)
        assert step["chosen"] in [a["action"] for a in actions]
        for name in [*(a["action"] for a in actions), step["played"]]:
            parse_action(name)
        for kinds in step["belief"].values():
            assert 0 < sum(kinds.values()) <= 1.01


def test_what_was_played_costs_what_the_chosen_action_is_worth_more(game: GameRecord) -> None:
    steps = list(penumbra.analyse(game, player="black", nodes=100))
    costs = [step["cost"] for step in steps]
    assert any(cost is not None for cost in costs)
    for step in steps:
        values = {entry["action"]: entry["value"] for entry in step["actions"] if entry["visits"]}
        if step["played"] in values and step["chosen"] in values:
            assert step["cost"] == pytest.approx(max(0, values[step["chosen"]] - values[step["played"]]), abs=1e-5)
        else:
            assert step["cost"] is None
    entries = [{"action": word, "visits": 1, "value": value} for word, value in (("e7e8", 0.75), ("e7f8", 0.25))]
    assert cost_of(entries, "e7e8", "e7f8q") == 0.5 and cost_of(entries, "e7f8", "e7e8") == 0
    assert cost_of(entries, "e7e8", "no sense") is None


def test_details_say_what_the_opponent_is_believed_to_know_and_what_the_network_sees(game: GameRecord) -> None:
    """At Black's first sense Black has not moved: White knows where all sixteen of its pieces stand."""
    configuration = Configuration(evaluator="heuristic", nodes=100, seed=0)
    sense, move = analyse_as(configuration, game, turn=1, player="black", details=True)
    assert sense["knowledge"]["e8"]["K"] == 1
    assert sum(share for kinds in sense["knowledge"].values() for share in kinds.values()) == pytest.approx(16)
    assert len(sense["planes"]) == len(move["planes"]) == 104
    assert sense["planes"][17] == f"{1 << parse_square('e1'):016x}"  # the own king, on Black's own e1
    assert (sense["planes"][10], move["planes"][10]) == ("0" * 16, "f" * 16)  # the stage
    assert "knowledge" not in next(analyse_as(configuration, game, turn=1, player="black"))


def test_what_was_played_is_said_in_real_squares(game: GameRecord) -> None:
    replay = Game(game.start_fen or None, None, None)
    steps = list(penumbra.analyse(game, turn=1, nodes=50))
    assert [step["player"] for step in steps] == ["white", "white", "black", "black"]
    replay.act(parse_action(str(steps[0]["played"])))
    replay.act(parse_action(str(steps[1]["played"])))
    assert replay.fen() == steps[2]["truth"]


def test_the_set_holds_the_truth(game: GameRecord) -> None:
    """Where the opponent's king truly stands is never thought impossible."""
    for step in penumbra.analyse(game, player="white", nodes=30):
        rows = step["truth"].split()[0].split("/")
        for rank, row in zip(range(8, 0, -1), rows, strict=True):
            file = 0
            for letter in row:
                if letter == "k" and step["complete"] and step["states"] < 200:
                    assert step["possible"]["abcdefgh"[file] + str(rank)]["K"] > 0
                file += int(letter) if letter.isdigit() else 1


def test_the_same_seed_and_nodes_give_the_same_answer(game: GameRecord) -> None:
    answers = []
    for _ in range(2):
        steps = list(penumbra.analyse(game, turn=2, nodes=100, seed=7))
        for step in steps:
            del step["seconds"], step["health"]["seconds"]
        answers.append(steps)
    assert answers[0] == answers[1]


def test_both_players_and_every_turn_by_default(game: GameRecord) -> None:
    steps = list(penumbra.analyse(game, preset="network", nodes=20))
    assert len(steps) == len(game.senses) + len(game.moves)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"turn": 99999}, "there is no turn 99999: the game has"),
        ({"turn": 0}, "turns count from 1"),
        ({"player": "red"}, "players are white and black"),
        ({"preset": "forest"}, "there is no preset 'forest'"),
    ],
)
def test_what_is_not_there_is_said(game: GameRecord, options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        list(penumbra.analyse(game, nodes=10, **options))  # type: ignore[arg-type]


def test_the_command_prints_json_or_text(game_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    arguments = ["analyse", str(game_file), "--turn", "2", "--player", "white", "--nodes", "50"]
    data = json.loads(run(*arguments, "--json").stdout)
    assert [step["step"] for step in data] == ["sense", "move"]
    text = run(*arguments).stdout
    assert re.search(r"^turn 2, white, sense: .*; played sense", text, re.MULTILINE)
    assert re.search(r"states, \d+ nodes", text)
    assert len(re.findall(BELIEF, text, re.MULTILINE)) == 2
    result = run("analyse", "nowhere.json")
    assert (result.returncode, result.stderr) == (
        1,
        "penumbra: nowhere.json: cannot be read: No such file or directory\n",
    )


def test_the_health_of_the_belief_is_told(game: GameRecord) -> None:
    for step in penumbra.analyse(game, turn=3, player="white", nodes=200):
        health = step["health"]
        assert 0 < health["ancestors"] <= health["particles"] == step["particles"] == 50  # a quarter of the nodes
        assert 0 <= health["singletons"] <= health["particles"]
        assert health["rejections"] >= 0 and health["inferences"] >= 0 and health["seconds"] > 0
        assert health["few"] is False  # no more were wanted
        assert re.match(BELIEF, lines(step)[2])


def test_a_belief_is_described_on_one_line(game: GameRecord) -> None:
    step = next(penumbra.analyse(game, turn=1, player="black", nodes=50))
    health = {
        "particles": 1024,
        "ancestors": 312,
        "singletons": 1,
        "rejections": 1.23,
        "inferences": 9,
        "seconds": 0.21,
    }

    def described(**facts: object) -> str:
        return lines(step | {"reason": "search", "particles": 1024} | facts)[2].strip()

    good, poor = ({**health, "few": few} for few in (False, True))
    whole = "from 312 a turn ago, 1 singleton, 1.2 rejections each, 0.21 s"
    assert described(health=good) == f"belief: 1,024 particles {whole}"
    assert described(health=poor, particles=31) == f"belief: 31 particles (few for a search) {whole}"
    assert described(health=poor, particles=31, reason="sure win") == f"belief: 31 particles {whole}"
    assert described(health=None) == "belief: 1,024 particles"
    assert described(health=good | {"particles": 0}, particles=0) == "belief: not used"


def test_the_papers_game_can_be_analysed() -> None:
    record = read_record(PAPER_GAME)
    steps = list(penumbra.analyse(record, turn=1, nodes=30))
    assert len(steps) == 4


def test_beliefs_are_distributions() -> None:
    player = make_penumbra(Configuration(nodes=100, seed=1))
    player.start(True)
    player.opponent_moved(None)
    game = Game()
    square = player.choose_sense()
    player.sensed(square, [content for _, content in game.sense(square)])
    action = player.choose_move(game.legal_actions())
    game.move(action)
    player.moved(game.last_request, game.last_taken, None)
    game.sense(None)
    game.move(game.legal_actions()[3])
    player.opponent_moved(game.capture)
    player.choose_sense()
    for p in (
        belief_marginals(player.situation, player.agent.belief.current.particles),
        set_marginals(player.situation),
    ):
        assert p.shape == (64, 6)
        assert p.sum(axis=0)[5] == pytest.approx(1)  # one king
        assert p.sum() == pytest.approx(16)  # nothing was captured
        assert np.all((p >= 0) & (p <= 1))
