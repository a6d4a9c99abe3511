"""`penumbra doctor`: what an installation runs on."""

from __future__ import annotations

import itertools
import re
import shutil
import time
from collections import namedtuple
from pathlib import Path

import pytest

from penumbra.bench import reference
from penumbra.games.archive import Archive, NewGame
from penumbra.network.heuristic_evaluator import HeuristicEvaluator
from penumbra.network.weights import LITE
from tests.support.command_line import Answer, penumbra
from tests.support.processes import run_penumbra as run
from tests.support.random_games import random_game


def test_doctor_names_the_core() -> None:
    result = run("doctor", PENUMBRA_CORE="generic")
    assert re.search(r"native core +generic", result.stdout)
    assert re.search(r"network kernels +(our own for avx|onnxruntime, in )", result.stdout)
    assert ("is not installed" in result.stderr) == (result.returncode == 1)


# -- deep


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """One evaluator: tests/bench/test_reference.py has them all."""
    monkeypatch.setattr(reference, "evaluators", lambda: {"heuristic": ("heuristic", HeuristicEvaluator)})


def wrong(answer: Answer) -> list[str]:
    """The lines that are not fine; each says one or the other, and what to do."""
    lines = [
        line for line in answer.stdout.splitlines() if re.match(r"(weights, |search, |clock|disk, |archive)", line)
    ]
    assert len(lines) >= 7
    found = [line for line in lines if " fine: " not in line]
    assert all(re.search(r" WRONG: .+; .+", line) for line in found)
    assert (answer.returncode, answer.stderr) == (1 if found else 0, "")
    return found


def test_deep_finds_nothing_wrong_with_what_ships(tmp_path: Path) -> None:
    path = tmp_path / "games.db"
    with Archive.create(path) as archive:
        archive.add([NewGame(random_game(1), "x")])
    answer = penumbra("doctor", "--deep", "--archive", path)
    assert wrong(answer) == []
    assert f"fine: {path}: 1 games, each sound" in answer.stdout


def test_deep_finds_weights_that_are_not_those_of_the_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = tmp_path / "lite.safetensors"
    changed.write_bytes(LITE.read_bytes()[:-1] + b"x")
    monkeypatch.setattr(reference, "WEIGHTS", {"lite": changed, "full": tmp_path / "none"})
    first, second = wrong(penumbra("doctor", "--deep"))
    assert f"{changed}: has not the hash of the release" in first and "install Penumbra again" in first
    assert "cannot be read (No such file or directory); install" in second


def test_deep_finds_evaluators_that_fail_or_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> HeuristicEvaluator:
        raise RuntimeError("no such\ninstruction")

    kinds = {"bad": ("heuristic", broken), "other": ("single precision", HeuristicEvaluator)}
    monkeypatch.setattr(reference, "evaluators", lambda: kinds)
    first, second = wrong(penumbra("doctor", "--deep"))
    assert "it fails with RuntimeError: no such instruction; install" in first
    assert "differs from the stored number by" in second


def test_deep_finds_a_coarse_clock_and_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**9, 10**9, 10**6))
    ticks = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: next(ticks) / 100)
    found = wrong(penumbra("doctor", "--deep"))
    assert [line.split()[0] for line in found] == ["clock", "disk,", "disk,", "disk,"]
    assert "it goes in steps of 10.0 ms" in found[0] and "1 MB are free; make room" in found[1]


def test_deep_finds_what_is_wrong_with_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "games.db"
    with Archive.create(path) as archive:
        archive.add(NewGame(random_game(i), "x") for i in range(5))
    record = random_game(2).to_bytes()
    path.write_bytes(path.read_bytes().replace(record, record[:-1] + b"\x7f"))
    (line,) = wrong(penumbra("doctor", "--deep", "--archive", path))
    assert "1 problems: game 3 (A v B)" in line and f"penumbra archive repair {path} NEW" in line
    path.write_bytes(path.read_bytes()[:10_000])
    (line,) = wrong(penumbra("doctor", "--deep", "--archive", path))
    assert "is damaged" in line and f"penumbra archive repair {path} NEW" in line
    (line,) = wrong(penumbra("doctor", "--deep", "--archive", tmp_path / "none.db"))
    assert "there is no such archive; name another one" in line
    answer = penumbra("doctor", "--archive", path)
    assert (answer.returncode, answer.stderr.count("\n")) == (1, 1)
