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
from penumbra.players.penumbra.configuration import from_table
from penumbra.players.penumbra.factory import fitted
from penumbra.players.penumbra.root_settings import RootSettings
from penumbra.reproduce import league, variants
from penumbra.reproduce.experiments import reproduce
from penumbra.reproduce.league import ANCHOR, Baseline, ServedPool, Sizes, Variant
from penumbra.reproduce.request import ReproductionError, Request
from tests.support.bots import write_bot
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


def test_public_programs_play_in_the_place_of_our_kinds(request_: Request, tmp_path: Path) -> None:
    """The table says which were real; games in which one dies are counted apart, and not as lost."""
    move = "choose_move(self, move_actions, seconds_left)"
    stocky = write_bot(tmp_path, "stocky inference", move, "pass")
    trout = write_bot(tmp_path, "Trout", move, "raise ValueError('no engine')")
    given = dataclasses.replace(request_, games=1, weights=(), out=tmp_path / "out", baselines=(stocky, trout))
    result = reproduce("table2", given)
    check_files("table2", given)
    rows = {row[0]: dict(zip(result.data.heading, row, strict=True)) for row in result.data.rows}
    anchor = rows[ANCHOR.name]
    assert (anchor["program"], anchor["games"], anchor["faults"]) == ("public, stocky_inference.py", 2, 0)
    assert rows["PenumbraMixture"]["program"] == "Penumbra" and rows["PenumbraMixture"]["games"] == 1
    assert "Trout unrecognized" not in rows  # it has no game that counts
    text = (given.out / "table2.md").read_text()
    assert "the public programs here: StockyInference (stocky_inference.py), Trout (Trout.py)" in text
    assert "Not rated: games that ended by a fault of Trout unrecognized (2)." in text
    (tmp_path / "elsewhere").mkdir()  # where a file lies does not change who it is
    moved = tuple(path.rename(tmp_path / "elsewhere" / path.name) for path in given.baselines)
    again = dataclasses.replace(given, baselines=moved)
    assert league.cost(again, *variants.planned(again, "table2")).games == 0
    ours = dataclasses.replace(given, baselines=())
    plan = variants.planned(ours, "table2")
    assert league.cost(ours, *plan).games == 4
    assert variants.who_played(ours, plan[1]) == "our own kinds after them: StockyInference, Trout."


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["gnash.py"], "a file is named after the program in it, which is one of StockyInference, AggressiveTree"),
        (["Trout.py", "trout_bot.py"], "two files for Trout"),
        ([], "trout.py: there is no such file"),
    ],
)
def test_a_file_that_is_no_baseline_is_refused(
    request_: Request, tmp_path: Path, names: list[str], message: str
) -> None:
    for name in names:
        (tmp_path / name).touch()
    paths = tuple(tmp_path / name for name in names or ["trout.py"])
    given = dataclasses.replace(request_, weights=(), baselines=paths)
    with pytest.raises(ReproductionError, match=message):
        league.league(given, *variants.planned(given, "table2"))


class FakePool:
    """Plays nothing, for 40 seconds of a clock each, and keeps who was to play."""

    at_once = 1

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


def test_nothing_is_shrunk_at_the_papers_scale(request_: Request, tmp_path: Path) -> None:
    """However few nodes are asked for; at other scales the notes say what is changed."""
    given = dataclasses.replace(request_, scale="paper", weights=(), nodes=500, out=tmp_path)
    for name in TOURNAMENTS:
        for pairing in league.league(given, *variants.planned(given, name)).pairings():
            _, _, preset = str(pairing.first.kind).partition(":")
            configuration = dataclasses.replace(from_table(pairing.first.settings), preset=preset)
            settings = fitted(configuration.dsmcp(), configuration)
            assert (settings.b, settings.n_particles, settings.ell, settings.d) == (256, 4096, 128, (6, 12))
            assert not settings.adapt and configuration.policies() == ("Top",)
            assert configuration.root_settings() == RootSettings()


def test_baselines_are_those_of_the_paper() -> None:
    assert Baseline("Trout", "Trout").name == "Trout as Trout"
    assert [b.name for b in league.EVERY][:5] == [
        "StockyInference as Trout",
        "StockyInference as StrangeFish",
        "StockyInference as DynamicEntropy",
        "StockyInference as StockyInference",
        "StockyInference unrecognized",
    ]
