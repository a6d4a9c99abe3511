"""A game on a server of reconchess, kept on disk step by step, so that it can be gone on with after a restart.

A `KeptGame` is a file of JSON lines: first what the game is, then each thing that was observed, as soon as it is known.
It also says what was about to be asked for: where a program ends between a question and its answer, the answer is lost,
and the player goes on without it.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from reconchess import GameHistory, RemoteGame, WinReason

from penumbra.interop.adapters import ReconchessPlayer
from penumbra.players.player import Player, tell
from penumbra.rbc.actions import view_code
from penumbra.rbc.observations import Moved, Observation, OpponentMoved, Sensed
from penumbra.rbc.reconchess_values import move_to_code, moved, opponent_moved, sensed

log = logging.getLogger(__name__)

KINDS = {"turn": OpponentMoved, "sensed": Sensed, "moved": Moved}


@dataclass(frozen=True)
class Invited:
    """What a game is."""

    server: str
    username: str
    invitation: int
    game: int


class KeptGame:
    """The file of a game. A last line that was not written whole is left out."""

    def __init__(self, path: Path, invited: Invited | None = None) -> None:
        """An existing game, or with `invited` a new one."""
        self.path = path
        self.observations: list[Observation] = []
        self.asked = self.over = False
        self.turn_ended = True
        if invited is not None:
            self.invited = invited
            self._write(asdict(invited))
            return
        first, *rest = _whole_lines(path)
        self.invited = Invited(**first)
        for line in rest:
            self._take(line)

    def observe(self, observation: Observation) -> None:
        kind = next(name for name, type_ in KINDS.items() if isinstance(observation, type_))
        self._add({kind: list(observation)})

    def ask(self) -> None:
        """A sense or a move is about to be asked for."""
        self._add({"asked": True})

    def end_turn(self) -> None:
        self._add({"turn_ended": True})

    def finish(self, result: str) -> None:
        self._add({"over": result})

    def _add(self, line: dict[str, Any]) -> None:
        self._write(line)
        self._take(line)

    def _write(self, line: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _take(self, line: dict[str, Any]) -> None:
        ((what, value),) = line.items()
        self.asked = what == "asked"
        self.over = self.over or what == "over"
        if what == "turn_ended":
            self.turn_ended = True
        elif what in KINDS:
            self.turn_ended = False
            values = [tuple(each) if isinstance(each, list) else each for each in value]
            self.observations.append(KINDS[what](*values))


def _whole_lines(path: Path) -> list[dict[str, Any]]:
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole, encoding="utf-8")
    return [json.loads(line) for line in whole.splitlines()]


def play_on(game: RemoteGame, make: Callable[[], Player], kept: KeptGame, goes_on: Callable[[], bool]) -> str | None:
    """Plays a game from wherever it stands to its end, and says how it ended; None once `goes_on` says no."""
    adapted = ReconchessPlayer(make)
    color = bool(game.get_player_color())
    adapted.handle_game_start(color, game.get_starting_board(), game.get_opponent_name())
    player = adapted.player
    assert player is not None
    try:
        if kept.observations:
            log.info("game %d goes on after %d observations", kept.invited.game, len(kept.observations))
        for observation in kept.observations:
            tell(player, observation)
        game.start()
        while not game.is_over():
            if not goes_on():
                return None
            _step(game, adapted, player, color, kept)
        return _concluded(game, adapted, kept)
    finally:
        player.close()


def _step(game: RemoteGame, adapted: ReconchessPlayer, player: Player, color: bool, kept: KeptGame) -> None:
    """The next thing to do in a turn."""

    def observe(observation: Observation) -> None:
        kept.observe(observation)
        tell(player, observation)

    match kept.observations[-1] if kept.observations else None:
        case Moved() if not kept.turn_ended:
            _answer(game.end_turn, True)
            kept.end_turn()
        case None | Moved():
            square = game.opponent_move_results()
            observe(opponent_moved(square is not None, square, color))
        case OpponentMoved():
            wanted = adapted.choose_sense(game.sense_actions(), game.move_actions(), game.get_seconds_left())
            again = kept.asked
            kept.ask()
            result = _answer(lambda: game.sense(wanted), again)
            observe(Sensed(None, ()) if result is None else sensed(result, color))
        case Sensed():
            move = adapted.choose_move(game.move_actions(), game.get_seconds_left())
            again = kept.asked
            kept.ask()
            done = _answer(lambda: game.move(move), again)
            if done is None:  # asked before a restart, and not heard: as if it had happened as asked
                code = view_code(move_to_code(move), color)
                observe(Moved(code, code, None))
            else:
                requested, taken, square = done
                observe(moved(requested, taken, square is not None, square, color))


def _answer(ask: Callable[[], Any], again: bool) -> Any:
    """The server's answer; None where it refuses what may have been asked for before, as it may not be done twice."""
    try:
        return ask()
    except ValueError as error:
        if not again:
            raise
        log.warning("the server refuses: %s", " ".join(str(error).split())[:200])
        return None


def _concluded(game: RemoteGame, adapted: ReconchessPlayer, kept: KeptGame) -> str:
    """Tells the player, and keeps reconchess' own record of the game beside ours."""
    winner: bool | None = game.get_winner_color()
    reason: WinReason | None = game.get_win_reason()
    history: GameHistory | None = game.get_game_history()
    adapted.handle_game_end(winner, reason, history)
    if history is not None:
        history.save(str(kept.path.with_suffix(".json")))
    who = "nobody" if winner is None else "Penumbra" if winner == adapted.color else "the opponent"
    result = f"{who} wins" + ("" if reason is None else f", {reason.name.lower().replace('_', ' ')}")
    kept.finish(result)
    return result
