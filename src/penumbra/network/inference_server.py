"""One inference server for many games: `penumbra infer --address SOCKET`.

Players send it requests through a Unix socket, `device = "unix:SOCKET"` in their configuration. Requests that arrive
while a batch is evaluated make up the next one: the more games, the larger the batches. It can be told to load other
weights while it serves, as training does that plays with what it learns.

A request is (headset, features, legal actions, their offsets); a reply is (priors, values), or the text of an error.
One thread reads requests; others evaluate and reply, two of them on a GPU, so that one batch is prepared while another
is computed. A connection has one request at a time, so replies need no numbers.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from penumbra.dsmcp.domain import Evaluator, Features, Floats, Legal
from penumbra.network import SCHEME
from penumbra.network.weights import WeightsError

MOST_ROWS = 2048  # of one batch
GPU_WORKERS = 2  # threads that evaluate on a GPU
EvaluatorOf = Callable[[str], Evaluator]  # by the headset whose policy is asked for


class Request(NamedTuple):
    """Rows that one game wants evaluated."""

    connection: Connection
    features: Features
    legal: Legal


class Waiting:
    """Requests that nobody has taken yet, by headset; the headset that has waited longest comes first."""

    def __init__(self) -> None:
        self.requests: dict[str, list[Request]] = {}
        self.changed = threading.Condition()
        self.closed = False

    def add(self, requests: dict[str, list[Request]]) -> None:
        with self.changed:
            for headset, some in requests.items():
                self.requests.setdefault(headset, []).extend(some)
            self.changed.notify_all()

    def take(self) -> tuple[str, list[Request]] | None:
        """The next batch, of at most `MOST_ROWS` unless one request has more; None once there will be no other."""
        with self.changed:
            self.changed.wait_for(lambda: self.requests or self.closed)
            if not self.requests:
                return None
            headset, requests = next(iter(self.requests.items()))
            rows = np.cumsum([len(request.features) for request in requests])
            n = max(1, int(np.searchsorted(rows, MOST_ROWS, side="right")))
            del self.requests[headset]
            if requests[n:]:
                self.requests[headset] = requests[n:]
            return headset, requests[:n]

    def close(self) -> None:
        with self.changed:
            self.closed = True
            self.changed.notify_all()


class InferenceServer:
    """Serves requests until it is stopped."""

    def __init__(
        self,
        address: str | Path,
        load: Callable[[str | None], tuple[tuple[str, ...], EvaluatorOf]],
        workers: int = 1,
    ) -> None:
        self.address = str(address)
        self.load = load
        self.headsets, self.evaluator_of = load(None)
        self.of_thread = threading.local()  # evaluators by headset, and what made them
        self.waiting = Waiting()
        self.workers = [threading.Thread(target=self.work, daemon=True) for _ in range(workers)]
        self.batches = self.rows = 0
        _make_room(Path(address))
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.address)
        self.listener.listen(256)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)

    def serve(self, stopped: Callable[[], bool] = lambda: False) -> None:
        for worker in self.workers:
            worker.start()
        try:
            while not stopped():
                self.waiting.add(self.gather())
        finally:
            self.waiting.close()
            for worker in self.workers:
                worker.join()
            self.selector.close()
            self.listener.close()
            Path(self.address).unlink(missing_ok=True)

    def work(self) -> None:
        while (batch := self.waiting.take()) is not None:
            self.answer(*batch)

    def gather(self) -> dict[str, list[Request]]:
        """All requests that have arrived, by headset."""
        arrived: dict[str, list[Request]] = {}
        for key, _ in self.selector.select(0.5):
            if key.fileobj is self.listener:
                accepted, _ = self.listener.accept()
                self.selector.register(Connection(accepted.detach()), selectors.EVENT_READ)
                continue
            connection = key.fileobj
            assert isinstance(connection, Connection)
            try:
                kind, *rest = connection.recv()
                if kind == "evaluate":
                    headset, features, actions, offsets = rest
                    arrived.setdefault(headset, []).append(Request(connection, features, Legal(actions, offsets)))
                else:
                    connection.send(self.attend(kind, *rest))
            except Exception:  # the game is over, or its process is gone, or it speaks another language
                self.selector.unregister(connection)  # it closes when no request of it is left to answer
        return arrived

    def attend(self, kind: str, *rest: Any) -> Any:
        if kind == "headsets":
            return self.headsets
        if kind == "load":
            try:
                self.headsets, self.evaluator_of = self.load(*rest)
            except WeightsError as error:
                return str(error)
            return self.headsets
        return f"there is no request {kind!r}"

    def answer(self, headset: str, requests: list[Request]) -> None:
        """Evaluates the requests as one batch and sends the replies."""
        for request, reply in zip(requests, self.replies(headset, requests), strict=True):
            with contextlib.suppress(OSError):
                request.connection.send(reply)

    def replies(self, headset: str, requests: list[Request]) -> list[Any]:
        """Replies, or an error message for a request that cannot be served; the others of its batch are."""
        try:
            return list(self.evaluate(headset, requests))
        except Exception as error:
            if len(requests) == 1:
                return [f"{type(error).__name__}: {error}"]
        return [reply for request in requests for reply in self.replies(headset, [request])]

    def evaluator(self, headset: str) -> Evaluator:
        """This thread's own: evaluators on a GPU keep their input and output in one place."""
        of_thread, made_by = self.of_thread, self.evaluator_of
        if getattr(of_thread, "made_by", None) is not made_by:
            of_thread.made_by, of_thread.evaluators = made_by, {}
        if headset not in of_thread.evaluators:
            of_thread.evaluators[headset] = made_by(headset)
        evaluator: Evaluator = of_thread.evaluators[headset]
        return evaluator

    def evaluate(self, headset: str, requests: list[Request]) -> list[tuple[Floats, Floats]]:
        features = np.concatenate([request.features for request in requests])
        counts = np.concatenate([np.diff(request.legal.offsets) for request in requests])
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        actions = np.concatenate([request.legal.actions for request in requests])
        priors, values = self.evaluator(headset).evaluate(features, Legal(actions, offsets), False)
        self.batches += 1
        self.rows += len(features)
        ends = np.cumsum([len(request.features) for request in requests])
        answers, first = [], 0
        for end in ends.tolist():
            answers.append((priors[offsets[first] : offsets[end]], values[first:end]))
            first = end
        return answers


