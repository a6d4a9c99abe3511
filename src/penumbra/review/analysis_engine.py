"""The analysis protocol: queries in, decisions out, many of them with one network (docs/protocol.md).

Answers are JSON objects with the `id` of their query and a `type`: any number of `decision`, then one `end`; or an
`error`, after which the engine goes on with the next. Queries are worked on in the order in which they came, `at_once`
of them at a time, each by a session of its own; what they share is the network in memory.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import penumbra
from penumbra.dsmcp.domain import Evaluator, EvaluatorGone, Features, Floats, Legal, rows_at_once
from penumbra.players.penumbra.configuration import Configuration
from penumbra.players.session import Session
from penumbra.rbc.observations import Moved, Sensed
from penumbra.rbc.synopsis import synopsis_read_by
from penumbra.review.analysis import compared, decision_of, decisions, session_of
from penumbra.review.analysis_query import Cancel, Id, Query, QueryError, Version, parse, start_of

log = logging.getLogger(__name__)

PROTOCOL = 1  # counts up when an older client could no longer follow

Answer = dict[str, Any]


class Cancelled(BaseException):
    """A query that somebody cancelled; no fault of a search, which survives those."""


class Interruptible:
    """An evaluator of one query: it ends the query's search when that is cancelled, and lets others have their turn."""

    def __init__(self, evaluator: Evaluator, cancelled: threading.Event, turn: threading.Lock) -> None:
        self._evaluator = evaluator
        self._cancelled = cancelled
        self._turn = turn
        self.synopsis = synopsis_read_by(evaluator)
        self.rows_at_once = rows_at_once(evaluator)

    def evaluate(self, features: Features, legal: Legal, opponent: bool) -> tuple[Floats, Floats]:
        if self._cancelled.is_set():
            raise Cancelled
        with self._turn:
            return self._evaluator.evaluate(features, legal, opponent)


@dataclass
class Task:
    """A query that waits or is being worked on."""

    query: Query
    cancelled: threading.Event = field(default_factory=threading.Event)


class AnalysisEngine:
    """Answers queries in threads of its own; `answer` is called with one answer at a time."""

    def __init__(self, answer: Callable[[Answer], None], base: Configuration, at_once: int = 1) -> None:
        self._answer = answer
        self._base = base
        self._waiting: deque[Task] = deque()
        self._tasks: dict[Id, Task] = {}  # also those being worked on
        self._changed = threading.Condition()
        self._answering, self._evaluating = threading.Lock(), threading.Lock()
        self._closing = False
        self._threads = [threading.Thread(target=self._work, name="penumbra-analysis") for _ in range(at_once)]
        for thread in self._threads:
            thread.start()

    def take(self, line: bytes | str) -> None:
        """One line: a query is put in line, anything else is answered at once."""
        try:
            query = parse(line)
            match query:
                case Version(id):
                    version = {"penumbra": penumbra.__version__, "protocol": PROTOCOL}
                    self._say({"id": id, "type": "version", **version})
                case Cancel(id, other):
                    self._say({"id": id, "type": "cancel", "cancel": other, "found": self._cancel(other)})
                case Query():
                    self._put(query)
        except QueryError as error:
            self._say({"id": error.id, "type": "error", "error": str(error)})

    def close(self, *, cancel: bool = False) -> None:
        """Waits until everything is answered; with `cancel` what is not yet is cancelled."""
        with self._changed:
            self._closing = True
            for task in self._tasks.values() if cancel else ():
                task.cancelled.set()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def _say(self, answer: Answer) -> None:
        with self._answering:
            self._answer(answer)

    def _put(self, query: Query) -> None:
        with self._changed:
            if query.id in self._tasks:
                raise QueryError("a query of this id is not yet answered", query.id)
            task = self._tasks[query.id] = Task(query)
            self._waiting.append(task)
            self._changed.notify()

    def _cancel(self, id: Id) -> bool:
        with self._changed:
            task = self._tasks.get(id)
            if task is not None:
                task.cancelled.set()
            return task is not None

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closing)
                if not self._waiting:
                    return
                task = self._waiting.popleft()
            last = self._worked(task)
            with self._changed:
                del self._tasks[task.query.id]
            self._say(last)

    def _worked(self, task: Task) -> Answer:
        """Says every decision; the answer that ends the query, whatever happens on the way."""
        id, count = task.query.id, 0
        try:
            for decision in self._decisions(task):
                if task.cancelled.is_set():
                    raise Cancelled
                self._say({"id": id, "type": "decision", **decision})
                count += 1
        except Cancelled:
            return {"id": id, "type": "end", "status": "cancelled", "decisions": count}
        except (ValueError, EvaluatorGone) as error:
            return {"id": id, "type": "error", "error": " ".join(str(error).splitlines())}
        except Exception as error:
            log.exception("query %r failed", id)
            return {"id": id, "type": "error", "error": f"{type(error).__name__}: {error}"}
        return {"id": id, "type": "end", "status": "complete", "decisions": count}

    def _decisions(self, task: Task) -> Iterator[Answer]:
        if task.cancelled.is_set():
            raise Cancelled
        query, configuration = task.query, task.query.configuration(self._base)

        def wrap(evaluator: Evaluator) -> Evaluator:
            return Interruptible(evaluator, task.cancelled, self._evaluating)

        if query.game is not None:
            return _of_game(query, configuration, wrap)
        if query.fens is not None:
            opponent = query.opponent or ""
            session = Session.from_fens(
                query.fens, query.color, configuration, to_move=query.to_move, opponent=opponent, wrap=wrap
            )
        else:
            session = Session(query.color, start_of(query), configuration, opponent=query.opponent or "", wrap=wrap)
        return _of_observations(query, session)


def _of_game(query: Query, configuration: Configuration, wrap: Callable[[Evaluator], Evaluator]) -> Iterator[Answer]:
    from penumbra.interop.history import history_to_record
    from penumbra.interop.history_json import parse_history

    record = history_to_record(parse_history(json.dumps(query.game).encode(), "game"), "game", log.info)
    session = session_of(record, query.color, configuration, wrap=wrap)
    return _some(query, decisions(record, {query.color: session}, query.span, query.details))


def _of_observations(query: Query, session: Session) -> Iterator[Answer]:
    """Decisions within the turns asked for, or the one that is to be taken now."""

    def found() -> Iterator[Answer]:
        for number, observation in enumerate(query.observed(), 1):
            if isinstance(observation, Sensed | Moved) and _is_within(session.turn, query.span):
                decision = decision_of(session, query.details)
                yield decision | compared(decision, observation, query.color)
            try:
                session.observe(observation)
            except ValueError as error:
                raise ValueError(f"observation {number}: {error}") from None
        if session.expects in ("sense", "move") and (query.span is None or _is_within(session.turn, query.span)):
            yield decision_of(session, query.details)

    return _some(query, found())


def _is_within(turn: int, span: tuple[int, int] | None) -> bool:
    return span is not None and span[0] <= turn <= span[1]


def _some(query: Query, found: Iterable[Answer]) -> Iterator[Answer]:
    """At least one, or an error."""
    nothing = True
    for each in found:
        nothing = False
        yield each
    if nothing:
        where = "now" if query.span is None else f"in turns {query.span[0]} to {query.span[1]}"
        raise ValueError(f"there is nothing for {query.player} to decide {where}")
