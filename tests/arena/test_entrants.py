"""A name means the same player in matches, tournaments, generated games and on the server."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from penumbra.arena.entrants import Entrant, PlayerPool, entrant
from penumbra.arena.game_loop import Clock, play
from penumbra.arena.population import read_population
from penumbra.arena.tournament_plan import read_tournament
from penumbra.configs.reader import ConfigurationError
from penumbra.core import START_FEN, Game
from penumbra.interop.isolated_player import IsolatedPlayer
from penumbra.interop.stockfish import find_stockfish
from penumbra.players import registry
from penumbra.players.opponents.random_player import RandomPlayer
from penumbra.players.penumbra.configuration import Configuration, to_table
from penumbra.players.player import Player
from penumbra.server.bot_process import Bot, BotSpec
from penumbra.server.bots import bots

SEED = 5
QUICK = Configuration(evaluator="heuristic", nodes=16, cap=2_000, ponder=False, settings={"table_entries": 4096})
OURS = [name for name, entry in registry.ENTRIES.items() if entry.module is None]
THEIRS = [name for name, entry in registry.ENTRIES.items() if entry.module is not None]


def toml(name: str) -> str:
    """The player as a file has it, beside another."""
    settings = f"settings = {_inline(to_table(QUICK))}\n" if registry.is_penumbra(name) else ""
    other = '[[player]]\nname = "B"\nkind = "random"\n'
    return f'games = 2\n[[player]]\nname = "Somebody"\nkind = "{name}"\n{settings}{other}'


def _inline(table: object) -> str:
    if isinstance(table, dict):
        return "{ " + ", ".join(f"{key} = {_inline(value)}" for key, value in table.items()) + " }"
    return json.dumps(table)


def from_tournament(name: str, folder: Path) -> Entrant:
    (folder / "tournament.toml").write_text(toml(name))
    return read_tournament(folder / "tournament.toml").players[0]


def everywhere(name: str, folder: Path, pool: PlayerPool) -> dict[str, Player]:
    """The player of that name as each part of the program makes it."""
    (folder / "population.toml").write_text(toml(name))
    spec = BotSpec(name, SEED, QUICK, True, START_FEN, "somebody", (), False)
    return {
        "match": pool.player(entrant(name, QUICK), True, SEED),
        "tournament": pool.player(from_tournament(name, folder), False, SEED),
        "generation": read_population(folder / "population.toml").members[0].make(SEED),
        "server": spec.open()._player,
        "registry": registry.make(name, SEED, QUICK),
    }


def first_turn(player: Player) -> tuple[int | None, int]:
    """Where it senses and what it moves, as White."""
    game = Game()
    player.meet("somebody")
    player.start(True, START_FEN)
    player.opponent_moved(None)
    square = player.choose_sense()
    player.sensed(square, [content for _, content in game.sense(square)])
    action = player.choose_move(game.legal_actions())
    return square, action


@pytest.mark.parametrize("name", OURS)
def test_a_name_is_the_same_player_everywhere(name: str, tmp_path: Path) -> None:
    players = everywhere(name, tmp_path, PlayerPool())
    players.pop("server")  # has started, and would start twice
    spec = BotSpec(name, SEED, QUICK, True, START_FEN, "somebody", (), False).open()
    square, _ = spec.sense(None, None)
    game = Game()
    contents = [content for _, content in game.sense(square)]
    turns = {"server": (square, spec.move(square, contents, None, game.legal_actions())[0])}
    turns |= {where: first_turn(player) for where, player in players.items()}
    assert len(set(turns.values())) == 1, turns
    kinds = {(type(player), player.name) for player in [spec._player, *players.values()]}
    assert len(kinds) == 1
    spec.close()


@pytest.mark.parametrize("name", THEIRS)
def test_players_of_reconchess_have_a_process_of_their_own_everywhere(name: str, tmp_path: Path) -> None:
    if registry.entry(name).needs_stockfish and find_stockfish() is None:
        pytest.skip("Stockfish is not installed")
    pool = PlayerPool()
    players = everywhere(name, tmp_path, pool)
    for where, player in players.items():
        assert isinstance(player, IsolatedPlayer), where
        assert player.name == registry.entry(name).title
        if where == "generation":
            assert play(player, RandomPlayer(1), Clock(None), Game(None, 100, 2)).reason != "crash"
            assert player.pid is None  # its process ended with the game
        elif where == "server":
            assert player.pid not in (None, os.getpid())
            Bot(player).close()
            assert player.pid is None
    pool.close()


def test_our_own_and_reconchess_attacker_are_two_players(tmp_path: Path) -> None:
    """Also in what a tournament's archive knows them by, where a module means what it always meant."""
    assert from_tournament("attacker", tmp_path).plain() == {"name": "Somebody", "kind": "attacker", "settings": {}}
    theirs = {"name": "Somebody", "path": "reconchess.bots.attacker_bot", "environment": {}}
    assert from_tournament("reconchess:attacker", tmp_path).plain() == theirs
    path = tmp_path / "tournament.toml"
    for player in ("reconchess:attacker", "reconchess.bots.attacker_bot"):
        path.write_text(toml(player).replace("kind", "path", 1))
        assert read_tournament(path).players[0].plain() == theirs
    path.write_text(toml("attacker").replace("kind", "path", 1))
    with pytest.raises(
        ConfigurationError, match=r"given as kind = 'attacker'; reconchess' own is 'reconchess:attacker'"
    ):
        read_tournament(path)


def test_what_needs_stockfish_says_so_where_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STOCKFISH_EXECUTABLE", str(tmp_path / "nowhere"))
    (tmp_path / "population.toml").write_text(toml("reconchess:trout"))
    for make in (
        lambda: entrant("reconchess:trout"),
        lambda: entrant("reconchess.bots.trout_bot"),
        lambda: registry.make("reconchess:trout", 0),
        lambda: read_population(tmp_path / "population.toml"),
        lambda: from_tournament("reconchess:trout", tmp_path),
    ):
        with pytest.raises(ValueError, match=r"needs Stockfish: install it, or set STOCKFISH_EXECUTABLE to its path$"):
            make()
    assert [bot.name for bot in bots()] == [name for name in registry.names() if name != "reconchess:trout"]
