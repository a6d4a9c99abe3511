"""The time a step is given: never more than the clock can bear, whatever happens beside thinking."""

from __future__ import annotations

import math
import random
import time

import pytest

from penumbra.arena.game_loop import Clock, play
from penumbra.core import SENSE, START_FEN, Context, StateSet
from penumbra.dsmcp import Settings
from penumbra.network.heuristic_evaluator import HeuristicEvaluator
from penumbra.players.opponents.random_player import RandomPlayer
from penumbra.players.penumbra.player import PenumbraPlayer
from penumbra.players.penumbra.recovery import LEAST_SAMPLE, recovered
from penumbra.players.penumbra.time_control import SMALL_SET, UNTIMED_STEP, TimeControl
from penumbra.rbc.actions import parse_square
from penumbra.rbc.domain import Situation
from penumbra.rbc.observations import OpponentMoved


class World:
    """A clock of the world, and a game's clock for one player, in which nobody really waits."""

    def __init__(self, seconds: float, increment: float) -> None:
        self.now = 1000.0
        self.left = seconds
        self.increment = increment
        self.control = TimeControl(clock=lambda: self.now)
        self.budgets: list[float] = []

    def turn(self, tracking: float = 0.0, overshoot: float = 0.0, lag: float = 0.0, states: int = 100) -> None:
        """One turn: `tracking` seconds after each observation, each step `overshoot` too late, `lag` outside."""
        self.now += 0.7  # the opponent's time
        began = self.now
        self.now += lag
        self.control.turn_begins()
        self.track(tracking, states)
        for sensing in (True, False):
            self.control.tell(self.left - (self.now - began), sensing)
            seconds = 0.001 if self.control.haste() else self.control.seconds(sensing)
            self.budgets.append(seconds)
            self.now += seconds + overshoot
            self.control.thought(seconds, seconds + overshoot)
            self.track(tracking, states)
        self.control.turn_ends()
        self.left += self.increment - (self.now - began)

    def track(self, seconds: float, states: int) -> None:
        with self.control.tracking():
            self.now += seconds
        self.control.tracked(states)


@pytest.mark.parametrize("seconds", [2.0, 10.0, 60.0, 900.0])
@pytest.mark.parametrize("increment", [0.0, 0.5, 5.0])
def test_a_long_game_is_never_lost_on_time(seconds: float, increment: float) -> None:
    """150 turns with small costs of everything; the clock never nears zero."""
    world, rng = World(seconds, increment), random.Random(1)
    for _ in range(150):
        world.turn(rng.uniform(0, 0.0005), rng.uniform(0, 0.001), rng.uniform(0, 0.0005))
        assert world.left > 0.01 * seconds


def test_time_is_used_where_there_is_some() -> None:
    """In forty turns of an ordinary game most of the time goes into thinking, and the increment with it."""
    world = World(900, 5)
    for _ in range(40):
        world.turn()
    assert sum(world.budgets) > 0.7 * 900
    assert world.budgets[0] < world.budgets[1] < 30


@pytest.mark.parametrize(("tracking", "overshoot", "lag"), [(0.1, 0.0, 0.0), (0.02, 0.1, 0.0), (0.0, 0.0, 0.2)])
def test_what_is_slow_beside_thinking_is_paid_by_thinking_less(tracking: float, overshoot: float, lag: float) -> None:
    """At ten seconds and half a second a turn, with up to 0.3 s a turn lost elsewhere."""
    world = World(10, 0.5)
    for _ in range(200):
        world.turn(tracking, overshoot, lag)
        assert world.left > 0.3


def test_a_shock_is_survived_and_remembered() -> None:
    """One turn's tracking takes four seconds of ten; the game goes on with what is left."""
    world = World(10, 0.5)
    for turn in range(100):
        world.turn(tracking=4.0 / 3 if turn == 20 else 0.005)
        assert world.left > 0.1
    assert world.left > 0.5


def test_the_increment_is_found_out() -> None:
    world = World(100, 3)
    for _ in range(5):
        world.turn()
    assert world.control.gain == pytest.approx(3)
    lagging = World(100, 3)
    for _ in range(5):
        lagging.turn(lag=0.5)
    assert lagging.control.gain == pytest.approx(2.5)


def test_tracking_has_its_share_of_the_turn() -> None:
    """Sets whose tracking costs ten microseconds a state are held to what a quarter of a turn pays for."""
    world = World(10, 0.5)
    assert world.control.cap(5_000_000) == 5_000_000  # nothing is known yet
    for _ in range(10):
        world.turn(tracking=SMALL_SET * 1e-5 / 3, states=SMALL_SET)
    turn = world.control.turn_seconds()
    assert world.control.cap(5_000_000) == pytest.approx(0.25 * turn / 1e-5, rel=0.5)
    rich = World(900, 5)
    rich.turn()
    assert rich.control.cap(1_000_000) == 1_000_000


def test_without_a_clock_a_step_has_its_own_seconds() -> None:
    control = TimeControl()
    for left in (None, math.inf):
        control.tell(left, True)
        assert control.seconds(True) == UNTIMED_STEP
    assert TimeControl(2.5).seconds(True) == 2.5
    assert control.cap(5_000_000) == 5_000_000


