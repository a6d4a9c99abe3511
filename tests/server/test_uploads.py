"""Games that are uploaded, and what was made of them: found again by their address, deleted, kept for so many days."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from penumbra.server import analyses, lobby, uploads
from penumbra.server.access import PERSON_COOKIE
from penumbra.server.application import ServerSettings, make_app
from tests.server.scripted import (
    BASE,
    KING_HUNT,
    PASSES,
    another,
    in_lobby,
    new_game,
    page,
    refused,
    server,
)
from tests.support import DATA

GAME = (DATA / "paper_game.json").read_bytes()
QUICK = {"preset": "network", "strength": {"nodes": 1}}


def upload(client: TestClient) -> str:
    answer = client.post("/api/uploads", content=GAME)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["game"])


def uploaded(client: TestClient) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = client.get("/api/history").json()["uploads"]
    return listed


def analysed(client: TestClient, game: str, **wish: Any) -> list[dict[str, Any]]:
    answer = client.post("/api/analyse", json={"game": game, **QUICK, **wish})
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def kept(client: TestClient, game: str) -> list[dict[str, Any]]:
    answer = client.get(f"/api/games/{game}/analysis")
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_an_uploaded_game_is_found_by_its_address_after_a_restart_and_deleted_by_its_owner(tmp_path: Path) -> None:
    with server(tmp_path) as client:
        game = upload(client)
        cookie = client.cookies[PERSON_COOKIE]
    with server(tmp_path) as client:
        stranger = another(client)
        client.cookies.set(PERSON_COOKIE, cookie)
        for reader in (client, stranger):
            assert reader.get(f"/api/games/{game}").json()["requested_moves"] == json.loads(GAME)["requested_moves"]
        (listed,) = uploaded(client)
        assert (listed["id"], listed["white"], listed["winner"]) == (game, json.loads(GAME)["white_name"], "white")
        assert "owner" not in listed and uploaded(stranger) == []
        assert client.get("/api/games").json() == [], "an upload is listed to everybody"
        assert client.get("/api/history").json()["games"] == []
        assert refused(stranger.delete(f"/api/games/{game}").json()) == "unknown game"
        assert client.delete(f"/api/games/{game}").json() == {"deleted": 1}
        assert client.get(f"/api/games/{game}").status_code == 404
        assert uploaded(client) == [] and files(tmp_path) == []


def test_what_is_no_game_is_not_kept(tmp_path: Path) -> None:
    with server(tmp_path) as client:
        for body, status in ((b"{", 400), (b"{}", 400), (b"x" * 4_000_001, 413)):
            assert client.post("/api/uploads", content=body).status_code == status
        for address in ("x", "..", "x" * 22):
            assert client.get(f"/api/games/{address}/analysis").status_code == 404
        assert files(tmp_path) == []


def test_there_is_room_for_so_many_uploads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MOST", 1)
    with server(tmp_path) as client:
        upload(client)
        answer = client.post("/api/uploads", content=GAME)
        assert answer.status_code == 503 and refused(answer.json()) == "full"


def test_an_analysis_is_kept_beside_its_game_and_goes_with_it(tmp_path: Path) -> None:
    with server(tmp_path) as client:
        game = upload(client)
        assert kept(client, game) == []
        one = analysed(client, game, turn=2, player="black")
        assert [decision["step"] for decision in one] == ["sense", "move"] and "planes" in one[0]
        assert kept(client, game) == one
        more = analysed(client, game, turn=1)
        assert kept(client, game) == one + more
        whole = analysed(client, game)
        assert kept(another(client), game) == whole, "a whole game takes the place of what was kept"
        cookie = client.cookies[PERSON_COOKIE]
    with server(tmp_path) as client:
        assert kept(client, game) == whole
        client.cookies.set(PERSON_COOKIE, cookie)
        assert client.delete("/api/history").json() == {"deleted": 1}
        assert client.get(f"/api/games/{game}/analysis").status_code == 404
        assert files(tmp_path) == []


def test_nothing_is_kept_of_a_game_that_is_not_over_or_not_here(tmp_path: Path) -> None:
    with server(tmp_path, PASSES) as client:
        game = new_game(client)
        for path in (f"/api/games/{game}/analysis",):
            assert refused(client.get(path).json()) == "not over"
        assert refused(client.post("/api/analyse", json={"game": game, **QUICK}).json()) == "not over"
        assert refused(client.post("/api/analyse", json={"game": "x" * 22, **QUICK}).json()) == "unknown game"
        assert refused(client.post("/api/analyse", json={"game": "../people", **QUICK}).json()) == "unknown game"
        with page(client, game) as person:
            for move in KING_HUNT:
                person.receive_until("sense")
                person.sense("e7")
                person.move(move)
            person.receive_until("over")
        assert kept(client, game) == []
        decisions = analysed(client, game)
        assert kept(client, game) == decisions
        assert client.post("/api/analyse", json={"game": json.loads(GAME), **QUICK, "turn": 1}).status_code == 200
        assert len(files(tmp_path / "analyses")) == 1


def test_an_analysis_that_is_too_long_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyses, "LONGEST", 20_000)
    with server(tmp_path) as client:
        game = upload(client)
        decisions = analysed(client, game)
        assert all(decision in decisions for decision in kept(client, game))
        assert 0 < (tmp_path / "analyses" / f"{game}.jsonl").stat().st_size <= 20_000
        assert len(kept(client, game)) < len(decisions)


def test_games_are_kept_for_so_many_days_where_the_server_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old ones go, of whatever kind, from the history too; new ones and those that are looked at stay."""
    monkeypatch.setattr(lobby, "FORGET_SECONDS", 0.01)
    with TestClient(make_app(ServerSettings(tmp_path)), base_url=BASE) as client:
        old, seen, new = upload(client), new_game(client), new_game(client)
        over = new_game(client)
        analysed(client, old, turn=1)
        assert client.get("/api/history").json()["kept_days"] is None
        cookie = client.cookies[PERSON_COOKIE]
    before = time.time() - 8 * 86_400
    for path in (tmp_path / "uploads" / f"{old}.json", tmp_path / f"{over}.jsonl"):
        os.utime(path, (before, before))
    with TestClient(make_app(ServerSettings(tmp_path, keep_days=7)), base_url=BASE) as client:
        client.cookies.set(PERSON_COOKIE, cookie)
        with page(client, seen):
            os.utime(tmp_path / f"{seen}.jsonl", (before, before))
            until_gone(tmp_path / "uploads" / f"{old}.json", tmp_path / f"{over}.jsonl")
            time.sleep(0.1)
            history = client.get("/api/history").json()
            assert history["kept_days"] == 7 and history["uploads"] == []
            assert {game["id"] for game in history["games"]} == {seen, new}
            assert not list((tmp_path / "analyses").iterdir())
        until_gone(tmp_path / f"{seen}.jsonl")
    (people,) = (tmp_path / "people").iterdir()
    assert people.read_text().split() == [new]


