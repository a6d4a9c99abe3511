"""The command line: what it offers, and that everything done wrong is answered by one line and no stack trace."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import penumbra
from penumbra.__main__ import main as entry_point
from penumbra.interop import stockfish
from tests.support.command_line import Answer
from tests.support.command_line import penumbra as penumbra_here
from tests.support.processes import run_penumbra as run


def test_version() -> None:
    assert run("--version").stdout == f"penumbra {penumbra.__version__}\n"


def test_without_arguments_it_says_what_it_can_do() -> None:
    result = run()
    assert result.returncode == 0
    assert all(command in result.stdout for command in ("doctor", "replay", "demo", "bench"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fly"], "No such command 'fly'"),
        (["replay"], "Missing argument"),
        (["replay", "nowhere.json"], "nowhere.json: cannot be read: No such file or directory"),
        (["replay", "."], "cannot be read"),
        (["bench", "colours"], "colours"),
        (["bench", "rules", "--time", "soon"], "--time"),
        (["bench", "rules", "--time", "-1"], "--time"),
        (
            ["demo", "--white", "nobody"],
            "there is no player 'nobody': it is neither a file, a module, nor one of",
        ),
        (["match", "my_bot.py", "random"], "my_bot.py cannot be read: there is no such file"),
        (["connect", "rbc.jhuapl.edu"], "rbc.jhuapl.edu: a server's address begins with https:// or http://"),
        (["connect", "--username", "me"], "there is nobody to ask: give --username, and --password or PENUMBRA_PASS"),
        (["demo", "--out", "no/such/folder/game.json"], "there is no folder no/such/folder"),
        (["--fast"], "--fast"),
    ],
)
def test_errors_are_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    result = run(*arguments, cwd=tmp_path)
    assert result.returncode not in (0, None)
    assert result.stderr.startswith("penumbra: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr


def test_an_unknown_core_is_one_line() -> None:
    result = run("demo", PENUMBRA_CORE="z80")
    assert result.returncode == 1
    assert result.stderr == "penumbra: PENUMBRA_CORE=z80: no such build of the core; known are generic, x86_64_v3\n"


def test_an_interrupt_while_modules_are_loaded_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupted:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "penumbra.commands.main":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "penumbra.commands.main", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    with pytest.raises(SystemExit) as end:
        entry_point()
    assert (end.value.code, capsys.readouterr().err) == (130, "penumbra: interrupted\n")


def test_an_interrupt_that_a_command_does_not_answer_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """typer alone would end without a word."""

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(stockfish, "find_stockfish", interrupted)
    assert penumbra_here("players") == Answer(130, "", "penumbra: interrupted\n")
