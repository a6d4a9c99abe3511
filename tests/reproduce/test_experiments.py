"""Every experiment in its smallest form: files, resuming, one line for what cannot be done."""

from __future__ import annotations

import csv
import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from matplotlib.image import imread

from penumbra.arena.match import Job
from penumbra.arena.score import GameResult
from penumbra.games.archive import Archive
from penumbra.network import weights as files
from penumbra.network.architecture import Architecture
from penumbra.network.model import Network, to_weights
from penumbra.reproduce import ablation, accuracy, fig1, fig_synopsis, fig_uncertainty, league, variants
from penumbra.reproduce.experiments import WHERE, experiment, reproduce
from penumbra.reproduce.games import TO_MAKE
from penumbra.reproduce.league import ANCHOR, Baseline, Hall, Sizes, Variant
from penumbra.reproduce.report import collect, write_report
from penumbra.reproduce.request import ReproductionError, Request, duration
from penumbra.training.examples import ExampleSettings, make_examples
from tests.support import ROOT
from tests.support.command_line import CHESS, penumbra, run
from tests.support.training_games import make_archive, records

torch.set_num_threads(1)
SOURCE = ROOT / "src"
TOURNAMENTS = ("table2", "table3", "table4")


@pytest.fixture(scope="module")
def request_(tmp_path_factory: pytest.TempPathFactory) -> Request:
    """Everything at its smallest, in one folder, so that later experiments find what earlier ones made."""
    folder = tmp_path_factory.mktemp("reproduction")
    weights = folder / "tiny.safetensors"
    torch.manual_seed(0)
    headsets = ("All", "Top", "Trout")
    files.save(to_weights(Network(Architecture(4, 1, headsets))), weights)
    archive = make_archive(folder / "games.db")
    return Request("tiny", folder / "tiny", (archive,), (weights,), games=None, say=lambda text: None)


@pytest.mark.parametrize("name", [name for name in WHERE if name not in TOURNAMENTS])
def test_runs_and_writes_its_files(name: str, request_: Request) -> None:
    said: list[str] = []
    result = reproduce(name, dataclasses.replace(request_, say=said.append))
    assert said[0].startswith(f"{name} at scale tiny: ") and "about" in said[0]
    check_files(name, request_)
    assert result.name == name and result.notes and result.claims


def check_files(name: str, given: Request) -> None:
    with (given.out / f"{name}.csv").open() as file:
        rows = list(csv.reader(file))
    assert len(rows) > 1 and len({len(row) for row in rows}) == 1
    text = (given.out / f"{name}.md").read_text()
    assert f"({name}.png)" in text and "nan" not in text.split("![")[1]
    assert imread(given.out / f"{name}.png").std() > 0
    assert json.loads((given.out / f"{name}.json").read_text())["scale"] == "tiny"


def test_tournaments_share_one_rating_and_play_nothing_twice(request_: Request) -> None:
    given = dataclasses.replace(request_, games=1, weights=())
    for name in TOURNAMENTS:
        reproduce(name, given)
        check_files(name, given)
    with Archive.open(given.out / league.ARCHIVE) as archive:
        played = len(archive)
        names = {name for game in archive.games() for name in (game.white, game.black)}
    assert played == 3 * 2 * 2  # tables, variants, baselines
    assert {"PenumbraMixture", "κ=10% φ=0%", "UCB1 c=2", ANCHOR.name} <= names
    said: list[str] = []
    result = reproduce("table2", dataclasses.replace(given, say=said.append))
    assert said[0].startswith("table2 at scale tiny: about 0 seconds")
    ratings, notes = variants.rated(given, "table4")
    assert "Ours: 4 games in 4 pairings, 2 variants" in notes[0]
    assert (
        "one rating over the 12 games" in (given.out / "table3.md").read_text()
    )  # written before the last were played
    assert ratings.games == played and ratings.of(ANCHOR.name).elo == pytest.approx(1500)
    by_name = {row[0]: row[1] for row in result.data.rows}
    assert by_name["PenumbraMixture"] == round(ratings.of("PenumbraMixture").elo)


