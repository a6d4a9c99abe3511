"""Broken input to everything that reads: it is read, or refused by the error that is meant for it, in a line."""

from __future__ import annotations

import functools
import gzip
import pickle
import random
import socket
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penumbra import core
from penumbra.arena.population import read_population
from penumbra.arena.tournament_plan import read_tournament
from penumbra.bench.search import middle_game
from penumbra.configs.reader import ConfigurationError
from penumbra.games.archive import Archive, ArchiveError, NewGame
from penumbra.games.salvage import repair
from penumbra.games.visits import Searched, pack, unpack
from penumbra.interop.game_files import read_games
from penumbra.interop.history import history_to_record
from penumbra.interop.history_json import GameFileError, parse_history
from penumbra.network import weights
from penumbra.network.inference_server import InferenceServer, connect
from penumbra.network.loading import loader
from penumbra.network.weights import WeightsError
from penumbra.players.penumbra.configuration import from_file
from penumbra.training.recipe import read_recipe
from tests.support import DATA
from tests.support.evidence import scale
from tests.support.mutations import mutated
from tests.support.random_games import random_game
from tests.support.small_networks import some_weights

CONFIGS = Path(core.__file__).parents[1] / "configs"
LINES = sorted((DATA / "real_games.jsonl").read_bytes().splitlines(), key=len)[:3]
FENS = (
    core.START_FEN,
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3",
)
TOURNAMENT = b"""
games = 2
clock = { seconds = 60, increment = 0.5 }
[[player]]
name = "Wild"
kind = "random"
[[player]]
name = "Deep"
kind = "penumbra:network"
settings = { evaluator = "heuristic", nodes = 20, settings = { n_particles = 8 } }
"""
CONFIGURATION = b"seconds = 1.0\nnodes = 100\ncap = 1000\n[settings]\nc = 2\nn_particles = 8\n[root]\nprudence = 3\n"


def check(seeds: list[bytes], read: Callable[[bytes], object], error: type[Exception], count: int) -> None:
    """Reads so many broken versions. Some must be refused, or nothing was tested."""
    refused = 0
    for data in mutated(seeds, count):
        try:
            read(data)
        except error as problem:
            refused += 1
            assert str(problem).strip(), data
    assert refused > count // 20


