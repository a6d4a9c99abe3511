"""Tables 2 to 4: one league of variants and baselines, played once, within its time."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from penumbra.arena import archive_run
from penumbra.arena.match import Job
from penumbra.arena.score import GameResult
from penumbra.games.archive import Archive
from penumbra.reproduce import league, variants
from penumbra.reproduce.experiments import reproduce
from penumbra.reproduce.league import ANCHOR, Baseline, ServedPool, Sizes, Variant
from penumbra.reproduce.request import Request
from tests.support.reproduction import TOURNAMENTS, check_files


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


class FakePool:
    """Plays nothing, for 40 seconds of a clock each, and keeps who was to play."""

    def __init__(self, now: list[float]) -> None:
        self.devices: list[str] = []
        self.now = now

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[int, GameResult | None, str]]:
        for index, job in enumerate(jobs):
            if not job.rehearsal:
                self.devices.append(job.a.settings["device"])
                self.now[0] += 40.0
            yield index, None, "not played"

    def close(self) -> None:
        pass


def test_an_inference_process_is_no_part_of_a_games_identity(request_: Request) -> None:
    planned = league.league(dataclasses.replace(request_, scale="smoke", weights=()), *_table2())
    jobs = [fixture.job for fixture in planned.fixtures()[:3]]
    pool = FakePool([0.0])
    assert len(list(ServedPool(pool, "unix:socket").run(jobs))) == 3
    assert pool.devices == ["unix:socket"] * 3
    assert all('"device": "cpu"' in pairing.run for pairing in planned.pairings())


def test_when_the_time_is_up_nothing_more_is_played(
    request_: Request, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(archive_run, "time", SimpleNamespace(monotonic=lambda: now[0]))
    pool = FakePool(now)
    monkeypatch.setattr(league, "pool_for", lambda planned: pool)
    given = dataclasses.replace(request_, scale="smoke", weights=(), out=tmp_path)
    league.play(dataclasses.replace(given, minutes=0.0), *_table2())
    assert pool.devices == []
    league.play(dataclasses.replace(given, minutes=1.0), *_table2())
    assert pool.devices == ["cpu", "cpu"]


def _table2() -> tuple[Sequence[Variant], Sizes]:
    return variants.VARIANTS["table2"], variants.SCALES["table2"]["smoke"]


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


def test_baselines_are_those_of_the_paper() -> None:
    assert Baseline("Trout", "Trout").name == "Trout as Trout"
    assert [b.name for b in league.EVERY][:5] == [
        "StockyInference as Trout",
        "StockyInference as StrangeFish",
        "StockyInference as DynamicEntropy",
        "StockyInference as StockyInference",
        "StockyInference unrecognized",
    ]
