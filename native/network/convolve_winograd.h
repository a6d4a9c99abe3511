// Convolutions of bytes by signed bytes with AVX2, whose products of 16-bit numbers are exact while those of bytes are not.
// Three by three squares by Winograd's way, in whole numbers, so that the sums are those of the plain way to the last bit:
// of a board's 16 tiles of 2 x 2 squares each is seen with its border as d, 4 x 4; with the weights g, 3 x 3,
//
//     V = Bᵀ d B     U = G g Gᵀ     4 · (g * d) = Aᵀ (Σ U ⊙ V) A     the sum being over the inputs, G doubled to be whole
//
// which takes 16 products for four squares instead of 36. |V| ≤ 4 · 255 and |U| ≤ 9 · 127, so that with up to 128 inputs
// every sum stays below 2³¹.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <type_traits>

#include "network/boards.h"
#include "network/lanes.h"

namespace penumbra {

constexpr int kOutputsAtOnce = 16;  // two registers for each tile
constexpr int kRowsAtOnce = 4;      // tiles, or squares of a convolution of one by one
constexpr int kPlaces = 16;         // of a tile with its border

// Of two inputs: pairs as one instruction multiplies and adds them, a cache line.
struct alignas(64) WeightPairs {
  std::int16_t of[kOutputsAtOnce][2];
};
struct alignas(64) Sums {
  std::int32_t of[kOutputsAtOnce];
};

using PackedWeights = std::vector<WeightPairs>;  // [outputs / 16][places][inputs / 2]; one place where there is one tap

// U of one pair of channels.
inline void transform_weights(const std::int8_t g[9], int u[kPlaces]) {
  constexpr int G[4][3] = {{2, 0, 0}, {1, 1, 1}, {1, -1, 1}, {0, 0, 2}};
  for (int place = 0; place < kPlaces; ++place) {
    u[place] = 0;
    for (int tap = 0; tap < 9; ++tap) u[place] += G[place / 4][tap / 3] * g[tap] * G[place % 4][tap % 3];
  }
}

// From [outputs][inputs][taps].
inline PackedWeights pack(std::span<const std::int8_t> weights, int inputs, int outputs, int taps) {
  const int places = taps == 9 ? kPlaces : 1;
  PackedWeights packed(static_cast<std::size_t>(outputs / kOutputsAtOnce) * places * (inputs / 2));
  for (int output = 0; output < outputs; ++output)
    for (int input = 0; input < inputs; ++input) {
      const std::int8_t* g = &weights[(output * inputs + input) * taps];
      int u[kPlaces] = {g[0]};
      if (taps == 9) transform_weights(g, u);
      for (int place = 0; place < places; ++place)
        packed[(output / kOutputsAtOnce * places + place) * (inputs / 2) + input / 2]
            .of[output % kOutputsAtOnce][input % 2] = static_cast<std::int16_t>(u[place]);
    }
  return packed;
}

// Channels of a square in 16 bits.
typedef std::int16_t Shorts8 __attribute__((vector_size(16)));
typedef std::int16_t Shorts16 __attribute__((vector_size(32)));

inline void load_shorts(Shorts8& x, const std::uint8_t* from) {
  x = reinterpret_cast<Shorts8>(_mm_cvtepu8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
}
inline void load_shorts(Shorts16& x, const std::uint8_t* from) {
  x = reinterpret_cast<Shorts16>(_mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
}

// V of one tile, whose border begins at `corner`: [places][stride][inputs], of which `v` is this tile's row.
template <int kInputs>
inline void transform_tile(const std::uint8_t* corner, std::int16_t* v, std::size_t stride) {
  using Shorts = std::conditional_t<kInputs % 16 == 0, Shorts16, Shorts8>;
  for (int c = 0; c < kInputs; c += sizeof(Shorts) / 2) {
    Shorts t[4][4];  // Bᵀ d
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      Shorts d[4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) load_shorts(d[i], corner + (i * kSide + j) * kInputs + c);
      t[0][j] = d[0] - d[2];
      t[1][j] = d[1] + d[2];
      t[2][j] = d[2] - d[1];
      t[3][j] = d[1] - d[3];
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const auto keep = [&](int j, Shorts x) { std::memcpy(v + (4 * i + j) * stride * kInputs + c, &x, sizeof x); };
      keep(0, t[i][0] - t[i][2]);
      keep(1, t[i][1] + t[i][2]);
      keep(2, t[i][2] - t[i][1]);
      keep(3, t[i][1] - t[i][3]);
    }
  }
}

// Products of `rows` rows of inputs by the weights of 16 outputs. In assembly and with a name for each sum, for GCC 12
// copies the sums at every turn of the loop.
template <int kInputs>
void multiply(const std::int16_t* v, const WeightPairs* weights, int rows, Sums* sums) {
  for (int r = 0; r < rows; r += kRowsAtOnce, v += kRowsAtOnce * kInputs, sums += kRowsAtOnce) {
    __m256i a0 = _mm256_setzero_si256(), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
    for (int i = 0; i < kInputs / 2; ++i) {
      const auto* u = reinterpret_cast<const __m256i*>(weights[i].of);
      const __m256i of_a = _mm256_load_si256(u), of_b = _mm256_load_si256(u + 1);
      const auto row = [&](int n, __m256i& a, __m256i& b) {
        __m256i inputs, products, others;
        asm("vpbroadcastd %5, %2\n\t"
            "vpmaddwd %6, %2, %3\n\t"
            "vpmaddwd %7, %2, %4\n\t"
            "vpaddd %3, %0, %0\n\t"
            "vpaddd %4, %1, %1"
            : "+x"(a), "+x"(b), "=&x"(inputs), "=&x"(products), "=&x"(others)
            : "m"(*reinterpret_cast<const std::int32_t*>(v + n * kInputs + 2 * i)), "x"(of_a), "x"(of_b));
      };
      row(0, a0, b0);
      row(1, a1, b1);
      row(2, a2, b2);
      row(3, a3, b3);
    }
    const auto keep = [&](int n, __m256i a, __m256i b) {
      auto* to = reinterpret_cast<__m256i*>(sums[n].of);
      _mm256_store_si256(to, a);
      _mm256_store_si256(to + 1, b);
    };
    keep(0, a0, b0);
    keep(1, a1, b1);
    keep(2, a2, b2);
    keep(3, a3, b3);
  }
}

// Calls use(tile, i, j, half, y) for the squares (i, j) of each tile, y being Aᵀ M A of eight outputs; M: [places][stride].
template <class Use>
inline void gather_tiles(const Sums* sums, int rows, int stride, const Use& use) {
  for (int row = 0; row < rows; ++row)
    for (int half = 0; half < 2; ++half) {
      __m256i t[2][4];  // Aᵀ M
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        const auto m = [&](int i) {
          return _mm256_load_si256(reinterpret_cast<const __m256i*>(sums[(4 * i + j) * stride + row].of) + half);
        };
        const __m256i m1 = m(1), m2 = m(2);
        t[0][j] = _mm256_add_epi32(_mm256_add_epi32(m(0), m1), m2);
        t[1][j] = _mm256_sub_epi32(_mm256_sub_epi32(m1, m2), m(3));
      }
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i) {
        use(row, i, 0, half, _mm256_add_epi32(_mm256_add_epi32(t[i][0], t[i][1]), t[i][2]));
        use(row, i, 1, half, _mm256_sub_epi32(_mm256_sub_epi32(t[i][1], t[i][2]), t[i][3]));
      }
    }
}

