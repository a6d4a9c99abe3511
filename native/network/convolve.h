// Convolutions of bytes by signed bytes, whose products and sums are exact: 16-bit numbers are multiplied in pairs and added
// in 32 bits, which AVX2 does in two instructions and AVX-512 VNNI in one. 3 x 3 convolutions use Winograd's
// F(4 x 4, 3 x 3): each of a board's four tiles of 4 x 4 squares is taken with its border as d, 6 x 6; with the weights
// g, 3 x 3,
//
//     V = Bᵀ d B     U = G g Gᵀ     2ᵏ · 9 · (g * d) = Aᵀ (Σ U ⊙ V) A     the sum being over the inputs
//
// which takes 36 products for 16 squares instead of 144. G and A are scaled to be whole, k being 2 to 6 by the square.
// |V| ≤ 68 · 255 and |U| ≤ 49 · 127 fit into 16 bits, however many inputs there are. The sums may overflow 32, but nothing
// is lost: all is a sum of products modulo 2³², where 9 has an inverse, so that g * d is known modulo 2²⁶ at least, and it
// lies in a range of 255 · 9 · 127 · inputs, which is less for up to 230 inputs. The most there are is 160.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <type_traits>

#include "network/boards.h"
#include "network/lanes.h"

namespace penumbra {

constexpr int kTile = 6;                // squares of a tile's side, with its border
constexpr int kPlaces = kTile * kTile;  // of a tile
constexpr int kRowsAtOnce = 4;          // tiles, or squares of a convolution of one by one
constexpr int kRegisters = kLanes / 4;  // of sums for each row: two with AVX2, four with AVX-512
constexpr int kOutputsAtOnce = kRegisters * kLanes;

// Of two inputs: pairs as one instruction multiplies and adds them.
struct alignas(64) WeightPairs {
  std::int16_t of[kOutputsAtOnce][2];
};
struct alignas(64) Sums {
  std::int32_t of[kOutputsAtOnce];
};

struct PackedWeights {
  std::vector<WeightPairs> pairs;  // [outputs / kOutputsAtOnce][places][inputs / 2]; one place where there is one tap
  std::vector<std::int32_t> centres;  // of the range in which the sum of each output lies
};

// U of one pair of channels.
inline void transform_weights(const std::int8_t g[9], int u[kPlaces]) {
  constexpr int G[kTile][3] = {{1, 0, 0}, {1, 1, 1}, {1, -1, 1}, {1, 2, 4}, {1, -2, 4}, {0, 0, 1}};
  for (int place = 0; place < kPlaces; ++place) {
    u[place] = 0;
    for (int tap = 0; tap < 9; ++tap) u[place] += G[place / kTile][tap / 3] * g[tap] * G[place % kTile][tap % 3];
  }
}

// From [outputs][inputs][taps].
inline PackedWeights pack(std::span<const std::int8_t> weights, int inputs, int outputs, int taps) {
  const int places = taps == 9 ? kPlaces : 1;
  PackedWeights packed;
  packed.pairs.resize(static_cast<std::size_t>(outputs / kOutputsAtOnce) * places * (inputs / 2));
  packed.centres.resize(outputs);
  for (int output = 0; output < outputs; ++output) {
    int total = 0;
    for (int input = 0; input < inputs; ++input) {
      const std::int8_t* g = &weights[(output * inputs + input) * taps];
      for (int tap = 0; tap < taps; ++tap) total += g[tap];
      int u[kPlaces] = {g[0]};
      if (taps == 9) transform_weights(g, u);
      for (int place = 0; place < places; ++place)
        packed.pairs[(output / kOutputsAtOnce * places + place) * (inputs / 2) + input / 2]
            .of[output % kOutputsAtOnce][input % 2] = static_cast<std::int16_t>(u[place]);
    }
    packed.centres[output] = 255 * total / 2;
  }
  return packed;
}

// Channels of a square in 16 bits.
typedef std::int16_t Shorts8 __attribute__((vector_size(16)));
typedef std::int16_t ShortLanes __attribute__((vector_size(4 * kLanes)));

inline void load_shorts(Shorts8& x, const std::uint8_t* from) {
  x = reinterpret_cast<Shorts8>(_mm_cvtepu8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
}
inline void load_shorts(ShortLanes& x, const std::uint8_t* from) {
  x = reinterpret_cast<ShortLanes>(widen_bytes(from));
}

// Bᵀ along one side of a tile.
template <class Shorts>
inline void transform_inputs(const Shorts (&d)[kTile], Shorts (&v)[kTile]) {
  const Shorts a = d[4] - d[2], b = (d[3] - d[1]) * 2;
  v[0] = (d[0] - d[2]) * 4 + a;
  v[1] = (d[3] + d[4]) - (d[1] + d[2]) * 4;
  v[2] = (d[4] - d[3]) + (d[1] - d[2]) * 4;
  v[3] = a + b;
  v[4] = a - b;
  v[5] = (d[1] - d[3]) * 4 + (d[5] - d[3]);
}

// V of one tile, whose border begins at `corner`: [places][stride][inputs], of which `v` is this tile's row.
template <int kInputs>
inline void transform_tile(const std::uint8_t* corner, std::int16_t* v, std::size_t stride) {
  using Shorts = std::conditional_t<kInputs % (2 * kLanes) == 0, ShortLanes, Shorts8>;
  for (int c = 0; c < kInputs; c += sizeof(Shorts) / 2) {
    Shorts t[kTile][kTile];  // Bᵀ d, transposed
#pragma GCC unroll 6
    for (int j = 0; j < kTile; ++j) {
      Shorts d[kTile];
#pragma GCC unroll 6
      for (int i = 0; i < kTile; ++i) load_shorts(d[i], corner + (i * kSide + j) * kInputs + c);
      transform_inputs(d, t[j]);
    }
#pragma GCC unroll 6
    for (int i = 0; i < kTile; ++i) {
      const Shorts d[kTile] = {t[0][i], t[1][i], t[2][i], t[3][i], t[4][i], t[5][i]};
      Shorts done[kTile];
      transform_inputs(d, done);
#pragma GCC unroll 6
      for (int j = 0; j < kTile; ++j) std::memcpy(v + (kTile * i + j) * stride * kInputs + c, &done[j], sizeof(Shorts));
    }
  }
}

// Products of `rows` rows of inputs by the weights of kOutputsAtOnce outputs. In assembly and with a name for each sum, for
// GCC 12 copies the sums at every turn of the loop.
template <int kInputs>
void multiply(const std::int16_t* v, const WeightPairs* weights, int rows, Sums* sums) {
  for (int r = 0; r < rows; r += kRowsAtOnce, v += kRowsAtOnce * kInputs, sums += kRowsAtOnce) {
    const auto pair = [&](int n, int i) -> const std::int32_t& {
      return *reinterpret_cast<const std::int32_t*>(v + n * kInputs + 2 * i);
    };
#ifdef __AVX512VNNI__
    __m512i a0 = _mm512_setzero_si512(), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
    __m512i c0 = a0, c1 = a0, c2 = a0, c3 = a0, d0 = a0, d1 = a0, d2 = a0, d3 = a0;
    for (int i = 0; i < kInputs / 2; ++i) {
      const auto* u = reinterpret_cast<const __m512i*>(weights[i].of);
      const __m512i of_a = _mm512_load_si512(u), of_b = _mm512_load_si512(u + 1), of_c = _mm512_load_si512(u + 2),
                    of_d = _mm512_load_si512(u + 3);
      const auto row = [&](int n, __m512i& a, __m512i& b, __m512i& c, __m512i& d) {
        __m512i inputs;
        asm("vpbroadcastd %5, %4\n\t"
            "vpdpwssd %6, %4, %0\n\t"
            "vpdpwssd %7, %4, %1\n\t"
            "vpdpwssd %8, %4, %2\n\t"
            "vpdpwssd %9, %4, %3"
            : "+v"(a), "+v"(b), "+v"(c), "+v"(d), "=&v"(inputs)
            : "m"(pair(n, i)), "v"(of_a), "v"(of_b), "v"(of_c), "v"(of_d));
      };
      row(0, a0, b0, c0, d0);
      row(1, a1, b1, c1, d1);
      row(2, a2, b2, c2, d2);
      row(3, a3, b3, c3, d3);
    }
    const auto keep = [&](int n, __m512i a, __m512i b, __m512i c, __m512i d) {
      auto* to = reinterpret_cast<__m512i*>(sums[n].of);
      _mm512_store_si512(to, a);
      _mm512_store_si512(to + 1, b);
      _mm512_store_si512(to + 2, c);
      _mm512_store_si512(to + 3, d);
    };
    keep(0, a0, b0, c0, d0);
    keep(1, a1, b1, c1, d1);
    keep(2, a2, b2, c2, d2);
    keep(3, a3, b3, c3, d3);
#else
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
            : "m"(pair(n, i)), "x"(of_a), "x"(of_b));
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
#endif
  }
}

typedef std::uint32_t SumLanes __attribute__((vector_size(4 * kLanes)));  // modulo 2³²

inline SumLanes load_sums(const std::int32_t* from) {
  SumLanes x;
  std::memcpy(&x, from, sizeof x);
  return x;
}

// Aᵀ along one side of a tile: 3 · 2ᵏ times its four squares, k being kShifts.
constexpr int kShifts[4] = {3, 2, 1, 1};
inline void transform_sums(const SumLanes (&m)[kTile], SumLanes (&y)[4]) {
  const SumLanes p = m[1] + m[2], q = m[1] - m[2], s = m[3] + m[4], t = m[3] - m[4];
  y[0] = m[0] * 6 - (p << 2) + s;
  y[1] = t - (q << 1);
  y[2] = s - p;
  y[3] = (t << 1) - q + m[5] * 6;
}

// Calls use(tile, i, j, first, y) for the squares (i, j) of each tile, y being the sums of kLanes outputs from `first` on.
template <int kInputs, class Use>
inline void gather_tiles(const Sums* sums, int rows, int stride, const std::int32_t* centres, const Use& use) {
  constexpr std::uint32_t kNinth = 954437177;                      // 9 · kNinth = 1 modulo 2³²
  constexpr bool kCentred = 255LL * 9 * 127 * kInputs >= 1 << 25;  // else the range around 0 is enough
  static_assert(255LL * 9 * 127 * kInputs < 1 << 26);
  typedef std::int32_t Signed __attribute__((vector_size(4 * kLanes)));
  for (int row = 0; row < rows; ++row)
    for (int first = 0; first < kOutputsAtOnce; first += kLanes) {
      SumLanes t[kTile][4];  // Aᵀ M, transposed
#pragma GCC unroll 6
      for (int j = 0; j < kTile; ++j) {
        SumLanes m[kTile];
#pragma GCC unroll 6
        for (int i = 0; i < kTile; ++i) m[i] = load_sums(sums[(kTile * i + j) * stride + row].of + first);
        transform_sums(m, t[j]);
      }
      const SumLanes centre = load_sums(centres + first);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        const SumLanes m[kTile] = {t[0][i], t[1][i], t[2][i], t[3][i], t[4][i], t[5][i]};
        SumLanes y[4];
        transform_sums(m, y);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) {
          const int shift = kShifts[i] + kShifts[j];
          SumLanes scaled = y[j] * kNinth;
          if constexpr (kCentred) scaled -= centre << shift;
          Signed whole = reinterpret_cast<Signed>(scaled) >> shift;
          if constexpr (kCentred) whole += reinterpret_cast<Signed>(centre);
          use(row, i, j, first, reinterpret_cast<SumLanes>(whole));
        }
      }
    }
}

