"""Faults that release f639592 had, set off as a user would: `PYTHONPATH=src python -m studies.faults TREE [FAULT …]`.

TREE is a checkout that is built: this one, or f639592 in another folder. It is used from outside alone, by commands,
requests, files and signals, so that the very same is done to both; option names that have changed are the only
difference. Each fault has a line: whether it is there, and what was seen. The exit status is 1 if any is there.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import resource
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import chess
from websockets.exceptions import WebSocketException

from penumbra.core import GameRecord
from penumbra.games.archive import Archive
from penumbra.interop.local_game import LocalGame
from studies._tree import (
    POPULATION,
    SECONDS,
    STACK_TRACE,
    Server,
    Tree,
    brief,
    count,
    end,
    hear,
    last_line,
    play,
    resident,
    status,
    steps,
    wait_for_games,
    words,
)
from studies.chaos import small_disk
from studies.loaded_core import loaded_core

TOURNAMENT = """
games = 2
seed = 7
workers = 1
[[player]]
name = "Penumbra"
kind = "penumbra:network"
settings = { weights = "WEIGHTS", nodes = 1 }
[[player]]
name = "Wild"
kind = "random"
"""
Seen = tuple[bool, str]  # whether the fault is there, and what shows it


def waker(tree: Tree) -> Seen:
    """Eight pages come back to a sleeping game at once, and the server is at its limit of games; ten such games."""
    options = ("--games" if tree.is_old else "--active-games", 1)
    random = {"player": "random", "strength": {}}
    wish = {"mode": "watch", "white": random, "black": random, "clock": None, "seconds": 0.2}
    damaged, said = [], ""
    with Server(tree, tree.folder / "games", options) as server:
        for _ in range(10):
            game = str(server.post("/api/games", wish)["game"])
            with server.page(game) as page:
                for _ in range(3):
                    page.recv(SECONDS)
            server.begin()  # `game` is put to sleep for it
            with contextlib.ExitStack() as opened, ThreadPoolExecutor(8) as pool:
                for page in pool.map(lambda game: server.page(game), [game] * 8):
                    opened.enter_context(page).recv(SECONDS)
                time.sleep(1)
            time.sleep(0.2)
            twice = sum(count - 1 for count in Counter(steps(server.log(game))).values())
            if twice:
                damaged.append(game)
                said = said or f" ({twice} of its {len(steps(server.log(game)))} events)"
    unresumed = 0
    with Server(tree, tree.folder / "games", options) as server:
        for game in damaged:
            try:
                with server.page(game) as page:
                    hear(page)
            except (WebSocketException, TimeoutError):
                unresumed += 1
        traces = server.traces()
    errors = [line.strip() for line in server.said if line.startswith("ValueError")]
    seen = f"{len(damaged)} of 10 games have events twice in their logs{said}; after a restart {unresumed} of them"
    seen += f" cannot be resumed, {traces} stack traces{f', {brief(errors[-1])}' if errors else ''}"
    return bool(damaged or traces), seen


def torn_log(tree: Tree) -> Seen:
    """A file that cannot grow any further while a move is written to it, and can again when the move is tried again."""
    with Server(tree, tree.folder / "games") as server:
        game = server.begin(clock={"seconds": 60, "increment": 10})
        with server.page(game) as page:
            begun = hear(page, "sense")["state"]
            page.send(json.dumps({"type": "sense", "step": begun["step"], "square": "e7"}))
            state = hear(page, "move")["state"]
            unlimited = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
            room = (server.log(game).stat().st_size + 10, unlimited[1])
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, room)
            refused = 0
            for _ in range(5):
                answer = play(page, state)
                if answer["type"] != "error":
                    break
                refused += 1
            kept = answer.get("state", {}).get("kept")
            time.sleep(3)
            with server.page(game) as second:
                now = hear(second)["state"]
            clock = f"{now['clocks']['white']:.0f} s and {'runs' if now['clocks']['running'] else 'stands still'}"
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, unlimited)
            state = play(page, state)["state"] if refused else now
            if state["phase"] == "waiting":
                state = hear(page, "sense")["state"]
            assert play(page, state)["type"] == "update"
            time.sleep(0.5)
    with Server(tree, tree.folder / "games") as server:
        try:
            with server.page(game) as page:
                resumed = f"resumed with {len(hear(page)['events'])} events"
        except (WebSocketException, TimeoutError) as error:
            resumed = f"not resumed ({brief(str(error))})"
    first = f"the move is refused {refused} times" if refused else f"the move is played and the page told kept = {kept}"
    seen = (
        f"{first}; 3 s later its clock of 60 s + 10 s shows {clock} in phase {now['phase']}; after a restart {resumed}"
    )
    return refused > 0 or "not resumed" in resumed, seen


# -- results that did not happen


def weights_match(tree: Tree) -> Seen:
    """A match with half a file of weights."""
    config = tree.file("penumbra.toml", f'weights = "{tree.torn_weights()}"\n')
    code, out, error = tree.run("match", "penumbra", "random", "--games", 2, "--nodes", 10, "--config", config)
    scored = [line for line in out.splitlines() if re.search(r"\b(elo|Elo|points|win)", line)]
    return code == 0, f"exit {code}; {brief(' / '.join(scored[-2:]) or last_line(out + error), 220)}"


def weights_tournament(tree: Tree) -> Seen:
    """A tournament with half a file of weights, and its ratings."""
    plan = tree.file("plan.toml", TOURNAMENT.replace("WEIGHTS", str(tree.torn_weights())))
    path = tree.folder / "games.db"
    code, out, error = tree.run("tournament", plan, "--archive", path)
    with contextlib.closing(sqlite3.connect(path)) as db:
        lengths = [row[0] for row in db.execute("SELECT plies FROM game")]
    rated, ratings, _ = tree.run("rate", path)
    found = next((line for line in ratings.splitlines() if "Penumbra" in line), "no rating of it")
    seen = f"exit {code}; games archived with {lengths} moves; rate, exit {rated}: {brief(found)}"
    return bool(lengths), seen + ("" if lengths else f"; {brief(last_line(error or out), 220)}")


def weights_server(tree: Tree) -> Seen:
    """A game on the server against a Penumbra whose weights are half a file."""
    config = tree.file("penumbra.toml", f'weights = "{tree.torn_weights()}"\n')
    with Server(tree, tree.folder / "games", ("--config", config)) as server:
        body = json.dumps(
            {"mode": "play", "opponent": {"player": "penumbra", "strength": {"nodes": 10}}, "color": "white"}
        )
        answer = server.say(
            "POST /api/games HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", body=body.encode()
        )
        said = json.loads(answer.partition(b"\r\n\r\n")[2])
        if "game" not in said:
            return False, f"{status(answer)}, {brief(said['message'], 220)}"
        with server.page(said["game"]) as page:
            play(page, hear(page, "sense")["state"])
            result = hear(page, "over")["state"]["result"]
    return result["reason"] == "RESIGN", f"the game ends with {json.dumps(result)}"


def weights_no_number(tree: Tree) -> Seen:
    """Weights whose last tensor ends with a number that is none."""
    path = tree.folder / "odd.safetensors"
    path.write_bytes(tree.weights().read_bytes()[:-4] + b"\xff" * 4)
    config = tree.file("penumbra.toml", f'weights = "{path}"\n')
    code, out, error = tree.run("match", "penumbra:network", "random", "--games", 1, "--nodes", 1, "--config", config)
    return code == 0, f"exit {code}; {brief(last_line(error or out), 220)}"


# -- interrupts


def interrupt_in_background(tree: Tree) -> Seen:
    """SIGINT to a run that was begun as shells begin what runs in the background, with interrupts ignored."""
    plan = tree.file("plan.toml", POPULATION.replace("GAMES", "1000000").replace("NAME", "Wild"))
    process = tree.start(
        "-m", "penumbra", "generate", plan, "--archive", tree.folder / "games.db",
        ready=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )  # fmt: skip
    try:
        wait_for_games(tree.folder / "games.db", process)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        try:
            _, error = process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            return True, "plays on 20 s after SIGINT"
        return False, f"exit {process.returncode} after {time.monotonic() - began:.1f} s: {brief(last_line(error))}"
    finally:
        end(process)


def interrupt_at_start(tree: Tree) -> Seen:
    """SIGINT after 0.1, 0.2 … 2 s of a command; Python's own beginning, which no program can guard, does not count."""
    traces, said = 0, ""
    for i in range(20):
        process = tree.start("-m", "penumbra", "match", "random", "random", "--games", 1000, *tree.clock(0))
        time.sleep(0.1 * (i + 1))
        process.send_signal(signal.SIGINT)
        try:
            _, error = process.communicate(timeout=SECONDS)
        finally:
            end(process)
        if STACK_TRACE in error and f'"{tree.root}/src/penumbra/' in error:
            traces, said = traces + 1, f" ({len(error.splitlines())} lines, the last: {last_line(error)})"
    return traces > 0, f"{traces} of 20 end in a stack trace of the program{said}"


