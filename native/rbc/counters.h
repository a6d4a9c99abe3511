// Counts in how many of a set's states each of a row of features holds, on every square.
#pragma once

#include <algorithm>
#include <cstring>

#include "rbc/state_features.h"

namespace penumbra {

// 255 times a share, rounded; 0 only for never and 255 only for always.
constexpr std::uint8_t share_of(int count, int states) {
  if (count == 0) return 0;
  if (count == states) return 255;
  const std::int64_t rounded = (std::int64_t{510} * count + states) / (std::int64_t{2} * states);
  return static_cast<std::uint8_t>(std::clamp<std::int64_t>(rounded, 1, 254));
}

// The counts of one feature over at most 128 states. Bit b of all squares' counts is one word.
struct SquareCounts {
  int states;
  Bitboard bits[8];

  // Squares where the feature holds in some state, and in all.
  Bitboard sometimes() const;
  Bitboard always() const;
  // The sum over all squares.
  int total() const;
  void write_shares(std::uint8_t (&shares)[64]) const;
};

// The same over more states.
struct LargeSquareCounts {
  int states;
  std::int32_t counts[64] = {};

  void add(const SquareCounts& more);
  Bitboard sometimes() const;
  Bitboard always() const;
  int total() const;
  void write_shares(std::uint8_t (&shares)[64]) const;
};

constexpr int kCountedAtOnce = 128;

// Counters of N features over at most 128 states, four at a time. Bit b of all squares' counts is one word, so that adders
// made of logic gates take 64 squares at once: eight words at a time by seven carry-save adders.
template <int N>
class Counters {
 public:
  // `features_of(lanes, use)` calls use(feature, squares) for the N features of the four states of an OpposingLanes.
  template <class FeaturesOf>
  Counters(const Side* members, int states, const FeaturesOf& features_of) : states_(states) {
    const int groups = (states + 3) / 4;
    for (int first = 0; first < groups; first += kSlots) {
      const int now = std::min(kSlots, groups - first);
      for (int i = 0; i < now; ++i)
        features_of(OpposingLanes(members, states, 4 * (first + i)), [&](int f, Lanes v) { slots_[i][f] = v; });
      if (first + now == groups) drop_repeats(slots_[now - 1], states - 4 * (groups - 1));
      std::memset(slots_ + now, 0, (kSlots - now) * sizeof slots_[0]);
      add_slots();
    }
  }

  SquareCounts get(int feature) const {
    const auto& bits = bits_[feature];
    Bitboard pairs[2][kBits + 1] = {};
    for (int half = 0; half < 2; ++half) {
      Bitboard carry = 0;
      for (int b = 0; b < kBits; ++b) {
        pairs[half][b] = carry;
        carry = carry_save(pairs[half][b], bits[b][2 * half], bits[b][2 * half + 1]);
      }
      pairs[half][kBits] = carry;
    }
    SquareCounts sum{states_, {}};
    Bitboard carry = 0;
    for (int b = 0; b <= kBits; ++b) {
      sum.bits[b] = carry;
      carry = carry_save(sum.bits[b], pairs[0][b], pairs[1][b]);
    }
    sum.bits[kBits + 1] = carry;
    return sum;
  }

 private:
  static constexpr int kSlots = 8;
  static constexpr int kBits = 6;  // of a lane's count, which is at most 32

  // Adds two bits to one; returns what is carried.
  template <class Word>
  static Word carry_save(Word& total, Word a, Word b) {
    const Word half = a ^ b, carry = (a & b) | (half & total);
    total ^= half;
    return carry;
  }
  // Past the end the last state was repeated, which must not count.
  static void drop_repeats(Lanes (&slot)[N], int live) {
    Lanes mask = broadcast(0);
    for (int lane = 0; lane < live; ++lane) mask[lane] = ~Bitboard{0};
    for (Lanes& feature : slot) feature &= mask;
  }
  void add_slots() {
    for (int f = 0; f < N; ++f) {
      Lanes totals[kBits];
      std::copy_n(bits_[f], kBits, totals);
      Lanes twos[4], fours[2];
      for (int i = 0; i < 4; ++i) twos[i] = carry_save(totals[0], slots_[2 * i][f], slots_[2 * i + 1][f]);
      for (int i = 0; i < 2; ++i) fours[i] = carry_save(totals[1], twos[2 * i], twos[2 * i + 1]);
      Lanes carry = carry_save(totals[2], fours[0], fours[1]);
      for (int b = 3; b < kBits; ++b) {
        const Lanes sum = totals[b] ^ carry;
        carry &= totals[b];
        totals[b] = sum;
      }
      std::copy_n(totals, kBits, bits_[f]);
    }
  }

  int states_;
  Lanes slots_[kSlots][N];
  Lanes bits_[N][kBits] = {};
};

// Calls `use(feature, counts)` for each of N features of a set of any size; the counts are one of the two structs above.
template <int N, class FeaturesOf, class Use>
void count_features(const Side* members, int states, const FeaturesOf& features_of, const Use& use) {
  if (states <= kCountedAtOnce) {
    const Counters<N> counters(members, states, features_of);
    for (int f = 0; f < N; ++f) use(f, counters.get(f));
    return;
  }
  LargeSquareCounts counts[N];
  for (LargeSquareCounts& each : counts) each.states = states;
  for (int first = 0; first < states; first += kCountedAtOnce) {
    const Counters<N> counters(members + first, std::min(kCountedAtOnce, states - first), features_of);
    for (int f = 0; f < N; ++f) counts[f].add(counters.get(f));
  }
  for (int f = 0; f < N; ++f) use(f, counts[f]);
}

}  // namespace penumbra
