"""A server as `rc-connect` expects one, for tests: invitations to games against reconchess' RandomBot.

It answers what `reconchess.scripts.rc_connect` and `reconchess.RemoteGame` ask of rbc.jhuapl.edu, and plays the
opponent's turn as soon as the visitor's ends.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import reconchess
from reconchess.bots.random_bot import RandomBot
from reconchess.history import GameHistoryEncoder
from reconchess.utilities import ChessJSONDecoder


class Invitation:
    """One game; the visitor's colour is given."""

    def __init__(self, color: bool, seconds: float) -> None:
        self.color = color
        self.accepted = self.finished = self.resigned = False
        self.game = reconchess.LocalGame(seconds)
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

    def post(self, what: str, sent: dict[str, Any]) -> dict[str, Any]:
        match what:
            case "ready":
                self.game.start()
                return self.let_opponent_play()
            case "sense":
                return {"sense_result": self.game.sense(sent["square"])}
            case "move":
                return {"move_result": self.game.move(sent["requested_move"])}
            case "end_turn":
                self.game.end_turn()
                return self.let_opponent_play()
            case "error_resign":
                self.resigned = True
                return {}
        raise KeyError(what)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    invitations: list[Invitation]

    def do_GET(self) -> None:
        match self.path.strip("/").split("/")[1:]:
            case ["version"]:
                self.answer({"version": reconchess.__version__})
            case ["invitations"]:
                self.answer({"invitations": [i for i, game in enumerate(self.invitations) if not game.accepted]})
            case ["games", number, what]:
                self.answer(self.invitations[int(number)].get(what))

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
                self.answer(self.invitations[int(number)].post(what, sent))
            case _:  # how many games at once, ranked or not
                self.answer({})

    def answer(self, said: dict[str, Any]) -> None:
        data = json.dumps(said, cls=GameHistoryEncoder).encode()
        self.send_response(200)
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
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
