"""A page for each command, from what its `--help` says."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from penumbra.commands.main import app

INDEX = """\
# Commands

`penumbra COMMAND --help` says in the terminal what the pages here say.
"""


def write_commands(folder: Path) -> None:
    """`index.md` and a page for each command."""
    panels: dict[str, list[tuple[str, Any]]] = {}
    root: Any = get_command(app)
    for name, command in commands(root):
        panel = command.rich_help_panel or root.commands[name.split()[0]].rich_help_panel
        panels.setdefault(panel, []).append((name, command))
    index = [INDEX]
    for panel, found in panels.items():
        index.append(f"\n## {panel}\n\n| command | what it does |\n|---|---|\n")
        index += [f"| [`penumbra {name}`]({_file(name)}) | {_first_sentence(command)} |\n" for name, command in found]
    every = [_file(name).removesuffix(".md") for found in panels.values() for name, _ in found]
    index.append("\n```{toctree}\n:hidden:\n\n" + "\n".join(every) + "\n```\n")
    (folder / "index.md").write_text("".join(index))
    for name, command in commands(root):
        (folder / _file(name)).write_text(page(name, command))


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every command by what is typed after `penumbra`, in the order of the help; groups give way to what is in them."""
    for name in group.list_commands(None):
        command = group.commands[name]
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


def page(name: str, command: Any) -> str:
    """What the command does, its examples, and a table of its arguments and one of its options."""
    context = command.make_context(f"penumbra {name}", [], resilient_parsing=True)
    usage = " ".join(command.collect_usage_pieces(context))
    examples = re.sub(r"^  ", "", command.epilog.partition("Examples:\n")[2], flags=re.MULTILINE)
    parts = [
        f"# penumbra {name}\n\n{_plain(inspect.cleandoc(command.help))}\n",
        f"\n```sh\npenumbra {name} {usage}\n```\n",
        f"\n## Examples\n\n```sh\n{examples.strip()}\n```\n",
    ]
    for title, kind in (("Arguments", "argument"), ("Options", "option")):
        found = [parameter for parameter in command.params if parameter.param_type_name == kind]
        if records := [record for each in found if (record := each.get_help_record(context))]:
            parts.append(f"\n## {title}\n\n| {kind} | what it means |\n|---|---|\n")
            parts += [f"| `{_cell(left)}` | {_plain(_cell(right))} |\n" for left, right in records]
    return "".join(parts)


def _file(name: str) -> str:
    return f"{name.replace(' ', '-')}.md"


def _first_sentence(command: Any) -> str:
    return _plain(_cell(command.get_short_help_str(limit=1000)))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _plain(text: str) -> str:
    """Help is plain text: outside `code` none of its characters is markup."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([*_<>\[\]])", r"\\\1", part) for part in parts)
