"""Prints the native modules that this processor runs, of which `make play` builds no others.

The choice is that of penumbra.core and penumbra.network.quantization.int8_evaluator. `_cpu` is loaded by its path: the
package it belongs to cannot be imported before its other modules are built.
"""

import importlib.util
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

CORE = Path(__file__).resolve().parents[1] / "src" / "penumbra" / "core"
path = next(file for suffix in EXTENSION_SUFFIXES if (file := CORE / f"_cpu{suffix}").exists())
spec = importlib.util.spec_from_file_location("_cpu", path)
assert spec is not None and spec.loader is not None
cpu = importlib.util.module_from_spec(spec)
spec.loader.exec_module(cpu)

here = set(cpu.features())
print("_x86_64_v3" if {"x86_64_v3", "bmi2"} <= here else "_generic")
if "avx512_vnni" in here:
    print("_int8_avx512")
elif "x86_64_v3" in here:
    print("_int8_avx2")
