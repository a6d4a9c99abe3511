// A residual network in eight bits, for processors with AVX-512 VNNI: the tower, the policy of one headset, the value of
// another. The same numbers as onnx_graph.EightBits, but for the sums of a block, which are not rounded on the way.
//
// Activations are bytes, [100][channels]: the 64 squares with a border of zeros around them, so that every square has
// nine neighbours. Four products of a byte and a signed byte are summed by one instruction for each of 16 outputs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penumbra {

constexpr int kPassChannels = 4, kPassHidden = 64, kValueChannels = 8, kValueHidden = 256;  // of the dense heads
constexpr int kOutputsAtOnce = 32;  // of a convolution: two registers for each square of a rank

// x ↦ scale · Σ weights · x + bias, for each output.
struct Convolution {
  std::vector<std::int8_t> weights;  // [outputs / 32][taps][inputs / 4][32][4]
  std::vector<float> scale, bias;
};

// Two convolutions and what goes around them. All values are in units of the block's result, a byte.
struct Block {
  Convolution first, second;
  float kept = 0;        // of the block's input, where there is no shortcut
  Convolution shortcut;  // 1 x 1; empty where there is none
};

// A few channels, a dense layer, one number; inputs are bytes.
struct Dense {
  std::vector<float> squeeze, squeeze_bias;  // [few][channels]
  std::vector<float> hidden, hidden_bias;    // [few * 64][hidden], squares of the first channel first
  std::vector<float> out;                    // [hidden]
  float out_bias = 0;
};

struct EightBitNetwork {
  int width = 0;
  std::vector<Block> tower;
  Block policy_block;
  std::vector<float> policy, policy_bias;  // [65][width]: to each square, then the sense
  Dense pass, value;

  // Priors along the legal actions of each row, and values from -1 to 1.
  void evaluate(std::span<const std::uint64_t> planes, std::span<const std::int32_t> actions,
                std::span<const std::int64_t> offsets, float* priors, float* values) const;
};

}  // namespace penumbra
