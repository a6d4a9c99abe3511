"""The public interface: every name is there, explains itself, and costs nothing before it is used."""

from __future__ import annotations

import ast
import doctest
import re
from pathlib import Path

import numpy as np
import pytest
from reconchess.bots.random_bot import RandomBot

import penumbra
from penumbra.core import MOVE, PASS, SENSE, START_FEN, Game, GameRecord, Infostates, StateSet
from penumbra.dsmcp.domain import Floats, Legal
from penumbra.network.weights import LITE, WeightsError
from penumbra.players.opponents.random_player import RandomPlayer
from tests.support import ROOT
from tests.support.processes import run_python

NAMES = [name for name in penumbra.__all__ if not name.startswith("__")]
# What no docstring can be attached to.
CONSTANTS = [
    "INNER_SQUARES",
    "MOVE",
    "PASS",
    "PLANES",
    "SENSE",
    "SHARES",
    "START_FEN",
    "Observation",
    "ImpossibleObservation",
]
HEAVY = ["numpy", "torch", "chess", "reconchess", "fastapi", "onnxruntime", "typer", "penumbra.core"]
PAGE = (ROOT / "docs" / "api.md").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_there_and_explains_itself(name: str) -> None:
    found = getattr(penumbra, name)
    assert getattr(penumbra, name) is found  # and the same one each time
    if name not in CONSTANTS:
        assert len(found.__doc__.split()) > 5
        assert not found.__doc__.startswith(f"{name}(")  # what a dataclass says where nobody wrote anything


@pytest.mark.parametrize("name", [name for name in NAMES if name not in CONSTANTS])
def test_examples_in_docstrings_are_right(name: str) -> None:
    text = getattr(penumbra, name).__doc__
    names = {each: getattr(penumbra, each) for each in NAMES}
    test = doctest.DocTestParser().get_doctest(text, names, name, None, None)
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


