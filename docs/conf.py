"""How Sphinx makes the site of these documents (`make docs`).

Pages are Markdown as it reads in the repository too: what only the site needs is done here. Folders and pages that are
not named in `CONTENTS` come last.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from docs.generators.commands import write_commands  # noqa: E402
from docs.generators.planes import write_planes  # noqa: E402
from docs.generators.reference import write_reference  # noqa: E402

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
GENERATED = DOCS / "generated"
CONTENTS: dict[str, dict[str, str | None]] = {  # pages by caption, with a short title where their own is long
    "Play": {"rules": None, "puzzles": "Puzzles", "server": "The server", "security": "Security"},
    "Tutorials": {
        "tutorials/play-your-bot": None,
        "tutorials/analyse-a-game": None,
        "tutorials/read-a-belief": None,
        "tutorials/train-a-small-network": None,
        "tutorials/write-a-domain": None,
    },
    "Use": {
        "arena": None,
        "clusters": None,
        "api": None,
        "environments": "Environments",
        "protocol": "The analysis protocol",
        "generated/reference/index": None,
        "generated/commands/index": None,
    },
    "Understand": {
        "algorithm": "The algorithm",
        "synopsis": None,
        "generated/planes": "The planes",
        "training": "Training",
        "domains": "Domains",
        "phantom-tic-tac-toe": "Phantom tic-tac-toe",
    },
    "Results": {"results": None, "results/2026-11": None, "reproduction": "The paper, reproduced", "benchmarks": None},
    "Contribute": {
        "generated/contributing": None,
        "architecture": None,
        "native-core": None,
        "generated/changelog": None,
    },
}
ELSEWHERE = {  # pages of the repository that lie outside this folder
    "README.md": "index.md",
    "CHANGELOG.md": "generated/changelog.md",
    "CONTRIBUTING.md": "generated/contributing.md",
}

project = "Penumbra"
author = "the authors of Penumbra"
version = release = PROJECT["version"]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
exclude_patterns = ["generators"]
html_theme = "furo"
smartquotes_action = "q"  # quotes alone: two hyphens begin an option
html_title = f"Penumbra {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_theme_options = {"source_repository": PROJECT["urls"]["Source"]} if "Source" in PROJECT.get("urls", {}) else {}

myst_heading_anchors = 4
default_role = "code"  # docstrings have their code between single backticks
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
nitpicky = False


def generate(app: Any) -> None:
    """Writes the pages that are made from the program, before the others are read."""
    for folder in ("commands", "reference"):
        (GENERATED / folder).mkdir(parents=True, exist_ok=True)
    write_commands(GENERATED / "commands")
    write_reference(GENERATED / "reference")
    write_planes(GENERATED / "planes.md")
    for name in ("CHANGELOG.md", "CONTRIBUTING.md"):
        text = re.sub(r"\]\(docs/", "](../", (ROOT / name).read_text())
        text = re.sub(r"\]\(([A-Z]+)\.md", lambda link: f"]({link[1].lower()}.md", text)
        (GENERATED / name.lower()).write_text(text)


def adapt(app: Any, name: str, source: list[str]) -> None:
    """Links to pages outside this folder go to their pages here, and the first page has the table of contents."""
    up = "../" * (name.count("/") + 1)
    for file, here in ELSEWHERE.items():
        source[0] = re.sub(rf"\]\({re.escape(up + file)}(#[^)]*)?\)", f"]({up[3:]}{here})", source[0])
    source[0] = re.sub(r"\[([^\]]*)\]\((\.\./[^)]*)\)", lambda link: without_folder(link, name), source[0])
    if name == "index":
        source[0] += "".join(contents(caption, pages) for caption, pages in arranged(app.env.found_docs).items())


def without_folder(link: re.Match[str], name: str) -> str:
    """A link to a folder of the repository, which the site cannot show, is its text alone."""
    return link[1] if (DOCS / name).parent.joinpath(link[2]).is_dir() else link[0]


def arranged(found: set[str]) -> dict[str, dict[str, str | None]]:
    """The pages that there are under their captions; those that nobody has placed come before the last caption."""
    sections = {caption: {page: pages[page] for page in pages if page in found} for caption, pages in CONTENTS.items()}
    placed = {page for pages in sections.values() for page in pages}
    rest = sorted(page for page in found - placed - {"index"} if not page.startswith("generated/"))
    *first, last = sections.items()
    return {**dict(first), **({"More": dict.fromkeys(rest)} if rest else {}), **dict([last])}


def contents(caption: str, pages: dict[str, str | None]) -> str:
    lines = [f"{title} <{page}>" if title else page for page, title in pages.items()]
    return f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(lines) + "\n```\n"


def always_read(app: Any, *_: Any) -> list[str]:
    """The first page has the table of contents, which changes with the pages that there are."""
    return ["index"]


def setup(app: Any) -> None:
    app.connect("env-get-outdated", always_read)
    app.connect("builder-inited", generate)
    app.connect("source-read", adapt)
