"""Every file is written whole or not at all, and who writes it says what is kept; logs keep whole lines."""

from __future__ import annotations

import ast
import os
import stat
from pathlib import Path

import pytest

import penumbra
from penumbra.whole_files import WriteError, append_lines, read_lines, replacing, write_text
from tests.support.full_disk import full_disk


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with replacing(path) as beside:
        beside.write_text("new")
        assert not path.exists()
    assert (path.read_text(), names(tmp_path)) == ("new", ["a.txt"])


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with pytest.raises(KeyError), replacing(path) as beside:
        beside.write_text("half")
        raise KeyError
    assert names(tmp_path) == []
    path.write_text("before")
    with full_disk(), pytest.raises(WriteError) as error:
        write_text(path, "x" * 1000, "and so on")
    assert (
        str(error.value) == f"{path}: could not be written (File too large); what was there before is kept; and so on"
    )
    assert (path.read_text(), names(tmp_path)) == ("before", ["a.txt"])
    with full_disk(), pytest.raises(WriteError, match=r"nothing of it is kept; the same command makes it again$"):
        write_text(tmp_path / "b.txt", "x" * 1000)
    assert names(tmp_path) == ["a.txt"]


def test_trouble_with_another_file_is_not_blamed_on_this_one(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as error, replacing(tmp_path / "a.txt"):
        (tmp_path / "other").read_text()
    assert not isinstance(error.value, WriteError)
    with pytest.raises(WriteError, match="No such file or directory"):
        write_text(tmp_path / "no" / "a.txt", "x")


def test_links_modes_and_long_names_stay(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "a.txt", tmp_path / "link.txt"
    target.write_text("before")
    target.chmod(0o600)
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink() and target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    long = tmp_path / ("n" * 255)
    write_text(long, "x")
    assert long.read_text() == "x"


def test_devices_are_written_to_and_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match=r"^/dev/full: could not be written \(No space left on device\)"):
        write_text("/dev/full", "x")
    write_text("/dev/null", "x")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode) and stat.S_ISCHR(Path("/dev/full").stat().st_mode)
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_text(tmp_path / "pipe", "through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)


def test_a_log_keeps_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    assert read_lines(path) == []
    append_lines(path, "one\n")
    with full_disk(), pytest.raises(WriteError, match="its lines before are kept; the same command goes on from there"):
        append_lines(path, "x" * 100 + "\n")
    assert path.read_text() == "one\n"
    with path.open("a") as file:
        file.write("cut sho" + "r" * 10_000)  # by a kill
    assert read_lines(path) == ["one"]
    append_lines(path, "two\nthree\n")
    assert path.read_text() == "one\ntwo\nthree\n"


WRITERS = {"write_text", "write_bytes", "savefig", "save_file", "copyfile"}
MAY = {
    ("bench/states.py", "write_text"),  # to the kernel
    ("whole_files.py", "open"),
    ("commands/checks.py", "open"),  # tries whether a file can be written
    ("server/game_log.py", "fdopen"),  # a log, which keeps whole lines itself, and a copy of a damaged one
    ("training/ppo.py", "open"),  # what a process prints
    ("interop/isolated_host.py", "open"),  # the same
    ("arena/remote_games.py", "open"),  # the same
    ("arena/remote_games.py", "fdopen"),  # where its log went before
}


def test_nothing_else_opens_files_for_writing() -> None:
    """All go through `whole_files`, whose functions give the path beside: it is called so everywhere."""
    root = Path(penumbra.__file__).parent
    found = set()
    for path in root.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and _writes(call) and not _is_beside(call):
                name = call.func.attr if isinstance(call.func, ast.Attribute) else "open"
                found.add((path.relative_to(root).as_posix(), name))
    assert found <= MAY, found - MAY


def _writes(call: ast.Call) -> bool:
    if isinstance(call.func, ast.Name):
        return call.func.id in {"open", *WRITERS} - {"write_text"} and _has_mode(call)
    if not isinstance(call.func, ast.Attribute):
        return False
    return call.func.attr in WRITERS or (call.func.attr in ("open", "fdopen") and _has_mode(call))


def _has_mode(call: ast.Call) -> bool:
    texts = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    is_flagged = any("O_WRONLY" in ast.unparse(arg) and "devnull" not in ast.unparse(call) for arg in call.args)
    return is_flagged or any(set(text) <= set("wxab+t") and set(text) & set("wxa") for text in texts)


def _is_beside(call: ast.Call) -> bool:
    return any(isinstance(part, ast.Name) and part.id in ("beside", "raw") for part in ast.walk(call))
