"""The native core, in the build that suits this processor; `BUILD` names the one in use.

Nothing is added here: classes and kernels are documented in the module itself. The environment variable
PENUMBRA_CORE (`generic` or `x86_64_v3`) overrides the choice.
"""

from __future__ import annotations

import importlib
import os
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penumbra.core._generic import *  # noqa: F403

BUILDS = ("generic", "x86_64_v3")


def _best_build() -> str:
    """The fastest build this processor can run: x86_64_v3 needs all of its instructions, and a fast PEXT."""
    from penumbra.core._cpu import features

    return "x86_64_v3" if {"x86_64_v3", "bmi2"} <= set(features()) else "generic"


def _load() -> tuple[str, ModuleType]:
    chosen = os.environ.get("PENUMBRA_CORE", "")
    if chosen and chosen not in BUILDS:
        raise ImportError(f"PENUMBRA_CORE={chosen}: no such build of the core; known are {', '.join(BUILDS)}")
    try:
        build = chosen or _best_build()
        return build, importlib.import_module(f"penumbra.core._{build}")
    except ModuleNotFoundError as error:
        hint = "build it with: cmake -S . -B build -G Ninja && cmake --build build"
        raise ImportError(f"the native core is not built ({error.name} is missing); {hint}") from None


BUILD, _module = _load()
globals().update({name: value for name, value in vars(_module).items() if not name.startswith("_")})
