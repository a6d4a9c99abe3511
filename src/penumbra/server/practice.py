"""Puzzles on the page: listed, shown without what only the answer may tell, and judged.

What is possible is what the player would know, so all of it is shown; which state is the true one is told by nothing
but what a right sense shows, and the solutions and the reason come with the verdict.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from pydantic import Field, TypeAdapter, ValidationError, field_validator

from penumbra.rbc.marginals import opposing_pieces
from penumbra.rbc.player_view import color_name, own_pieces
from penumbra.review.puzzles.judging import NoAnswer, Verdict, judge, left_by, listed
from penumbra.review.puzzles.puzzle import QUESTIONS, SENSES, Puzzle, read_puzzles, shipped
from penumbra.server.answers import as_json, body_of
from penumbra.server.messages import Checked, Refusal, first_fault, is_square

LARGEST_ANSWER = 1_000  # bytes
ORDER = 0  # seed of the order in which they are listed


class Answer(Checked):
    """A square to sense, a move (`pass` among them), or the one and then the other."""

    square: Annotated[str, Field(max_length=2)] | None = None
    move: Annotated[str, Field(max_length=5)] | None = None

    _square = field_validator("square")(is_square)


_ANSWER = TypeAdapter(Answer)


class Practice:
    """The puzzles that a server offers: those of a file, or of the package."""

    def __init__(self, file: Path | None = None) -> None:
        found = [puzzle for puzzles in read_puzzles(file or shipped()).values() for puzzle in puzzles]
        random.Random(ORDER).shuffle(found)
        self._puzzles = {puzzle.id: puzzle for puzzle in found}

    def listed(self) -> list[dict[str, Any]]:
        return [{"id": name, "kind": p.kind, "grade": p.grade} for name, p in self._puzzles.items()]

    def find(self, name: str) -> Puzzle:
        try:
            return self._puzzles[name]
        except KeyError:
            raise Refusal("unknown puzzle", "there is no such puzzle", 404) from None

    def routes(self) -> APIRouter:
        router = APIRouter(prefix="/api/puzzles")

        @router.get("")
        async def every() -> Response:
            return as_json(self.listed())

        @router.get("/{name}")
        async def one(name: str) -> Response:
            return as_json(await asyncio.to_thread(question, self.find(name)))

        @router.post("/{name}")
        async def answer(name: str, request: Request) -> Response:
            puzzle, said = self.find(name), parse_answer(await body_of(request, LARGEST_ANSWER))
            try:
                verdict = await asyncio.to_thread(judge, puzzle, said.square, said.move)
            except NoAnswer as fault:
                raise Refusal("illegal", str(fault)) from None
            return as_json(await asyncio.to_thread(told, puzzle, said, verdict))

        return router


def parse_answer(body: bytes) -> Answer:
    """The answer in a body; `Refusal` says what is wrong with it."""
    try:
        return _ANSWER.validate_json(body)
    except ValidationError as error:
        raise Refusal("malformed", first_fault(error, tags=0)) from None


def question(puzzle: Puzzle) -> dict[str, Any]:
    """A puzzle as it is asked."""
    return {
        "id": puzzle.id,
        "kind": puzzle.kind,
        "grade": puzzle.grade,
        "question": QUESTIONS[puzzle.kind],
        "color": color_name(puzzle.color),
        "turn": puzzle.turn,
        "phase": "sense" if puzzle.kind in SENSES else "move",
        "own": own_pieces(puzzle.states[0], puzzle.color),
        "states": list(puzzle.states),
        "pieces": opposing_pieces(puzzle.set),
        "moves": listed(puzzle.set),
        "remembered": list(puzzle.remembered),
    }


def told(puzzle: Puzzle, answer: Answer, verdict: Verdict) -> dict[str, Any]:
    """A verdict as it is sent; `shown` has the moves that may be asked for next."""
    facts = asdict(verdict)
    if verdict.shown is not None and answer.square is not None:
        facts["shown"]["moves"] = listed(left_by(puzzle, answer.square))
    return facts
