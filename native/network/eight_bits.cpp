#include "network/eight_bits.h"

#include <algorithm>
#include <cmath>

#include "parallel.h"
#include "rbc/rules.h"
#include "rbc/synopsis.h"

namespace penumbra {

namespace {

// Boards on their way through the network.
template <int kWidth>
struct Scratch {
  std::vector<std::uint8_t> planes, x, y, z;
  std::vector<float> shortcut;
  Scratch()
      : planes(boards_at_once(kWidth) * kPadded * kPlanes),
        x(boards_at_once(kWidth) * kPadded * kWidth),
        y(x.size()),
        z(x.size()),
        shortcut(boards_at_once(kWidth) * 64 * kWidth) {}
};

template <int kWidth>
std::uint8_t* at(std::vector<std::uint8_t>& boards, int board, int square, int channel) {
  return boards.data() + (static_cast<std::size_t>(board) * kPadded + padded(square)) * kWidth + channel;
}

template <int kInputs, int kTaps, class Use>
void run_convolution(const Convolution& c, const std::vector<std::uint8_t>& boards, int count, const Use& use) {
  convolve<kInputs, kTaps>(c.weights, c.scale, c.bias, boards.data(), count, use);
}

// `middle` holds what is between the two convolutions.
template <int kWidth, int kInputs>
void run_block(const Block& block, std::vector<std::uint8_t>& from, std::vector<std::uint8_t>& middle,
               std::vector<std::uint8_t>& to, std::vector<float>& shortcut, int count) {
  run_convolution<kInputs, 9>(block.first, from, count, [&](int b, int square, int output, Lanes values) {
    store_bytes(at<kWidth>(middle, b, square, output), values);
  });
  if constexpr (kInputs != kWidth) {
    run_convolution<kInputs, 1>(block.shortcut, from, count, [&](int b, int square, int output, Lanes values) {
      store(&shortcut[(b * 64 + square) * kWidth + output], values);
    });
    run_convolution<kWidth, 9>(block.second, middle, count, [&](int b, int square, int output, Lanes values) {
      const Lanes other = load(&shortcut[(b * 64 + square) * kWidth + output]);
      store_bytes(at<kWidth>(to, b, square, output), add(values, other));
    });
  } else {
    const Lanes kept = all(block.kept);
    run_convolution<kWidth, 9>(block.second, middle, count, [&](int b, int square, int output, Lanes values) {
      const Lanes other = load_bytes(at<kWidth>(from, b, square, output));
      store_bytes(at<kWidth>(to, b, square, output), multiply_add(other, kept, values));
    });
  }
}

template <int kWidth>
float dot(const float* weights, const std::uint8_t* x) {
  Lanes sums = none();
  for (int channel = 0; channel < kWidth; channel += kLanes)
    sums = multiply_add(load_bytes(x + channel), load(weights + channel), sums);
  return sum(sums);
}

template <int kWidth, int kFew, int kHidden>
float dense(const Dense& d, const std::uint8_t* board) {
  float squeezed[kFew * 64];
  for (int square = 0; square < 64; ++square)
    for (int n = 0; n < kFew; ++n) {
      const float value = dot<kWidth>(&d.squeeze[n * kWidth], board + padded(square) * kWidth);
      squeezed[64 * n + square] = std::max(value + d.squeeze_bias[n], 0.0f);
    }
  constexpr int kAtOnce = std::min(kHidden / kLanes, kLanes);  // half of the registers there are
  Lanes out = none();
  for (int first = 0; first < kHidden; first += kAtOnce * kLanes) {
    Lanes hidden[kAtOnce];
#pragma GCC unroll 16
    for (int h = 0; h < kAtOnce; ++h) hidden[h] = load(&d.hidden_bias[first + h * kLanes]);
    for (int i = 0; i < 64 * kFew; ++i) {
      const Lanes x = all(squeezed[i]);
      const float* weights = &d.hidden[i * kHidden + first];
#pragma GCC unroll 16
      for (int h = 0; h < kAtOnce; ++h) hidden[h] = multiply_add(x, load(weights + h * kLanes), hidden[h]);
    }
#pragma GCC unroll 16
    for (int h = 0; h < kAtOnce; ++h) out = multiply_add(positive(hidden[h]), load(&d.out[first + h * kLanes]), out);
  }
  return sum(out) + d.out_bias;
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
  const int each = std::clamp((rows + threads() - 1) / threads(), 1, boards_at_once(width));
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
