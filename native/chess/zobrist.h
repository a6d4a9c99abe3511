// Zobrist keys of the pieces.
#pragma once

#include <array>
#include <cstdint>

#include "base/random.h"
#include "chess/bitboard.h"

namespace penumbra {

// kZobrist[code][square], codes as in rbc/state.h; code 0 (empty) has zero keys.
constexpr std::array<std::array<std::uint64_t, 64>, 8> kZobrist = [] {
  std::array<std::array<std::uint64_t, 64>, 8> keys{};
  std::uint64_t seed = 2020;
  for (int code = 1; code < 8; ++code)
    for (auto& key : keys[code]) key = split_mix(seed);
  return keys;
}();

}  // namespace penumbra
