"""Every experiment in its smallest form writes its files, and goes on from what is there."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from penumbra.games.archive import Archive
from penumbra.reproduce import ablation, fig1, runs
from penumbra.reproduce.experiments import WHERE, experiment, reproduce
from penumbra.reproduce.games import TO_MAKE
from penumbra.reproduce.report import collect, write_report
from penumbra.reproduce.request import Request
from tests.support.reproduction import TOURNAMENTS, check_files


@pytest.mark.parametrize("name", [name for name in WHERE if name not in TOURNAMENTS])
def test_runs_and_writes_its_files(name: str, request_: Request) -> None:
    said: list[str] = []
    result = reproduce(name, dataclasses.replace(request_, say=said.append))
    assert said[0].startswith(f"{name} at scale tiny: ") and "about" in said[0]
    check_files(name, request_)
    assert result.name == name and result.notes and result.claims


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


def test_the_papers_scale_says_its_time_and_memory(request_: Request, tmp_path: Path) -> None:
    """Examples stream, so that memory does not grow with the games."""
    given = dataclasses.replace(request_, scale="paper", weights=(), out=tmp_path)
    found = runs.cost(given)
    assert found.steps == 5 * 650_000 and 5e9 < found.memory < 50e9
    assert re.fullmatch(r".* steps of training, about [\d.]+ hours, [\d.]+ GB of memory", found.line())
    more = runs.cost(dataclasses.replace(given, games=200_000)).memory - found.memory
    assert 0 < more < 0.3 * found.memory  # those for judging alone
    for name in WHERE:
        assert experiment(name).cost(dataclasses.replace(given, workers=4)).line().endswith("GB of memory")


def test_the_report_has_every_experiment(request_: Request, tmp_path: Path) -> None:
    for name in ("fig1", "fig-lengths", "fig-uncertainty"):
        reproduce(name, request_)
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
