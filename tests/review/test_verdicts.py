"""Verdicts on the moves of real games, counted a second time by python-chess."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import NamedTuple

import chess
import pytest

from penumbra.core import START_FEN, GameRecord, StateSet
from penumbra.interop.game_files import read_games
from penumbra.interop.history import read_record
from penumbra.rbc.actions import code_to_uci, view_code
from penumbra.rbc.observations import Moved, Sensed
from penumbra.rbc.tracker import Follower
from penumbra.rbc.walk import Step, walk
from penumbra.review.frames import review_of
from penumbra.review.verdicts import COUNTED, WORTH_TELLING, Verdict, verdict
from tests.oracles import puzzles as oracle
from tests.oracles.state_set import StateSet as SlowSet
from tests.oracles.state_set import sense
from tests.support import DATA
from tests.support.evidence import scale

GAMES = [read_record(DATA / "paper_game.json")]
SMALL = scale(30, COUNTED)  # states that python-chess goes through


def told(problem: Exception) -> None:
    raise problem


GAMES += list(read_games(DATA / "real_games.jsonl", told))


class Moment(NamedTuple):
    """A move, what its player held possible then and before the sense of that turn."""

    step: Step
    states: StateSet
    before: StateSet
    verdict: Verdict | None


def moments(record: GameRecord) -> Iterator[Moment]:
    followers = {color: Follower(color, record.start_fen or START_FEN) for color in (True, False)}
    before: StateSet | None = None
    for step in walk(record):
        for observation in step.told:
            states = followers[step.color].states
            assert states is not None
            if isinstance(observation, Sensed):
                before = states
            if isinstance(observation, Moved):
                assert before is not None
                yield Moment(step, states, before, verdict(step, states, before))
            if not step.after.over:
                followers[step.color].observe(observation)


MOMENTS = [moment for record in GAMES for moment in moments(record)]


def counts(moment: Moment) -> tuple[oracle.Counts, oracle.Counts, str]:
    """In how many states each request takes the king, and leaves one's own, and which was made."""
    boards, color = [chess.Board(fen) for fen in moment.states.fens()], moment.step.color
    saved = oracle.answers("save", boards, color)
    assert isinstance(moment.step.observation, Moved)
    word = code_to_uci(view_code(moment.step.observation.requested, color))
    lost = {each: len(boards) - n for each, n in saved.items()}
    return oracle.answers("take", boards, color), lost, word if word == "pass" else word[:4]


def test_verdicts_say_what_python_chess_counts() -> None:
    looked = [moment for moment in MOMENTS if len(moment.states) <= SMALL]
    said = 0
    for moment in looked:
        won, lost, played = counts(moment)
        of, told = len(moment.states), moment.verdict
        missed, risked = max(won.values()) - won[played], lost[played] - min(lost.values())
        truth = chess.Board(moment.step.before.fen())
        move = None if played == "pass" else chess.Move.from_uci(played)
        falls = not oracle.saves(truth, move)
        assert (told is not None) == (falls or max(missed, risked) >= WORTH_TELLING * of)
        if told is None:
            continue
        said += 1
        assert told.of == of and told.cost == round((missed if told.kind == "missed" else risked) / of, 3)
        if told.kind == "missed":
            assert missed > risked and told.states == max(won.values()) == won[told.better]
            assert told.true == oracle.takes(truth, None if told.better == "pass" else chess.Move.from_uci(told.better))
            assert f"takes the king in {told.states} of {of} state" in told.text
        else:
            assert told.states == lost[played] and lost[told.better] == min(lost.values()) and told.true == falls
            fewest = str(lost[told.better] or "none")
            end = "no move in fewer" if risked == 0 else f" in {fewest}."
            assert f"left the king to be taken in {told.states} of {of} state" in told.text and end in told.text
    assert said >= 5


def test_the_sense_that_would_have_told_leaves_only_states_in_which_it_is_so() -> None:
    said = 0
    for moment in MOMENTS:
        told = moment.verdict
        if told is None or told.sense is None:
            continue
        truth, color = chess.Board(moment.step.before.fen()), moment.step.color
        before = SlowSet.of_boards([chess.Board(fen) for fen in moment.before.fens()[: scale(4_000, 100_000)]], color)
        square = chess.parse_square(told.sense)
        left = list(before.filter_sense(sense(truth, square)).boards())
        assert left or len(moment.before) > 4_000
        for board in left[: scale(30, 10_000)]:
            assert not oracle.saves(board, played(moment)) if told.kind == "lost" else True
        said += 1
        assert told.text.endswith(f"A sense at {told.sense} would have told.")
    assert said


def test_a_set_that_was_cut_and_lost_the_truth_names_no_sense() -> None:
    moment = next(each for each in MOMENTS if each.verdict is not None and each.verdict.sense is not None)
    assert moment.verdict is not None
    truth = moment.step.before.fen().split()[0]
    wrong = next(fen for fen in moment.before.fens() if fen.split()[0] != truth)
    told = verdict(moment.step, moment.states, StateSet.from_fens([wrong], moment.step.color))
    assert told == dataclasses.replace(moment.verdict, sense=None, text=moment.verdict.text.partition(" A sense at")[0])


def played(moment: Moment) -> chess.Move | None:
    assert isinstance(moment.step.observation, Moved)
    word = code_to_uci(view_code(moment.step.observation.requested, moment.step.color))
    return None if word == "pass" else chess.Move.from_uci(word)


@pytest.mark.parametrize("record", GAMES[:4])
def test_a_review_has_the_verdicts_on_its_moves(record: GameRecord) -> None:
    expected = [moment.verdict and moment.verdict.to_json() for moment in moments(record)]
    steps = review_of(record)["steps"]
    assert [step.get("verdict") for step in steps if step["type"] == "moved"] == expected
    assert all("verdict" not in step for step in steps if step["type"] == "sensed")


def test_the_mistakes_of_a_review_come_with_the_worst_first() -> None:
    review = review_of(GAMES[-2])
    costs = [told["cost"] for told in review["mistakes"]]
    assert len(costs) > 2 and costs == sorted(costs, reverse=True) and min(costs) > 0
    for told in review["mistakes"]:
        step = review["steps"][told["position"]]
        assert (step["verdict"]["text"], step["color"]) == (told["text"], told["color"])


def test_shares_of_large_sets_are_drawn_and_said_to_be_so() -> None:
    large = [m for m in MOMENTS if len(m.states) > COUNTED and m.verdict is not None]
    assert large
    for moment in large:
        assert moment.verdict is not None and moment.verdict.of == COUNTED
        assert re.search(r"about \d+ % of [\d,]+ states", moment.verdict.text)