class FakePlayers:
    """Plays nothing, and keeps who was to play."""

    def __init__(self) -> None:
        self.devices: list[str] = []

    def run(self, jobs: Sequence[Job]) -> Iterator[tuple[int, GameResult | None, str]]:
        for index, job in enumerate(jobs):
            self.devices.append(job.a.settings["device"])
            yield index, None, "not played"

    def close(self) -> None:
        pass


def test_an_inference_process_is_no_part_of_a_games_identity(request_: Request) -> None:
    planned = league.league(dataclasses.replace(request_, scale="smoke", weights=()), *_table2())
    jobs = [fixture.job for fixture in planned.fixtures()[:3]]
    players = FakePlayers()
    assert len(list(Hall(players, None, "unix:socket").run(jobs))) == 3
    assert players.devices == ["unix:socket"] * 3
    assert all('"device": "cpu"' in pairing.run for pairing in planned.pairings())


def test_when_the_time_is_up_nothing_more_is_played(request_: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(league, "time", SimpleNamespace(monotonic=lambda: now[0]))
    planned = league.league(dataclasses.replace(request_, scale="smoke", weights=()), *_table2())
    jobs = [fixture.job for fixture in planned.fixtures()[:3]]
    assert list(Hall(FakePlayers(), 0.0, None).run(jobs)) == []
    players = FakePlayers()
    for _ in Hall(players, 1.0, None).run(jobs):
        now[0] += 40.0
    assert players.devices == ["cpu", "cpu"]


def _table2() -> tuple[Sequence[Variant], Sizes]:
    return variants.VARIANTS["table2"], variants.SCALES["table2"]["smoke"]


def test_training_and_passes_are_not_done_twice(request_: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("fig1", "ablation"):
        reproduce(name, request_)
    before = {path: path.read_bytes() for path in request_.out.rglob("*.jsonl")}
    assert any(path.name == "ablation.jsonl" for path in before) and any("passes" in str(path) for path in before)

    def refuse(*arguments: object, **named: object) -> None:
        raise AssertionError("done before")

    monkeypatch.setattr(fig1, "look", refuse)
    monkeypatch.setattr(ablation, "_train_without", refuse)
    monkeypatch.setattr("penumbra.reproduce.runs.train", refuse)
    for name in ("fig1", "ablation", "table-saliency"):
        reproduce(name, request_)
    assert {path: path.read_bytes() for path in request_.out.rglob("*.jsonl")} == before


def test_games_are_made_where_there_are_none(
    request_: Request, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(TO_MAKE, "tiny", 6)
    given = dataclasses.replace(request_, archives=(), out=tmp_path / "out")
    assert fig1.cost(given).games == 6
    reproduce("fig1", given)
    assert fig1.cost(given).games == 0
    with Archive.open(tmp_path / "out" / "games.db") as archive:
        assert len(archive) == 6


def test_buckets_have_inclusive_upper_bounds() -> None:
    sizes = np.array([1, 2, 3, 4, 5, 8, 9, 1024, 1025, 10**6, 10**7])
    assert fig1.buckets(sizes).tolist() == [0, 1, 2, 2, 3, 3, 4, 10, 11, 20, 20]


def test_figure_1_counts_every_step_of_every_player() -> None:
    few = records()[:10]
    sums = fig1.look(few, 500)
    examples = make_examples(few, ExampleSettings(cap=500))
    assert sum(sums["steps"]) == len(examples)
    assert sum(sums["points"]) == pytest.approx(float(((1 + examples.outcomes) / 2).sum()))
    assert sums["most"] == [int(examples.set_sizes[examples.games == i].max()) for i in range(10)]


def test_the_uncertainty_figure_takes_numbers_of_states_together() -> None:
    rows = np.zeros(129)
    rows[[1, 8, 9, 128]] = [1, 3, 2, 4]
    at, won, value = fig_uncertainty.binned({"rows": rows, "points": rows / 2, "values": rows / 4})
    assert at.tolist() == [4.5, 12.5, 124.5]
    assert won.tolist() == [0.5] * 3 and value.tolist() == [0.25] * 3


def test_a_removed_plane_is_clear_and_comes_back() -> None:
    from penumbra.training.data import Table, top_players
    from penumbra.training.recipe import Plan

    table = Table(records()[:4], {"All": Plan("all", multiplicity=1)}, top_players(records()), ExampleSettings(), "cpu")
    table.fill()
    before = table.columns["planes"].clone()
    with ablation.without(table, 12):
        assert not table.columns["planes"][:, 12].any()
        assert torch.equal(table.columns["planes"][:, 13], before[:, 13])
    assert torch.equal(table.columns["planes"], before) and before[:, 12].any()


def test_the_ablation_spreads_over_the_order_of_saliency() -> None:
    assert ablation.chosen_planes(104) == list(range(104))
    few = ablation.chosen_planes(3)
    assert len(few) == 3 and {10, 62} <= set(few)  # the paper's most and least salient planes


def test_the_example_is_the_papers() -> None:
    record = fig_synopsis.example_game()
    examples = make_examples([record], ExampleSettings(cap=10_000))
    white = examples.set_sizes[examples.players]
    assert white.tolist()[:9] == [1, 1, 21, 1, 22, 1, 21, 13, 238]


def test_a_baseline_is_met_as_it_is_recognised(request_: Request) -> None:
    given = dataclasses.replace(request_, scale="smoke", weights=())
    planned = league.league(given, *variants.planned(given, "table2"))
    assert len(planned.pairings()) == 5 * 9 and len(planned.fixtures()) == 5 * 9
    as_trout = [p for p in planned.pairings() if p.second.name == "StockyInference as Trout"]
    assert {p.first.settings["recognize_as"] for p in as_trout} == {"Trout"}
    assert {p.second.kind for p in as_trout} == {"stocky-inference"}
    not_known = [p for p in planned.pairings() if p.second.name == "Trout unrecognized"]
    assert {p.first.settings["recognize_as"] for p in not_known} == {"none"}
    assert {p.first.name for p in as_trout} == {p.first.name for p in not_known}


def test_evaluations_are_kept_and_averaged(request_: Request) -> None:
    judged = accuracy.judge(request_)
    again = accuracy.from_plain(json.loads(json.dumps(accuracy.to_plain(judged.evaluation))))
    for measure, table in judged.evaluation.cross.items():
        np.testing.assert_array_equal(again.cross[measure], table)
    halved = dataclasses.replace(again, cross={name: table / 2 for name, table in again.cross.items()})
    mean = accuracy.mean([again, halved])
    np.testing.assert_allclose(mean.cross["top1"], 0.75 * again.cross["top1"])


def test_the_report_has_every_experiment(request_: Request, tmp_path: Path) -> None:
    small = request_.out.parent / "small"
    if not small.exists():
        small.symlink_to(request_.out)  # the report knows the scales that a user can ask for
    there = list(collect(request_.out.parent))
    assert len(there) > 2
    names = write_report(request_.out.parent, tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text()
    assert names == there
    for name in names:
        assert f"`penumbra reproduce {name} " in text
        assert (tmp_path / "pictures/reproduction" / f"{name}.png").is_file()
    missing = [name for name in WHERE if name not in names]
    assert ("Not reproduced yet" in text) == bool(missing)


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
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    done = run("reproduce", "fig-lengths", "--archive", request_.archives[0], "--out", tmp_path, without=CHESS)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "smoke" / "fig-lengths.md").is_file()


def test_without_torch_one_line_says_so(tmp_path: Path) -> None:
    ran = [
        run("reproduce", name, "--out", tmp_path, "--device", "cpu", without=("torch",))
        for name in ("fig-synopsis", "table1")
    ]
    assert [done.returncode for done in ran] == [0, 1]
    assert ran[1].stderr == "penumbra: table1 needs torch: pip install 'penumbra[torch]'\n"


def test_durations_are_in_words() -> None:
    assert [duration(s) for s in (5, 119, 420, 12_600, 10**6)] == [
        "5 seconds",
        "119 seconds",
        "7 minutes",
        "3.5 hours",
        "11.6 days",
    ]


def test_baselines_are_those_of_the_paper() -> None:
    assert Baseline("Trout", "Trout").name == "Trout as Trout"
    assert [b.name for b in league.EVERY][:5] == [
        "StockyInference as Trout",
        "StockyInference as StrangeFish",
        "StockyInference as DynamicEntropy",
        "StockyInference as StockyInference",
        "StockyInference unrecognized",
    ]
