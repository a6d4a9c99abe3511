"""The bot process: bots in games with clocks, games that are watched, bots that fail, a process that dies."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from penumbra.core import START_FEN
from penumbra.players.penumbra.configuration import Configuration
from penumbra.rbc.observations import Moved, OpponentMoved, Sensed
from penumbra.review import frames
from penumbra.server.bot_client import BotClient, Failed, Missing
from penumbra.server.bot_process import BotSpec
from penumbra.server.game_log import Result
from penumbra.server.live_game import LiveGame
from penumbra.server.lobby import Lobby
from penumbra.server.messages import Move, NewPlay, NewWatch, Refusal, Sense, Side, Step

SECONDS = 20.0  # that anything may take here


class Listener:
    """Keeps what it is sent."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    def send(self, message: dict[str, Any]) -> None:
        self.messages.append(message)


async def until(happens: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not happens():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


def in_lobby(folder: Path, test: Callable[[Lobby], Awaitable[None]]) -> None:
    async def run() -> None:
        lobby = Lobby(folder, BotClient(), Configuration(nodes=60, ponder=False), most=4)
        try:
            await test(lobby)
        finally:
            await lobby.close()

    asyncio.run(run())


async def play_turn(game: LiveGame, move: str) -> None:
    await until(lambda: game.over or (game.game.turn and game.game.step == 0))
    game.handle(Sense(type="sense", step=game.step, square="d5"))
    game.handle(Move(type="move", step=game.step, move=move))


def test_a_bot_goes_on_after_the_death_of_its_process(tmp_path: Path) -> None:
    """Penumbra, which would forfeit if it did not know what it had observed."""

    async def test(lobby: Lobby) -> None:
        game = await lobby.create(NewPlay(mode="play", opponent=Side(player="penumbra"), color="white"))
        await play_turn(game, "a2a3")
        await until(lambda: game.game.plies == 2)
        process = lobby.client._process
        assert process is not None and process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        await play_turn(game, "b2b3")
        await until(lambda: game.game.plies == 4)
        assert not game.over
        assert lobby.client._process is not process

    in_lobby(tmp_path, test)


def test_a_watched_game_shows_every_step_with_both_sets_and_thoughts(tmp_path: Path) -> None:
    async def test(lobby: Lobby) -> None:
        wish = NewWatch(mode="watch", white=Side(player="penumbra"), black=Side(player="hunter"), paused=True)
        game = await lobby.create(wish)
        listener = Listener()
        game.join(listener)
        for step in range(4):
            seen = len(listener.messages)
            await asyncio.sleep(0.05)
            assert len(listener.messages) == seen, "a paused game goes on"
            await until(lambda: game._bots is not None)
            while len(listener.messages) == seen:
                game.handle(Step(type="step"))
                await asyncio.sleep(0.02)
            shown = listener.messages[-1]["step"]
            assert shown["step"] == step
            assert shown["color"] == ("white" if step < 2 else "black")
            assert (shown["thought"] is not None) == (step < 2)
        assert shown["sets"]["white"]["states"] > 1
        with pytest.raises(Refusal):
            game.handle(Sense(type="sense", step=game.step, square="e4"))

    in_lobby(tmp_path, test)


def test_who_runs_out_of_time_loses(tmp_path: Path) -> None:
    async def test(lobby: Lobby) -> None:
        clock = {"seconds": 0.2, "increment": 0.0}
        wish = NewPlay.model_validate(
            {"mode": "play", "opponent": {"player": "random"}, "color": "white", "clock": clock}
        )
        game = await lobby.create(wish)
        listener = Listener()
        game.join(listener)
        await until(lambda: game.over)
        assert listener.messages[-1]["state"]["result"] == {"winner": "black", "reason": "TIMEOUT"}
        assert game.record().reason == "TIMEOUT"

    in_lobby(tmp_path, test)


def test_a_bot_that_crashes_ends_its_game_without_a_result_and_no_other(tmp_path: Path) -> None:
    """The registry does not know its name."""

    async def test(lobby: Lobby) -> None:
        bad = await lobby.create(NewPlay(mode="play", opponent=Side(player="random"), color="white"))
        good = await lobby.create(NewPlay(mode="play", opponent=Side(player="random"), color="white"))
        bad.setup = dataclasses.replace(bad.setup, black=dataclasses.replace(bad.setup.black, player="nobody"))
        await play_turn(bad, "a2a3")
        await play_turn(good, "a2a3")
        await until(lambda: bad.over and good.game.plies == 2)
        assert bad.result == Result(None, "CRASH", 1, crashed="black")
        assert bad.record().winner is None and bad.record().reason is None
        assert not good.over

    in_lobby(tmp_path, test)


def test_a_bot_made_again_knows_what_it_was_told() -> None:
    observations = (OpponentMoved(None), Sensed(None, ()), Moved(0, 0, None))
    spec = BotSpec("hunter", 1, Configuration(), True, START_FEN, "Person", observations, thoughts=False)

    async def run() -> None:
        client = BotClient()
        try:
            with pytest.raises(Missing):
                await client.call("a", "sense", None, None)
            await client.open("a", spec)
            square, thought = await client.call("a", "sense", None, None)
            assert square in range(64) and thought is None
            with pytest.raises(Failed, match="AttributeError"):
                await client.call("a", "dance")
            with pytest.raises(Refusal):
                async for _ in client.stream(frames.steps_of, b"no record"):
                    pass
        finally:
            client.stop()

    asyncio.run(run())