def until_gone(*paths: Path) -> None:
    deadline = time.monotonic() + 20
    while any(path.exists() for path in paths):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_without_that_option_nothing_is_forgotten(tmp_path: Path) -> None:
    async def test(found: lobby.Lobby) -> None:
        assert found._unchanged_for(0.0) == []

    in_lobby(tmp_path, test)
    with TestClient(make_app(ServerSettings(tmp_path)), base_url=BASE) as client:
        game = upload(client)
        path = tmp_path / "uploads" / f"{game}.json"
        os.utime(path, (0, 0))
        assert client.get(f"/api/games/{game}").status_code == 200


def test_owners_of_older_logs_are_found(tmp_path: Path) -> None:
    """The owner stood beside the sides while one person alone could play."""
    with server(tmp_path, PASSES) as client:
        game = new_game(client, "black")
        cookie = client.cookies[PERSON_COOKIE]
    path = tmp_path / f"{game}.jsonl"
    first, _, rest = path.read_text().partition("\n")
    setup = json.loads(first)
    setup["owner"] = setup["black"].pop("owner")
    assert setup["owner"] and "owner" not in setup["black"]
    path.write_text(json.dumps(setup) + "\n" + rest)
    with server(tmp_path, PASSES) as client:
        client.cookies.set(PERSON_COOKIE, cookie)
        assert [listed["color"] for listed in client.get("/api/history").json()["games"]] == ["black"]
