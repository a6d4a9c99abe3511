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
from starlette.testclient import TestClient

from penumbra.core import START_FEN
from penumbra.network.weights import LITE
from penumbra.players.opponents.random_player import RandomPlayer
from penumbra.players.penumbra.configuration import Configuration
from penumbra.rbc.observations import Moved, OpponentMoved, Sensed
from penumbra.review import frames
from penumbra.server import bots
from penumbra.server import lobby as lobby_module
from penumbra.server.application import ServerSettings, make_app
from penumbra.server.bot_client import BotClient, Failed, Missing
from penumbra.server.bot_process import MOST_FAULTS, Bot, BotSpec
from penumbra.server.game_log import Result
from penumbra.server.live_game import LiveGame
from penumbra.server.lobby import Lobby
from penumbra.server.messages import Move, NewPlay, NewWatch, Refusal, Resign, Sense, Side, Step, Strength

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
    game.place().handle(Sense(type="sense", step=game.step, square="d5"))
    game.place().handle(Move(type="move", step=game.step, move=move))


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
        game.place().join(listener)
        for step in range(4):
            seen = len(listener.messages)
            await asyncio.sleep(0.05)
            assert len(listener.messages) == seen, "a paused game goes on"
            await until(lambda: game._bots is not None)
            while len(listener.messages) == seen:
                game.place().handle(Step(type="step"))
                await asyncio.sleep(0.02)
            shown = listener.messages[-1]["step"]
            assert shown["step"] == step
            assert shown["color"] == ("white" if step < 2 else "black")
            assert (shown["thought"] is not None) == (step < 2)
        assert shown["sets"]["white"]["states"] > 1
        with pytest.raises(Refusal):
            game.place().handle(Sense(type="sense", step=game.step, square="e4"))

    in_lobby(tmp_path, test)


def test_who_runs_out_of_time_loses(tmp_path: Path) -> None:
    async def test(lobby: Lobby) -> None:
        clock = {"seconds": 0.2, "increment": 0.0}
        wish = NewPlay.model_validate(
            {"mode": "play", "opponent": {"player": "random"}, "color": "white", "clock": clock}
        )
        game = await lobby.create(wish)
        listener = Listener()
        game.place().join(listener)
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


@pytest.fixture
def torn_weights(tmp_path: Path) -> Path:
    """Weights of which the second half is missing."""
    whole = LITE.read_bytes()
    path = tmp_path / "torn.safetensors"
    path.write_bytes(whole[: len(whole) // 2])
    return path


def test_penumbra_without_weights_is_not_offered_and_wins_and_loses_nothing(torn_weights: Path) -> None:
    folder = torn_weights.parent
    for weights in ("torn.safetensors", "none.safetensors"):
        settings = ServerSettings(folder / "games", configuration=Configuration(weights=str(folder / weights)))
        with TestClient(make_app(settings), base_url="http://localhost") as client:
            about = client.get("/api/about").json()
            assert weights in about["fault"] and str(folder) not in about["fault"]
            assert not [player for player in about["players"] if player["name"].startswith("penumbra")]
            assert "random" in [player["name"] for player in about["players"]]
            for wish in (
                {"mode": "play", "opponent": {"player": "penumbra"}},
                {"mode": "watch", "white": {"player": "random"}, "black": {"player": "penumbra:tree"}},
            ):
                answer = client.post("/api/games", json=wish)
                assert answer.status_code == 503 and answer.json()["code"] == "unavailable"
                assert weights in answer.json()["message"]
        assert not list(settings.folder.glob("*.jsonl"))


def test_penumbra_that_can_play_is_offered(tmp_path: Path) -> None:
    with TestClient(make_app(ServerSettings(tmp_path)), base_url="http://localhost") as client:
        about = client.get("/api/about").json()
    assert about["fault"] is None and about["players"][0]["name"] == "penumbra"


def test_a_player_whose_every_search_fails_has_crashed() -> None:
    """One fault is survived by playing anything; a player that only survives does not play."""

    class Broken(RandomPlayer):
        def choose_sense(self) -> int:
            self.faults = [*self.faults, "no evaluator"]
            return 0

    bot = Bot(Broken(1))
    for _ in range(MOST_FAULTS - 1):
        assert bot.sense(None, None) == (0, None)
    with pytest.raises(RuntimeError, match="no evaluator"):
        bot.sense(None, None)


def test_what_is_asked_about_one_bot_is_done_in_order() -> None:
    """A bot that is let go while it is being made is not left over."""
    spec = BotSpec("hunter", 1, Configuration(), True, START_FEN, "Person", (), thoughts=False)

    async def run() -> None:
        client = BotClient()
        try:
            for _ in range(20):
                opening = asyncio.create_task(client.open("a", spec))
                await asyncio.sleep(0)
                client.release("a")
                await opening
                with pytest.raises(Missing):
                    await client.call("a", "sense", None, None)
        finally:
            client.stop()

    asyncio.run(run())


def test_the_bots_of_a_game_that_is_over_are_freed(tmp_path: Path) -> None:
    async def test(lobby: Lobby) -> None:
        game = await lobby.create(NewPlay(mode="play", opponent=Side(player="random"), color="white"))
        game.place().join(Listener())
        await play_turn(game, "a2a3")
        await until(lambda: game.game.plies == 2)
        await lobby.client.call(f"{game.setup.id}:black", "moved", 0, 0, None)
        game.place().handle(Resign(type="resign"))
        with pytest.raises(Missing):
            await lobby.client.call(f"{game.setup.id}:black", "moved", 0, 0, None)

    in_lobby(tmp_path, test)


def test_a_bot_process_that_holds_too_much_is_replaced_and_its_games_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lobby_module, "MEMORY_SECONDS", 0.01)
    monkeypatch.setattr(lobby_module, "SHARE_OF_MACHINE", 1e-6)

    async def test(lobby: Lobby) -> None:
        game = await lobby.create(NewPlay(mode="play", opponent=Side(player="hunter"), color="white"))
        await play_turn(game, "a2a3")
        await until(lambda: game.game.plies == 2)
        process = lobby.client._process
        assert lobby.client.memory > 10_000_000
        watch = asyncio.create_task(lobby.watch_memory())
        await until(lambda: lobby.client._process is not process)
        watch.cancel()
        await play_turn(game, "b2b3")
        await until(lambda: game.game.plies == 4)

    in_lobby(tmp_path, test)


def test_penumbra_keeps_to_the_memory_of_a_game() -> None:
    """What its configuration says itself comes first."""
    for memory in (8_000_000, 128_000_000, 1_000_000_000):
        configured = bots.configured(Strength(nodes=100), Configuration(), memory)
        table = configured.dsmcp().table_entries * bots.ENTRY
        assert configured.cap is not None
        assert table + configured.dsmcp().memory_budget + configured.cap * bots.STATE <= memory
    own = Configuration(cap=5_000, settings={"memory_budget": 7})
    kept = bots.configured(Strength(), own, 128_000_000)
    assert kept.cap == 5_000 and kept.dsmcp().memory_budget == 7