# -- requests


def requests(tree: Tree) -> Seen:
    """Headers, addresses and bodies that no page of ours sends."""
    archive = tree.games("games.db", 3)
    tree.run("archive", "export", archive, tree.folder / "games.jsonl")
    game = json.loads((tree.folder / "games.jsonl").read_text().splitlines()[0]) | {"white_name": "\ud800"}
    player = b'{"mode": "play", "opponent": {"player": "\\ud800"}}'
    asked: dict[str, tuple[str, str, bytes]] = {
        "Host: [": ("GET /api/about", "Host: [", b""),
        "Origin: http://[": ("GET /api/about", "Host: localhost\r\nOrigin: http://[", b""),
        "/api/archive/99999999999999999999": ("GET /api/archive/99999999999999999999", "Host: localhost", b""),
        "an opponent \\ud800": ("POST /api/games", "Host: localhost", player),
        "a game of \\ud800": ("POST /api/review", "Host: localhost", json.dumps(game).encode()),
    }
    with Server(tree, tree.folder / "served", ("--archive", archive)) as server:
        answers = {
            name: status(server.say(f"{what} HTTP/1.1", head, f"Content-Length: {len(body)}", body=body))
            for name, (what, head, body) in asked.items()
        }
        before = server.traces()
        for _ in range(3):
            server.say("POST /api/review HTTP/1.1", "Host: localhost", "Content-Length: 1000", body=b"{", cut=True)
        hung_up = server.traces() - before
    seen = ", ".join(f"`{name}` {code}" for name, code in answers.items())
    bad = any(not 400 <= code < 500 for code in answers.values()) or before + hung_up > 0
    return bad, f"{seen}; {before} stack traces, and {hung_up} more from three clients that hang up"


