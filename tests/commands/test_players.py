"""`penumbra players` lists every name with what there is to know about it."""

from __future__ import annotations

import json

from penumbra.interop.stockfish import find_stockfish
from penumbra.players import registry
from tests.support.command_line import penumbra


def test_every_player_is_listed_with_its_style_and_rating() -> None:
    answer = penumbra("players")
    assert answer.returncode == 0, answer.stderr
    head, *lines, last = answer.stdout.splitlines()
    assert head.split() == ["name", "Elo", "style"]
    assert [line.split()[0] for line in lines] == registry.names()
    for line, entry in zip(lines, registry.ENTRIES.values(), strict=True):
        assert entry.line in line
        assert entry.rating is None or line.split()[1] == str(entry.rating)
        assert ("needs Stockfish" in line) == entry.needs_stockfish
    assert last.startswith("Stockfish: ")


def test_the_same_as_json() -> None:
    data = json.loads(penumbra("players", "--json").stdout)
    assert data["stockfish"] == find_stockfish()
    assert [player["name"] for player in data["players"]] == registry.names()
    by_name = {player["name"]: player for player in data["players"]}
    assert by_name["trout"] == {
        "name": "trout",
        "title": "Trout",
        "line": "trusts one board, as last seen, and asks an engine",
        "rating": 1403,
        "needs_stockfish": False,
    }
    assert by_name["reconchess:trout"]["needs_stockfish"] and by_name["reconchess:trout"]["rating"] is None


def test_ratings_are_of_names_and_strongest_first() -> None:
    rated = {entry.name: entry.rating for entry in registry.ENTRIES.values() if entry.rating is not None}
    assert len(rated) == len(registry._ratings())
    levels = [rating for name, rating in rated.items() if registry.is_penumbra(name)]
    others = [rating for name, rating in rated.items() if not registry.is_penumbra(name)]
    assert len(others) == 11
    assert levels == sorted(levels, reverse=True)
    assert others == sorted(others, reverse=True)
