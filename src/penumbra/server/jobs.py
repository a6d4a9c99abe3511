"""Games that are over: read from files and from the archive, reviewed, and analysed in the bot process."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from penumbra.core import GameRecord
from penumbra.games.archive import Archive, ArchivedGame
from penumbra.interop.history import history_to_record
from penumbra.interop.history_json import GameFileError, parse_history
from penumbra.players.penumbra.configuration import Configuration
from penumbra.rbc.player_view import ColorName, color_name
from penumbra.review import frames as reviews
from penumbra.review.analysis import analyse_as
from penumbra.server.bot_client import BotClient
from penumbra.server.messages import Refusal

log = logging.getLogger(__name__)

PAGE = 100  # games of the archive in one answer
LONGEST = 2_000  # turns, of both players together, of a game that is reviewed
SOURCE = "the game"  # what a game file is called in messages about it


def parse_game(text: bytes) -> GameRecord:
    """The record of a game as reconchess writes it; `Refusal` says what is wrong with it, and at which turn."""
    try:
        history = parse_history(text, SOURCE)
        if history.num_turns() > LONGEST:
            raise Refusal("bad game", f"{SOURCE} has {history.num_turns():,} turns; up to {LONGEST:,} are read")
        return history_to_record(history, SOURCE)
    except Refusal:
        raise
    except GameFileError as error:
        raise Refusal("bad game", str(error)) from None
    except (ValueError, TypeError, RecursionError):  # numbers of thousands of digits, letters that are none
        raise Refusal("bad game", f"{SOURCE} holds what no game can hold") from None


def check_turn(record: GameRecord, turn: int | None) -> None:
    """`Refusal` if the game has no such turn, which would only be found after it has all been played through."""
    turns = (len(record.senses) + 1) // 2
    if turn is not None and turn > turns:
        raise Refusal("bad game", f"there is no turn {turn}: {SOURCE} has {turns}")


async def review(client: BotClient, record: GameRecord) -> AsyncIterator[dict[str, Any]]:
    """The header of a review, then its steps."""
    yield reviews.header(record)
    async for step in client.stream(reviews.steps_of, record.to_bytes()):
        yield step


async def analyse(
    client: BotClient,
    record: GameRecord,
    configuration: Configuration,
    turn: int | None,
    player: ColorName | None,
) -> AsyncIterator[dict[str, Any]]:
    """What Penumbra makes of the steps asked for; those of one turn come with its planes and beliefs."""
    async for step in client.stream(_analysis, record.to_bytes(), configuration, turn, player):
        yield step


def _analysis(
    data: bytes, configuration: Configuration, turn: int | None, player: str | None
) -> Iterator[dict[str, Any]]:
    record = GameRecord.from_bytes(data)
    yield from analyse_as(configuration, record, turn, player, details=turn is not None)


def archived_games(path: Path | None, before: int | None) -> list[dict[str, Any]]:
    """A page of the archive, the newest games first; `before` is the last id of the page before."""
    if path is None:
        return []
    with _opened(path) as archive:
        return [_listed(game) for game in archive.newest(PAGE, before)]


def archived_record(path: Path | None, number: int) -> GameRecord:
    if path is None:
        raise Refusal("no archive", "this server has no archive", 404)
    with _opened(path) as archive:
        try:
            return next(archive.get([number])).record
        except ValueError:
            raise Refusal("unknown game", f"the archive has no game {number} that can be read", 404) from None


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Archive]:
    """`Refusal` where the archive cannot be read; our own log says why."""
    try:
        with Archive.open(path) as archive:
            yield archive
    except Refusal:
        raise
    except ValueError as error:
        log.warning("%s", error)
        raise Refusal("no archive", "the archive of this server cannot be read now", 503) from None


def _listed(game: ArchivedGame) -> dict[str, Any]:
    winner = None if game.winner is None else color_name(game.winner)
    sides = {"white": game.white, "black": game.black}
    return {"id": game.id, **sides, "winner": winner, "reason": game.reason, "plies": game.plies, "time": game.time}
