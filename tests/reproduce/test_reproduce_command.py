"""`penumbra reproduce` and `penumbra report`: where files go, and one line for what cannot be done."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from penumbra.network import weights as files
from penumbra.network.architecture import Architecture
from penumbra.network.model import Network, to_weights
from penumbra.reproduce import accuracy
from penumbra.reproduce.experiments import WHERE, experiment
from penumbra.reproduce.request import ReproductionError, Request, duration
from tests.support.command_line import penumbra
from tests.support.processes import CHESS, run_penumbra, run_python


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("table9",), "there is no experiment 'table9'"),
        (("table1", "--scale", "huge"), "there is no scale 'huge'; there are smoke, small, paper"),
        (("fig1", "--archive", "nowhere.db"), "nowhere.db: there is no such archive"),
        (("table1", "--weights", "nowhere.safetensors"), "nowhere.safetensors: cannot be read as weights"),
        (("fig-saliency", "--log", "nowhere.jsonl"), "nowhere.jsonl: there is no such log"),
    ],
)
def test_bad_input_is_answered_by_one_line(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    answer = penumbra("reproduce", *arguments, "--out", tmp_path, "--device", "cpu", "--workers", "1")
    assert answer.returncode == 1
    assert message in answer.stderr and answer.stderr.count("\n") == 1


def test_a_number_of_games_is_checked(tmp_path: Path) -> None:
    answer = penumbra("reproduce", "fig1", "--games", "0", "--out", tmp_path)
    assert answer.returncode == 2
    assert "--games" in answer.stderr and answer.stderr.count("\n") == 1


def test_the_help_names_every_experiment() -> None:
    said = "".join(penumbra("reproduce", "--help").stdout.split())  # long lines are broken inside names too
    assert all(f"{name}," in said for name in WHERE)


def test_weights_without_a_headset_are_refused(request_: Request, tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match="has no headset DynamicEntropy, StockyInference, StrangeFish; it has All, Top"
    ):
        given = dataclasses.replace(request_, scale="smoke", out=tmp_path)
        experiment("table2").cost(given)
    only = tmp_path / "one.safetensors"
    files.save(to_weights(Network(Architecture(4, 1, ("Trout",)))), only)
    with pytest.raises(ValueError, match="there is no headset 'All'; there are Trout"):
        experiment("fig-uncertainty").run(dataclasses.replace(request_, weights=(only,)))


def test_an_archive_without_the_players_is_refused(request_: Request, tmp_path: Path) -> None:
    other = tmp_path / "other.safetensors"
    files.save(to_weights(Network(Architecture(4, 1, ("All", "Top", "Oracle")))), other)
    with pytest.raises(ReproductionError, match=r"none of these headsets' players is in .* has Hasty, Trout, Wild"):
        accuracy.judge(dataclasses.replace(request_, weights=(other,)))


def test_the_command_writes_into_a_folder_of_its_scale(tmp_path: Path) -> None:
    answer = penumbra("reproduce", "fig-synopsis", "--out", tmp_path, "--device", "cpu", "--workers", "1")
    assert answer.returncode == 0 and answer.stdout.startswith("fig-synopsis at scale smoke: about")
    assert "| 238 | 238 | holds |" in (tmp_path / "smoke" / "fig-synopsis.md").read_text()
    answer = penumbra("report", "--from", tmp_path, "--out", tmp_path / "page.md")
    assert answer.returncode == 0 and (tmp_path / "pictures/reproduction/fig-synopsis.png").is_file()


def test_nothing_to_report_is_said(tmp_path: Path) -> None:
    answer = penumbra("report", "--from", tmp_path, "--out", tmp_path / "page.md")
    assert answer.returncode == 1 and "nothing has been reproduced yet" in answer.stderr


def test_needs_neither_chess_nor_reconchess(request_: Request, tmp_path: Path) -> None:
    """All modules are loaded and one experiment is run where these packages cannot be imported."""
    code = f"""
import sys
for name in {CHESS}:
    sys.modules[name] = None
from penumbra.reproduce.experiments import WHERE, experiment
for name in WHERE:
    experiment(name)
"""
    loaded = run_python("-c", code, OMP_NUM_THREADS="1")
    assert loaded.returncode == 0, loaded.stderr
    archive = request_.archives[0]
    done = run_penumbra("reproduce", "fig-lengths", "--archive", archive, "--out", tmp_path, without=CHESS)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "smoke" / "fig-lengths.md").is_file()


def test_without_torch_one_line_says_so(tmp_path: Path) -> None:
    ran = [
        run_penumbra("reproduce", name, "--out", tmp_path, "--device", "cpu", without=("torch",))
        for name in ("fig-synopsis", "table1")
    ]
    assert [done.returncode for done in ran] == [0, 1]
    assert ran[1].stderr == "penumbra: table1 needs torch: pip install 'penumbra[training]'\n"


def test_durations_are_in_words() -> None:
    assert [duration(s) for s in (5, 119, 420, 12_600, 10**6)] == [
        "5 seconds",
        "119 seconds",
        "7 minutes",
        "3.5 hours",
        "11.6 days",
    ]
