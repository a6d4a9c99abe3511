"""All games of a server: each is woken once, registered when it stands, and freed when it is over."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from penumbra.players.penumbra.configuration import Configuration
from penumbra.server.application import ServerSettings
from penumbra.server.live_game import MOST_PAGES, LiveGame
from penumbra.server.lobby import Lobby
from penumbra.server.messages import Move, NewPlay, NewWatch, Refusal, Resign, Sense, Side
from tests.server.listening import Socket, begin, listening
from tests.server.scripted import KING_HUNT, PASSES, ScriptedBots, in_lobby, new_game, page, server
from tests.support.processes import run_python

PLAY = NewPlay(mode="play", opponent=Side(player="random"), color="white")


class Listener:
    """Keeps what it is sent."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    def send(self, message: dict[str, Any]) -> None:
        self.messages.append(message)


def play_turn(game: LiveGame, move: str) -> None:
    game.place().handle(Sense(type="sense", step=game.step, square="d5"))
    game.place().handle(Move(type="move", step=game.step, move=move))


async def settled() -> None:
    """All that can happen now has happened."""
    for _ in range(20):
        await asyncio.sleep(0)


def test_pages_that_come_back_at_the_same_moment_find_one_game(tmp_path: Path) -> None:
    """The server is at its limit, so that another game has to be put to sleep for it."""
    with listening(ServerSettings(tmp_path, most_games=1), ScriptedBots(PASSES)) as port:
        game = begin(port)
        with Socket(port, game) as person:
            state = person.receive()["state"]
            person.send(type="sense", step=state["step"], square="e7")
        begin(port)  # `game` sleeps now
        with ThreadPoolExecutor(4) as pool, contextlib.ExitStack() as opened:
            pages = [opened.enter_context(page) for page in pool.map(lambda _: Socket(port, game), range(4))]
            greetings = [page.receive() for page in pages]
            assert {greeting["state"]["step"] for greeting in greetings} == {1}
            pages[0].connection.send(json.dumps({"type": "move", "step": 1, "move": "e2e4"}))
            assert [page.receive()["event"]["taken"] for page in pages] == ["e2e4"] * 4
    steps = [json.loads(line).get("step") for line in (tmp_path / f"{game}.jsonl").read_text().splitlines()]
    assert steps[1:] == list(range(len(steps) - 1))


@pytest.mark.parametrize("second", [True, False], ids=["events twice", "an event that breaks the rules"])
def test_a_log_goes_on_from_the_last_event_that_follows(tmp_path: Path, second: bool) -> None:
    with server(tmp_path, PASSES) as client:
        game = new_game(client)
        with page(client, game) as person:
            person.sense("e7")
            person.move("e2e4")
            person.receive_until("sense")
    path = tmp_path / f"{game}.jsonl"
    whole = path.read_text()
    assert len(whole.splitlines()) == 5
    more = whole.splitlines()[-1] if second else json.dumps({"step": 4, "sense": "z9", "left": None})
    path.write_text(f"{whole}{more}\n{more}\n")
    with server(tmp_path, PASSES) as client, page(client, game) as again:
        assert again.state["phase"] == "sense" and again.state["step"] == 4
        assert again.sense("d7")["event"]["square"] == "d7"
    assert path.read_text().startswith(whole)
    damaged = path.with_suffix(".damaged")
    assert damaged.read_text() == f"{whole}{more}\n{more}\n"
    assert [file.stat().st_mode & 0o777 for file in (path, damaged)] == [0o600] * 2, "others can read both sides"


@pytest.mark.parametrize(
    "glued", ['{"step": 4, "sen{"step": 4, "sense": "d7", "left": null}\n', "\0" * 50 + "\n", "7\n"]
)
def test_a_log_with_a_broken_line_goes_on_from_the_last_whole_one(tmp_path: Path, glued: str) -> None:
    with server(tmp_path, PASSES) as client:
        game = new_game(client)
        with page(client, game) as person:
            person.sense("e7")
            person.move("e2e4")
            person.receive_until("sense")
    path = tmp_path / f"{game}.jsonl"
    path.write_text(path.read_text() + glued)
    with server(tmp_path, PASSES) as client:
        for square in ("d7", "d6"):  # and it stays so
            with page(client, game) as again:
                assert [event["type"] for event in json.loads(again.traffic[0])["events"]][:4] == [
                    "turn",
                    "sensed",
                    "moved",
                    "turn",
                ]
                again.sense(square)


def test_a_game_whose_last_move_outlived_its_result_is_over(tmp_path: Path) -> None:
    with server(tmp_path, PASSES) as client:
        game = new_game(client)
        with page(client, game) as person:
            for move in KING_HUNT:
                person.receive_until("sense")
                person.sense("e7")
                person.move(move)
            person.receive_until("over")
    path = tmp_path / f"{game}.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    with server(tmp_path, PASSES) as client:
        with page(client, game) as again:
            assert again.state["result"] == {"winner": "white", "reason": "KING_CAPTURE"}
        assert client.get(f"/api/games/{game}").status_code == 200
        assert [listed["id"] for listed in client.get("/api/games").json()] == [game]


def test_a_result_that_the_board_contradicts_is_cut_off(tmp_path: Path) -> None:
    with server(tmp_path, PASSES) as client:
        game = new_game(client)
        with page(client, game) as person:
            person.sense("e7")
    path = tmp_path / f"{game}.jsonl"
    result = {"over": {"winner": "white", "reason": "KING_CAPTURE", "plies": 0}}
    path.write_text(path.read_text() + json.dumps(result) + "\n")
    with server(tmp_path, PASSES) as client, page(client, game) as again:
        assert again.state["phase"] == "move"
        again.move("e2e4")
        for move in KING_HUNT:
            again.receive_until("sense")
            again.sense("e7")
            again.move(move)
        again.receive_until("over")
    path.write_text(path.read_text().replace('"over": {"winner": "white"', '"over": {"winner": "black"'))
    with server(tmp_path, PASSES) as client, page(client, game) as again:
        assert again.state["result"] == {"winner": "white", "reason": "KING_CAPTURE"}


