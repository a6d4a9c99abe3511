"""Help: every command has a place, an explanation of each option and examples that can be parsed."""

from __future__ import annotations

import inspect
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest
from typer.main import get_command

from penumbra.commands import improve, selfplay
from penumbra.commands.main import app
from penumbra.training.ppo import Improvement, ImprovementRun
from penumbra.training.selfplay import SelfPlay
from tests.support.command_line import penumbra
from tests.support.processes import run_penumbra as run


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command and what it is called, groups among them."""
    for name, command in group.commands.items():
        yield (*path, name), command
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))


EVERY = dict(commands(get_command(app)))
NAMES = [" ".join(path) for path in EVERY]


def examples_of(command: Any) -> list[list[str]]:
    """The words of each example, without its first, `penumbra`."""
    text = command.epilog.replace("\\\n", " ")
    return [shlex.split(line)[1:] for line in text.splitlines() if line.startswith("  penumbra ")]


@pytest.mark.parametrize("path", EVERY, ids=NAMES)
def test_every_command_explains_itself(path: tuple[str, ...]) -> None:
    answer = penumbra(*path, "--help")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "Examples:" in answer.stdout and "\x1b" not in answer.stdout
    command = EVERY[path]
    assert "<list[" not in answer.stdout.partition("Options:")[2]  # what a reader would call a file, say
    assert command.help.split("\n\n")[0].strip().endswith(".")
    for parameter in command.params:
        assert parameter.help and parameter.help.endswith("."), parameter.name
        assert not parameter.help.startswith(("The same", "Of ", "Instead ", "As ")), parameter.help


@pytest.mark.parametrize("path", EVERY, ids=NAMES)
def test_examples_can_be_parsed(path: tuple[str, ...]) -> None:
    found = examples_of(EVERY[path])
    assert found
    for words in found:
        assert tuple(words[: len(path)]) == path
        command: Any = get_command(app)
        while hasattr(command, "commands"):
            command, words = command.commands[words[0]], words[1:]
        if "--help" not in words:
            command.make_context(path[-1], words)


def test_an_option_has_one_explanation() -> None:
    """What has one name means one thing; a command may only add to what the others say."""
    said: dict[str, set[str]] = {}
    for command in EVERY.values():
        for parameter in command.params:
            if parameter.param_type_name == "option":
                said.setdefault(parameter.opts[0], set()).add(parameter.help)
    for option in ["workers", "config", "device", "json", "nodes", "cap", "seed", "anchor", "minutes"]:
        texts = {text for text in said[f"--{option}"] if not text.startswith("For belief:")}
        shortest = min(texts, key=len)
        assert all(text.startswith(shortest) for text in texts), (option, texts)


def test_commands_are_listed_in_panels_the_everyday_ones_first() -> None:
    lines = run().stdout.splitlines()
    panels = ["Play:", "Study a game:", "Compete:", "Train:", "Reproduce the paper:", "Maintain:"]
    assert [line for line in lines if line in panels] == panels
    listed = [line.split()[0] for line in lines[lines.index("Play:") :] if line[:2] == "  " and line[2:3].strip()]
    assert set(listed) - {"Examples:"} == {path[0] for path in EVERY}


def test_help_loads_nothing_that_a_command_works_with() -> None:
    code = (
        "import sys\n"
        "from penumbra.commands.main import app\n"
        "app(['match', '--help'], standalone_mode=False)\n"
        "heavy = {'numpy', 'torch', 'chess', 'reconchess', 'matplotlib', 'rich', 'penumbra.core'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete(shell: str) -> None:
    answer = run("--show-completion", shell, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert answer.returncode == 0 and "_COMPLETE=" in answer.stdout


def test_defaults_in_help_are_those_of_the_code() -> None:
    shown = {name: parameter.default for name, parameter in inspect.signature(improve.improve).parameters.items()}
    renamed = {"generated_weight": "population_weight"}
    for given in (Improvement, ImprovementRun):
        for field in fields(given):
            name = renamed.get(field.name, field.name)
            if name in shown and shown[name] not in (None, inspect.Parameter.empty, "auto"):
                assert shown[name] == field.default, name
    assert shown["cap"] == Improvement().examples.cap
    shown = {name: parameter.default for name, parameter in inspect.signature(selfplay.selfplay).parameters.items()}
    assert all(shown[name] == getattr(SelfPlay(), name) for name in ("games", "at_once", "cap", "seed"))
