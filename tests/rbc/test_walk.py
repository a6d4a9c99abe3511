"""The walk: its steps are those of reconchess' own records, and those that players and spectators are told of."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from penumbra.arena.game_loop import play_strictly
from penumbra.core import MOVE, SENSE, START_FEN, Game, GameRecord, Infostates, StateSet
from penumbra.players.opponents.random_player import RandomPlayer
from penumbra.rbc import domain as rbc
from penumbra.rbc.actions import PASS_CODE, code_to_uci, uci_to_code, view, view_code
from penumbra.rbc.observations import Moved, Observation, OpponentMoved, Sensed
from penumbra.rbc.possible import possible_after
from penumbra.rbc.tracker import Follower, ImpossibleObservation, Tracker
from penumbra.rbc.walk import IllegalStep, Step, walk
from tests.support.situations import real_games, real_records
from tests.support.witness import Witness

BLACK_TO_MOVE = "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 2"
LETTERS = " PNBRQKpnbrqk"

GAMES = range(len(real_games()))


def played_from(fen: str | None) -> GameRecord:
    return play_strictly(RandomPlayer(1), RandomPlayer(2), Game(fen, None, 12)).record()


def shown(observation: Sensed, color: bool) -> list[str]:
    """The letters of the pieces, as in a FEN."""
    letters = [LETTERS[content] for content in observation.contents]
    return letters if color else [letter.swapcase() for letter in letters]


def position(fen: str) -> list[str]:
    return fen.split()[:3]


def uci(move: dict[str, str] | None) -> str:
    return "pass" if move is None else move["value"]


@pytest.mark.parametrize("number", GAMES)
def test_steps_are_what_reconchess_wrote_of_its_own_games(number: int) -> None:
    """Each value of the file is compared as reconchess wrote it: senses, moves, captures, and the true positions."""
    history: dict[str, Any] = real_games()[number]
    capture = None
    seen = 0
    for step in walk(real_records()[number]):
        color = step.color

        def said(key: str, step: Step = step) -> Any:
            return history[key]["true" if step.color else "false"][step.turn - 1]

        match step.observation:
            case Sensed(square):
                assert step.told == (OpponentMoved(capture), step.observation)
                assert (None if square is None else view(square, color)) == said("senses")
                pieces = [" " if piece is None else piece["value"] for _, piece in said("sense_results")]
                assert shown(step.observation, color) == pieces
                assert step.before.fen() == step.after.fen()
            case Moved(requested, taken, captured):
                assert step.told == (step.observation,)
                assert code_to_uci(view_code(requested, color)) == uci(said("requested_moves"))
                assert code_to_uci(view_code(taken, color)) == uci(said("taken_moves"))
                assert (None if captured is None else view(captured, color)) == said("capture_squares")
                assert position(step.before.fen()) == position(said("fens_before_move"))
                assert position(step.after.fen()) == position(said("fens_after_move"))
                capture = None if captured is None else view(view(captured, color), not color)
        seen += 1
    assert seen == sum(len(history[key][color]) for key in ("senses", "requested_moves") for color in ("true", "false"))


@pytest.mark.parametrize("fen", [None, BLACK_TO_MOVE])
def test_players_and_spectators_of_a_game_are_told_what_the_walk_of_its_record_tells(fen: str | None) -> None:
    players = {True: Witness(1), False: Witness(2)}
    live: list[Step] = []
    game = play_strictly(players[True], players[False], Game(fen, None, 12), live.append)
    steps = list(walk(game.record()))
    assert [step.observation for step in live] == [step.observation for step in steps]
    assert [step.after.fen() for step in live] == [step.after.fen() for step in steps]
    assert [step.before.fen() for step in live] == [step.before.fen() for step in steps]
    for color, player in players.items():
        told = [observation for step in steps if step.color == color for observation in step.told]
        if steps[-1].color == color:
            told.pop()  # of a move that ends the game its player hears no more
        assert player.seen == [as_written(observation) for observation in told]


def as_written(observation: Observation) -> tuple[object, ...]:
    match observation:
        case OpponentMoved(capture):
            return ("opponent", capture)
        case Sensed(square, contents):
            return ("sensed", square, contents)
        case Moved(requested, taken, capture):
            return ("moved", requested, taken, capture)


@pytest.mark.parametrize("fen", [None, BLACK_TO_MOVE])
def test_a_step_stays_as_it_was_while_the_walk_goes_on(fen: str | None) -> None:
    steps = list(walk(played_from(fen)))
    assert [step.kind for step in steps] == [SENSE, MOVE] * (len(steps) // 2)
    for before, after in pairwise(steps):
        assert before.after.fen() == after.before.fen()
        assert before.after.plies == after.before.plies
    assert [step.turn for step in steps] == [1 + i // 4 for i in range(len(steps))]


def test_a_game_may_start_with_black() -> None:
    steps = list(walk(played_from(BLACK_TO_MOVE)))
    assert [(step.color, step.turn) for step in steps[:6]] == [(False, 1)] * 2 + [(True, 1)] * 2 + [(False, 2)] * 2
    assert [step.before.fullmove_number for step in steps[:5]] == [2, 2, 3, 3, 3]
    assert steps[0].told[0] == OpponentMoved(None)


def test_the_last_turn_may_lack_its_move_or_its_sense() -> None:
    record = GameRecord()
    e4 = uci_to_code("e2e4")
    record.add_turn(None, e4)
    record.add_turn(9, None)
    observations = [step.observation for step in walk(record)]
    assert observations[:2] == [Sensed(None, ()), Moved(e4, e4, None)]
    assert [type(observation) for observation in observations] == [Sensed, Moved, Sensed]
    assert list(walk(GameRecord())) == []


def test_a_pawn_becomes_the_piece_that_was_asked_for() -> None:
    record = GameRecord("", "", "8/4P3/8/8/1k6/8/8/4K3 w - - 0 1")
    knight = uci_to_code("e7e8n")
    record.add_turn(None, knight)
    *_, promoted = walk(record)
    assert promoted.observation == Moved(knight, knight, None)
    assert promoted.after.fen().startswith("4N3/")


def test_only_a_move_that_takes_the_king_ends_the_game() -> None:
    for record in real_records():
        *steps, last = [step for step in walk(record) if isinstance(step.observation, Moved)]
        assert not any(step.observation.ended for step in steps if isinstance(step.observation, Moved))
        assert isinstance(last.observation, Moved)
        assert last.observation.ended == last.after.over == (record.reason == "KING_CAPTURE")
    limited = played_from(None)
    assert limited.reason == "TURN_LIMIT"
    assert not any(isinstance(step.observation, Moved) and step.observation.ended for step in walk(limited))


def test_a_record_that_breaks_the_rules_says_where() -> None:
    record = GameRecord()
    record.add_turn(None, uci_to_code("e2e4"))
    record.add_turn(None, PASS_CODE)
    record.add_turn(None, PASS_CODE)
    record.add_turn(12, uci_to_code("e4e5"))
    steps = walk(record)
    seen = 0
    with pytest.raises(IllegalStep, match="e4e5") as caught:
        for _ in steps:
            seen += 1
    assert (seen, caught.value.color, caught.value.turn) == (7, False, 2)
    with pytest.raises(ValueError, match="malformed FEN"):
        next(walk(GameRecord("", "", "nonsense")))


@pytest.mark.parametrize("number", GAMES)
def test_situations_trackers_and_sets_follow_observations_alike(number: int) -> None:
    """One function says what an observation leaves possible; all that build on it agree, and the truth stays in."""
    for color in (True, False):
        x, tracker, follower = rbc.start(color)[0], Tracker(color), Follower(color)
        states = StateSet(START_FEN, color)
        for step in walk(real_records()[number]):
            if step.color != color:
                continue
            for observation in step.told:
                if states.turn != color or not isinstance(observation, OpponentMoved):
                    states = possible_after(states, observation)
                x = rbc.observed(x, observation)
                tracker.observe(observation)
                followed = follower.observe(observation)
                assert followed is not None
                sets = (states, x.states, tracker.current, followed)
                assert len({len(of) for of in sets}) == 1
                if len(states) <= 2_000:
                    assert all(set(of) == set(states) for of in sets)
            truth = " ".join([*step.after.fen().split()[:4], "0", "1"])
            assert truth in states
            assert x.kind == (MOVE if step.kind == SENSE else SENSE)


def test_a_situation_remembers_the_planes_before_its_own_move() -> None:
    compared = 0
    for color in (True, False):
        x = rbc.start(color)[0]
        for step in walk(real_records()[0]):
            for observation in step.told if step.color == color else ():
                before = x
                x = rbc.observed(x, observation)
                if not isinstance(observation, Moved):
                    assert np.array_equal(x.context.previous_shares, before.context.previous_shares)
                elif len(before.states) <= 128:
                    drawn = Infostates.draw(before.states, 1, MOVE, 128, before.context)
                    assert np.array_equal(x.context.previous, drawn.synopsis()[0, 18:36])
                    assert np.array_equal(x.context.previous_shares, drawn.shares()[0, :7])
                    compared += 1
    assert compared > 5


def test_the_notice_before_the_first_turn_changes_no_situation() -> None:
    x, _ = rbc.start(True)
    assert rbc.observed(x, OpponentMoved(None)) is x
    with pytest.raises(ValueError):
        rbc.observed(x, OpponentMoved(8))


def test_a_set_that_was_cut_may_be_lost_and_a_whole_one_may_not() -> None:
    for record in real_records():
        followers = {color: Follower(color, cap=3, seed=1) for color in (True, False)}
        for step in walk(record):
            follower = followers[step.color]
            for observation in step.told:
                before, after = follower.states, follower.observe(observation)
                assert after is follower.states
                assert after is None or before is not None, "a set that was lost came back"
                if after is None and before is not None:
                    assert not before.complete
        assert any(follower.states is None for follower in followers.values())
    whole = Follower(True)
    whole.observe(OpponentMoved(None))
    with pytest.raises(ImpossibleObservation):
        whole.observe(Sensed(9, (0,) * 9))


def test_a_sense_not_taken_shows_nothing() -> None:
    states = StateSet(START_FEN, True)
    assert possible_after(states, Sensed(None, ())) is states
    with pytest.raises(ValueError, match="no sense"):
        possible_after(states, Sensed(None, (0,)))