def test_a_log_that_cannot_be_read_is_refused_each_time(tmp_path: Path) -> None:
    """What has failed to wake is not found half awake by the next page."""

    async def test(lobby: Lobby) -> None:
        game = await lobby.create(PLAY)
        await lobby.close()
        path = tmp_path / f"{game.setup.id}.jsonl"
        path.write_text("{}\n" + path.read_text())
        for _ in range(2):
            with pytest.raises(Refusal, match="cannot be read"):
                lobby.find(game.setup.id)
        assert not lobby.awake

    in_lobby(tmp_path, test)


def test_two_servers_do_not_play_the_same_game(tmp_path: Path) -> None:
    async def test(lobby: Lobby) -> None:
        game = await lobby.create(PLAY)
        other = Lobby(tmp_path, ScriptedBots(PASSES), Configuration(), 2)
        with pytest.raises(Refusal, match="open in another server"):
            other.find(game.setup.id)
        await lobby.close()
        assert other.find(game.setup.id).step == game.step
        await other.close()

    in_lobby(tmp_path, test)


def test_what_is_over_is_freed_when_nobody_looks_at_it(tmp_path: Path) -> None:
    async def test(lobby: Lobby) -> None:
        game, listener = await lobby.create(PLAY), Listener()
        game.place().join(listener)
        game.place().handle(Resign(type="resign"))
        await settled()
        assert list(lobby.awake) == [game.setup.id]
        game.place().leave(listener)
        assert not lobby.awake
        assert lobby.record(game.setup.id).reason == "RESIGN"
        assert not lobby.awake, "it need not be woken to be shown"
        alone = await lobby.create(PLAY)
        alone.finish(True, "TIMEOUT")
        await settled()
        assert not lobby.awake

    in_lobby(tmp_path, test)


def test_what_is_over_does_not_wait_for_the_garbage_collector(tmp_path: Path) -> None:
    """That comes so rarely that a hundred games would wait for it."""

    async def test(lobby: Lobby) -> None:
        game, listener = await lobby.create(PLAY), Listener()
        game.place().join(listener)
        await settled()
        game.place().handle(Resign(type="resign"))
        game.place().leave(listener)
        await settled()
        held = weakref.ref(game)
        del game
        assert held() is None

    gc.collect()
    gc.disable()
    try:
        in_lobby(tmp_path, test)
    finally:
        gc.enable()


def test_a_server_looks_for_what_is_over_without_its_modules() -> None:
    script = (
        "import gc, penumbra.server.application; from penumbra.server.memory import collect_often; collect_often(); "
        "print(gc.get_freeze_count(), len(gc.get_objects()))"
    )
    kept, others = map(int, run_python("-c", script).stdout.split())
    assert kept > 20_000 and others < 2_000


def test_programs_that_nobody_watches_do_not_think(tmp_path: Path) -> None:
    class Thinking(ScriptedBots):
        asked = 0

        async def call(self, key: str, method: str, *arguments: Any) -> Any:
            self.asked += 1
            return await super().call(key, method, *arguments)

    async def run() -> None:
        bots = Thinking(PASSES)
        lobby = Lobby(tmp_path, bots, Configuration(), 2)
        wish = NewWatch(mode="watch", white=Side(player="random"), black=Side(player="random"), seconds=0.0)
        game, listener = await lobby.create(wish), Listener()
        await settled()
        assert bots.asked == 0
        game.place().join(listener)
        while len(listener.messages) < 5:
            await asyncio.sleep(0.01)
        game.place().leave(listener)
        await settled()
        asked = bots.asked
        await asyncio.sleep(0.05)
        assert 0 < bots.asked <= asked + 1
        await lobby.close()

    asyncio.run(run())


def test_so_many_pages_look_at_a_game_and_no_more(tmp_path: Path) -> None:
    async def test(lobby: Lobby) -> None:
        game = await lobby.create(PLAY)
        for _ in range(MOST_PAGES):
            game.place().join(Listener())
        with pytest.raises(Refusal, match="look at this game"):
            game.place().join(Listener())

    in_lobby(tmp_path, test)


def test_a_log_that_is_refused_stays_as_it_is(tmp_path: Path) -> None:
    """Whether another server has it open or nobody can read it."""

    async def test(lobby: Lobby) -> None:
        game = await lobby.create(PLAY)
        path = tmp_path / f"{game.setup.id}.jsonl"
        other = Lobby(tmp_path, ScriptedBots(PASSES), Configuration(), 2)
        for _ in range(2):
            before = path.read_bytes()
            with pytest.raises(Refusal):
                other.find(game.setup.id)
            assert path.read_bytes() == before
            await lobby.close()
            path.write_bytes(b"\0" * 10)

    in_lobby(tmp_path, test)


def test_a_game_that_ended_in_a_turn_is_told_again_with_its_beginning(tmp_path: Path) -> None:
    async def test(lobby: Lobby) -> None:
        game, listener = await lobby.create(PLAY), Listener()
        game.place().join(listener)
        game.place().handle(Resign(type="resign"))
        game.place().leave(listener)
        again = lobby.find(game.setup.id)
        assert again is not game
        again.place().join(listener)
        told = [message["events"] for message in listener.messages if message["type"] == "game"]
        assert told[0] == told[1] and [event["type"] for event in told[1]] == ["turn"]

    in_lobby(tmp_path, test)