// Calls use(board, square, output, values) for all of them, kLanes outputs at a time: scale · Σ weights · bytes + bias.
template <int kInputs, int kTaps, class Use>
void convolve(const PackedWeights& packed, const std::vector<float>& scale, const std::vector<float>& bias,
              const std::uint8_t* boards, int count, const Use& use) {
  constexpr int kPlacesUsed = kTaps == 9 ? kPlaces : 1;
  constexpr int kRows = kTaps == 9 ? 16 : 64;  // of each board
  static thread_local std::vector<std::int16_t> inputs(kPlacesUsed * (kBoardsAtOnce * kRows + 1) * kInputs);
  static thread_local std::vector<Sums> sums(kPlacesUsed * (kBoardsAtOnce * kRows + 1));
  const int rows = count * kRows;
  const int stride = rows + 1;  // from place to place; without the one they would all share a few lines of the cache
  for (int row = 0; row < rows; ++row) {
    const std::uint8_t* board = boards + row / kRows * kPadded * kInputs;
    std::int16_t* v = inputs.data() + row * kInputs;
    if constexpr (kTaps == 9) {
      transform_tile<kInputs>(board + (row % 16 / 4 * 2 * kSide + row % 4 * 2) * kInputs, v, stride);
    } else {
      std::copy_n(board + padded(row % 64) * kInputs, kInputs, v);
    }
  }
  const WeightPairs* weights = packed.data();
  for (int o = 0; o < static_cast<int>(scale.size()); o += kOutputsAtOnce) {
    for (int place = 0; place < kPlacesUsed; ++place, weights += kInputs / 2)
      multiply<kInputs>(inputs.data() + place * stride * kInputs, weights, rows, &sums[place * stride]);
    const Lanes quarter = all(kTaps == 9 ? 0.25f : 1.0f);
    const Lanes unit[2] = {_mm256_mul_ps(load(&scale[o]), quarter), _mm256_mul_ps(load(&scale[o + 8]), quarter)};
    const Lanes start[2] = {load(&bias[o]), load(&bias[o + 8])};
    const auto value = [&](__m256i whole, int half) {
      return multiply_add(_mm256_cvtepi32_ps(whole), unit[half], start[half]);
    };
    if constexpr (kTaps == 9) {
      gather_tiles(sums.data(), rows, stride, [&](int row, int i, int j, int half, __m256i y) {
        const int square = 8 * (row % 16 / 4 * 2 + i) + row % 4 * 2 + j;
        use(row / kRows, square, o + 8 * half, value(y, half));
      });
    } else {
      for (int row = 0; row < rows; ++row)
        for (int half = 0; half < 2; ++half) {
          const auto* y = reinterpret_cast<const __m256i*>(sums[row].of) + half;
          use(row / kRows, row % kRows, o + 8 * half, value(_mm256_load_si256(y), half));
        }
    }
  }
}

}  // namespace penumbra
