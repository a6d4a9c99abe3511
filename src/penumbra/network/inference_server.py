"""One inference server for many games: `penumbra infer --address SOCKET`.

Players send it requests through a Unix socket, `device = "unix:SOCKET"` in their configuration. Requests that arrive
while a batch is evaluated make up the next one: the more games, the larger the batches. It can be told to load other
weights while it serves, as training does that plays with what it learns.

A request is (headset, features, legal actions, their offsets); a reply is (priors, values), or the text of an error.
One thread reads requests, another evaluates them. A GPU is given the next batch before the answers to the last are
sent, so that it need not wait. A connection has one request at a time, so replies need no numbers.
"""

from __future__ import annotations

import contextlib
import functools
import os
import selectors
import signal
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from penumbra.dsmcp.domain import Evaluator, EvaluatorGone, Features, Floats, Legal
from penumbra.network import SCHEME, SERVED_ROWS
from penumbra.network.weights import WeightsError
from penumbra.rbc.actions import ACTIONS
from penumbra.rbc.synopsis import Synopsis

MOST_ROWS = 2048  # of one batch
EvaluatorOf = Callable[[str], Evaluator]  # by the headset whose policy is asked for


class ServerGone(WeightsError, EvaluatorGone):
    """Nobody answers at an address, or not any more."""


class Served(NamedTuple):
    """A network as a server has it."""

    headsets: tuple[str, ...]
    synopsis: Synopsis  # the sort that it reads
    evaluator_of: EvaluatorOf


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

    def take(self, wait: bool = True) -> tuple[str, list[Request]] | None:
        """The next batch, of at most `MOST_ROWS` unless one request has more; None if there is none now, or with `wait`
        if there will be no other."""
        with self.changed:
            if wait:
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

    def __init__(self, address: str | Path, load: Callable[[str | None], Served]) -> None:
        self.address = str(address)
        self.load = load
        self.served = load(None)
        self.evaluators: dict[str, Evaluator] = {}
        self.made_by = self.served.evaluator_of  # what made them
        self.waiting = Waiting()
        self.batches = self.rows = 0
        _make_room(Path(address))
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.address)
        self.listener.listen(256)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)

    def serve(self, stopped: Callable[[], bool] = lambda: False) -> None:
        worker = threading.Thread(target=self.work, daemon=True)
        worker.start()
        try:
            while not stopped():
                self.waiting.add(self.gather())
        finally:
            self.waiting.close()
            worker.join()
            self.selector.close()
            self.listener.close()
            Path(self.address).unlink(missing_ok=True)

    def work(self) -> None:
        """Starts each batch before the answers to the one before are sent."""
        under_way: deque[Callable[[], None]] = deque()
        while (batch := self.waiting.take(wait=not under_way)) is not None or under_way:
            if batch is not None:
                under_way.append(self.answer(*batch))
            if batch is None or len(under_way) > 1:
                under_way.popleft()()

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
                    problem = find_problem(*rest)
                    if problem:
                        connection.send(problem)
                        continue
                    headset, features, actions, offsets = rest
                    arrived.setdefault(headset, []).append(Request(connection, features, Legal(actions, offsets)))
                else:
                    connection.send(self.attend(kind, *rest))
            except Exception:  # the game is over, or its process is gone, or it speaks another language
                self.selector.unregister(connection)  # it closes when no request of it is left to answer
        return arrived

    def attend(self, kind: str, *rest: Any) -> Any:
        if kind == "headsets":
            return self.served.headsets
        if kind == "synopsis":
            return (self.served.synopsis,)
        if kind == "load":
            try:
                loaded = self.load(*rest)
            except WeightsError as error:
                return str(error)
            reads, was = loaded.synopsis, self.served.synopsis
            if reads != was:
                return f"{rest[0]}: reads {reads} synopses, and the players of this server make {was} ones"
            self.served = loaded
            return self.served.headsets
        return f"there is no request {kind!r}"

    def answer(self, headset: str, requests: list[Request]) -> Callable[[], None]:
        """Starts to evaluate the requests as one batch; what comes back sends the replies."""
        replies = self.replies(headset, requests)

        def send() -> None:
            for request, reply in zip(requests, replies(), strict=True):
                with contextlib.suppress(OSError):
                    request.connection.send(reply)

        return send

    def replies(self, headset: str, requests: list[Request]) -> Callable[[], list[Any]]:
        """Replies, or an error message for a request that cannot be served; the others of its batch are."""
        started: list[Callable[[], list[Any]]] = []
        try:
            started.append(self.evaluate(headset, requests))
        except Exception as error:
            if len(requests) == 1:
                message = f"{type(error).__name__}: {error}"
                return lambda: [message]
            started += [self.replies(headset, [request]) for request in requests]
        return lambda: [reply for finish in started for reply in finish()]

    def evaluate(self, headset: str, requests: list[Request]) -> Callable[[], list[tuple[Floats, Floats]]]:
        features = np.concatenate([request.features for request in requests])
        counts = np.concatenate([np.diff(request.legal.offsets) for request in requests])
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        actions = np.concatenate([request.legal.actions for request in requests])
        finish = started(self.evaluator(headset), features, Legal(actions, offsets))
        self.batches += 1
        self.rows += len(features)

        def answers() -> list[tuple[Floats, Floats]]:
            priors, values = finish()
            ends = np.cumsum([len(request.features) for request in requests]).tolist()
            firsts = [0, *ends[:-1]]
            return [
                (priors[offsets[first] : offsets[end]], values[first:end])
                for first, end in zip(firsts, ends, strict=True)
            ]

        return answers

    def evaluator(self, headset: str) -> Evaluator:
        if self.made_by is not self.served.evaluator_of:  # other weights have been loaded
            self.made_by, self.evaluators = self.served.evaluator_of, {}
        if headset not in self.evaluators:
            self.evaluators[headset] = self.made_by(headset)
        return self.evaluators[headset]


