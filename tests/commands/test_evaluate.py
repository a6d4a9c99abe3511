"""`penumbra evaluate`: real players (--games), and centipawns lost at frozen positions (--chess)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from penumbra.core import GameRecord
from penumbra.games.archive import Archive, NewGame
from penumbra.interop.game_files import write_games
from penumbra.network import weights as files
from penumbra.network.architecture import Architecture
from penumbra.network.model import Network, to_weights
from tests.support.command_line import penumbra
from tests.support.processes import CHESS, run_penumbra
from tests.support.training_games import make_archive, records

RECIPE = """
[training]
optimizer = "adamw"
batch = 16
steps = 2
on_the_fly = true
[loss]
soon = 0.0
pieces = 0.0
[examples]
cap = 100
[headsets.All]
players = "all"
multiplicity = 1
[headsets.Trout]
multiplicity = 1
"""


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weights") / "tiny.safetensors"
    torch.manual_seed(1)
    network = Network(Architecture(8, 1, ("All",)), auxiliary=False)
    files.save(to_weights(network), path)
    return path


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recipe") / "few.toml"
    path.write_text(RECIPE)
    return path


@pytest.mark.parametrize("name", ["games.jsonl", "games.jsonl.gz"])
def test_lines_of_games(tmp_path: Path, weights: Path, recipe: Path, name: str) -> None:
    games, out = tmp_path / name, tmp_path / "figures.json"
    write_games(records(10)[:6], games)
    said = penumbra(
        "evaluate", weights, "--games", games, "--folds", "2", "--recipe", recipe, "--passes", "1", "--json-file", out,
        "--device", "cpu",
    )  # fmt: skip
    assert said.returncode == 0, said.stderr
    assert "6 games; 2 folds" in said.stdout and "calibration of All's value after" in said.stdout
    data = json.loads(out.read_text())
    everybody, trout = data["rows"]
    assert (everybody["player"], everybody["seats"], everybody["judged"]) == ("All", 12, False)
    assert everybody["paper"] == {"top1": 0.336, "top5": 0.62, "winner": 0.748}
    assert 0 <= trout["after"]["top1"]["low"] <= trout["after"]["top1"]["value"] <= trout["after"]["top1"]["high"] <= 1
    assert set(data["calibration"]) == {"before", "after"} and data["folds"] == 2


def test_an_archive_needs_neither_chess_nor_reconchess(tmp_path: Path, weights: Path, recipe: Path) -> None:
    archive = make_archive(tmp_path / "games.db", 5)
    arguments = ("--games", archive, "--folds", "2", "--recipe", recipe, "--minutes", "1", "--device", "cpu")
    ran = run_penumbra("evaluate", weights, *arguments, without=CHESS)
    assert ran.returncode == 0, ran.stderr
    assert "after" in ran.stdout


def test_accounts_that_nobody_met_do_not_stop_it(tmp_path: Path, weights: Path, recipe: Path) -> None:
    """Games of the organisers' accounts among themselves count for All, and All is shown without them too."""
    archive = tmp_path / "games.db"
    lone = [GameRecord.from_bytes(record.to_bytes()) for record in records(12)[8:]]
    for record in lone:
        record.white_name, record.black_name = "apltest1", "apltest2"
    with Archive.create(archive) as games:
        games.add(NewGame(record, "tests") for record in (*records(12)[:8], *lone))
    said = penumbra("evaluate", weights, "--games", archive, "--folds", "0", "--recipe", recipe, "--device", "cpu")
    assert said.returncode == 0, said.stderr
    assert "no games connect them with the others: 2 accounts (apltest1, apltest2)" in said.stdout
    lines = [line.split() for line in said.stdout.splitlines()]
    assert ["All", "24"] in [line[:2] for line in lines]
    assert ["All,", "known", "accounts*", "16"] in [line[:4] for line in lines]
    assert "after" not in said.stdout


def test_centipawns_need_neither_chess_nor_stockfish(tmp_path: Path, weights: Path) -> None:
    out = tmp_path / "figures.json"
    arguments = ("--chess", "--positions", "3", "--seconds", "0.01", "--device", "cpu", "--json-file", out)
    ran = run_penumbra("evaluate", weights, *arguments, without=CHESS, PATH="", STOCKFISH_EXECUTABLE="none")
    assert ran.returncode == 0, ran.stderr
    assert "3 moves with at most two states possible; the player had 0.01 s for each" in ran.stdout
    data = json.loads(out.read_text())
    assert [row["name"] for row in data["rows"]][:3] == ["played in the games", "the policy alone", "the engine alone"]
    assert all(0 <= row["loss"] <= 1000 and 0 <= row["blunders"] <= 1 for row in data["rows"])
    assert sum(row["positions"] for row in data["material"]) == data["positions"] == 3


def test_bad_input_is_one_line(tmp_path: Path, weights: Path, recipe: Path) -> None:
    empty, archive = tmp_path / "empty.jsonl", make_archive(tmp_path / "games.db", 3)
    empty.write_text("")
    for arguments, message in (
        ((), "give --archive, or --games"),
        (("--games", empty), "empty.jsonl: no games"),
        (("--chess", "--games", archive), "--chess has positions of its own"),
        (("--games", tmp_path / "none"), "there is no such file"),
        (("--games", archive, "--folds", "9"), "3 games cannot be dealt into 9 folds"),
        (("--games", archive, "--folds", "1"), "1 folds leave no games"),
        (("--games", archive, "--json-file", tmp_path / "no" / "x.json"), "there is no folder"),
        (("--games", archive, "--recipe", "none"), "no configuration of that name"),
        (("--games", archive, "--recipe", "paper", "--folds", "2"), "is not a network of the recipe's size"),
    ):
        said = penumbra("evaluate", weights, "--recipe", recipe, "--device", "cpu", *arguments)
        assert said.returncode == 1 and message in said.stderr, (arguments, said.stderr)
        assert said.stderr.count("\n") == 1