def _make_room(path: Path) -> None:
    """Removes a socket that nobody listens at any more, and nothing else."""
    if not path.exists():
        return
    if not path.is_socket():
        raise WeightsError(f"{path}: is there already, and no socket")
    with contextlib.suppress(WeightsError):
        connect(str(path)).close()
        raise OSError(f"{path}: another inference server listens there")
    path.unlink()


class RemoteEvaluator:
    """Asks an inference server; each thread has a connection of its own."""

    def __init__(self, address: str, policy: str, opponent: str) -> None:
        self.address, self.policy, self.opponent = address, policy, opponent
        self.of_thread = threading.local()

    def evaluate(self, features: Features, legal: Legal, opponent: bool) -> tuple[Floats, Floats]:
        if not hasattr(self.of_thread, "connection"):
            self.of_thread.connection = connect(self.address)
        headset = self.opponent if opponent else self.policy
        return ask(self.of_thread.connection, "evaluate", headset, features, legal.actions, legal.offsets)  # type: ignore[no-any-return]


def connect(address: str) -> Connection:
    client = socket.socket(socket.AF_UNIX)
    try:
        client.connect(address)
    except OSError as error:
        raise WeightsError(f"no inference server answers at {address} ({error.strerror})") from None
    return Connection(client.detach())


def ask(connection: Connection, *request: Any) -> Any:
    try:
        connection.send(request)
        reply = connection.recv()
    except (EOFError, OSError):
        raise WeightsError("the inference server has gone") from None
    if isinstance(reply, str):
        raise WeightsError(f"the inference server: {reply}")
    return reply


def headsets_at(address: str) -> tuple[str, ...]:
    connection = connect(address)
    try:
        return tuple(ask(connection, "headsets"))
    finally:
        connection.close()


def load_at(address: str, weights: str | Path) -> None:
    """Lets an inference server go on with other weights."""
    connection = connect(address)
    try:
        ask(connection, "load", str(weights))
    finally:
        connection.close()


def serve(address: str, weights: str | None, device: str, threads: int, parent: int | None = None) -> None:
    """Answers until it is told to terminate, or the process `parent` has ended."""
    from penumbra.network.loading import choose_device, loader

    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    if parent is not None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    workers = GPU_WORKERS if choose_device(device) == "cuda" else 1
    InferenceServer(address, loader(weights, device, threads), workers).serve(
        lambda: stop.is_set() or (parent is not None and os.getppid() != parent)
    )


@contextlib.contextmanager
def running_server(
    address: str | Path, weights: str | None = None, device: str = "auto", threads: int = 2
) -> Iterator[str]:
    """An inference server for as long as the block lasts; the `device` by which players reach it."""
    process = get_context("spawn").Process(target=serve, args=(str(address), weights, device, threads, os.getpid()))
    process.start()
    try:
        while process.is_alive() and not Path(address).exists():
            process.join(0.05)
        if not process.is_alive():
            raise WeightsError("the inference server could not start")
        yield f"{SCHEME}{address}"
    finally:
        process.terminate()
        process.join()
