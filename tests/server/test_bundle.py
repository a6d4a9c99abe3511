"""The page in the package is the one that `web/` holds, it is small, and it fetches nothing from anywhere else."""

from __future__ import annotations

import gzip
import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support import ROOT

WEB = ROOT / "web"
STATIC = ROOT / "src" / "penumbra" / "server" / "static"
SOURCES = ("index.html", "package-lock.json", "package.json", "sources.mjs", "src", "tsconfig.json", "vite.config.ts")
MOST = 300_000  # bytes, compressed


def sources_hash(folder: Path) -> str:
    """As web/sources.mjs computes it when the page is built."""
    paths = [path for name in SOURCES for path in (folder / name, *(folder / name).rglob("*")) if path.is_file()]
    digest = hashlib.sha256()
    for name in sorted(path.relative_to(folder).as_posix() for path in paths):
        content = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        digest.update(f"{content}  {name}\n".encode())
    return digest.hexdigest()


def test_the_bundle_is_built_from_these_sources() -> None:
    built = (STATIC / "sources.sha256").read_text().strip()
    assert built == sources_hash(WEB), "web/ has changed since the page was built: make page"


def test_a_changed_source_changes_the_hash(tmp_path: Path) -> None:
    shutil.copytree(WEB, tmp_path / "web", ignore=shutil.ignore_patterns("node_modules"))
    assert sources_hash(tmp_path / "web") == sources_hash(WEB)
    style = tmp_path / "web" / "src" / "style.css"
    style.write_text(style.read_text() + "\n")
    assert sources_hash(tmp_path / "web") != sources_hash(WEB)


def test_the_bundle_is_small() -> None:
    assert sum(len(gzip.compress(path.read_bytes())) for path in STATIC.iterdir()) < MOST


def test_nothing_is_fetched_from_elsewhere() -> None:
    """Addresses in the bundle are names of XML formats, and in the words about who drew the pieces."""
    text = "".join(path.read_text() for path in STATIC.iterdir() if path.suffix != ".txt")
    text = re.sub(r"<!--.*?-->|<desc>.*?</desc>", "", text, flags=re.DOTALL)
    assert set(re.findall(r"https?://([^/\"'`\s)]+)", text)) == {"www.w3.org"}


def test_the_lock_file_names_no_registry() -> None:
    assert "resolved" not in (WEB / "package-lock.json").read_text()


@pytest.mark.evidence
def test_building_the_page_again_gives_the_same_bytes(tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("Node is not installed")
    shutil.copytree(WEB, tmp_path / "web", ignore=shutil.ignore_patterns("node_modules"))
    (tmp_path / "src" / "penumbra" / "server").mkdir(parents=True)
    for command in (["npm", "install", "--no-save"], ["npm", "run", "build"]):
        subprocess.run(command, cwd=tmp_path / "web", check=True, capture_output=True)
    built = tmp_path / "src" / "penumbra" / "server" / "static"
    assert {path.name: path.read_bytes() for path in built.iterdir()} == {
        path.name: path.read_bytes() for path in STATIC.iterdir()
    }
