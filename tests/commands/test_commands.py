"""The command line: what it prints, and that everything done wrong is answered by one line and no stack trace."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import penumbra
from penumbra.bench import states
from penumbra.bench.report import Row, to_json
from penumbra.commands.terminal.board import plain_board, rich_board
from penumbra.commands.terminal.frames import frames_of
from penumbra.interop.history import read_record
from tests.support import ROOT
from tests.support.command_line import penumbra as here
from tests.support.processes import run_penumbra as run

QUICK = ("--white", "hunter", "--black", "random", "--seed", "1")


@pytest.fixture(scope="module")
def demo_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("demo") / "demo.json"
    assert here("demo", *QUICK, "--out", path).returncode == 0
    return path


def test_version() -> None:
    assert run("--version").stdout == f"penumbra {penumbra.__version__}\n"


def test_without_arguments_it_says_what_it_can_do() -> None:
    result = run()
    assert result.returncode == 0
    assert all(command in result.stdout for command in ("doctor", "replay", "demo", "bench"))


def test_doctor_names_the_core() -> None:
    result = run("doctor", PENUMBRA_CORE="generic")
    assert re.search(r"native core +generic", result.stdout)
    assert re.search(r"network kernels +(our own for avx|onnxruntime, in )", result.stdout)
    assert ("is not installed" in result.stderr) == (result.returncode == 1)


def test_demo_plays_a_whole_game_and_writes_it(demo_file: Path) -> None:
    record = read_record(demo_file)
    assert (record.white_name, record.black_name) == ("Hunter", "Random")
    assert record.reason is not None
    assert len(record.moves) == len(record.senses)


def test_demo_shows_what_penumbra_believes(tmp_path: Path) -> None:
    """By default Penumbra plays: after each of its steps come the value, the number of states and its best actions."""
    result = run("demo", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("Penumbra v Hunter\n")
    record = read_record(tmp_path / "demo.json")
    thoughts = re.findall(r"^ {17}(?:value \d+, [\d,]+ states; |only action: |sure win: )", result.stdout, re.MULTILINE)
    assert len(thoughts) == 2 * ((len(record.moves) + 1) // 2)
    assert "\x1b" not in result.stdout


def test_demo_repeats_itself_by_seed(demo_file: Path, tmp_path: Path) -> None:
    again, other = tmp_path / "again.json", tmp_path / "other.json"
    here("demo", *QUICK, "--out", again)
    here("demo", *QUICK, "--out", other, "--seed", "2")
    assert again.read_text() == demo_file.read_text() != other.read_text()


def test_replay_shows_every_step_with_both_sets(demo_file: Path) -> None:
    result = run("replay", str(demo_file), "--plain")
    record = read_record(demo_file)
    assert result.returncode == 0
    assert result.stdout.startswith("Hunter v Random\nturn 1, White")
    assert len(re.findall(r"states: White [\d,]+", result.stdout)) == len(record.senses) + len(record.moves)
    assert re.search(r"turn 1, Black .*states: White 1, Black 21\n", result.stdout)
    assert result.stdout.endswith("wins: king capture.\n")


def test_frames_follow_the_game(demo_file: Path) -> None:
    record = read_record(demo_file)
    frames = list(frames_of(record))
    assert [frame.is_move for frame in frames] == [False, True] * len(record.moves)
    assert all(frame.sensed for frame in frames if not frame.is_move)
    assert frames[-1].fen == record.replay().fen()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fly"], "No such command 'fly'"),
        (["replay"], "Missing argument"),
        (["replay", "nowhere.json"], "nowhere.json: cannot be read: No such file or directory"),
        (["replay", "."], "cannot be read"),
        (["bench", "colours"], "colours"),
        (["bench", "rules", "--seconds", "soon"], "--seconds"),
        (["bench", "rules", "--seconds", "-1"], "--seconds"),
        (["demo", "--white", "nobody"], "there is no player 'nobody'; known are penumbra, penumbra:mixture"),
        (["demo", "--out", "no/such/folder/game.json"], "there is no folder no/such/folder"),
        (["--fast"], "--fast"),
    ],
)
def test_errors_are_one_line(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = here(*arguments)
    assert result.returncode not in (0, None)
    assert result.stderr.startswith("penumbra: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr


def test_a_broken_game_file_is_named_with_its_turn(demo_file: Path, tmp_path: Path) -> None:
    data = json.loads(demo_file.read_text())
    data["requested_moves"]["false"][2] = {"type": "Move", "value": "e1e2"}
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps(data))
    result = here("replay", broken)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith(f"penumbra: {broken}: turn 3 of Black: ")
    broken.write_text(demo_file.read_text()[:-100])
    assert "is not JSON" in here("replay", broken).stderr


def test_an_unknown_core_is_one_line() -> None:
    result = run("demo", PENUMBRA_CORE="z80")
    assert result.returncode == 1
    assert result.stderr == "penumbra: PENUMBRA_CORE=z80: no such build of the core; known are generic, x86_64_v3\n"


def test_bench_rules_prints_the_agreed_rows() -> None:
    rows = json.loads(here("bench", "rules", "--json", "--seconds", "0.05").stdout)
    assert [list(row) for row in rows] == [["name", "value", "unit", "peer", "peer_value", "ratio", "note"]] * 2
    assert [(row["name"], row["unit"], row["peer"]) for row in rows] == [
        ("rules.game", "plies/s", None),
        ("rules.localgame", "plies/s", "reconchess"),
    ]
    assert rows[1]["ratio"] == pytest.approx(rows[1]["value"] / rows[1]["peer_value"])


def test_bench_states_measures_the_agreed_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """On small sets, to be quick: what such a set adds to the process is chance, so that its own size is taken."""
    monkeypatch.setattr(states, "_resident", lambda field: 0)
    monkeypatch.setattr(states, "LARGE", 1_000)
    monkeypatch.setattr(states, "MEMORY_STATES", 40_000)
    monkeypatch.setattr(states, "SCALES", (10, 100, 10**9))
    rows = states.run(0.05)
    assert [row.name for row in rows] == [
        "states.expand",
        "states.expand.tight",
        "states.scaling.10",
        "states.scaling.100",
        "states.memory",
    ]
    assert rows[0].peer == "python-chess"
    assert rows[-1].value <= 40  # bytes per state


def test_rows_become_json() -> None:
    assert json.loads(to_json([Row("a", 2.0, "b", "c", 4.0, "d")])) == [
        {"name": "a", "value": 2.0, "unit": "b", "peer": "c", "peer_value": 4.0, "ratio": 0.5, "note": "d"}
    ]


def test_boards_show_the_same_pieces_plain_and_rich() -> None:
    fen = "4k3/8/8/8/8/8/4P3/4K2R w K - 0 1"
    assert plain_board(fen, {4, 12}) == "\n".join(
        [
            "8  .  .  .  .  k  .  .  .",
            *(f"{rank}  .  .  .  .  .  .  .  ." for rank in range(7, 2, -1)),
            "2  .  .  .  . [P] .  .  .",
            "1  .  .  .  . [K] .  .  R",
            "   a  b  c  d  e  f  g  h",
        ]
    )
    assert [len(line) for line in rich_board(fen).plain.split("\n")] == [26] * 8 + [25]
    assert re.findall(r"[♟♞♝♜♛♚]", rich_board(fen).plain) == list("♚♟♚♜")


def test_the_readmes_python_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(blocks) >= 3
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)


def test_the_readmes_commands_run(tmp_path: Path) -> None:
    commands = re.findall(r"^\.venv/bin/penumbra (.*?) *#", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert len(commands) >= 4
    for command in commands:
        extra = ["--seconds", "0.05"] if command.startswith("bench") else []
        result = run(*command.split(), *extra, cwd=tmp_path)
        assert result.returncode == 0 or command == "doctor", (command, result.stderr)


def test_the_readmes_make_targets_exist() -> None:
    targets = re.findall(r"^make (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text()
    assert set(targets) >= {"demo", "test"}
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)