def test_public_names_are_those_that_editors_and_the_page_have() -> None:
    """`__all__`, the table of homes, the imports for type checkers and docs/api.md say the same."""
    tree = ast.parse(Path(penumbra.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imported = {
        each.asname or each.name: (node.module, each.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for each in node.names
    }
    assert set(imported) == set(NAMES) == set(penumbra._HOMES)
    for name, home in penumbra._HOMES.items():
        module, _, called = home.partition(":")
        assert imported[name] == (f"penumbra.{module}", called or name)
    listed = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", PAGE, re.MULTILINE)
    assert sorted(word.strip("`") for cell in listed for word in cell.split(", ")) == sorted(NAMES)
    assert dir(penumbra) == sorted(penumbra.__all__)


def test_importing_costs_nothing() -> None:
    code = f"import sys, penumbra; print([name for name in {HEAVY} if name in sys.modules])"
    assert run_python("-c", code).stdout == "[]\n"


def test_what_is_not_public_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'penumbra' has no attribute 'Fleet'"):
        penumbra.Fleet  # noqa: B018


def test_types_are_shipped() -> None:
    assert (Path(penumbra.__file__).parent / "py.typed").exists()


# -- boards


def test_a_game_shows_its_board_from_either_side() -> None:
    game = Game("r3k2r/8/8/8/8/8/4P3/4K2R b Kq - 0 1")
    lines = repr(game).splitlines()
    assert lines[0] == "<Game: 0 moves made, Black to sense>"
    assert lines[1] == "8 r . . . k . . r" and lines[8] == "1 . . . . K . . R"
    game.sense(None)
    assert repr(game).startswith("<Game: 0 moves made, Black to move>")


def test_a_game_that_is_over_says_how() -> None:
    game = Game("4k3/8/8/8/8/8/4R3/K7 w - - 0 1")
    game.sense(None)
    game.act(penumbra.parse_action("e2e8"))
    assert repr(game).startswith("<Game: 1 moves made, White won, KING_CAPTURE>")
    assert repr(game.record()) == "<GameRecord: White v Black, 1 turns, White won, KING_CAPTURE>"
    assert repr(GameRecord("A", "B")) == "<GameRecord: A v B, 0 turns, undecided>"


def test_a_set_shows_what_its_states_agree_on() -> None:
    one = repr(StateSet(START_FEN, False)).splitlines()
    assert one[0] == "<StateSet of Black: 1 state, White to act>" and one[1] == "8 r n b q k b n r"
    fens = ["4k3/8/8/8/8/8/4n3/K7 w - - 0 1", "4k3/8/8/8/8/8/5n2/K7 w - - 0 1"]
    two = repr(StateSet.from_fens(fens, True)).splitlines()
    assert (two[1], two[7], two[8]) == ("8 . . . . k . . .", "2 . . . . ? ? . .", "1 K . . . . . . .")
    cut = StateSet(START_FEN, False).expand(None, cap=5)
    assert repr(cut).startswith("<StateSet of Black: 5 states of more, Black to act>")
    assert repr(Infostates.draw(cut, 3, SENSE, 4)) == "<Infostates: 3 rows of at most 4 states each>"


# -- games


def test_any_players_can_meet(tmp_path: Path) -> None:
    """Ours, reconchess', one by its name, and one by its file."""
    by_name = penumbra.play_game("hunter", RandomPlayer(1), seed=6)
    assert (by_name.winner, by_name.reason) == (True, "king capture")
    assert penumbra.play_game("hunter", RandomPlayer(1), seed=6).record.to_bytes() == by_name.record.to_bytes()
    assert penumbra.play_game(RandomBot(), "random").record.white_name == "RandomBot"
    path = tmp_path / "mine.py"
    path.write_text("from reconchess.bots import random_bot\n\n\nclass Mine(random_bot.RandomBot):\n    pass\n")
    assert penumbra.play_game(path, "random").record.white_name == "Mine"


def test_what_is_no_player_is_said() -> None:
    with pytest.raises(ValueError, match="there is no player 'nobody'"):
        penumbra.play_game("nobody", "random")
    with pytest.raises(TypeError, match="3 is no player"):
        penumbra.play_game(3, "random")


def test_penumbra_is_made_from_keys_that_are_checked() -> None:
    player = penumbra.Penumbra(nodes=400, preset="tree", settings={"c": 1.0})
    assert (player.nodes, player.name, player.settings.m, player.settings.c) == (400, "PenumbraTree", float("inf"), 1)
    changed = penumbra.Penumbra(player.configuration, seed=7)
    assert (changed.nodes, changed.settings.seed) == (400, 7)
    with pytest.raises(ValueError, match="there is no 'node'"):
        penumbra.Penumbra(node=3)
    with pytest.raises(ValueError, match="nodes = 0"):
        penumbra.Penumbra(nodes=0)


# -- networks


def middle_game(rows: int) -> Infostates:
    states = StateSet(START_FEN, False).expand(None)
    return Infostates.draw(states, rows, MOVE, 8)


def test_a_batch_is_evaluated_row_by_row_however_large() -> None:
    """More rows than are evaluated at a time give what each gives alone."""
    batch = middle_game(1500)
    whole = penumbra.evaluate(batch, "lite", device="cpu")
    assert len(whole) == 1500 and whole.policy().shape == (1500, 4161)
    assert np.allclose(whole.policy().sum(axis=1), 1, atol=1e-4) and np.all(np.abs(whole.values) <= 1)
    for r in (0, 1023, 1024, 1499):
        one = penumbra.evaluate(batch.take(np.array([r])), LITE, device="cpu")
        actions, priors = whole.row(r)
        assert np.array_equal(one.actions, actions) and PASS in actions
        assert np.allclose(one.priors, priors, atol=1e-3) and np.allclose(one.values, whole.values[r], atol=1e-3)


def test_any_object_with_the_method_evaluates() -> None:
    class Mine:
        synopsis = "shares"

        def evaluate(self, features: np.ndarray, legal: Legal, opponent: bool) -> tuple[Floats, Floats]:
            sizes = np.diff(legal.offsets)
            share = np.repeat(1 / sizes, sizes).astype(np.float32)
            return share, np.full(len(features), -1.0 if opponent else 1.0, np.float32)

    batch = middle_game(3)
    assert penumbra.evaluate(batch, Mine()).values.tolist() == [1, 1, 1]
    assert penumbra.evaluate(batch, Mine(), opponent=True).values.tolist() == [-1, -1, -1]


def test_weights_have_names_and_files() -> None:
    lite = penumbra.load_weights()
    assert lite.architecture == penumbra.load_weights("lite").architecture == penumbra.load_weights(LITE).architecture
    with pytest.raises(WeightsError, match="there are no weights"):
        penumbra.load_weights("nowhere.safetensors")
    with pytest.raises(WeightsError, match="there is no headset 'Nobody'"):
        penumbra.load_evaluator("lite", "cpu", policy="Nobody")
