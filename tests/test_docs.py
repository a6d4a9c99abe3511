"""The documents: their Python runs, their links resolve, every page is linked, and the table of planes is right."""

import csv
import importlib.util
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from penumbra.commands.main import app
from penumbra.rbc.synopsis import PLANES, SHARES
from penumbra.reproduce import published
from penumbra.reproduce.cross_tables import best_of_columns
from tests.support import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if "generated" not in page.parts)
TUTORIALS = DOCS / "tutorials"  # test_tutorials.py runs them
DIARY = DOCS / "results"  # quotes commands as they were run, whatever the modules are called today
WITH_PYTHON = [page for page in PAGES if "```python" in page.read_text() and TUTORIALS not in page.parents]
INDEX, README = DOCS / "index.md", ROOT / "README.md"
WRITTEN = [*PAGES, README, ROOT / "CHANGELOG.md"]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", WRITTEN, ids=name_of)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    for file, anchor in links(page):
        assert file.exists(), f"{name_of(page)}: {file}"
        if anchor:
            assert anchor in anchors(file), f"{name_of(page)}: {name_of(file)}#{anchor}"


@pytest.mark.parametrize("start", [INDEX, README], ids=name_of)
def test_every_page_is_linked(start: Path) -> None:
    linked = {file for file, _ in links(start)}
    assert [name_of(page) for page in PAGES if page not in linked and page != start] == []


@pytest.mark.parametrize("page", [page for page in WRITTEN if DIARY not in page.parents], ids=name_of)
def test_the_modules_that_a_page_runs_exist(page: Path) -> None:
    for module in re.findall(r"python -m ([\w.]+)", page.read_text()):
        assert importlib.util.find_spec(module), f"{name_of(page)}: {module}"


@pytest.mark.parametrize("page", [page for page in WRITTEN if DIARY not in page.parents], ids=name_of)
def test_the_commands_that_a_page_gives_exist_with_their_options(page: Path) -> None:
    wrong = []
    for words in command_lines(page):
        command: Any = typer.main.get_command(app)
        while words and hasattr(command, "commands") and re.fullmatch(r"[a-z-]+", words[0]):
            name = words.pop(0)
            if name not in command.commands:
                wrong.append(name)
                break
            command = command.commands[name]
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        given = {word.partition("=")[0] for word in words if re.fullmatch(r"--[a-z].*", word)}
        wrong += [f"{command.name} {option}" for option in sorted(given - known - {"--help"})]
    assert wrong == []


@pytest.mark.parametrize("page", WITH_PYTHON, ids=name_of)
def test_the_python_of_a_page_runs_in_order(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in python_blocks(page):
        exec(compile(block, page, "exec"), names)


@pytest.mark.parametrize("number", range(len(re.findall("```python", README.read_text()))))
def test_each_python_block_of_the_readme_runs_alone(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(python_blocks(README)[number], README, "exec"), {})


def test_the_table_of_planes_has_every_plane_once() -> None:
    rows = re.findall(r"^\| ([\d–, ]+) \| (.*?) \|", (DOCS / "synopsis.md").read_text(), re.MULTILINE)
    numbers = [number for cell, _ in rows for number in numbers_of(cell)]
    planes = [*PLANES, *SHARES]
    assert numbers == [plane.number for plane in planes]
    single = {int(cell): name for cell, name in rows if cell.isdigit()}
    assert len(single) > 20
    for number, name in single.items():
        assert planes[number].name.lower() == name


def test_the_readme_quotes_the_verdict_of_the_reproduction() -> None:
    verdict = (DOCS / "reproduction.md").read_text().partition("## The verdict")[2].partition("\n## ")[0].splitlines()
    quoted = [line[2:] for line in README.read_text().splitlines() if line.startswith("> ")]
    assert quoted[0].startswith("Of ") and set(quoted) <= set(verdict)


def test_training_says_how_many_columns_the_diagonal_wins() -> None:
    """Of our tables of headsets and data, and of the paper's."""
    said = " ".join((DOCS / "training.md").read_text().split())
    for words, ours, theirs in (
        ("12 of 13 columns for top-1 and for top-5, and in the paper's tables in 14 of 14", "top1", "cross1"),
        ("12 of 13 columns for top-1 and for top-5, and in the paper's tables in 14 of 14", "top5", "cross5"),
        ("3 columns of 13 (All, Trout and Random), in the paper 13 of 14", "winner", "crosswin"),
    ):
        with (DOCS / "tables" / f"cross_{ours}.csv").open() as file:
            rows = list(csv.DictReader(file))
        cells = {(row["headset"], name): float(row[name]) for row in rows for name in row if name != "headset"}
        counts = [
            (sum(name == best for name, best in best_of_columns(table).items()), len({name for _, name in table}))
            for table in (cells, published.cross(theirs))
        ]
        numbers = [tuple(map(int, pair)) for pair in re.findall(r"(\d+)(?: columns)? of (\d+)", words)]
        assert words in said and numbers == counts, (ours, counts)


def links(page: Path) -> list[tuple[Path, str]]:
    """The relative links of a page outside its code: the file, and the anchor in it or nothing."""
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
    found = []
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if not re.match(r"[a-z]+:", target):
            file, _, anchor = target.partition("#")
            found.append(((page.parent / file).resolve() if file else page, anchor))
    return found


def command_lines(page: Path) -> list[list[str]]:
    """What follows `penumbra` in each command line of a page, in its code alone."""
    text = page.read_text().replace("\\\n", " ")
    blocks = re.findall(r"```(?:sh)?\n(.*?)```", text, re.DOTALL)
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    found = []
    for line in [line for block in blocks for line in block.splitlines()] + spans:
        if match := re.match(r"(?:[A-Z_]+=\S+ )*(?:time )?(?:\S*/)?penumbra ([a-z].*)", line.strip()):
            found.append(shlex.split(match[1].split(" #")[0]))
    return found


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings as GitHub makes them; of repeated headings the first one's."""
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def python_blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)


def numbers_of(cell: str) -> list[int]:
    ends = [int(word) for word in re.findall(r"\d+", cell)]
    return list(range(ends[0], ends[-1] + 1))
