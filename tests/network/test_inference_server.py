"""One inference server for many games: the answers are those of an evaluator of one's own."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from penumbra.bench.search import middle_game
from penumbra.dsmcp.domain import Legal
from penumbra.network import weights
from penumbra.network.inference_server import (
    MOST_ROWS,
    InferenceServer,
    RemoteEvaluator,
    Request,
    Waiting,
    ask,
    connect,
    headsets_at,
    load_at,
    running_server,
)
from penumbra.network.loading import loader, network_evaluator, policy_evaluator
from penumbra.network.weights import LITE, WeightsError
from tests.support.command_line import penumbra
from tests.support.small_networks import some_weights


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A server of the usual network."""
    with running_in_a_thread(tmp_path / "socket", None) as address:
        yield address


@contextmanager
def running_in_a_thread(path: Path, given: str | None) -> Iterator[str]:
    """A server in a thread, on the CPU."""
    stop = threading.Event()
    server = InferenceServer(path, loader(given, "cpu", 1))
    thread = threading.Thread(target=server.serve, args=(stop.is_set,))
    thread.start()
    yield server.address
    stop.set()
    thread.join()
    assert not Path(server.address).exists()


def question(rows: int) -> tuple[np.ndarray, Legal]:
    _, particles = middle_game(rows)
    return particles.synopsis(), Legal(*particles.legal())


def test_answers_are_those_of_an_evaluator_of_ones_own(address: str) -> None:
    """Of several games at once, for both players and for every headset asked for."""
    shared = RemoteEvaluator(address, "Top", "Trout")
    alone = policy_evaluator(None, "cpu", "Top"), policy_evaluator(None, "cpu", "Trout")

    def game(rows: int) -> None:
        features, legal = question(rows)
        for opponent in (False, True, False):
            priors, values = shared.evaluate(features, legal, opponent)
            expected = alone[opponent].evaluate(features, legal, opponent)
            np.testing.assert_allclose(priors, expected[0], atol=1e-4)
            np.testing.assert_allclose(values, expected[1], atol=1e-4)

    with ThreadPoolExecutor(4) as games:
        list(games.map(game, [1, 3, 17, 30, 5, 64]))


def test_questions_gather_into_batches(tmp_path: Path) -> None:
    server = InferenceServer(tmp_path / "socket", loader(None, "cpu", 1))
    connections = [connect(server.address) for _ in range(3)]
    for _ in connections:
        server.gather()  # lets them in
    for rows, connection in enumerate(connections, 1):
        features, legal = question(rows)
        connection.send(("evaluate", "Top", features, legal.actions, legal.offsets))
    waiting = server.gather()
    assert [len(q.features) for q in waiting["Top"]] == [1, 2, 3]
    server.answer("Top", waiting["Top"])()
    assert (server.batches, server.rows) == (1, 6)
    assert [len(connection.recv()[1]) for connection in connections] == [1, 2, 3]
    connections[0].close()
    server.gather()
    assert len(server.selector.get_map()) == 3  # the listener and the two that are left
    server.serve(lambda: True)


def test_a_batch_is_of_one_headset_and_no_longer_than_it_may_be() -> None:
    """The headset that has waited longest comes first, and what does not fit waits on, behind the others."""
    waiting = Waiting()

    def request(rows: int) -> Request:
        return Request(None, np.empty((rows, 1)), Legal(np.empty(0, np.int32), np.zeros(1, np.int64)))  # type: ignore[arg-type]

    half = MOST_ROWS // 2
    waiting.add({"Top": [request(half), request(half), request(1)], "All": [request(MOST_ROWS + 1), request(1)]})
    waiting.add({"Top": [request(2)]})
    taken = []
    waiting.close()
    while (batch := waiting.take()) is not None:
        taken.append((batch[0], [len(request.features) for request in batch[1]]))
    assert taken == [("Top", [half, half]), ("All", [MOST_ROWS + 1]), ("Top", [1, 2]), ("All", [1])]


def test_batches_under_way_do_not_mix(address: str) -> None:
    alone = policy_evaluator(None, "cpu", "Top")
    questions = {rows: question(rows) for rows in range(1, 9)}
    expected = {rows: alone.evaluate(*asked, False) for rows, asked in questions.items()}

    def game(first: int) -> None:
        evaluator = RemoteEvaluator(address, "Top", "Top")
        for i in range(20):
            rows = 1 + (first + i) % 8
            priors, values = evaluator.evaluate(*questions[rows], False)
            np.testing.assert_allclose(priors, expected[rows][0], atol=1e-4)
            np.testing.assert_allclose(values, expected[rows][1], atol=1e-4)

    with ThreadPoolExecutor(8) as games:
        list(games.map(game, range(8)))


def test_a_bad_question_harms_its_asker_alone(address: str) -> None:
    features, legal = question(2)
    with pytest.raises(WeightsError, match="no headset 'Nobody'"):
        RemoteEvaluator(address, "Nobody", "Nobody").evaluate(features, legal, False)
    with pytest.raises(WeightsError, match="there is no request 'sing'"):
        ask(connect(address), "sing")
    foreign = connect(address)
    foreign.send_bytes(b"what is this")
    with pytest.raises(EOFError):
        foreign.recv()
    assert len(RemoteEvaluator(address, "Top", "Top").evaluate(features, legal, False)[1]) == 2


