// A residual network quantized to int8: the tower, the policy of one headset, the value of another. It computes what the
// quantized ONNX graph (penumbra.network.onnx_graph) does, except that the sums within a block are not rounded on the
// way. It is compiled for AVX-512 VNNI and for AVX2; the sums of both are the same whole numbers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "network/convolve.h"

namespace penumbra {

constexpr int kPassChannels = 4, kPassHidden = 64, kValueChannels = 8, kValueHidden = 256;  // of the dense heads

// scale · Σ weights · x + bias, for each output.
struct Convolution {
  PackedWeights weights;
  std::vector<float> scale, bias;
};

// A residual block: two convolutions, and its input added to their output. All values are in units of the block's output
// byte.
struct Block {
  Convolution first, second;
  float residual_scale = 0;  // of the block's input, where there is no shortcut
  Convolution shortcut;      // 1 x 1; empty where there is none
};

// A head that gives one number: a 1 x 1 convolution to a few channels, a dense layer, an output; inputs are bytes.
struct Dense {
  std::vector<float> squeeze, squeeze_bias;  // [channels][width]
  std::vector<float> hidden, hidden_bias;    // [channels * 64][hidden], squares of the first channel first
  std::vector<float> out;                    // [hidden]
  float out_bias = 0;
};

struct Int8Network {
  int width = 0;
  Inputs inputs = kBinary;
  std::vector<Block> tower;
  Block policy_block;
  std::vector<float> policy, policy_bias;  // [65][width]: to each square, then the sense
  Dense pass, value;

  // Priors along the legal actions of each row, and values from -1 to 1. A row of `features` has inputs.words() words.
  void evaluate(std::span<const std::uint64_t> features, std::span<const std::int32_t> actions,
                std::span<const std::int64_t> offsets, float* priors, float* values) const;
};

}  // namespace penumbra
