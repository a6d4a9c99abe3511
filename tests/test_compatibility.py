"""What version 0.1 played and wrote: the same seeds still play the same games, and its files still open.

`data/version_0_1` was made by that version; the games of Penumbra again on 2026-11-19, when its preset, its batches and
the engine's evaluation changed, and that of Oracle, when capped sets got another order. Games are named by the
beginning of the SHA-256 of their records.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penumbra.arena.game_loop import Clock, play
from penumbra.arena.generate import GenerationWorker
from penumbra.arena.population import Member, Population
from penumbra.arena.tournament import outset
from penumbra.arena.tournament_plan import read_tournament
from penumbra.core import SENSE, START_FEN, Game, Infostates, StateSet, set_threads
from penumbra.dsmcp.domain import Legal
from penumbra.games.archive import Archive
from penumbra.games.verification import verify
from penumbra.network import weights
from penumbra.network.loading import network_evaluator
from penumbra.players import registry
from penumbra.players.player import Player
from tests.server.scripted import page, server
from tests.support import DATA

OLD = DATA / "version_0_1"
PLAYED: dict[str, Any] = json.loads((OLD / "games.json").read_text())
POPULATION = Population(
    (
        Member("Wild", "random"),
        Member("Trout", "trout", {"depth": 1, "nodes": 200}),
        Member("Thinker", "penumbra", {"evaluator": "heuristic", "nodes": 64}),
    ),
    games=8,
    seed=5,
    opening_plies=4,
    ply_limit=40,
)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


@pytest.fixture(autouse=True)
def one_thread() -> None:
    set_threads(1)


@cache
def same_floating_point() -> bool:
    """Whether this processor computes the network's answer to the bit as the one did on which the games were played."""
    batch = Infostates.draw(StateSet(START_FEN, True), 1, SENSE)
    evaluator = network_evaluator("lite", "cpu", "All", ("Penumbra",), "All")
    priors, values = evaluator.evaluate(batch.synopsis(), Legal(*batch.legal(prune=False)), opponent=False)
    answer = np.asarray(priors, np.float32).tobytes() + np.asarray(values, np.float32).tobytes()
    return bool(digest(answer) == PLAYED["lite"])


@pytest.mark.parametrize("game", PLAYED["games"], ids=lambda game: str(game["game"]))
def test_the_same_seed_and_nodes_play_the_same_game(game: dict[str, Any]) -> None:
    if "lite" in game["game"] and not same_floating_point():
        pytest.skip("this processor rounds the network's answers otherwise")
    white, black = player(*game["white"]), player(*game["black"])
    outcome = play(white, black, Clock(None), Game(None, 100, game["turns"]))
    found = digest(outcome.record.to_bytes()), outcome.reason, len(outcome.record.moves)
    assert found == (game["record"], game["reason"], game["plies"])


def player(kind: str, seed: int, settings: dict[str, Any]) -> Player:
    return (
        registry.make_with_settings(kind, seed, settings) if settings or kind != "hunter" else registry.make(kind, seed)
    )


def test_a_population_generates_the_same_games_under_the_same_name() -> None:
    assert POPULATION.identity() == PLAYED["generated"]["identity"]
    worker = GenerationWorker(1, POPULATION.ply_limit)
    games = [worker.do(POPULATION.pairing(number)) for number in range(8)]
    assert [[digest(game.record), digest(game.visits)] for game in games] == PLAYED["generated"]["games"]


def test_an_archive_opens_whole_and_its_runs_are_known_as_played(tmp_path: Path) -> None:
    path = shutil.copy(OLD / "games.db", tmp_path)
    with Archive.open(path) as archive:
        findings = verify(archive)
        assert (findings.games, findings.problems) == (12, [])
        missing, standing = outset(read_tournament(OLD / "tournament.toml"), archive)
        assert not missing
        assert standing.done == standing.target == 6
        assert archive.made(POPULATION.identity()) == set(range(6))


def test_a_game_on_the_server_goes_on(tmp_path: Path) -> None:
    game = "0000000000000000000001"
    shutil.copy(OLD / "unfinished.jsonl", tmp_path / f"{game}.jsonl")
    with server(tmp_path, []) as client, page(client, game) as person:
        clocks = person.state["clocks"]
        assert (clocks["white"], clocks["black"]) == (610.0, 610.0)
        assert person.send({"type": "resign"})["state"]["result"] == {"winner": "white", "reason": "RESIGN"}


def test_a_finished_game_on_the_server_is_listed(tmp_path: Path) -> None:
    game = "0000000000000000000001"
    shutil.copy(OLD / "finished.jsonl", tmp_path / f"{game}.jsonl")
    with server(tmp_path, []) as client:
        assert [(listed["id"], listed["plies"]) for listed in client.get("/api/games").json()] == [(game, 7)]
        assert len(client.get(f"/api/games/{game}").json()["taken_moves"]["true"]) == 4


def test_weights_load() -> None:
    loaded = weights.load(OLD / "weights.safetensors")
    assert loaded.architecture.headsets == ("All",)
