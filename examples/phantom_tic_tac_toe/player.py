"""DSMCP at phantom tic-tac-toe: as a player of one game, and as a function of what has happened to it."""

from __future__ import annotations

from collections.abc import Callable

from examples.phantom_tic_tac_toe.domain import Batch, PhantomTicTacToe, Situation, opponent_tried, start, tried
from examples.phantom_tic_tac_toe.exact import History
from penumbra.dsmcp import Agent, Domain, Evaluator, Settings

SETTINGS = Settings(b=16, d=(10,), k=64, n_particles=64, in_flight=1, table_entries=1 << 18, seed=0)


class PhantomPlayer:
    """One side of a game; `nodes` evaluations for each decision."""

    def __init__(
        self,
        player: int,
        evaluator: Evaluator,
        nodes: int,
        settings: Settings = SETTINGS,
        domain: Callable[[], Domain[Situation, Batch]] = PhantomTicTacToe,
    ) -> None:
        x, particles = start(player)
        self.agent = Agent(domain(), evaluator, settings, x, particles)
        self.nodes = nodes

    def choose(self) -> int:
        if not self.agent.x.ours:
            self.agent.observe(opponent_tried(self.agent.x))
        return self.agent.choose(nodes=self.nodes).action

    def told(self, cell: int, placed: bool) -> None:
        """What came of our attempt, if the game goes on."""
        self.agent.observe(tried(self.agent.x, cell, placed), cell)


class Answers:
    """A seeded player as a function: what it does after each history. A history that does not go on from the one asked
    about last is played again from the start."""

    def __init__(
        self,
        player: int,
        evaluator: Evaluator,
        nodes: int,
        settings: Settings = SETTINGS,
        domain: Callable[[], Domain[Situation, Batch]] = PhantomTicTacToe,
    ) -> None:
        self.arguments = (player, evaluator, nodes, settings, domain)
        self.decisions = 0
        self.player = PhantomPlayer(*self.arguments)
        self.history: History = ()
        self.cell: int | None = None  # what was chosen after this history

    def __call__(self, history: History) -> int:
        if self.history != history[: len(self.history)]:
            self.player, self.history, self.cell = PhantomPlayer(*self.arguments), (), None
        while True:
            if self.cell is None:
                self.cell = self.player.choose()
                self.decisions += 1
            if len(self.history) == len(history):
                return self.cell
            said, placed = history[len(self.history)]
            if said != self.cell:
                raise ValueError(f"after {self.history} this player tries {self.cell}, never {said}")
            self.player.told(self.cell, placed)
            self.history, self.cell = (*self.history, (said, placed)), None
