"""One person's place at a game: what the person is told, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penumbra.core import MOVE, SENSE
from penumbra.rbc.actions import parse_square, view
from penumbra.rbc.player_view import PROTOCOL, color_name, listed_moves, request_code
from penumbra.server.live_game import Listener
from penumbra.server.messages import Assist, Hint, Message, Move, Refusal, Resign, Sense

if TYPE_CHECKING:
    from penumbra.server.human_game import HumanGame


class Seat:
    """All that is sent is made of the view of this colour, of whose turn it is, of the clocks, and of who is here."""

    def __init__(self, game: HumanGame, color: bool) -> None:
        self.game = game
        self.color = color
        self.pages: set[Listener] = set()  # of this person

    def join(self, listener: Listener) -> None:
        self.game.admit(listener, len(self.pages))
        comes = not self.pages
        self.pages.add(listener)
        listener.send(self.greeting())
        if comes:
            self.game.seen_by_others(self)

    def leave(self, listener: Listener) -> None:
        self.pages.discard(listener)
        if not self.pages:
            self.game.seen_by_others(self)
        self.game.dismiss(listener)

    def send(self, message: dict[str, Any]) -> None:
        for listener in list(self.pages):
            listener.send(message)

    def greeting(self) -> dict[str, Any]:
        """For a page that comes, or comes back: everything it may know so far."""
        game = self.game
        about = {"mode": "play", "color": color_name(self.color), "thinks": self._thinks, "aids": game.aids}
        return {
            "type": "game",
            "protocol": PROTOCOL,
            "game": game.about() | about,
            "events": game.views[self.color].events,
            "state": self.state(),
            "assisted": game.assisted,
        }

    def state(self) -> dict[str, Any]:
        """What the person can do now. The moves are listed by the person's own pieces alone."""
        game = self.game
        state: dict[str, Any] = {"phase": "waiting", "clocks": game.clocks.to_json(), "kept": game.kept}
        if (other := game.seats.get(not self.color)) is not None:
            state["here"] = bool(other.pages)
        if game.result is not None:
            again = {} if game.setup.rematch is None else {"rematch": game.rematch}
            return state | {"phase": "over", "result": game.result.to_json()} | again
        if game.setup.free is not None:
            return state | {"phase": "invited"}
        if game.game.turn != self.color:
            return state
        if game.game.step == SENSE:
            return state | {"phase": "sense", "step": game.step}
        return state | {"phase": "move", "step": game.step, "moves": listed_moves(game.game)}

    def heard(self) -> None:
        """The view of this colour has a new event."""
        self.send({"type": "update", "event": self.game.views[self.color].events[-1], "state": self.state()})

    def state_changed(self) -> None:
        self.send({"type": "update", "event": None, "state": self.state()})

    def handle(self, message: Message) -> None:
        game = self.game
        match message:
            case Sense(step=step, square=square):
                self._expect(step, SENSE)
                game.take_sense(self.color, None if square is None else view(parse_square(square), self.color))
            case Move(step=step, move=move):
                self._expect(step, MOVE)
                if move is not None and move not in listed_moves(game.game):
                    raise Refusal("illegal", f"{move} is not one of your moves")
                game.take_move(self.color, request_code(move, self.color))
            case Resign():
                self._expect_begun()
                game.finish(not self.color, "RESIGN")
            case Assist(on=on):
                game.assist(on)
            case Hint(step=step):
                self._expect(step, game.game.step)
                game.advise()
            case _:
                raise Refusal("not watched", f"{message.type!r} is for games that are watched")

    def _expect_begun(self) -> None:
        if self.game.over:
            raise Refusal("over", "the game is over")
        if self.game.setup.free is not None:
            raise Refusal("early", "the game begins when the other seat is taken")

    def _expect(self, step: int, kind: int) -> None:
        """Refuses what comes late, twice, too early or out of turn."""
        self._expect_begun()
        game = self.game
        if game.game.turn != self.color:
            raise Refusal("out of turn", "it is your opponent's turn")
        if step != game.step:
            when = "is done" if step < game.step else "has not come"
            raise Refusal("late" if step < game.step else "early", f"step {step} {when}; the next is {game.step}")
        if game.game.step != kind:
            raise Refusal("wrong step", "this is the time to sense" if kind == MOVE else "this is the time to move")

    @property
    def _thinks(self) -> float | None:
        """Seconds that the opponent's budget allows it for a turn; None where it has none in seconds."""
        seconds = self.game.setup.side(not self.color).seconds
        return None if seconds is None else 2 * seconds
