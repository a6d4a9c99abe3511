"""Packages that not everybody needs: the extra of `penumbra` that installs each, and what is said without it."""

from __future__ import annotations

from importlib.util import find_spec

EXTRAS = {
    "fastapi": "web",
    "starlette": "web",
    "uvicorn": "web",
    "websockets": "web",
    "matplotlib": "figures",
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "torch": "training",
    "tensorboard": "training",
    "pettingzoo": "env",
    "gymnasium": "env",
    "ray": "ray",
}


class ExtraMissing(ImportError):
    """An extra that is not installed; says what needs which package, and how to install it."""

    def __init__(self, what: str, package: str) -> None:
        super().__init__(f"{what} needs {package}: pip install 'penumbra[{EXTRAS[package]}]'", name=package)


def missing_extra(error: ImportError, what: str = "this") -> ExtraMissing | None:
    """What to say of an import that failed, if an extra would mend it."""
    package = (error.name or "").partition(".")[0]
    is_missing = isinstance(error, ModuleNotFoundError) and package in EXTRAS
    return ExtraMissing(what, package) if is_missing else None


def is_installed(package: str) -> bool:
    return find_spec(package) is not None


def require(package: str, what: str) -> None:
    """`ExtraMissing` unless the package is there; it is not loaded."""
    if not is_installed(package):
        raise ExtraMissing(what, package)