def memory(tree: Tree) -> Seen:
    """Forty games against Penumbra of two turns each, resigned one after the other."""
    with Server(tree, tree.folder / "games") as server:
        sizes = []
        for _ in range(40):
            game = server.begin("penumbra", seconds=0.3)
            with server.page(game) as page:
                for _ in range(2):
                    state = hear(page, "sense")["state"]
                    play(page, state)
                hear(page, "sense")
                page.send(json.dumps({"type": "resign"}))
                hear(page, "over")
            time.sleep(0.5)
            sizes.append(server.memory())
    grown = (sizes[-1] - sizes[9]) / 30
    return (
        grown > 5,
        f"{sizes[0]:.0f} MB after one game, {sizes[9]:.0f} after ten, {sizes[-1]:.0f} after forty",
    )


# -- archives


def flipped(tree: Tree) -> Seen:
    """One bit of a game's record, after which it is another game that the rules allow."""
    path = tree.games("games.db")
    with Archive.open(path) as archive:
        game = next(archive.get([7]))
    data, record = path.read_bytes(), game.data
    changed = (record[:at] + bytes([record[at] ^ 1]) + record[at + 1 :] for at in range(len(record) - 1, 0, -1))
    path.write_bytes(data.replace(record, next(other for other in changed if is_game(other))))
    code, _, _ = tree.run("archive", "export", path, tree.folder / "out.jsonl")
    exported = len((tree.folder / "out.jsonl").read_text().splitlines())
    rated, ratings, _ = tree.run("rate", path, "--json")
    counted = json.loads(ratings)["games"]
    verified, _, _ = tree.run("archive", "verify", path)
    seen = f"verify exits {verified}; export writes {exported} of 60 games and exits {code}"
    seen += f"; rate counts {counted} and exits {rated}"
    return (exported, code) == (60, 0) or (counted, rated) == (60, 0), seen


def is_game(record: bytes) -> bool:
    try:
        GameRecord.from_bytes(record).replay()
    except ValueError:
        return False
    return True


def cut_archive(tree: Tree) -> Seen:
    """A file of 300 games whose last fiftieth is cut off."""
    path = tree.games("games.db", 300)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 98 // 100])
    told = {name: tree.run("archive", name, path) for name in ("stats", "verify")}
    said = [f"{name}, exit {code}: {words(error or out, tree)}" for name, (code, out, error) in told.items()]
    return any(STACK_TRACE in error for _, _, error in told.values()), "; ".join(said)


