"""How a game ended, told to its players: who took the king, since when it could be known, and by which sense."""

from __future__ import annotations

import pytest

from penumbra.core import Game, GameRecord
from penumbra.rbc.actions import code_to_action, parse_square, view
from penumbra.rbc.player_view import request_code
from penumbra.rbc.tracker import Tracker
from penumbra.rbc.walk import walk
from penumbra.review.ending import explain
from penumbra.review.frames import review_of
from penumbra.review.verdicts import COUNTED


def record(*turns: tuple[str | None, str | None]) -> GameRecord:
    """A game by the senses and moves of both, in real squares."""
    game = Game()
    for sense, move in turns:
        color = game.turn
        game.sense(None if sense is None else view(parse_square(sense), color))
        code = request_code(move, color)
        game.move(code_to_action(code), code >> 12)
    return game.record()


HUNT = (  # White's knight takes the king of who looks elsewhere
    ("e7", "b1c3"),
    ("b7", "a7a6"),
    ("e7", "c3b5"),
    ("b7", "a6a5"),
    ("e7", "b5d6"),
    ("b7", "a5a4"),
    ("e7", "d6e8"),
)


def test_the_loser_learns_what_a_sense_would_have_told() -> None:
    facts = explain(record(*HUNT).to_bytes(), False)
    assert facts["last"] == {"from": "d6", "to": "e8", "piece": "N", "capture": "e8"}
    assert facts["before"].startswith("rnbqkbnr/1ppppppp/3N4/")
    assert facts["after"].startswith("rnbqNbnr/")
    loss = facts["loss"]
    assert (loss["since"], loss["seen"], loss["turn"]) == (3, None, 3)
    told = loss["verdict"]
    assert told["kind"] == "lost" and told["true"] and 0 < told["states"] < told["of"]
    window = [f"{file}{rank}" for file in "cde" for rank in (5, 6, 7)]
    assert told["sense"] in window, "it does not show d6"


def test_who_had_seen_the_attacker_is_told_so() -> None:
    seen = [*HUNT[:5], ("e6", "a5a4"), HUNT[6]]
    loss = explain(record(*seen).to_bytes(), False)["loss"]
    assert loss["seen"] == 3
    assert loss["verdict"]["states"] == loss["verdict"]["of"]  # it knew
    assert loss["turned"] == 3


def test_the_danger_is_that_of_the_states_held_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted here by playing every capture of the king in each of the states; and of those drawn the truth is one."""
    game = record(*HUNT)
    drawn = explain(game.to_bytes(), False)["loss"]["verdict"]
    assert drawn["of"] == COUNTED and drawn["states"] >= 1
    monkeypatch.setattr("penumbra.review.verdicts.COUNTED", 10_000)
    loss = explain(game.to_bytes(), False)["loss"]
    tracker = Tracker(False)
    for step in walk(game):
        if step.color is False and not step.after.over:
            for observation in step.told:
                if step.before.plies < 5 or step.kind == 0:
                    tracker.observe(observation)
    states = tracker.current
    taken = 0
    for fen in states.fens():
        position = Game(fen)
        position.sense(None)
        position.move(code_to_action(request_code("a5a4", False)))
        position.sense(None)
        captures = False
        for action in position.legal_actions():
            after = position.copy()
            after.move(action)
            captures |= after.over
        taken += captures
    assert len(states) > COUNTED and taken > 0
    assert (loss["verdict"]["states"], loss["verdict"]["of"]) == (taken, len(states))


def test_a_lost_king_is_told_of_as_in_the_review() -> None:
    """Of the last own move the end says what the review says, unless that says something graver."""
    game = record(*HUNT)
    loss = explain(game.to_bytes(), False)["loss"]
    moves = [step for step in review_of(game)["steps"] if step["type"] == "moved" and step["color"] == "black"]
    assert loss["verdict"] == moves[-1]["verdict"]


@pytest.mark.parametrize("color", [True, False])
def test_other_ends_have_nothing_to_explain(color: bool) -> None:
    facts = explain(record(*HUNT[:4]).to_bytes(), color)
    assert facts["loss"] is None
    assert facts["last"]["to"] == "a5"
    assert explain(GameRecord().to_bytes(), color)["last"] is None


def test_the_winner_is_told_the_last_move_alone() -> None:
    facts = explain(record(*HUNT).to_bytes(), True)
    assert facts["last"]["capture"] == "e8" and facts["loss"] is None
