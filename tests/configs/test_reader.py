"""One reader for every configuration: what may be said, and the one line that says what is wrong."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from penumbra.arena.population import read_population
from penumbra.arena.tournament_plan import read_tournament
from penumbra.configs import shipped
from penumbra.configs.reader import (
    ConfigurationError,
    Count,
    Name,
    Natural,
    NotNegative,
    OneOf,
    Positive,
    Share,
    Unlimited,
    at_least,
    check,
    checked,
    from_text,
    read,
    read_toml,
    replaced,
    within,
)
from penumbra.training.recipe import read_recipe
from tests.support.command_line import penumbra
from tests.support.processes import run_penumbra, run_python

POPULATIONS = ("population", "variants")
TOURNAMENTS = ("gauntlet", "levels", "tournament")
RECIPES = (
    "full",
    "full-graded",
    "heads",
    "lite",
    "lite-graded",
    "paper",
    "real",
    "searched",
)


@dataclass(frozen=True)
class Inner:
    depth: Count
    share: Share = 0.5


@dataclass(frozen=True)
class Everything:
    kind: str
    flag: bool = False
    natural: Natural = 0
    count: Count = 1
    size: Annotated[int, at_least(10)] = 10
    number: float = 0.0
    share: Share = 0.0
    weight: NotNegative = 0.0
    seconds: Positive | None = None
    limit: Unlimited = math.inf
    name: Name = "x"
    word: Literal["big", "small"] = "big"
    opening: Annotated[str, OneOf(("none", "reti"))] = "none"
    numbers: tuple[Count, ...] = (6, 12)
    players: Annotated[str, OneOf(("all", "top"))] | tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    inner: Inner = field(default_factory=lambda: Inner(3))
    named: Mapping[str, Inner] = field(default_factory=dict)
    several: tuple[Inner, ...] = ()


def test_a_table_becomes_a_dataclass() -> None:
    table = {
        "kind": "trout",
        "flag": True,
        "number": 2,
        "limit": math.inf,
        "seconds": 3,
        "numbers": [4, 8],
        "players": ["A", "B"],
        "settings": {"any": {"thing": [1]}},
        "inner": {"depth": 2},
        "named": {"All": {"depth": 4, "share": 1}},
        "several": [{"depth": 1}],
    }
    made = read(Everything, table)
    assert made == Everything(
        "trout",
        flag=True,
        number=2.0,
        seconds=3.0,
        numbers=(4, 8),
        players=("A", "B"),
        settings={"any": {"thing": [1]}},
        inner=Inner(2),
        named={"All": Inner(4, 1.0)},
        several=(Inner(1),),
    )
    assert isinstance(made.number, float) and isinstance(made.named["All"].share, float)
    assert read(Everything, {"kind": "trout"}) == Everything("trout")
    assert read(Everything, {"kind": "trout", "players": "top"}).players == "top"
    assert read(Everything, dataclasses.asdict(made)) == made


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"kind": 3}, "kind = 3: it must be a text"),
    ({"flag": 1}, "flag = 1: it is true or false"),
    ({"flag": "true"}, "flag = 'true': it is true or false"),
    ({"natural": -1}, "natural = -1: it must be a whole number from 0"),
    ({"natural": 1.0}, "natural = 1.0: it must be a whole number from 0"),
    ({"count": 0}, "count = 0: it must be a whole number from 1"),
    ({"count": True}, "count = True: it must be a whole number from 1"),
    ({"count": "3"}, "count = '3': it must be a whole number from 1"),
    ({"size": 9}, "size = 9: it must be a whole number from 10"),
    ({"number": "two"}, "number = 'two': it must be a number"),
    ({"number": False}, "number = False: it must be a number"),
    ({"number": 10**400}, "it must be a number"),
    ({"share": 1.01}, "share = 1.01: it must be a number from 0 to 1"),
    ({"share": -0.01}, "share = -0.01: it must be a number from 0 to 1"),
    ({"share": math.nan}, "share = nan: it must be a number from 0 to 1"),
    ({"weight": math.inf}, "weight = inf: it must be a number from 0"),
    ({"weight": math.nan}, "weight = nan: it must be a number from 0"),
    ({"seconds": 0}, "seconds = 0: it must be a number above 0"),
    ({"seconds": math.inf}, "seconds = inf: it must be a number above 0"),
    ({"limit": -1}, "limit = -1: it must be a number from 0, or inf"),
    ({"limit": math.nan}, "limit = nan: it must be a number from 0, or inf"),
    ({"name": ""}, "name = '': it must be a text that is not empty"),
    ({"word": "medium"}, "word = 'medium': it is one of big, small"),
    ({"word": ["big"]}, "word = ['big']: it is one of big, small"),
    ({"opening": "london"}, "opening = 'london': it is one of none, reti"),
    ({"opening": {}}, "opening = {}: it is one of none, reti"),
    ({"numbers": 6}, "numbers = 6: it must be a list of whole numbers from 1"),
    ({"numbers": []}, "numbers = []: it must be a list of whole numbers from 1"),
    ({"numbers": [6, 0]}, "numbers = [6, 0]: it must be a list of whole numbers from 1"),
    ({"players": "best"}, "players = 'best': it is one of all, top or a list of texts"),
    ({"players": [1]}, "players = [1]: it is one of all, top or a list of texts"),
    ({"settings": [1]}, "settings = [1]: it must be a table"),
    ({"environment": {"A": 1}}, "environment = {'A': 1}: it must be a table of texts"),
    ({"inner": 3}, "inner = 3: it must be a table"),
    ({"inner": {"depth": 0}}, "inner: depth = 0: it must be a whole number from 1"),
    ({"inner": {"share": 0.1}}, "inner: depth is missing: it must be a whole number from 1"),
    ({"inner": {"depth": 1, "deep": 2}}, "inner: there is no 'deep'; there are depth, share"),
    ({"named": {"All": 3}}, "named = {'All': 3}: it must be a table of tables"),
    ({"named": {"All": {"depth": 0}}}, "named.All: depth = 0: it must be a whole number from 1"),
    ({"several": {"depth": 1}}, "several = {'depth': 1}: it must be a list of tables"),
    ({"several": [{"depth": 0}]}, "several 1: depth = 0: it must be a whole number from 1"),
    ({"knid": "trout"}, "there is no 'knid'; there are kind, flag, natural, count, size"),
    ({"kind": "two\nlines", "count": 0}, "count = 0"),
    ({"number": "long " * 100}, "long long…: it must be a number"),
]


@pytest.mark.parametrize(("table", "message"), WRONG, ids=[message for _, message in WRONG])
def test_what_is_wrong_is_one_line(table: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError) as error, within("my\nfile.toml"):
        read(Everything, {"kind": "trout", **table})
    said = str(error.value)
    assert said.startswith("my file.toml: ") and message in said
    assert "\n" not in said and len(said) < 300


def test_a_key_without_a_default_must_be_there_but_not_in_changes() -> None:
    with pytest.raises(ConfigurationError, match=r"^kind is missing: it must be a text$"):
        read(Everything, {})
    assert checked(Everything, {"numbers": [1]}) == {"numbers": (1,)}
    assert replaced(Inner(3), {"share": 1}) == Inner(3, 1.0)
    with pytest.raises(ConfigurationError, match=r"^there is no 'kind'; there are depth, share$"):
        replaced(Inner(3), {"kind": 1})


def test_a_dataclass_that_is_made_directly_can_check_itself() -> None:
    check(Inner(3))
    with pytest.raises(ConfigurationError, match="share = 2: it must be a number from 0 to 1"):
        check(Inner(3, 2))


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [("flag", "Yes", True), ("flag", "0", False), ("count", "12", 12), ("seconds", "2", 2.0), ("kind", "7", "7")],
)
def test_a_variable_is_a_text(key: str, text: str, value: Any) -> None:
    found = from_text(Everything, key, text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        ("flag", "maybe", "it is true or false"),
        ("count", "1.5", "it must be a whole number from 1"),
        ("seconds", "nan", "it must be a number above 0"),
        ("word", "medium", "it is one of big, small"),
    ],
)
def test_a_wrong_variable_says_what_is_allowed(key: str, text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{message}$"):
        from_text(Everything, key, text)


# -- files


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"preset = ", "is not TOML: "),
        (b"a = 1\na = 2", "is not TOML: "),
        (b"a = " + b"9" * 5000, "is not TOML: "),
        (b"a = " + b"[" * 5000, "is not TOML: "),
        ("name = 'Grünfeld'".encode("latin-1"), "is not a text file"),
        (b"\xff\xfe\x00", "is not a text file"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "broken.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigurationError) as error:
        read_toml(path)
    assert str(error.value).startswith(f"{path}: {message}") and "\n" not in str(error.value)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read: Is a directory"):
        read_toml(tmp_path)


# -- what comes with the program


def test_every_shipped_file_is_read_by_its_name(tmp_path: Path) -> None:
    assert shipped.names() == sorted((*POPULATIONS, *TOURNAMENTS, *RECIPES, "improve"))
    improve = tmp_path / "improve.toml"  # in which training puts the address of its inference server
    improve.write_text(shipped.find("improve").read_text().replace("DEVICE", "unix:socket"))
    for name in (*POPULATIONS, improve):
        assert read_population(name).members
    for name in TOURNAMENTS:
        assert read_tournament(name).players
    for name in RECIPES:
        assert read_recipe(name).plans


@pytest.mark.parametrize("name", shipped.names())
def test_every_key_of_a_shipped_file_is_explained(name: str) -> None:
    """Behind it where it is first used, or in a line of its own above."""
    explained: set[str] = set()
    lines = shipped.find(name).read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# ")
    for line in lines:
        if line.startswith("#"):
            explained.update(line.replace("`", " ").replace(":", " ").split())
        elif " = " in line:
            key = line.split(" = ")[0]
            assert key in explained or "  # " in line or key in ("hero", "settings"), f"{name}: {line}"
            explained.add(key)


def test_a_file_comes_before_a_shipped_one_of_the_same_name_and_a_folder_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert shipped.find("lite") == shipped.FOLDER / "lite.toml"
    Path("lite").mkdir()
    assert shipped.find("lite") == shipped.FOLDER / "lite.toml"
    Path("lite").rmdir()
    Path("lite").write_text("")
    assert shipped.find("lite") == Path("lite")
    assert shipped.find(tmp_path) == tmp_path


@pytest.mark.parametrize("command", ["train", "generate", "tournament"])
def test_a_name_that_is_not_shipped_is_one_line_with_those_that_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    options = ["--archive", "games.db", *(["--out", "run"] if command == "train" else [])]
    answer = penumbra(command, "light", *options)
    assert (answer.returncode, answer.stderr.count("\n")) == (1, 1)
    assert "light: there is no such file" in answer.stderr and ", ".join(shipped.names()) in answer.stderr
    assert list(tmp_path.iterdir()) == []


def test_commands_find_their_configurations_from_any_folder(tmp_path: Path) -> None:
    """`reproduce` at its largest scale too, whose recipe is the paper's."""
    code = (
        "from pathlib import Path\n"
        "from penumbra.reproduce import runs, table1\n"
        "from penumbra.reproduce.request import Request\n"
        "from penumbra.training.recipe import read_recipe\n"
        "recipe = runs.recipe_for(Request('paper', Path('out')), [])\n"
        "print(recipe.training.steps, len(recipe.plans), len(read_recipe(table1.SHIPPED_RECIPE).plans))\n"
    )
    run = run_python("-c", code, cwd=tmp_path)
    assert (run.returncode, run.stdout) == (0, "650000 14 13\n"), run.stderr
    played = run_penumbra("generate", "population", "--archive", "games.db", "--games", "1", cwd=tmp_path)
    assert (played.returncode, played.stderr) == (0, "")
    assert "1 of 1 games" in played.stdout
