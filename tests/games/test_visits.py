"""What searches came to, kept beside their games."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from penumbra.arena.game_loop import Clock, play
from penumbra.arena.generate import run
from penumbra.arena.population import Member, Population
from penumbra.core import Game
from penumbra.games.archive import Archive
from penumbra.games.verification import verify
from penumbra.games.visits import Searched, pack, unpack
from penumbra.players import registry
from penumbra.players.penumbra.player import PenumbraPlayer, searches_of
from penumbra.rbc.actions import SENSES
from penumbra.training.examples import ExampleSettings, make_examples

SETTINGS = {"evaluator": "heuristic", "nodes": 24, "cap": 1000, "settings": {"b": 4, "d": [1, 2], "n_particles": 8}}
SEARCHER = Member("Searcher", "penumbra:mixture", SETTINGS)
POPULATION = Population((SEARCHER, Member("Attacker", "attacker")), games=3, opening_plies=3, ply_limit=60)


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("visits") / "games.db"
    with Archive.open_or_create(path) as archive:
        assert not run(POPULATION, archive).failures
    return path


def test_searches_belong_to_the_steps_of_their_game(searched: Path) -> None:
    with Archive.open(searched) as archive:
        games, visits = list(archive.games()), archive.visits()
    assert len(games) == 3 and set(visits) == {game.hash for game in games}
    for game in games:
        found = {(s.ply, s.is_sense): s for s in unpack(visits[game.hash])}
        examples = make_examples([game.record], ExampleSettings(cap=1000, settle=False))
        white = game.white == "Searcher"
        rows = [row for row in range(len(examples)) if examples.players[row] == white]
        keys = {(int(examples.plies[row]), bool(examples.actions[row] < SENSES)): row for row in rows}
        assert found and set(found) <= set(keys)
        visited = 0
        for key, one in found.items():
            assert set(one.actions.tolist()) <= set(examples.legal_of(keys[key]).tolist())
            assert one.shares.sum() == pytest.approx(1, abs=0.001) and (one.shares > 0).all()
            visited += examples.actions[keys[key]] in one.actions
        assert visited >= len(found) - 1  # whatever was played was visited, if it was not the opening's


def test_merging_keeps_them(searched: Path, tmp_path: Path) -> None:
    with Archive.open(searched) as source, Archive.create(tmp_path / "whole.db") as whole:
        whole.merge(source)
        assert whole.visits() == source.visits()


def test_an_archive_from_before_can_be_read_and_written(searched: Path, tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with Archive.open(searched) as source, Archive.create(path) as old:
        old.merge(source)
    with sqlite3.connect(path) as db:
        db.execute("DROP TABLE search")
    db.close()
    with Archive.open(path) as old:
        assert old.visits() == {}
    with Archive.open(path, write=True) as old, Archive.open(searched) as source:
        assert old.visits() == {} and old.merge(source)[:2] == (0, 3)
        assert old.visits() == source.visits()  # what was searched is learned of games that were known


def test_broken_searches_are_found(searched: Path, tmp_path: Path) -> None:
    path = tmp_path / "broken.db"
    with Archive.open(searched) as source, Archive.create(path) as archive:
        archive.merge(source)
        assert not verify(archive).problems
    with sqlite3.connect(path) as db:
        db.execute("UPDATE search SET visits = substr(visits, 1, 20) WHERE rowid = (SELECT max(rowid) FROM search)")
    db.close()
    with Archive.open(path) as archive:
        (problem,) = verify(archive).problems
    assert problem.startswith("the searches of the game with the hash")


def test_a_search_without_time_for_a_playout_leaves_nothing() -> None:
    player = registry.make_with_settings("penumbra:mixture", 1, {**SETTINGS, "nodes": 1})
    assert isinstance(player, PenumbraPlayer)
    play(player, registry.make_with_settings("attacker", 2, {}), Clock(None, 0.0), Game(None, 100, 2))
    found = searches_of(player)
    assert found
    player.decisions = [replace(decision, visits=0 * decision.visits) for decision in player.decisions]
    assert searches_of(player) == []


def test_packing_and_bad_bytes() -> None:
    one = Searched(7, np.array([3, 9], np.int32), np.array([0.25, 0.75], np.float32))
    (back,) = unpack(pack([one]))
    assert back.ply == 7 and back.is_sense and back.actions.tolist() == [3, 9]
    assert np.allclose(back.shares, one.shares, atol=1e-4)
    assert pack([]) == b""
    nothing = Searched(4, np.empty(0, np.int32), np.empty(0, np.float32))
    assert [one.ply for one in unpack(pack([nothing, one, nothing]))] == [7]
    for bad in (b"", b"no", pack([one])[:-4]):
        with pytest.raises(ValueError, match="not the searches"):
            unpack(bad)