def rescue(tree: Tree) -> Seen:
    """A file of 300 games of which one page in the middle is cleared; what can be saved of it."""
    path = tree.games("games.db", 300)
    data = path.read_bytes()
    page = len(data) // 4096 // 2
    path.write_bytes(data[: page * 4096] + bytes(4096) + data[(page + 1) * 4096 :])
    readable, new = by_number(path, 300), {name: tree.folder / f"{name}.db" for name in ("merge", "repair")}
    told = {"merge": tree.run("archive", "merge", new["merge"], path)}
    told["repair"] = tree.run("archive", "repair", path, new["repair"])
    said = [f"{name} saves {count(new[name])} ({words(error or out, tree)})" for name, (_, out, error) in told.items()]
    return count(new["repair"]) < readable, f"of {readable} games that can be read by their numbers " + ", ".join(said)


def by_number(path: Path, games: int) -> int:
    """How many games SQLite gives, one by one."""
    found = 0
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as db:
        db.execute("PRAGMA writable_schema = ON")  # which makes SQLite read a file that was cut
        for number in range(1, games + 1):
            with contextlib.suppress(sqlite3.Error):
                found += db.execute("SELECT record FROM game WHERE id = ?", (number,)).fetchone() is not None
    return found


# -- disks


def full_disk(tree: Tree) -> Seen:
    """Every command that writes a file, on a disk of 8 kB."""
    archive = tree.games("games.db", 100)
    code, _, error = tree.run("archive", "export", archive, tree.folder / "all.jsonl")
    assert code == 0, error
    game = tree.file("game.json", (tree.folder / "all.jsonl").read_text().splitlines()[0])
    plan = tree.file("plan.toml", TOURNAMENT.replace('"penumbra:network"', '"random"').replace("settings = ", "# "))
    seen: dict[str, str] = {}
    for name, command in {
        "export": ("archive", "export", archive, "OUT/out.jsonl"),
        "replay --html": ("replay", game, "--html", "OUT/page.html"),
        "planes": ("planes", game, "--turn", 2, "--out", "OUT/planes.png"),
        "demo": ("demo", "--white", "random", "--black", "random", "--delay", 0, "--out", "OUT/demo.json"),
        "match --out": ("match", "random", "random", "--games", 4, *tree.clock(0), "--out", "OUT"),
        "tournament --report": ("tournament", plan, "--archive", tree.folder / "t.db", "--report", "OUT/page.html"),
    }.items():
        with small_disk(tree.folder / f"disk {name}", 8) as (disk, _, _):
            _, _, error = tree.run(*(str(word).replace("OUT", str(disk)) for word in command))
            cut = [path.name for path in disk.iterdir() if path.is_file() and not is_whole(path)]
            errno = "Errno" in error
            seen[name] = ", ".join([*(["[Errno 28]"] if errno else []), *(f"{file} is cut" for file in cut)])
            seen[name] = seen[name] or f"`{brief(last_line(error).replace(str(disk), 'OUT'), 110)}`"
    bad = [name for name, found in seen.items() if "Errno" in found or "cut" in found]
    return bool(bad), "; ".join(f"{name}: {found}" for name, found in seen.items())


def is_whole(path: Path) -> bool:
    """Whether a file is as long as its kind has to be."""
    data = path.read_bytes()
    if path.suffix in (".json", ".jsonl"):
        try:
            return bool(data) and all(json.loads(line) for line in data.decode().splitlines())
        except ValueError:
            return False
    ends = {".html": b"</html>", ".png": b"IEND\xaeB`\x82"}
    return data.rstrip().endswith(ends.get(path.suffix, b""))


# -- what the real server does

BEFORE = "2b1k2r/1p1p4/r6n/2P3Np/3p2P1/2B3P1/4Q3/5r1K b - - 1 55"  # 55...b5 56.cxb6 would leave the king in check
BOT = """
import chess
from penumbra.bot import Penumbra
bot = Penumbra()
bot.handle_game_start(True, chess.Board("2b1k2r/3p4/r6n/1pP3Np/3p2P1/2B3P1/4Q3/5r1K w - b6 0 56"), "somebody")
bot.handle_opponent_move_result(False, None)
bot.choose_sense([*range(64)], [], 900.0)
bot.handle_sense_result([])
bot.handle_move_result(chess.Move.from_uci("c5b6"), None, False, None)
print(bot.player.recoveries)
bot.handle_game_end(None, None, None)
"""


