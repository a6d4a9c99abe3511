// The module _cpu: what this processor can do, asked before a core compiled for it is loaded.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace {

#if defined(__x86_64__)

struct Registers {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

Registers cpuid(unsigned leaf) {
  Registers r;
  __get_cpuid(leaf, &r.a, &r.b, &r.c, &r.d);
  return r;
}

// AMD processors before Zen 3 (family 0x19), and Hygon's Zen 1, have PEXT and PDEP in microcode: slower than without.
bool has_slow_pext() {
  const Registers vendor = cpuid(0);
  char name[12];
  std::memcpy(name, &vendor.b, 4);
  std::memcpy(name + 4, &vendor.d, 4);
  std::memcpy(name + 8, &vendor.c, 4);
  if (std::memcmp(name, "HygonGenuine", 12) == 0) return true;
  if (std::memcmp(name, "AuthenticAMD", 12) != 0) return false;
  const unsigned version = cpuid(1).a;
  const unsigned base_family = (version >> 8) & 0xF;
  const unsigned family = base_family == 0xF ? base_family + ((version >> 20) & 0xFF) : base_family;
  return family < 0x19;
}

// The instructions of -march=x86-64-v3 that __builtin_cpu_supports does not name in every compiler.
bool has_lzcnt_movbe_f16c() {
  const unsigned basic = cpuid(1).c;
  const unsigned extended = cpuid(0x80000001).c;
  return (extended >> 5 & 1) && (basic >> 22 & 1) && (basic >> 29 & 1);
}

// Products of bytes summed in 32 bits, for 512-bit registers or for those of AVX2.
bool has_vnni(bool avx2) {
  Registers r;
  const bool known = __get_cpuid_count(7, 1, &r.a, &r.b, &r.c, &r.d);
  return __builtin_cpu_supports("avx512vnni") || (avx2 && known && (r.a >> 4 & 1));
}

// All that the module _int8_avx512 was compiled for, beyond x86_64_v3.
bool has_avx512_vnni() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
}

std::vector<std::string> features() {
  __builtin_cpu_init();
  std::vector<std::string> found;
  const bool avx2 = __builtin_cpu_supports("avx2");
  const bool bmi2 = __builtin_cpu_supports("bmi2");
  if (avx2) found.emplace_back("avx2");
  if (bmi2 && !has_slow_pext()) found.emplace_back("bmi2");
  if (avx2 && bmi2 && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("popcnt") && has_lzcnt_movbe_f16c()) {
    found.emplace_back("x86_64_v3");
    if (has_avx512_vnni()) found.emplace_back("avx512_vnni");
  }
  if (has_vnni(avx2)) found.emplace_back("vnni");
  return found;
}

#else

std::vector<std::string> features() { return {}; }

#endif

}  // namespace

NB_MODULE(PENUMBRA_MODULE, m) {
  m.def("features", &features,
        "Names of the features of this processor that a core or an evaluator can use: 'avx2', 'bmi2' (only where it is "
        "fast), 'x86_64_v3' (all that -march=x86-64-v3 takes), 'avx512_vnni' (that and what the module _int8_avx512 "
        "takes) and 'vnni'. Empty where the processor is not x86-64.");
}
