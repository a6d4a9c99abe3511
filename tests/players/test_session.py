"""A session decides as the bot does, is not disturbed by questions, and refuses what contradicts it."""

from __future__ import annotations

import random
from typing import Any

import chess
import numpy as np
import pytest
import reconchess
from reconchess.bots.random_bot import RandomBot

from penumbra import OutOfTurn, Session
from penumbra.arena.game_loop import play_strictly
from penumbra.core import MOVE, SENSE, START_FEN, Game, ImpossibleObservation, StateSet
from penumbra.dsmcp import Decision
from penumbra.network.heuristic_evaluator import HeuristicEvaluator
from penumbra.players.opponents.hunter import Hunter
from penumbra.players.penumbra.configuration import Configuration
from penumbra.players.penumbra.factory import make_penumbra
from penumbra.rbc.actions import parse_action, parse_square, uci_to_code
from penumbra.rbc.observations import Moved, OpponentMoved, Sensed
from penumbra.rbc.walk import Step, walk
from tests.support.training_games import records

CONFIGURATION = Configuration(nodes=60, seed=5, cap=5_000)


def alike(a: Decision, b: Decision) -> bool:
    return (a.action, a.reason, a.nodes, a.states) == (b.action, b.reason, b.nodes, b.states) and all(
        np.array_equal(getattr(a, name), getattr(b, name), equal_nan=True)
        for name in ("actions", "policy", "visits", "values")
    )


@pytest.mark.parametrize("color", [True, False])
def test_a_session_decides_as_the_bot_does_over_a_whole_game(color: bool) -> None:
    """Whatever else it is asked on the way, and where the budget is given with each question."""
    bot = make_penumbra(CONFIGURATION)
    session = Session(color, seed=5, cap=5_000, opponent="Hunter")
    decided: list[Decision] = []

    def follow(step: Step) -> None:
        if step.color != color:
            return
        for observation in step.told:
            if observation is step.observation:
                session.value(), session.believed(40)
                decided.append(session.decide(nodes=60))
            session.observe(observation)

    white, black = (bot, Hunter(3)) if color else (Hunter(3), bot)
    play_strictly(white, black, Game(None, None, 12), follow)
    assert len(decided) == len(bot.decisions) > 10
    assert all(alike(a, b) for a, b in zip(decided, bot.decisions, strict=True))
    assert sum(each.reason == "search" for each in decided) > 5


def test_what_reconchess_tells_is_understood() -> None:
    """A session beside a player of reconchess holds the true position possible all along, until its set is cut."""
    held: list[tuple[int, bool]] = []

    class Watched(RandomBot):
        def handle_game_start(self, color: bool, board: chess.Board, opponent_name: str) -> None:
            super().handle_game_start(color, board, opponent_name)
            self.session = Session(color, board.fen(), evaluator=HeuristicEvaluator())

        def handle_opponent_move_result(self, captured_my_piece: bool, capture_square: int | None) -> None:
            self.session.handle_opponent_move_result(captured_my_piece, capture_square)

        def handle_sense_result(self, sense_result: list[Any]) -> None:
            self.session.handle_sense_result(sense_result)

        def handle_move_result(self, *told: Any) -> None:
            self.session.handle_move_result(*told)
            session = self.session
            if not session.over and session.states.complete:
                held.append((len(session), game.board.fen(en_passant="fen") in session.states))

    game = reconchess.LocalGame(full_turn_limit=6)
    random.seed(1)
    reconchess.play_local_game(Watched(), Watched(), game=game)
    assert len(held) > 10 and all(there for _, there in held) and max(size for size, _ in held) > 100


def after_one_move(**options: Any) -> Session:
    session = Session(True, evaluator=HeuristicEvaluator(), seed=1, **options)
    session.sensed(None, ())
    session.moved(uci_to_code("e2e4"), uci_to_code("e2e4"), None)
    return session


def test_the_exact_set_and_its_shares() -> None:
    session = after_one_move()
    session.opponent_moved(None)
    assert len(session) == len(set(session.states)) == 21 and session.complete
    shares = session.marginals()
    assert shares.shape == (64, 13) and np.allclose(shares.sum(axis=1), 1)
    assert shares[parse_square("e4"), 1] == 1  # our pawn
    assert shares[parse_square("e6"), 7] == pytest.approx(1 / 21)  # one of Black's moves
    assert repr(session).splitlines()[0] == "<Session of White: turn 2, to sense, 21 positions>"


def test_arrays_have_the_shapes_that_are_said() -> None:
    session = after_one_move()
    session.opponent_moved(None)
    assert session.planes().shape == (104, 8, 8) and session.planes("graded").shape == (150, 8, 8)
    binary, graded = session.planes(), session.planes("graded")
    assert set(np.unique(binary)) == {0, 1} and np.array_equal(binary, graded[:104])
    assert 0 < graded[104:].max() <= 1
    policy = session.policy()
    assert policy.shape == (4161,) and policy.sum() == pytest.approx(1) and policy[64:].sum() == 0
    assert 0 < session.value() < 1
    assert session.legal_actions().tolist() == list(range(64))
    particles = session.belief(50)
    assert len(particles) == 50 and set(particles.players) == {0}
    believed = session.believed(50)
    assert believed.shape == (64, 6) and believed.sum() == pytest.approx(16)


