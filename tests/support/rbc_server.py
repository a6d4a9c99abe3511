"""A server as `rc-connect` expects one, for tests: invitations to games against reconchess' RandomBot.

It answers what `reconchess.scripts.rc_connect` and `reconchess.RemoteGame` ask of rbc.jhuapl.edu, and plays the
opponent's turn as soon as the visitor's ends.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import reconchess
from reconchess.bots.random_bot import RandomBot
from reconchess.history import GameHistoryEncoder
from reconchess.utilities import ChessJSONDecoder


@dataclass
class Fault:
    """What is asked for the `count`-th time is not answered; before that it is `done`, or it is not."""

    what: str
    count: int
    done: bool


class Invitation:
    """One game; the visitor's colour is given. A `strict` one refuses what does not come next in a turn."""

    def __init__(self, color: bool, seconds: float, *, turns: int | None = None, strict: bool = False) -> None:
        self.color = color
        self.strict = strict
        self.fault: Fault | None = None
        self.away = 0  # answers after the fault that only say that the server is not there
        self.done: list[tuple[str, Any]] = []  # senses, moves and ends of turns
        self.accepted = self.finished = self.resigned = False
        self.game = reconchess.LocalGame(seconds, full_turn_limit=turns)
        self.opponent = RandomBot()
        names = ("visitor", "RandomBot") if color else ("RandomBot", "visitor")
        self.game.store_players(*names)
        self.opponent.handle_game_start(not color, self.game.board.copy(), "visitor")

    def let_opponent_play(self) -> dict[str, Any]:
        if not self.game.is_over() and self.game.turn != self.color:
            reconchess.play_turn(self.game, self.opponent, end_turn_last=True)
        if self.game.is_over():
            self.game.end()
        return {}

    def is_away(self) -> bool:
        if self.fault is not None or self.away == 0:
            return False
        self.away -= 1
        return True

    def get(self, what: str) -> dict[str, Any]:
        game = self.game
        over, mine = game.is_over(), game.turn == self.color
        answers = {
            "color": lambda: self.color,
            "starting_board": game.board.copy,
            "opponent_name": lambda: "RandomBot",
            "sense_actions": game.sense_actions,
            "move_actions": game.move_actions,
            "seconds_left": game.get_seconds_left,
            "opponent_move_results": game.opponent_move_results,
            "winner_color": game.get_winner_color,
            "win_reason": game.get_win_reason,
            "game_history": game.get_game_history,
        }
        if what == "game_status":
            return {"is_over": over, "is_my_turn": mine}
        return {"board" if what == "starting_board" else what: answers[what]()}

    def post(self, what: str, sent: dict[str, Any]) -> dict[str, Any] | None:
        """The answer; None where it is lost."""
        if lost := self._is_lost(what):
            if not lost.done:
                return None
            self._do(what, sent)
            return None
        return self._do(what, sent)

    def _is_lost(self, what: str) -> Fault | None:
        fault = self.fault
        if fault is None or fault.what != what or [each for each, _ in self.done].count(what) < fault.count - 1:
            return None
        self.fault = None
        return fault

    def _do(self, what: str, sent: dict[str, Any]) -> dict[str, Any]:
        if what in PHASES:
            before = self.done[-1][0] if self.done else PHASES[-1]
            if self.strict and what != PHASES[(PHASES.index(before) + 1) % len(PHASES)]:
                raise ValueError(f"{what} after {before}")
        return self._play(what, sent)

    def _play(self, what: str, sent: dict[str, Any]) -> dict[str, Any]:
        match what:
            case "ready":
                self.game.start()
                return self.let_opponent_play()
            case "sense":
                result = self.game.sense(sent["square"])
                self.done.append((what, sent["square"]))
                return {"sense_result": result}
            case "move":
                moved = self.game.move(sent["requested_move"])
                self.done.append((what, moved))
                return {"move_result": moved}
            case "end_turn":
                self.done.append((what, None))
                self.game.end_turn()
                return self.let_opponent_play()
            case "error_resign":
                self.resigned = True
                return {}
        raise KeyError(what)


PHASES = "sense", "move", "end_turn"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer goes out whole, without the delay of two small packets
    invitations: list[Invitation]

    def do_GET(self) -> None:
        match self.path.strip("/").split("/")[1:]:
            case ["version"]:
                self.answer({"version": reconchess.__version__})
            case ["invitations"]:
                self.answer({"invitations": [i for i, game in enumerate(self.invitations) if not game.accepted]})
            case ["games", number, what]:
                invitation = self.invitations[int(number)]
                if invitation.is_away():
                    self.answer({}, status=503)
                else:
                    self.answer(invitation.get(what))

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or "{}", cls=ChessJSONDecoder)
        match self.path.strip("/").split("/")[1:]:
            case ["invitations", number]:
                self.invitations[int(number)].accepted = True
                self.answer({"game_id": int(number)})
            case ["invitations", number, "finish"]:
                self.invitations[int(number)].finished = True
                self.answer({})
            case ["games", number, what]:
                try:
                    self.answer(self.invitations[int(number)].post(what, sent))
                except ValueError as error:
                    self.answer({"error": str(error)}, status=400)
            case _:  # how many games at once, ranked or not
                self.answer({})

    def answer(self, said: dict[str, Any] | None, status: int = 200) -> None:
        if said is None:
            self.close_connection = True
            return
        data = json.dumps(said, cls=GameHistoryEncoder).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@contextmanager
def serving(invitations: list[Invitation]) -> Iterator[str]:
    """The address of a server with these invitations, while it is entered."""
    handler = type("Invited", (Handler,), {"invitations": invitations})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
