"""Generating, self-play, training and inference need neither python-chess nor reconchess."""

from __future__ import annotations

from pathlib import Path

from tests.support.processes import CHESS
from tests.support.processes import run_penumbra as run
from tests.support.training_games import make_archive, write_recipe

POPULATION = """
games = 2
seed = 1
ply_limit = 20
[[player]]
name = "Wild"
kind = "random"
[[player]]
name = "Hasty"
kind = "attacker"
"""


def test_games_are_generated(tmp_path: Path) -> None:
    population = tmp_path / "population.toml"
    population.write_text(POPULATION)
    ran = run("generate", population, "--archive", tmp_path / "games.db", without=CHESS)
    assert ran.returncode == 0, ran.stderr
    assert "2 of 2 games" in ran.stdout


def test_networks_play_and_are_trained(tmp_path: Path) -> None:
    cpu = ("--device", "cpu")
    ran = run("selfplay", "--archive", tmp_path / "games.db", "--games", 2, "--cap", 50, *cpu, without=CHESS)
    assert ran.returncode == 0, ran.stderr
    archive, recipe, out = make_archive(tmp_path / "learned.db"), write_recipe(tmp_path), tmp_path / "run"
    ran = run("train", recipe, "--archive", archive, "--out", out, *cpu, "--cap", 200, without=CHESS)
    assert ran.returncode == 0, ran.stderr
    assert (out / "evaluation").is_dir()
    ran = run("evaluate", out / "weights.safetensors", "--archive", archive, *cpu, "--cap", 200, without=CHESS)
    assert ran.returncode == 0, ran.stderr


def test_an_inference_server_starts(tmp_path: Path) -> None:
    ran = run("infer", "--address", tmp_path / "socket", "--weights", "nowhere", "--device", "cpu", without=CHESS)
    assert (ran.returncode, ran.stderr.count("\n")) == (1, 1)
    assert "there are no weights" in ran.stderr