def test_questions_change_nothing() -> None:
    asked, silent = after_one_move(), after_one_move()
    for session in (asked, silent):
        session.opponent_moved(None)
    for _ in range(2):
        asked.belief(30), asked.policy(), asked.planes(), asked.infostates(3)
    assert alike(asked.decide(nodes=50), silent.decide(nodes=50))


@pytest.mark.parametrize(
    ("observations", "wrong"),
    [
        ([], Sensed(parse_square("e5"), (0, 7, 0, 0, 0, 0, 0, 1, 0))),  # two pawns have moved, after no turn
        ([Sensed(None, ())], Moved(uci_to_code("e2e4"), 0, None)),  # nothing stands in its way
        ([Sensed(None, ()), Moved(0, 0, None)], OpponentMoved(parse_square("a1"))),  # nobody can be there yet
        ([Sensed(None, ())], Moved(uci_to_code("e2e4"), uci_to_code("e2e4"), parse_square("e4"), True)),
    ],
)
def test_a_contradiction_is_named_and_changes_nothing(observations: list[Any], wrong: Any) -> None:
    session, untouched = (Session(True, evaluator=HeuristicEvaluator(), seed=1) for _ in range(2))
    for each in (session, untouched):
        for observation in observations:
            each.observe(observation)
    with pytest.raises(ImpossibleObservation, match=r"turn [12]: no possible position agrees: "):
        session.observe(wrong)
    assert (session.expects, session.turn, session.recoveries) == (untouched.expects, max(1, untouched.turn), ())
    assert sorted(session.states) == sorted(untouched.states)
    if session.expects == "opponent":
        for each in (session, untouched):
            each.opponent_moved(None)
    assert alike(session.decide(nodes=40), untouched.decide(nodes=40))


@pytest.mark.parametrize("wrong", [Sensed(77, (0,) * 9), Sensed(9, (0,) * 4), Sensed(9, (99,) * 9)])
def test_nonsense_is_refused(wrong: Sensed) -> None:
    session = Session(True, evaluator=HeuristicEvaluator())
    with pytest.raises(ValueError):
        session.observe(wrong)
    assert (session.expects, len(session)) == ("sense", 1)


def test_what_comes_at_the_wrong_moment_is_named() -> None:
    session = Session(False, evaluator=HeuristicEvaluator())
    for act in (
        lambda: session.sensed(9, (0,) * 9),
        lambda: session.moved(0, 0, None),
        lambda: session.decide(nodes=10),
        lambda: session.policy(),
    ):
        with pytest.raises(OutOfTurn, match="what comes next is the opponent's move"):
            act()
    session.opponent_moved(None)
    with pytest.raises(OutOfTurn, match="turn 1: the opponent moved, but what comes next is the result of a sense"):
        session.opponent_moved(None)


def test_past_the_cap_it_goes_on_as_the_bot_does() -> None:
    """A set that was cut may have lost the truth: what no position of it agrees with is survived."""
    lost = 0
    for record in records()[:6]:
        session = Session(True, evaluator=HeuristicEvaluator(), cap=1_000)
        for step in walk(record):
            if step.color:
                for observation in step.told:
                    session.observe(observation)
        lost += len(session.recoveries)
    assert lost > 0


def test_a_game_ends_with_the_king() -> None:
    fen = "4k3/8/8/8/8/8/4R3/K7 w - - 0 1"
    code, square = uci_to_code("e2e8"), parse_square("e8")
    for ended in (True, False):  # reconchess says only that there was a capture
        session = Session(True, fen, evaluator=HeuristicEvaluator())
        session.sensed(None, ())
        session.moved(code, code, square, ended)
        assert session.over and session.expects == "nothing"
        with pytest.raises(OutOfTurn, match="nothing: the game is over"):
            session.opponent_moved(None)


FENS = ["4k3/8/8/8/8/8/4R3/K7 w - - 0 1", "3k4/8/8/8/8/8/4R3/K7 w - - 0 1"]


def test_positions_without_a_history() -> None:
    session = Session.from_fens(FENS, True, seed=1, evaluator=HeuristicEvaluator())
    assert (session.expects, len(session), len(session.belief(8))) == ("sense", 2, 2)
    assert session.decide(nodes=40).action < 64
    moving = Session.from_fens(FENS[:1], True, to_move=True, evaluator=HeuristicEvaluator())
    decision = moving.decide(nodes=40)
    assert (decision.reason, decision.action) == ("sure win", parse_action("e2e8"))
    waiting = Session.from_fens([FENS[0].replace(" w ", " b ")], True, evaluator=HeuristicEvaluator())
    waiting.opponent_moved(None)
    assert (waiting.expects, waiting.turn) == ("sense", 1) and len(waiting) > 1


def test_positions_that_cannot_be_are_refused() -> None:
    with pytest.raises(OutOfTurn, match="it is the opponent's turn"):
        Session.from_fens([FENS[0].replace(" w ", " b ")], True, to_move=True)
    for fens in ([], ["no position"], [FENS[0], START_FEN], [FENS[0], FENS[1].replace(" w ", " b ")]):
        with pytest.raises(ValueError):
            Session.from_fens(fens, True)


def test_the_steps_of_a_session_are_those_of_the_game() -> None:
    session = Session(True, evaluator=HeuristicEvaluator())
    steps = [(session.situation.kind, str(session.expects))]
    session.sensed(None, ())
    steps.append((session.situation.kind, str(session.expects)))
    assert steps == [(SENSE, "sense"), (MOVE, "move")]
    assert sorted(session.legal_actions())[-1] == 4160
    assert isinstance(session.states, StateSet)
