"""The tutorials run as they stand: their files, their Python and their commands, in order, in an empty folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.command_line import penumbra

TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))


def blocks(page: Path) -> list[tuple[list[str], str]]:
    """The fenced blocks of a page: the words after the fence, and what is inside."""
    found = re.findall(r"^```(\w[^\n]*)\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    return [(info.split(), body) for info, body in found]


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for (language, *file), body in blocks(page):
        if file:
            Path(file[0]).write_text(body)
        elif language == "python":
            exec(compile(body, page, "exec"), names)
        else:
            assert language == "sh", f"{page.name}: what runs {language}?"
            for command in body.splitlines():
                first, *words = command.split()
                answer = penumbra(*words)
                assert (first, answer.returncode, answer.stderr) == ("penumbra", 0, ""), (command, answer.stdout)


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_imports_public_names_alone(page: Path) -> None:
    modules = re.findall(r"^\s*(?:from|import) (penumbra\S*)", page.read_text(), re.MULTILINE)
    assert set(modules) <= {"penumbra", "penumbra.env"}


def test_there_is_a_tutorial_for_each_use() -> None:
    assert {page.stem for page in TUTORIALS} == {
        "play-your-bot",
        "analyse-a-game",
        "read-a-belief",
        "train-a-small-network",
        "write-a-domain",
    }
