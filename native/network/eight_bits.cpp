#include "network/eight_bits.h"

#include <immintrin.h>

#include <algorithm>
#include <cmath>

#include "parallel.h"
#include "rbc/rules.h"
#include "rbc/synopsis.h"

namespace penumbra {

namespace {

constexpr int kSide = 10;               // of the board with its border
constexpr int kPadded = kSide * kSide;  // squares
constexpr int kBoardsAtOnce = 8;        // that go through a convolution while its weights are at hand

constexpr int padded(int square) { return (square / 8 + 1) * kSide + square % 8 + 1; }

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

// Calls use(board, square, output, 16 values) for all of them.
template <int kInputs, int kTaps, class Use>
void convolve(const Convolution& c, const std::uint8_t* boards, int count, const Use& use) {
  const int outputs = static_cast<int>(c.scale.size());
  for (int o = 0; o < outputs; o += kOutputsAtOnce) {
    const std::int8_t* weights = c.weights.data() + static_cast<std::size_t>(o) * kTaps * kInputs;
    for (int b = 0; b < count; ++b)
      for (int rank = 0; rank < 8; ++rank) {
        const Sums sums = sums_of_rank<kInputs, kTaps>(boards + b * kPadded * kInputs, weights, rank);
#pragma GCC unroll 2
        for (int half = 0; half < 2; ++half) {
          const int output = o + 16 * half;
          const __m512 scale = _mm512_loadu_ps(&c.scale[output]), bias = _mm512_loadu_ps(&c.bias[output]);
#pragma GCC unroll 8
          for (int s = 0; s < 8; ++s)
            use(b, 8 * rank + s, output, _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums.of[s][half]), scale, bias));
        }
      }
  }
}

// Negative values become 0, those past 255 become 255.
inline void store_bytes(std::uint8_t* to, __m512 values) {
  const __m512i whole = _mm512_cvtps_epi32(_mm512_max_ps(values, _mm512_setzero_ps()));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtusepi32_epi8(whole));
}

inline __m512 load_bytes(const std::uint8_t* from) {
  return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
}

// Boards on their way through the network.
template <int kWidth>
struct Scratch {
  std::vector<std::uint8_t> planes, x, y, z;
  std::vector<float> shortcut;
  Scratch()
      : planes(kBoardsAtOnce * kPadded * kPlanes),
        x(kBoardsAtOnce * kPadded * kWidth),
        y(x.size()),
        z(x.size()),
        shortcut(kBoardsAtOnce * 64 * kWidth) {}
};

template <int kWidth>
std::uint8_t* at(std::vector<std::uint8_t>& boards, int board, int square, int channel) {
  return boards.data() + (static_cast<std::size_t>(board) * kPadded + padded(square)) * kWidth + channel;
}

// `middle` holds what is between the two convolutions.
template <int kWidth, int kInputs>
void run_block(const Block& block, std::vector<std::uint8_t>& from, std::vector<std::uint8_t>& middle,
               std::vector<std::uint8_t>& to, std::vector<float>& shortcut, int count) {
  convolve<kInputs, 9>(block.first, from.data(), count, [&](int b, int square, int output, __m512 values) {
    store_bytes(at<kWidth>(middle, b, square, output), values);
  });
  if constexpr (kInputs != kWidth) {
    convolve<kInputs, 1>(block.shortcut, from.data(), count, [&](int b, int square, int output, __m512 values) {
      _mm512_storeu_ps(&shortcut[(b * 64 + square) * kWidth + output], values);
    });
    convolve<kWidth, 9>(block.second, middle.data(), count, [&](int b, int square, int output, __m512 values) {
      const __m512 other = _mm512_loadu_ps(&shortcut[(b * 64 + square) * kWidth + output]);
      store_bytes(at<kWidth>(to, b, square, output), _mm512_add_ps(values, other));
    });
  } else {
    const __m512 kept = _mm512_set1_ps(block.kept);
    convolve<kWidth, 9>(block.second, middle.data(), count, [&](int b, int square, int output, __m512 values) {
      const __m512 other = load_bytes(at<kWidth>(from, b, square, output));
      store_bytes(at<kWidth>(to, b, square, output), _mm512_fmadd_ps(other, kept, values));
    });
  }
}

template <int kWidth>
float dot(const float* weights, const std::uint8_t* x) {
  __m512 sum = _mm512_setzero_ps();
  for (int channel = 0; channel < kWidth; channel += 16)
    sum = _mm512_fmadd_ps(load_bytes(x + channel), _mm512_loadu_ps(weights + channel), sum);
  return _mm512_reduce_add_ps(sum);
}

