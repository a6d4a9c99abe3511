#include "rbc/counters.h"

#include <array>
#include <numeric>

#include "base/bits.h"

namespace penumbra {

namespace {

// The share of each count of at most 128 states.
using ShareTable = std::array<std::array<std::uint8_t, kCountedAtOnce + 1>, kCountedAtOnce + 1>;
constexpr ShareTable kShares = [] {
  ShareTable shares{};
  for (int states = 1; states <= kCountedAtOnce; ++states)
    for (int count = 0; count <= states; ++count) shares[states][count] = share_of(count, states);
  return shares;
}();

// One byte a square.
void write_counts(const SquareCounts& of, std::uint8_t (&counts)[64]) {
  for (int half = 0; half < 2; ++half) {
    const Lanes ranks = half ? Lanes{32, 40, 48, 56} : Lanes{0, 8, 16, 24};
    Lanes rows = broadcast(0);  // byte b: the squares of a rank whose count has bit b
    for (int b = 0; b < 8; ++b) rows |= (broadcast(of.bits[b]) >> ranks & broadcast(255)) << (8 * b);
    rows = transposed(rows);
    std::memcpy(counts + 32 * half, &rows, sizeof rows);
  }
}

}  // namespace

Bitboard SquareCounts::sometimes() const {
  Bitboard some = 0;
  for (const Bitboard b : bits) some |= b;
  return some;
}

Bitboard SquareCounts::always() const {
  Bitboard all = ~Bitboard{0};
  for (int b = 0; b < 8; ++b) all &= states >> b & 1 ? bits[b] : ~bits[b];
  return all;
}

int SquareCounts::total() const {
  int sum = 0;
  for (int b = 0; b < 8; ++b) sum += count(bits[b]) << b;
  return sum;
}

void SquareCounts::write_shares(std::uint8_t (&shares)[64]) const {
  write_counts(*this, shares);
  const auto& table = kShares[states];
  for (std::uint8_t& share : shares) share = table[share];
}

void LargeSquareCounts::add(const SquareCounts& more) {
  std::uint8_t each[64];
  write_counts(more, each);
  for (int s = 0; s < 64; ++s) counts[s] += each[s];
}

Bitboard LargeSquareCounts::sometimes() const {
  Bitboard some = 0;
  for (int s = 0; s < 64; ++s) some |= Bitboard{counts[s] > 0} << s;
  return some;
}

Bitboard LargeSquareCounts::always() const {
  Bitboard all = 0;
  for (int s = 0; s < 64; ++s) all |= Bitboard{counts[s] == states} << s;
  return all;
}

int LargeSquareCounts::total() const { return std::accumulate(counts, counts + 64, 0); }

void LargeSquareCounts::write_shares(std::uint8_t (&shares)[64]) const {
  for (int s = 0; s < 64; ++s) shares[s] = share_of(counts[s], states);
}

}  // namespace penumbra
