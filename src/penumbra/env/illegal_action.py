"""What an environment says of an action that is not among the legal ones."""

from __future__ import annotations

from typing import Any

from penumbra.core import ACTIONS, SENSE
from penumbra.rbc.actions import action_name


class IllegalAction(ValueError):
    """The action mask does not allow this action; nothing has happened, and another may be chosen."""

    def __init__(self, action: Any, step: int, where: str) -> None:
        if not isinstance(action, int) or not 0 <= action < ACTIONS:
            why = f"actions are numbers from 0 to {ACTIONS - 1}"
        else:
            kind = "a sense (0 to 63)" if step == SENSE else f"a listed move or the pass ({ACTIONS - 1})"
            why = f"this is {action_name(action)!r} in the player's view, and it is time for {kind}"
        super().__init__(f"{where}: action {action!r} is not legal: {why}; see the action mask")
        self.action = action
