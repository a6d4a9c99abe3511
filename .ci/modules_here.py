"""Prints the native modules that this processor runs, of which `make play` builds no others.

The choice is that of penumbra.core and penumbra.network.quantization.int8_evaluator.
"""

from penumbra._cpu import features

here = set(features())
print("_core_x86_64_v3" if {"x86_64_v3", "bmi2"} <= here else "_core_generic")
if "avx512_vnni" in here:
    print("_network_avx512")
elif "x86_64_v3" in here:
    print("_network_avx2")