def en_passant(tree: Tree) -> Seen:
    """A game in which the server let an en-passant capture fail that would have left the king in check."""
    game = LocalGame(fen=BEFORE)
    game.start()
    for square, move in ((None, "b7b5"), (chess.B5, None), (None, "d7d6")):
        game.sense(square)
        game.move(None if move is None else chess.Move.from_uci(move))
        game.end_turn()
    game.resign()
    game.end()
    path = tree.folder / "game.json"
    history = game.get_game_history()
    assert history is not None
    history.save(str(path))
    data = json.loads(path.read_text().replace(" b6 0", " - 0"))  # as the server writes positions
    data["requested_moves"]["true"][0] = {"type": "Move", "value": "c5b6"}
    path.write_text(json.dumps(data))
    code, out, error = tree.run("archive", "import", tree.folder / "games.db", path)
    tree.environment.update(PENUMBRA_NODES="50", PENUMBRA_PONDER="false", PENUMBRA_EVALUATOR="heuristic")
    process = tree.start("-c", BOT)
    lost, trouble = process.communicate(timeout=120)
    assert process.returncode == 0, trouble
    said = brief((error or out).replace(f"{tree.folder}/", ""), 200)
    lost = lost.strip()
    return code != 0 or lost != "[]", f"import exits {code}: {said}; the bot's recoveries: {brief(lost, 200)}"


def never_met(tree: Tree) -> Seen:
    """`evaluate` of games whose players are in two parts that never met."""
    paths = [tree.games(f"{name}.db", 60, name) for name in ("East", "West")]
    options = [word for path in paths for word in ("--archive", path)]
    code, out, error = tree.run("evaluate", tree.weights(), *options, "--device", "cpu", "--cap", 100, seconds=500)
    return code != 0, f"exit {code}: {words(error or out, tree)}"


# -- numbers


def many_games(tree: Tree) -> Seen:
    """`--games 300000000`, for twelve seconds."""
    process = tree.start("-m", "penumbra", "match", "random", "random", "--games", 300_000_000, *tree.clock(0))
    largest = 0.0
    for _ in range(60):
        time.sleep(0.2)
        largest = max(largest, resident(process.pid))
        if largest > 4_000:
            break
    end(process)
    out, _ = process.communicate()
    return largest > 500, f"{largest:,.0f} MB; printed {len(out.splitlines())} lines meanwhile"


def large_numbers(tree: Tree) -> Seen:
    """`--nodes 100000000000000000000`, for fifteen seconds."""
    code, out, error = tree.run("match", "penumbra", "random", "--nodes", 10**20, *tree.clock(0), seconds=15)
    return (
        code is None,
        f"exit {code}: {brief(last_line(error or out))}" if code is not None else f"not over, said {out!r}",
    )


def bad_arguments(tree: Tree) -> Seen:
    """A seed below zero, and an output that is a folder."""
    told = []
    (tree.folder / "there").mkdir()
    for options in (("--seed", -1), ("--out", tree.folder / "there")):
        arguments = ("--white", "random", "--black", "random", "--delay", 0, *options)
        code, out, error = tree.run("demo", *arguments)
        told.append(
            (
                bool(out),
                f"{options[0]}: {len(out.splitlines())} lines of a game, then exit {code}, {brief(last_line(error))}",
            )
        )
    return any(printed for printed, _ in told), "; ".join(text.replace(str(tree.folder), "") for _, text in told)


# -- time


