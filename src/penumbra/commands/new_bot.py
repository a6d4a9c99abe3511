"""`penumbra new-bot`: a player to start from, and its tests."""

from __future__ import annotations

import keyword
import re
from pathlib import Path
from typing import Annotated

import typer

from penumbra.commands.options import examples

EXAMPLES = examples("penumbra new-bot Magpie", "penumbra new-bot 'Grey Heron' --folder bots")
TEMPLATES = Path(__file__).parent / "templates"


def new_bot(
    name: Annotated[str, typer.Argument(help="What the player is called.")],
    folder: Annotated[Path, typer.Option(help="The folder to write to; made if there is none.")] = Path(),
) -> None:
    """Write a working player of your own: a reconchess player that knows every possible position and asks a network.

    Beside it goes a file of tests, which pass. Both are yours to change.
    """
    from penumbra.whole_files import write_text

    module, called = names(name)
    written = {"bot.py.txt": folder / f"{module}.py", "test_bot.py.txt": folder / f"test_{module}.py"}
    for path in written.values():
        if path.exists():
            raise ValueError(f"{path} is there already; choose another name or folder")
    folder.mkdir(parents=True, exist_ok=True)
    for template, path in written.items():
        text = (TEMPLATES / template).read_text(encoding="utf-8")
        write_text(path, text.replace("NAME", called).replace("FILE", module))
    bot, test = written.values()
    print(f"{called} is in {bot}, its tests in {test}. Next:")
    print(f"  python -m pytest {test}")
    print(f"  penumbra match {bot} hunter --games 4 --clock none")
    print(f"  penumbra serve --bot {bot}")


def names(name: str) -> tuple[str, str]:
    """The file's name without its ending, and the class; ValueError if none can be made of it."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)
    module, called = "_".join(words).lower(), "".join(word[0].upper() + word[1:] for word in words)
    if not called.isidentifier() or keyword.iskeyword(module) or not re.fullmatch(r"[A-Za-z0-9 _-]+", name):
        raise ValueError(
            f"{name!r} cannot be a player's name here; use letters and digits, a letter first, and no word of Python's"
        )
    return module, called
