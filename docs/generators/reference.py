"""The reference of the public names: one page for each name of `penumbra.__all__`, from its docstring."""

from __future__ import annotations

import inspect
import types
from pathlib import Path
from typing import Any, get_args

import penumbra

INDEX = """\
# Reference

What `import penumbra` offers, from the docstrings. All other modules are internal and may change.
"""
LONGEST_VALUE = 100
KINDS = {"class": "Classes", "function": "Functions", "data": "Constants and types"}


def write_reference(folder: Path) -> None:
    """`index.md` and a page for each name."""
    names = {name: getattr(penumbra, name) for name in penumbra.__all__ if not name.startswith("__")}
    index = [INDEX]
    for kind, title in KINDS.items():
        if found := [name for name, thing in names.items() if kind_of(thing) == kind]:
            index.append(f"\n## {title}\n\n| name | what it is |\n|---|---|\n")
            index += [f"| [`{name}`]({name}.md) | {summary(names[name])} |\n" for name in found]
    index.append("\n```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```\n")
    (folder / "index.md").write_text("".join(index))
    for name, thing in names.items():
        members = "   :members:\n   :undoc-members:\n" if kind_of(thing) == "class" else ""
        directive = f".. auto{kind_of(thing)}:: penumbra.{name}\n{members}"
        (folder / f"{name}.md").write_text(f"# {name}\n\n```{{eval-rst}}\n{directive}```\n")


def kind_of(thing: Any) -> str:
    if inspect.isclass(thing):
        return "class"
    return "function" if callable(thing) and hasattr(thing, "__name__") else "data"


def summary(thing: Any) -> str:
    """The first paragraph of its docstring; of a constant, its value, unless that is long; of a union, its parts."""
    if isinstance(thing, types.UnionType):
        return "one of " + ", ".join(f"`{part.__name__}`" for part in get_args(thing))
    if kind_of(thing) == "data":
        value = f"`{thing!r}`".replace("|", "\\|")
        return value if len(value) <= LONGEST_VALUE else f"{len(thing)} of them"
    paragraphs = [" ".join(each.split()) for each in (inspect.getdoc(thing) or "").split("\n\n")]
    said = next((each for each in paragraphs if each and "->" not in each and not each.startswith("Overloaded")), "")
    return said.replace("|", "\\|")