// Scratch memory, shared by all convolutions of a thread.
struct Workspace {
  std::vector<std::int16_t> inputs;  // V
  std::vector<Sums> sums;            // Σ U ⊙ V
};

inline Workspace& workspace(std::size_t inputs, std::size_t sums) {
  static thread_local Workspace shared;
  if (shared.inputs.size() < inputs) shared.inputs.resize(inputs);
  if (shared.sums.size() < sums) shared.sums.resize(sums);
  return shared;
}

// Calls use(board, square, output, values) for all of them, kLanes outputs at a time: scale · Σ weights · bytes + bias.
template <int kInputs, int kTaps, class Use>
void convolve(const PackedWeights& packed, const std::vector<float>& scale, const std::vector<float>& bias,
              const std::uint8_t* boards, int count, const Use& use) {
  constexpr int kPlacesUsed = kTaps == 9 ? kPlaces : 1;
  constexpr int kRows = kTaps == 9 ? 4 : 64;  // of each board
  const int rows = count * kRows;
  const int stride = rows + 1;  // from place to place; without the one they would all share a few lines of the cache
  auto& [inputs, sums] = workspace(static_cast<std::size_t>(kPlacesUsed) * stride * kInputs,
                                   static_cast<std::size_t>(kPlacesUsed) * stride);
  for (int row = 0; row < rows; ++row) {
    const std::uint8_t* board = boards + row / kRows * kPadded * kInputs;
    std::int16_t* v = inputs.data() + row * kInputs;
    if constexpr (kTaps == 9) {
      transform_tile<kInputs>(board + (row % 4 / 2 * 4 * kSide + row % 2 * 4) * kInputs, v, stride);
    } else {
      std::copy_n(board + padded(row % 64) * kInputs, kInputs, v);
    }
  }
  const WeightPairs* weights = packed.pairs.data();
  for (int o = 0; o < static_cast<int>(scale.size()); o += kOutputsAtOnce) {
    for (int place = 0; place < kPlacesUsed; ++place, weights += kInputs / 2)
      multiply<kInputs>(inputs.data() + place * stride * kInputs, weights, rows, &sums[place * stride]);
    const auto value = [&](SumLanes whole, int output) {
      return multiply_add(to_floats(whole), load(&scale[output]), load(&bias[output]));
    };
    if constexpr (kTaps == 9) {
      gather_tiles<kInputs>(sums.data(), rows, stride, &packed.centres[o],
                            [&](int row, int i, int j, int first, SumLanes y) {
                              const int square = 8 * (row % 4 / 2 * 4 + i) + row % 2 * 4 + j;
                              use(row / kRows, square, o + first, value(y, o + first));
                            });
    } else {
      for (int row = 0; row < rows; ++row)
        for (int first = 0; first < kOutputsAtOnce; first += kLanes)
          use(row / kRows, row % kRows, o + first, value(load_sums(sums[row].of + first), o + first));
    }
  }
}

}  // namespace penumbra