def at(path: Path, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    """What reads a file, of its bytes."""

    def read_bytes(data: bytes) -> object:
        path.write_bytes(data)
        return read(path)

    return read_bytes


def test_positions() -> None:
    uses: tuple[Callable[[str], object], ...] = (
        lambda fen: core.Game(fen).fen(),
        lambda fen: core.StateSet.from_fens([fen, fen], True).fens(),
        lambda fen: fen in core.StateSet(core.START_FEN, True),
        lambda fen: core.Infostates.from_fens([[fen]], False, 1),
        lambda fen: core.GameRecord("A", "B", fen).replay(),
        core.engine_evaluate,
        core.hunt_king,
    )
    seeds = [fen.encode() for fen in FENS]
    for use in uses:
        check(seeds, functools.partial(_on_text, use), ValueError, scale(150, 50_000))


def _on_text(use: Callable[[str], object], data: bytes) -> object:
    return use(data.decode(errors="replace"))


def test_records_and_searches() -> None:
    records = [random_game(seed).to_bytes() for seed in range(3)]
    check(records, lambda data: core.GameRecord.from_bytes(data).replay(), ValueError, scale(300, 100_000))
    few = np.arange(5, dtype=np.int32), np.full(5, 0.2, np.float32)
    searches = pack(Searched(ply, *few) for ply in range(30))
    check([searches], unpack, ValueError, scale(300, 100_000))


def test_games_of_reconchess(tmp_path: Path) -> None:
    def of_json(data: bytes) -> object:
        return history_to_record(parse_history(data, "x"), "x")

    check(LINES, of_json, GameFileError, scale(300, 30_000))
    surrogate = LINES[0].replace(b'"white_name":"', b'"white_name":"\\ud800')
    with pytest.raises(GameFileError, match="is not a name"):
        of_json(surrogate)
    with pytest.raises(GameFileError, match="is not a FEN"):
        of_json(LINES[0].replace(b"/pppppppp/", b"/ppp\\udfffppppp/"))
    troubles: list[GameFileError] = []
    read = at(tmp_path / "games.jsonl", lambda path: list(read_games(path, troubles.append)))
    for data in mutated([gzip.compress(b"\n".join(LINES))], scale(100, 5_000)):
        read(data)
    assert len(troubles) > 10


@pytest.mark.parametrize(
    ("read", "seeds"),
    [
        (read_tournament, [TOURNAMENT]),
        (read_population, [(CONFIGS / f"{name}.toml").read_bytes() for name in ("population", "variants")]),
        (read_recipe, [(CONFIGS / f"{name}.toml").read_bytes() for name in ("lite", "paper", "searched")]),
        (from_file, [CONFIGURATION]),
    ],
)
def test_configurations(tmp_path: Path, read: Callable[[Path], object], seeds: list[bytes]) -> None:
    check(seeds, at(tmp_path / "config.toml", read), ConfigurationError, scale(60, 5_000))


def test_weights(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    weights.save(some_weights(), path)
    data = path.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")

    def with_header(header: bytes) -> object:
        return read(len(header).to_bytes(8, "little") + header + data[end:])

    read = at(path, weights.load)
    check([data], read, WeightsError, scale(30, 5_000))
    check([data[8:end]], with_header, WeightsError, scale(150, 10_000))


def test_archives(tmp_path: Path) -> None:
    path = tmp_path / "games.db"
    with Archive.create(path) as archive:
        archive.add(NewGame(random_game(i), "x", {"i": i}, made=("run", i)) for i in range(40))
    known = {random_game(i).hash for i in range(40)}

    def use(file: Path) -> None:
        (tmp_path / "saved.db").unlink(missing_ok=True)
        saved = repair(file, tmp_path / "saved.db")
        assert {game[0].record.hash for game in saved.games} <= known
        with Archive.open(file, report=lambda problem: None) as archive:
            assert {game.hash for game in archive.games()} <= known
            archive.statistics(), archive.results(), archive.runs(), archive.visits(), list(archive.games_made("run"))

    check([path.read_bytes()], at(tmp_path / "broken.db", use), ArchiveError, scale(60, 3_000))


# -- the inference server


def _odd(rng: random.Random, features: Any, actions: Any, offsets: Any) -> Any:
    return rng.choice(
        [
            *(None, -1, 2**70, float("nan"), "", "Top", [], {}, np.zeros(0), np.zeros((3, 104))),
            *(features, features[:0], features[:, :3], features.astype(np.float32), features.astype(object)),
            *(actions, actions[:3], actions + 5000, -actions, actions.astype(float)),
            *(offsets, offsets[::-1].copy(), offsets * 2, offsets.astype(np.int32), offsets - 7, features[None]),
        ]
    )


def test_the_inference_server_outlives_what_it_is_sent(tmp_path: Path) -> None:
    stop = threading.Event()
    server = InferenceServer(tmp_path / "socket", loader(None, "cpu", 1))
    thread = threading.Thread(target=server.serve, args=(stop.is_set,))
    thread.start()
    rng = random.Random(0)
    _, particles = middle_game(5)
    good = ("evaluate", "Top", particles.synopsis(), *particles.legal())
    try:
        for number in range(scale(200, 20_000)):
            request = list(good)
            for _ in range(rng.choice((1, 1, 2, 5))):
                request[rng.randrange(5)] = _odd(rng, *good[2:])
            _send(server.address, rng, tuple(request[: rng.choice((5, 5, 5, 3, 1))]))
            if number % 20 == 0:
                assert len(_answer(server.address, good)) == 2
    finally:
        stop.set()
        thread.join()


def _send(address: str, rng: random.Random, request: Any) -> None:
    """As it is, or bytes that are no message, after which nothing more comes."""
    connection = connect(address)
    try:
        if rng.random() < 0.7:
            connection.send(request)
            if connection.poll(20):
                connection.recv()
            else:
                raise AssertionError(f"no answer to {request}")
        else:
            data = pickle.dumps(request)
            whole = struct.pack("!i", len(data)) + data
            with socket.socket(fileno=connection.fileno()) as raw:
                raw.sendall(
                    rng.choice((b"", b"\0", whole[: rng.randrange(len(whole))], struct.pack("!i", 10) + b"x" * 10))
                )
                raw.detach()
    except (EOFError, OSError):
        pass  # it has closed the connection, which ends one game alone
    finally:
        connection.close()


def _answer(address: str, request: Any) -> Any:
    connection = connect(address)
    try:
        connection.send(request)
        assert connection.poll(20), "the server has stopped answering"
        return connection.recv()
    finally:
        connection.close()