HURRIED = """
import statistics, time, chess
from reconchess import LocalGame
from penumbra.bot import Penumbra

turns = []
for game_number in range(3):
    bot, game = Penumbra(), LocalGame(seconds_per_player=None)
    game.start()
    bot.handle_game_start(True, game.board.copy(), "somebody")
    for move in ("e7e5", "g8f6", "b8c6", "f8c5", "d7d6", "a7a6", "h7h6", "c8g4", "b7b5", "a8b8", "h8g8", "a6a5"):
        begun, capture = time.perf_counter(), game.opponent_move_results()
        bot.handle_opponent_move_result(capture is not None, capture)
        square = bot.choose_sense(game.sense_actions(), game.move_actions(), LEFT)
        bot.handle_sense_result(game.sense(square))
        left = max(0.01, LEFT - (time.perf_counter() - begun))
        requested, taken, capture = game.move(bot.choose_move(game.move_actions(), left))
        bot.handle_move_result(requested, taken, capture is not None, capture)
        turns.append(time.perf_counter() - begun)
        game.end_turn()
        if game.is_over():
            break
        time.sleep(LEFT)
        game.sense(None)
        move = chess.Move.from_uci(move)
        game.move(move if move in game.move_actions() else None)
        game.end_turn()
        if game.is_over():
            break
    bot.handle_game_end(None, None, None)
print(statistics.median(turns), max(turns[1:]), sum(turn > LEFT for turn in turns[1:]), len(turns))
"""


def pondering(tree: Tree) -> Seen:
    """Turns with 0.6 s on the clock, on one core beside a process that never rests, with and without pondering."""
    medians, told = [], []
    with loaded_core(max(os.sched_getaffinity(0)), 1):
        for ponders in ("true", "false"):
            tree.environment.update(PENUMBRA_PONDER=ponders)
            process = tree.start("-c", HURRIED.replace("LEFT", "0.6"))
            out, error = process.communicate(timeout=300)
            assert process.returncode == 0, error
            median, longest, late, turns = map(float, out.split())
            medians.append(median)
            told.append(
                f"{1000 * median:.0f} ms in the median, {longest:.2f} s at most, {late:.0f} of {turns:.0f} too late"
            )
    return medians[0] > 5 * medians[1], f"a turn takes {told[0]}; without pondering {told[1]}"


LOCAL_GAME = """
import chess
from penumbra.interop.local_game import LocalGame

class Restricted(LocalGame):
    def sense_actions(self):
        return [chess.E2]
    def move_actions(self):
        return [chess.Move.from_uci("e2e4")]

for what in ("sense a1", "move d2d4"):
    try:
        Restricted().sense(chess.A1) if what == "sense a1" else Restricted().move(chess.Move.from_uci("d2d4"))
        print(what, "is taken;", end=" ")
    except ValueError as error:
        print(what, "is refused;", end=" ")
import penumbra.interop.local_game as module
said = (module.__doc__ or "") + (LocalGame.__doc__ or "")
print("the docstring", "names" if "both kings" in said else "does not name", "positions without a king")
"""


def local_game(tree: Tree) -> Seen:
    """A subclass of LocalGame that restricts senses and moves."""
    process = tree.start("-c", LOCAL_GAME)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 0, error
    return "taken" in out or "does not" in out, out.strip()


FAULTS: dict[str, tuple[int, Callable[[Tree], Seen]]] = {
    "waker": (1, waker),
    "torn-log": (1, torn_log),
    "weights-match": (2, weights_match),
    "weights-tournament": (2, weights_tournament),
    "weights-server": (2, weights_server),
    "weights-no-number": (2, weights_no_number),
    "interrupt-in-background": (3, interrupt_in_background),
    "requests": (4, requests),
    "memory": (4, memory),
    "flipped-byte": (5, flipped),
    "cut-archive": (5, cut_archive),
    "rescue": (5, rescue),
    "full-disk": (6, full_disk),
    "en-passant": (7, en_passant),
    "never-met": (8, never_met),
    "many-games": (9, many_games),
    "large-numbers": (9, large_numbers),
    "bad-arguments": (9, bad_arguments),
    "interrupt-at-start": (9, interrupt_at_start),
    "pondering": (10, pondering),
    "local-game": (11, local_game),
}  # each with the fault's number in the list of them that docs/results/2026-11.md has


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, help="a checkout that is built")
    parser.add_argument("faults", nargs="*", metavar="FAULT", help=f"of {', '.join(FAULTS)}; all by default")
    options = parser.parse_args()
    if unknown := set(options.faults) - FAULTS.keys():
        parser.error(f"no fault is called {', '.join(sorted(unknown))}")
    there = 0
    for name in options.faults or FAULTS:
        with tempfile.TemporaryDirectory() as folder:
            is_there, seen = FAULTS[name][1](Tree(options.tree.resolve(), Path(folder)))
        there += is_there
        print(f"{FAULTS[name][0]:2} {name}: {'FAULT' if is_there else 'gone'}: {seen}", flush=True)
    raise SystemExit(there > 0)


if __name__ == "__main__":
    main()
