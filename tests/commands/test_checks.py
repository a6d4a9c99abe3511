"""What could only fail after the work, or never end, is refused before it."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from penumbra.commands.checks import CheckedCommand, file_to_read, file_to_write, folder_to_fill
from penumbra.commands.main import app
from tests.support.command_line import penumbra


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["match", "penumbra", "random", "--nodes", "100000000000000000000"],
            "--nodes: 100,000,000,000,000,",
        ),
        (["match", "random", "random", "--workers", "5000"], "--workers: 5,000 is too much; at most 1,024"),
        (["match", "random", "random", "--seconds", "inf"], "--seconds: inf is not a finite number"),
        (["match", "random", "random", "--sprt", "--elo1", "nan"], "--elo1: nan is not a finite number"),
        (["demo", "--seed", "-1"], "--seed"),
        (["demo", "--seed", "9999999999999999999"], "--seed: 9,999,999,999,999,999,999 is too much"),
        (["demo", "--out", "there"], "there cannot be written: Is a directory"),
        (["demo", "--out", "none/game.json"], "none/game.json cannot be written: there is no folder none"),
        (["match", "random", "random", "--out", "file"], "file cannot be written to: file is not a folder"),
        (["match", "random", "random", "--out", "file/games"], "file/games cannot be written to: file is not a folder"),
        (["archive", "export", "x.db", "none/x.jsonl"], "none/x.jsonl cannot be written: there is no folder none"),
        (["archive", "verify", "x.db", "--cap", "99999999999"], "--cap: 99,999,999,999 is too much"),
        (["replay", "x.json", "--html", "there"], "there cannot be written: Is a directory"),
        (
            ["evaluate", "none.safetensors", "--archive", "x.db"],
            "none.safetensors cannot be read",
        ),
        (["selfplay", "--archive", "x.db", "--headset", "Nobody"], "there is no headset 'Nobody'"),
    ],
)
def test_it_is_one_line_before_anything_is_done(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    (tmp_path / "file").touch()
    result = penumbra(*arguments)
    assert result.returncode in (1, 2)
    assert result.stderr.startswith("penumbra: ") and result.stderr.count("\n") == 1
    assert message in result.stderr
    assert result.stdout == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "there"]


def test_every_command_is_checked() -> None:
    """Those of groups too."""

    def commands(of: typer.Typer) -> list[object]:
        groups = [group.typer_instance for group in of.registered_groups if group.typer_instance is not None]
        return [each.cls for each in of.registered_commands] + [cls for each in groups for cls in commands(each)]

    assert len(commands(app)) > 20
    assert set(commands(app)) == {CheckedCommand}


def test_looking_whether_something_can_be_written_changes_nothing(tmp_path: Path) -> None:
    old = tmp_path / "old.json"
    old.write_text("{}")
    file_to_read(old)
    file_to_write(old)
    file_to_write(tmp_path / "new.json")
    folder_to_fill(tmp_path / "a" / "b")
    assert old.read_text() == "{}"
    assert [path.name for path in tmp_path.iterdir()] == ["old.json"]
