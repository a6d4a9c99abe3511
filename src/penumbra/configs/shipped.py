"""The configurations that come with the program: a command takes their names where it takes a path."""

from __future__ import annotations

from pathlib import Path

from penumbra.configs.reader import ConfigurationError

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """`lite` for lite.toml, and so on."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def find(path_or_name: str | Path) -> Path:
    """The file at that path, or the one that comes with the program under that name."""
    path = Path(path_or_name)
    if path.exists() and (path.is_file() or str(path_or_name) not in names()):
        return path
    if str(path_or_name) not in names():
        raise ConfigurationError(
            f"{path}: there is no such file, and no configuration of that name comes with the program; "
            f"there are {', '.join(names())}"
        )
    return FOLDER / f"{path_or_name}.toml"
