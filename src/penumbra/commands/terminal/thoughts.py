"""What Penumbra thinks, drawn: its last decision and the board as it believes it to be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from rich.console import Group
from rich.table import Table
from rich.text import Text

from penumbra.dsmcp import Decision
from penumbra.players.penumbra.player import PenumbraPlayer
from penumbra.players.penumbra.recording import belief_marginals, real_action
from penumbra.rbc.actions import view

BEST = 5
_INK = ("#c8c8c8", "#9a9a9a", "#6c6c6c", "#3c3c3c", "#000000")  # from hardly to surely there
_SYMBOLS = "♟♞♝♜♛♚"


@dataclass(frozen=True)
class Thoughts:
    """One decision of a player, as it stood when the action was chosen."""

    decision: Decision
    color: bool
    own: dict[int, str]  # real squares and letters of its own pieces
    believed: dict[int, tuple[int, float]]  # real squares, the likeliest opposing kind there (0..5), how likely

    @property
    def line(self) -> str:
        """On one line: value, states and the best actions."""
        d = self.decision
        if d.reason != "search":
            return f"{d.reason}: {real_action(d.action, self.color)}"
        best = ", ".join(
            f"{real_action(action, self.color)} {100 * visits / max(d.visits.sum(), 1):.0f} %"
            for action, _, visits, _ in d.best(3)
        )
        return f"value {100 * d.value:.0f}, {d.states:,} states; {best}"

    def panel(self) -> Group:
        """For a terminal: the believed board and the table of actions."""
        return Group(Text("What Penumbra believes", style="bold"), self._board(), self._facts(), self._actions())

    def _board(self) -> Text:
        text = Text()
        for rank in reversed(range(8)):
            text.append(f"{rank + 1} ", style="dim")
            for square in range(rank * 8, rank * 8 + 8):
                ground = "on #b8a98c" if (rank + square) % 2 == 1 else "on #8a7a62"
                if square in self.own:
                    text.append(f" {_SYMBOLS['PNBRQK'.index(self.own[square])]} ", style=f"bold #ffffff {ground}")
                elif square in self.believed:
                    kind, p = self.believed[square]
                    ink = _INK[min(int(p * len(_INK)), len(_INK) - 1)]
                    text.append(f" {_SYMBOLS[kind]} ", style=f"{ink} {ground}")
                else:
                    text.append("   ", style=ground)
            text.append("\n")
        text.append("   " + "  ".join("abcdefgh"), style="dim")
        return text

    def _facts(self) -> Text:
        d = self.decision
        value = "-" if np.isnan(d.value) else f"{100 * d.value:.0f} %"
        facts = f"{d.states:,} states, {d.particles} particles, {d.nodes:,} nodes, {d.seconds:.2f} s"
        return Text.assemble("chance to win ", (value, "bold"), f"; {facts}")

    def _actions(self) -> Table:
        table = Table(box=None, padding=(0, 1))
        for heading in ("action", "policy", "visits", "value"):
            table.add_column(heading, justify="left" if heading == "action" else "right")
        for action, policy, visits, value in self.decision.best(BEST):
            name = real_action(action, self.color)
            shown = "-" if np.isnan(value) else f"{100 * value:.0f} %"
            style = "bold" if action == self.decision.action else ""
            table.add_row(name, f"{100 * policy:.0f} %", f"{visits:.0f}", shown, style=style)
        for _ in range(BEST - min(BEST, len(self.decision.actions))):
            table.add_row("", "", "", "")
        return table


def thoughts_of(player: PenumbraPlayer) -> Thoughts:
    """What the player thinks now: its last decision, and its belief as it stands."""
    x, color = player.situation, player.color
    contents = x.states.marginals()[:, 1:7]  # own pieces are the same in every state
    own = {view(int(s), color): "PNBRQK"[int(contents[s].argmax())] for s in np.flatnonzero(contents.sum(axis=1))}
    p = belief_marginals(x, player.agent.belief.current.particles)
    likely = np.flatnonzero(p.sum(axis=1) >= 0.05)
    believed = {view(int(s), color): (int(p[s].argmax()), float(p[s].sum())) for s in likely}
    return Thoughts(player.decisions[-1], color, own, believed)
