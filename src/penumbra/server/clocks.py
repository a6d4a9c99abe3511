"""The clocks of a game: each runs through its player's turns, and an increment is added when a turn ends."""

from __future__ import annotations

from collections.abc import Callable

from penumbra.rbc.player_view import color_name


class Clocks:
    """Without seconds there is no clock: nothing is shown and nobody runs out of time. `now` gives the time."""

    def __init__(self, seconds: float | None, increment: float, now: Callable[[], float]) -> None:
        self._increment = increment
        self._now = now
        self._left = None if seconds is None else {True: seconds, False: seconds}
        self._running: bool | None = None
        self._since = 0.0

    def start(self, color: bool) -> None:
        """From now on this player's clock runs."""
        self._running, self._since = color, self._now()

    def turn_ends(self) -> None:
        """Stops the clock that runs and adds the increment to it."""
        color = self._running
        self.stop()
        if self._left is not None and color is not None:
            self._left[color] += self._increment

    def stop(self) -> None:
        if self._left is not None and self._running is not None:
            self._left[self._running] = max(0.0, self._left[self._running] - (self._now() - self._since))
        self._running = None

    def left(self, color: bool) -> float | None:
        """The seconds left to a player; None without a clock."""
        if self._left is None:
            return None
        used = self._now() - self._since if self._running == color else 0.0
        return max(0.0, self._left[color] - used)

    def set(self, left: tuple[float, float] | None) -> None:
        """Both clocks show this, White's first: a game goes on where it was left."""
        if left is not None and self._left is not None:
            self._left = {True: left[0], False: left[1]}

    def both(self) -> tuple[float, float] | None:
        white, black = self.left(True), self.left(False)
        return None if white is None or black is None else (round(white, 3), round(black, 3))

    def to_json(self) -> dict[str, object] | None:
        both = self.both()
        if both is None:
            return None
        running = None if self._running is None else color_name(self._running)
        return {"white": both[0], "black": both[1], "running": running}