def test_a_bad_question_does_not_spoil_the_batch(tmp_path: Path) -> None:
    server = InferenceServer(tmp_path / "socket", loader(None, "cpu", 1))
    connections = [connect(server.address) for _ in range(3)]
    for _ in connections:
        server.gather()  # accepts one of them
    for connection, rows in zip(connections, (2, 1, 3), strict=True):
        features, legal = question(rows)
        bad = rows == 1  # an action that there is not
        connection.send(("evaluate", "Top", features, legal.actions + 10_000 * bad, legal.offsets))
    for headset, questions in server.gather().items():
        server.answer(headset, questions)()
    good, spoilt, other = (connection.recv() for connection in connections)
    assert len(good[1]) == 2 and len(other[1]) == 3 and isinstance(spoilt, str)
    server.serve(lambda: True)


def test_other_weights_can_be_loaded(address: str, tmp_path: Path) -> None:
    features, legal = question(4)
    evaluator = network_evaluator(None, f"unix:{address}", "Trout")
    before = evaluator.evaluate(features, legal, False)[1]
    other = weights.load(LITE)
    name = "headsets.All.value.out.bias"
    other.tensors[name] = other.tensors[name] + 0.5
    weights.save(other, tmp_path / "other.safetensors")
    load_at(address, tmp_path / "other.safetensors")
    assert (evaluator.evaluate(features, legal, False)[1] > before).all()
    with pytest.raises(WeightsError, match="there are no weights"):
        load_at(address, tmp_path / "missing.safetensors")
    assert "Top" in headsets_at(address)


def test_a_server_keeps_to_one_sort_of_synopsis(address: str, tmp_path: Path) -> None:
    """Its players make synopses of the sort that its network reads."""
    _, particles = middle_game(2)
    evaluator = RemoteEvaluator(address, "Top", "Top")
    assert evaluator.synopsis == "binary"
    with pytest.raises(WeightsError, match="the network reads binary synopses and was given graded ones"):
        evaluator.evaluate(particles.features("graded"), Legal(*particles.legal()), False)
    weights.save(some_weights(synopsis="graded"), tmp_path / "graded.safetensors")
    with pytest.raises(
        WeightsError, match=r"graded.safetensors: reads graded synopses, and the players of this server"
    ):
        load_at(address, tmp_path / "graded.safetensors")
    assert len(evaluator.evaluate(*question(2), False)[1]) == 2


def test_a_server_of_a_graded_network(tmp_path: Path) -> None:
    weights.save(some_weights(synopsis="graded"), tmp_path / "graded.safetensors")
    with running_in_a_thread(tmp_path / "socket", str(tmp_path / "graded.safetensors")) as address:
        evaluator = RemoteEvaluator(address, "Top", "Trout")
        assert evaluator.synopsis == "graded"
        _, particles = middle_game(3)
        asked = particles.features("graded"), Legal(*particles.legal())
        expected = policy_evaluator(str(tmp_path / "graded.safetensors"), "cpu", "Top").evaluate(*asked, False)
        np.testing.assert_allclose(evaluator.evaluate(*asked, False)[0], expected[0], atol=1e-4)


def test_an_address_in_use_is_refused(address: str, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="another inference server listens there"):
        InferenceServer(address, loader(None, "cpu", 1))
    file = tmp_path / "precious"
    file.write_text("kept")
    with pytest.raises(WeightsError, match="is there already, and no socket"):
        InferenceServer(file, loader(None, "cpu", 1))
    assert file.read_text() == "kept"
    left = tmp_path / "left"
    socket.socket(socket.AF_UNIX).bind(str(left))  # of a process that was killed
    InferenceServer(left, loader(None, "cpu", 1)).serve(lambda: True)


def test_nobody_answers(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="no inference server answers"):
        network_evaluator(None, f"unix:{tmp_path / 'nothing'}", "Top")


def test_a_process_lives_as_long_as_its_block(tmp_path: Path) -> None:
    with running_server(tmp_path / "socket", device="cpu") as device:
        assert "Top" in headsets_at(device.removeprefix("unix:"))
        kept = RemoteEvaluator(device.removeprefix("unix:"), "Top", "Top")
        features, legal = question(1)
        kept.evaluate(features, legal, False)
    with pytest.raises(WeightsError, match="has gone"):
        kept.evaluate(features, legal, False)
    with pytest.raises(WeightsError, match="could not start"), running_server(tmp_path / "x", "nowhere", "cpu"):
        pass


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    run = penumbra("infer", "--address", str(tmp_path / "socket"), "--weights", "nowhere", "--device", "cpu")
    assert run.returncode == 1 and run.stderr == (
        "penumbra: nowhere: there are no weights; name others, or use evaluator = heuristic\n"
    )
    assert "device = " in penumbra("infer", "--help").stdout
