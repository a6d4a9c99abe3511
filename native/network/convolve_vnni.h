// Convolutions of bytes by signed bytes with AVX-512 VNNI: four products are summed by one instruction for each of 16
// outputs.
#pragma once

#include <span>

#include "network/boards.h"
#include "network/lanes.h"

namespace penumbra {

constexpr int kOutputsAtOnce = 32;  // two registers for each square of a rank

using PackedWeights = std::vector<std::int8_t>;  // [outputs / 32][taps][inputs / 4][32][4]

// From [outputs][inputs][taps].
inline PackedWeights pack(std::span<const std::int8_t> weights, int inputs, int outputs, int taps) {
  PackedWeights packed;
  packed.reserve(weights.size());
  for (int first = 0; first < outputs; first += kOutputsAtOnce)
    for (int tap = 0; tap < taps; ++tap)
      for (int four = 0; four < inputs; four += 4)
        for (int output = first; output < first + kOutputsAtOnce; ++output)
          for (int input = four; input < four + 4; ++input)
            packed.push_back(weights[(output * inputs + input) * taps + tap]);
  return packed;
}

// Sums of one rank for 32 outputs, 16 of them each.
struct Sums {
  __m512i of[8][2];
};

// In assembly and with a name for each sum, for GCC 12 copies arrays of them at every turn of the loop.
template <int kInputs, int kTaps>
inline Sums sums_of_rank(const std::uint8_t* board, const std::int8_t* weights, int rank) {
  const __m512i none = _mm512_setzero_si512();
  __m512i a0 = none, a1 = none, a2 = none, a3 = none, a4 = none, a5 = none, a6 = none, a7 = none;
  __m512i b0 = none, b1 = none, b2 = none, b3 = none, b4 = none, b5 = none, b6 = none, b7 = none;
  const auto square = [](const std::uint8_t* inputs, __m512i& a, __m512i& b, __m512i of_a, __m512i of_b) {
    __m512i bytes;
    asm("vpbroadcastd %3, %2\n\t"
        "vpdpbusd %4, %2, %0\n\t"
        "vpdpbusd %5, %2, %1"
        : "+v"(a), "+v"(b), "=&v"(bytes)
        : "m"(*reinterpret_cast<const std::int32_t*>(inputs)), "v"(of_a), "v"(of_b));
  };
  for (int tap = 0; tap < kTaps; ++tap) {
    const int first = kTaps == 9 ? (rank + tap / 3) * kSide + tap % 3 : (rank + 1) * kSide + 1;
    const std::uint8_t* inputs = board + first * kInputs;
    for (int i = 0; i < kInputs; i += 4, inputs += 4, weights += 4 * kOutputsAtOnce) {
      const __m512i of_a = _mm512_loadu_si512(weights), of_b = _mm512_loadu_si512(weights + 64);
      square(inputs, a0, b0, of_a, of_b);
      square(inputs + kInputs, a1, b1, of_a, of_b);
      square(inputs + 2 * kInputs, a2, b2, of_a, of_b);
      square(inputs + 3 * kInputs, a3, b3, of_a, of_b);
      square(inputs + 4 * kInputs, a4, b4, of_a, of_b);
      square(inputs + 5 * kInputs, a5, b5, of_a, of_b);
      square(inputs + 6 * kInputs, a6, b6, of_a, of_b);
      square(inputs + 7 * kInputs, a7, b7, of_a, of_b);
    }
  }
  return {{{a0, b0}, {a1, b1}, {a2, b2}, {a3, b3}, {a4, b4}, {a5, b5}, {a6, b6}, {a7, b7}}};
}

// Calls use(board, square, output, values) for all of them, kLanes outputs at a time: scale · Σ weights · bytes + bias.
template <int kInputs, int kTaps, class Use>
void convolve(const PackedWeights& packed, const std::vector<float>& scale, const std::vector<float>& bias,
              const std::uint8_t* boards, int count, const Use& use) {
  const int outputs = static_cast<int>(scale.size());
  for (int o = 0; o < outputs; o += kOutputsAtOnce) {
    const std::int8_t* weights = packed.data() + static_cast<std::size_t>(o) * kTaps * kInputs;
    for (int b = 0; b < count; ++b)
      for (int rank = 0; rank < 8; ++rank) {
        const Sums sums = sums_of_rank<kInputs, kTaps>(boards + b * kPadded * kInputs, weights, rank);
#pragma GCC unroll 2
        for (int half = 0; half < 2; ++half) {
          const int output = o + 16 * half;
          const Lanes unit = load(&scale[output]), start = load(&bias[output]);
#pragma GCC unroll 8
          for (int s = 0; s < 8; ++s)
            use(b, 8 * rank + s, output, multiply_add(_mm512_cvtepi32_ps(sums.of[s][half]), unit, start));
        }
      }
  }
}

}  // namespace penumbra