template <int kWidth, int kFew, int kHidden>
float dense(const Dense& d, const std::uint8_t* board) {
  float squeezed[kFew][64];
  for (int square = 0; square < 64; ++square)
    for (int n = 0; n < kFew; ++n) {
      const float sum = dot<kWidth>(&d.squeeze[n * kWidth], board + padded(square) * kWidth);
      squeezed[n][square] = std::max(sum + d.squeeze_bias[n], 0.0f);
    }
  __m512 sums[kHidden / 16];
#pragma GCC unroll 16
  for (int h = 0; h < kHidden / 16; ++h) sums[h] = _mm512_loadu_ps(&d.hidden_bias[16 * h]);
  for (int i = 0; i < 64 * kFew; ++i) {
    const __m512 x = _mm512_set1_ps(squeezed[i / 64][i % 64]);
    const float* weights = &d.hidden[i * kHidden];
#pragma GCC unroll 16
    for (int h = 0; h < kHidden / 16; ++h) sums[h] = _mm512_fmadd_ps(x, _mm512_loadu_ps(weights + 16 * h), sums[h]);
  }
  __m512 out = _mm512_setzero_ps();
#pragma GCC unroll 16
  for (int h = 0; h < kHidden / 16; ++h)
    out = _mm512_fmadd_ps(_mm512_max_ps(sums[h], _mm512_setzero_ps()), _mm512_loadu_ps(&d.out[16 * h]), out);
  return _mm512_reduce_add_ps(out) + d.out_bias;
}

template <int kWidth>
void run(const EightBitNetwork& network, const std::uint64_t* planes, std::span<const std::int32_t> actions,
         const std::int64_t* offsets, int count, float* priors, float* values) {
  static thread_local Scratch<kWidth> s;
  std::fill(s.planes.begin(), s.planes.begin() + count * kPadded * kPlanes, 0);
  for (int b = 0; b < count; ++b)
    for (int p = 0; p < kPlanes; ++p)
      for (std::uint64_t rest = planes[b * kPlanes + p]; rest; rest &= rest - 1)
        *at<kPlanes>(s.planes, b, __builtin_ctzll(rest), p) = 1;
  run_block<kWidth, kPlanes>(network.tower[0], s.planes, s.y, s.x, s.shortcut, count);
  for (std::size_t i = 1; i < network.tower.size(); ++i) {
    run_block<kWidth, kWidth>(network.tower[i], s.x, s.y, s.z, s.shortcut, count);
    std::swap(s.x, s.z);
  }
  run_block<kWidth, kWidth>(network.policy_block, s.x, s.y, s.z, s.shortcut, count);
  for (int b = 0; b < count; ++b) {
    const std::uint8_t* last = s.x.data() + b * kPadded * kWidth;
    const std::uint8_t* wanted = s.z.data() + b * kPadded * kWidth;
    values[b] = std::tanh(dense<kWidth, kValueChannels, kValueHidden>(network.value, last));
    float largest = -INFINITY, sum = 0;
    for (std::int64_t i = offsets[b]; i < offsets[b + 1]; ++i) {
      const int action = actions[i];
      const int plane = action < kMoveBase ? 64 : (action - kMoveBase) % 64,
                square = action < kMoveBase ? action : (action - kMoveBase) / 64;
      priors[i] = action == kPassAction
                      ? dense<kWidth, kPassChannels, kPassHidden>(network.pass, last)
                      : dot<kWidth>(&network.policy[plane * kWidth], wanted + padded(square) * kWidth) +
                            network.policy_bias[plane];
      largest = std::max(largest, priors[i]);
    }
    for (std::int64_t i = offsets[b]; i < offsets[b + 1]; ++i) sum += priors[i] = std::exp(priors[i] - largest);
    for (std::int64_t i = offsets[b]; i < offsets[b + 1]; ++i) priors[i] /= sum;
  }
}

}  // namespace

void EightBitNetwork::evaluate(std::span<const std::uint64_t> planes, std::span<const std::int32_t> actions,
                               std::span<const std::int64_t> offsets, float* priors, float* values) const {
  const int rows = static_cast<int>(offsets.size()) - 1;
  const int each = std::clamp((rows + threads() - 1) / threads(), 1, kBoardsAtOnce);
  const auto work = [&](int task) {
    const int first = task * each, count = std::min(each, rows - first);
    const std::uint64_t* some = planes.data() + static_cast<std::size_t>(first) * kPlanes;
    if (width == 64) {
      run<64>(*this, some, actions, &offsets[first], count, priors, values + first);
    } else {
      run<128>(*this, some, actions, &offsets[first], count, priors, values + first);
    }
  };
  const int tasks = (rows + each - 1) / each;
  if (tasks == 1) {
    work(0);
  } else {
    parallel_for(tasks, work);
  }
}

}  // namespace penumbra
