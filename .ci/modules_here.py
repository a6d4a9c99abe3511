"""Prints the native modules that this processor runs, of which `make play` builds no others.

The choice is that of penumbra.core and penumbra.network.quantization.int8_evaluator.
"""

from penumbra.core._cpu import features

here = set(features())
print("_x86_64_v3" if {"x86_64_v3", "bmi2"} <= here else "_generic")
if "avx512_vnni" in here:
    print("_int8_avx512")
elif "x86_64_v3" in here:
    print("_int8_avx2")