def test_a_step_of_a_moment_is_not_followed_by_seconds_of_tracking() -> None:
    control = TimeControl(0.02)
    assert control.cap(5_000_000) == pytest.approx(0.04 / 4e-6)
    control.tell(900.0, True)
    assert control.cap(5_000_000) == pytest.approx(0.04 / 4e-6)


def test_fixed_seconds_give_way_to_the_clock() -> None:
    world = World(10, 0)
    world.control.step_seconds = 3.0
    for _ in range(30):
        world.turn()
        assert world.left > 0.3
    assert world.budgets[0] == 3.0


def test_a_new_game_starts_from_nothing() -> None:
    world = World(10, 0.5)
    for _ in range(5):
        world.turn(tracking=0.1)
    world.control.start()
    assert world.control.left is None and world.control.gain == 0 and world.control.overhead < 0.02


class SlowEvaluator(HeuristicEvaluator):
    """Each call takes a while, as that of a large network would."""

    def evaluate(self, *arguments, **options):  # type: ignore[no-untyped-def]
        time.sleep(0.02)
        return super().evaluate(*arguments, **options)


@pytest.mark.parametrize("ponder", [False, True])
def test_the_player_keeps_to_a_clock_of_two_seconds(ponder: bool) -> None:
    """A real game with a slow evaluator, two seconds and a tenth a turn; mostly in haste, never in debt."""
    player = PenumbraPlayer(SlowEvaluator(), Settings(seed=1, table_entries=1 << 14), ponder=ponder)
    outcome = play(player, RandomPlayer(1), Clock(2.0, 0.1))
    assert outcome.reason != "time" and player.faults == []
    assert outcome.least_left[0] > 0
    assert player.agent._pondering is None  # nothing runs after the game


@pytest.mark.parametrize("playouts", [True, False])
def test_a_player_in_haste_or_without_playouts_does_not_ponder(playouts: bool) -> None:
    """Nobody asks for its belief then."""
    settings = Settings(seed=1, table_entries=1 << 12, playouts=playouts)
    player = PenumbraPlayer(HeuristicEvaluator(), settings, ponder=True)
    for left, ponders in ((0.1, False), (900.0, playouts)):
        player.start(True)
        player.opponent_moved(None)
        player.tell_time(left)
        player.sensed(None, ())
        player.moved(0, 0, None)
        assert (player.agent._pondering is not None) == ponders
    player.close()


def test_without_an_increment_the_reserve_pays_for_a_long_game() -> None:
    """Each turn costs 5 ms beside thinking: a hundred more turns of that are kept back. An increment makes it good."""
    for increment, extra in ((0.0, 0.5), (1.0, 0.0)):
        world = World(10, increment)
        for _ in range(10):
            world.turn(tracking=0.005 / 3)
        assert world.control.reserve == pytest.approx(0.6 + extra, abs=0.1)


def test_little_time_bounds_what_a_recovery_costs() -> None:
    """In haste a new set is made from few old states."""
    x = Situation(StateSet(START_FEN, False).expand(None).apply_move(0, 0, None).expand(None), SENSE, Context())
    few, many = (recovered(x, OpponentMoved(parse_square("d4")), 1, seconds) for seconds in (0.0, math.inf))
    assert len(few.states) <= LEAST_SAMPLE < len(x.states)
    assert len(few.states) <= len(many.states)


def test_one_slow_turn_does_not_take_the_time_of_those_that_follow() -> None:
    """A set of a hundred thousand states was tracked for a second; three turns later thinking has its time again."""
    now = 0.0
    control = TimeControl(clock=lambda: now)
    left, steps = 30.0, []
    for turn in range(12):
        control.turn_begins()
        control.tell(left, sensing=True)
        began = now
        with control.tracking():
            now += 1.0 if turn == 4 else 0.02
        for sensing in (True, False):
            seconds = control.seconds(sensing)
            now += seconds
            control.thought(seconds, seconds)
            steps.append((turn, seconds))
        control.turn_ends()
        left += 0.5 - (now - began)
    before, after = (sum(s for t, s in steps if t == turn) for turn in (4, 8))
    assert after > 0.6 * before
    assert left > 5


def test_a_few_large_sets_do_not_stop_thinking_while_there_is_time() -> None:
    """As in a game at 60 s + 0.5 s: 24 s left, sets of 250,000 states for four turns, then a few hundred again."""
    world = World(60, 0.5)
    for _ in range(25):
        world.turn(tracking=0.005, states=1_000)
    assert 15 < world.left < 30
    usual = sum(world.budgets[-2:])
    for turn in range(4):
        world.turn(tracking=0.3, states=250_000)
        assert sum(world.budgets[-2:]) > 0.15 * usual, turn
    world.turn(tracking=0.005, states=300)  # which began with many, and ends with few
    world.turn(tracking=0.005, states=300)
    assert sum(world.budgets[-2:]) > 0.7 * usual
    for _ in range(150):
        world.turn(tracking=0.005, states=300)
        assert world.left > 2


def test_sets_that_stay_large_are_held_to_what_the_clock_bears() -> None:
    """Tracking as long as the cap lets it, at four microseconds a state and step, for a whole game."""
    world = World(60, 0.5)
    for _ in range(200):
        states = world.control.cap(1_000_000)
        world.turn(tracking=4e-6 * states, states=states)
        assert world.left > 2
    assert sum(world.budgets[-20:]) / 10 > 0.2  # seconds of thinking a turn
