// The small mixers and generators that everything random here is made of. All are fixed functions of their seeds: the
// same seed gives the same result on every machine and for every number of threads.
#pragma once

#include <cstdint>

namespace penumbra {

constexpr std::uint64_t split_mix(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9E3779B97F4A7C15ULL);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

// A bijection of 64-bit words without visible structure.
constexpr std::uint64_t scramble(std::uint64_t z) {
  z = (z ^ (z >> 32)) * 0xD6E8FEB86659FD93ULL;
  z = (z ^ (z >> 32)) * 0xD6E8FEB86659FD93ULL;
  return z ^ (z >> 32);
}

// Ranks of hashes under a salt: for a random salt, the ranks of distinct hashes are in random order. Keeping the
// smallest ranks of a set is thus a uniform draw, and the same draw wherever the same set and salt meet.
inline std::uint64_t salted(std::uint64_t hash, std::uint64_t salt) {
  const unsigned __int128 product =
      static_cast<unsigned __int128>(hash ^ salt) * (scramble(salt) | 0x8000000000000001ULL);
  const auto folded = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  return folded * 0x9E3779B97F4A7C15ULL;
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return split_mix(state_); }
  // Uniform in [0, n), n > 0; the bias of the multiplication is below 2^-32 for the sizes met here.
  std::uint64_t below(std::uint64_t n) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * n) >> 64);
  }

 private:
  std::uint64_t state_;
};

}  // namespace penumbra