def find_problem(headset: Any, features: Any, actions: Any, offsets: Any) -> str:
    """What is wrong with the form of a request; "": nothing. Those that are served with it are not to suffer."""
    if not isinstance(headset, str) or not all(isinstance(part, np.ndarray) for part in (features, actions, offsets)):
        return "a request is a headset and three arrays"
    if features.ndim < 2 or not len(features) or features.dtype.kind not in "uif":
        return f"features are numbers, some for each row, and not {_shape(features)}"
    if actions.ndim != 1 or actions.dtype.kind not in "ui":
        return f"actions are whole numbers, and not {_shape(actions)}"
    if offsets.shape != (len(features) + 1,) or offsets.dtype.kind not in "ui":
        return f"offsets are whole numbers, one more than there are rows, and not {_shape(offsets)}"
    if offsets[0] != 0 or offsets[-1] != len(actions) or (np.diff(offsets.astype(np.int64)) < 1).any():
        return "offsets lead from 0 through the actions of each row, at least one, to their end"
    if actions.min() < 0 or actions.max() >= ACTIONS:
        return f"there are no actions beyond {ACTIONS - 1}"
    return ""


def _shape(array: Any) -> str:
    return f"{array.dtype}{list(array.shape)}"


def started(evaluator: Evaluator, features: Features, legal: Legal) -> Callable[[], tuple[Floats, Floats]]:
    """What waits for the evaluation, which a GPU does meanwhile; other evaluators have done it."""
    start = getattr(evaluator, "start", None)
    if start is not None:
        finish: Callable[[], tuple[Floats, Floats]] = start(features, legal, False)
        return finish
    answer = evaluator.evaluate(features, legal, False)
    return lambda: answer


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

    rows_at_once = SERVED_ROWS

    def __init__(self, address: str, policy: str, opponent: str) -> None:
        self.address, self.policy, self.opponent = address, policy, opponent
        self.of_thread = threading.local()

    @functools.cached_property
    def synopsis(self) -> Synopsis:
        """The sort that the server's network reads, whatever weights it loads."""
        with contextlib.closing(connect(self.address)) as connection:
            (found,) = ask(connection, "synopsis")
        return cast(Synopsis, found)

    def evaluate(self, features: Features, legal: Legal, opponent: bool) -> tuple[Floats, Floats]:
        if not hasattr(self.of_thread, "connection"):
            self.of_thread.connection = connect(self.address)
        headset = self.opponent if opponent else self.policy
        try:
            return ask(self.of_thread.connection, "evaluate", headset, features, legal.actions, legal.offsets)  # type: ignore[no-any-return]
        except ServerGone:
            del self.of_thread.connection  # another server may come
            raise


def connect(address: str) -> Connection:
    client = socket.socket(socket.AF_UNIX)
    try:
        client.connect(address)
    except OSError as error:
        client.close()
        raise ServerGone(f"no inference server answers at {address} ({error.strerror})") from None
    return Connection(client.detach())


def ask(connection: Connection, *request: Any) -> Any:
    try:
        connection.send(request)
        reply = connection.recv()
    except (EOFError, OSError):
        raise ServerGone("the inference server has gone") from None
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
    from penumbra.network.loading import loader

    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    if parent is not None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    InferenceServer(address, loader(weights, device, threads)).serve(
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
