#include "network/int8_network.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/bits.h"
#include "base/parallel.h"

namespace penumbra {

namespace {

// The activations of the boards that one thread evaluates together.
template <int kWidth, int kChannels>
struct Scratch {
  std::vector<std::uint8_t> planes, x, y, z;
  std::vector<float> shortcut;
  Scratch()
      : planes(boards_at_once(kWidth) * kPadded * kChannels),
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

// `middle` takes the activations between the two convolutions.
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
    const Lanes residual_scale = broadcast(block.residual_scale);
    run_convolution<kWidth, 9>(block.second, middle, count, [&](int b, int square, int output, Lanes values) {
      const Lanes other = load_bytes(at<kWidth>(from, b, square, output));
      store_bytes(at<kWidth>(to, b, square, output), multiply_add(other, residual_scale, values));
    });
  }
}

template <int kWidth>
float dot(const float* weights, const std::uint8_t* x) {
  Lanes sums = zeros();
  for (int channel = 0; channel < kWidth; channel += kLanes)
    sums = multiply_add(load_bytes(x + channel), load(weights + channel), sums);
  return sum(sums);
}

// Boards that go through a dense layer together: its weights do not fit into the nearer caches.
constexpr int kDenseBoards = 4;

// The dense layer of kBoards boards and the output after it.
template <int kChannels, int kHidden, int kBoards>
void run_hidden(const Dense& d, const float (*squeezed)[kChannels * 64], float* results) {
  constexpr int kAtOnce =
      std::min(kHidden / kLanes, kLanes / kBoards);  // registers for each board: half of all there are
  Lanes out[kBoards];
  for (Lanes& sums : out) sums = zeros();
  for (int first = 0; first < kHidden; first += kAtOnce * kLanes) {
    Lanes hidden[kBoards][kAtOnce];
#pragma GCC unroll 4
    for (int b = 0; b < kBoards; ++b)
#pragma GCC unroll 16
      for (int h = 0; h < kAtOnce; ++h) hidden[b][h] = load(&d.hidden_bias[first + h * kLanes]);
    for (int i = 0; i < 64 * kChannels; ++i) {
      const float* weights = &d.hidden[i * kHidden + first];
#pragma GCC unroll 4
      for (int b = 0; b < kBoards; ++b) {
        const Lanes x = broadcast(squeezed[b][i]);
#pragma GCC unroll 16
        for (int h = 0; h < kAtOnce; ++h) hidden[b][h] = multiply_add(x, load(weights + h * kLanes), hidden[b][h]);
      }
    }
#pragma GCC unroll 4
    for (int b = 0; b < kBoards; ++b)
#pragma GCC unroll 16
      for (int h = 0; h < kAtOnce; ++h)
        out[b] = multiply_add(relu(hidden[b][h]), load(&d.out[first + h * kLanes]), out[b]);
  }
  for (int b = 0; b < kBoards; ++b) results[b] = sum(out[b]) + d.out_bias;
}

template <int kWidth, int kChannels, int kHidden>
void dense(const Dense& d, const std::uint8_t* boards, int count, float* results) {
  float squeezed[kDenseBoards][kChannels * 64];
  for (int first = 0; first < count; first += kDenseBoards) {
    const int now = std::min(count - first, kDenseBoards);
    for (int b = 0; b < now; ++b)
      for (int square = 0; square < 64; ++square) {
        const std::uint8_t* inputs = boards + ((first + b) * kPadded + padded(square)) * kWidth;
        Lanes x[kWidth / kLanes];
        for (int i = 0; i < kWidth / kLanes; ++i) x[i] = load_bytes(inputs + i * kLanes);
        for (int n = 0; n < kChannels; ++n) {
          Lanes sums = zeros();
          for (int i = 0; i < kWidth / kLanes; ++i)
            sums = multiply_add(x[i], load(&d.squeeze[n * kWidth + i * kLanes]), sums);
          squeezed[b][64 * n + square] = std::max(sum(sums) + d.squeeze_bias[n], 0.0f);
        }
      }
    if (now == kDenseBoards) {
      run_hidden<kChannels, kHidden, kDenseBoards>(d, squeezed, results + first);
    } else {
      for (int b = 0; b < now; ++b) run_hidden<kChannels, kHidden, 1>(d, squeezed + b, results + first + b);
    }
  }
}

// Bit i of a byte as byte i, 0 or 1.
constexpr std::uint64_t spread(std::uint64_t byte) {
  const std::uint64_t bits = byte * 0x0101010101010101 & 0x8040201008040201;
  return (bits + 0x7F7F7F7F7F7F7F7F) >> 7 & 0x0101010101010101;
}

// Inputs of one board as bytes, those of a square side by side: eight planes of bits and eight squares at a time. Where
// there are planes of bytes too, a bit is 255, so that all of them have one scale.
template <Inputs kInputs>
void unpack(const std::uint64_t* features, std::uint8_t* board) {
  constexpr int kChannels = kInputs.channels();
  constexpr std::uint64_t kOne = kInputs.bytes ? 255 : 1;
  for (int p = 0; p < kInputs.bits; p += 8)
    for (int rank = 0; rank < 8; ++rank) {
      std::uint64_t rows = 0;  // byte i: the rank of plane p + i
      for (int i = 0; i < std::min(8, kInputs.bits - p); ++i) rows |= (features[p + i] >> (8 * rank) & 255) << (8 * i);
      const std::uint64_t squares = transposed(rows);
      for (int file = 0; file < 8; ++file) {
        const std::uint64_t bytes = spread(squares >> (8 * file) & 255) * kOne;
        std::memcpy(board + padded(8 * rank + file) * kChannels + p, &bytes, 8);
      }
    }
  const auto* const shares = reinterpret_cast<const std::uint8_t*>(features + kInputs.bits);
  for (int square = 0; square < 64; ++square)
    for (int p = 0; p < kInputs.bytes; ++p)
      board[padded(square) * kChannels + kInputs.bits + p] = shares[64 * p + square];
}

template <int kWidth, Inputs kInputs>
void run(const Int8Network& network, const std::uint64_t* features, std::span<const std::int32_t> actions,
         const std::int64_t* offsets, int count, float* priors, float* values) {
  constexpr int kChannels = kInputs.channels();
  static thread_local Scratch<kWidth, kChannels> s;
  for (int b = 0; b < count; ++b)
    unpack<kInputs>(features + b * kInputs.words(), s.planes.data() + b * kPadded * kChannels);
  run_block<kWidth, kChannels>(network.tower[0], s.planes, s.y, s.x, s.shortcut, count);
  for (std::size_t i = 1; i < network.tower.size(); ++i) {
    run_block<kWidth, kWidth>(network.tower[i], s.x, s.y, s.z, s.shortcut, count);
    std::swap(s.x, s.z);
  }
  run_block<kWidth, kWidth>(network.policy_block, s.x, s.y, s.z, s.shortcut, count);
  dense<kWidth, kValueChannels, kValueHidden>(network.value, s.x.data(), count, values);
  float passes[boards_at_once(kWidth)];
  if (std::find(actions.begin() + offsets[0], actions.begin() + offsets[count], kPassMove) !=
      actions.begin() + offsets[count])
    dense<kWidth, kPassChannels, kPassHidden>(network.pass, s.x.data(), count, passes);
  for (int b = 0; b < count; ++b) {
    const std::uint8_t* wanted = s.z.data() + b * kPadded * kWidth;
    values[b] = std::tanh(values[b]);
    float largest = -INFINITY, sum = 0;
    for (std::int64_t i = offsets[b]; i < offsets[b + 1]; ++i) {
      const int action = actions[i];
      const int plane = action < kFirstMove ? 64 : (action - kFirstMove) % 64,
                square = action < kFirstMove ? action : (action - kFirstMove) / 64;
      priors[i] = action == kPassMove ? passes[b]
                                      : dot<kWidth>(&network.policy[plane * kWidth], wanted + padded(square) * kWidth) +
                                            network.policy_bias[plane];
      largest = std::max(largest, priors[i]);
    }
    for (std::int64_t i = offsets[b]; i < offsets[b + 1]; ++i) sum += priors[i] = std::exp(priors[i] - largest);
    for (std::int64_t i = offsets[b]; i < offsets[b + 1]; ++i) priors[i] /= sum;
  }
}

using Run = void (*)(const Int8Network&, const std::uint64_t*, std::span<const std::int32_t>, const std::int64_t*, int,
                     float*, float*);

template <int kWidth>
Run run_of(const Inputs& inputs) {
  if (inputs == kGraded) return run<kWidth, kGraded>;
  if (inputs == kShareInputs) return run<kWidth, kShareInputs>;
  return run<kWidth, kBinary>;
}

}  // namespace

void Int8Network::evaluate(std::span<const std::uint64_t> features, std::span<const std::int32_t> actions,
                           std::span<const std::int64_t> offsets, float* priors, float* values) const {
  const int rows = static_cast<int>(offsets.size()) - 1;
  const int each = std::clamp((rows + threads() - 1) / threads(), 1, boards_at_once(width));
  const Run run = width == 64 ? run_of<64>(inputs) : run_of<128>(inputs);
  const auto work = [&](int task) {
    const int first = task * each, count = std::min(each, rows - first);
    const std::uint64_t* some = features.data() + static_cast<std::size_t>(first) * inputs.words();
    run(*this, some, actions, &offsets[first], count, priors, values + first);
  };
  const int tasks = (rows + each - 1) / each;
  if (tasks == 1) {
    work(0);
  } else {
    parallel_for(tasks, work);
  }
}

}  // namespace penumbra
