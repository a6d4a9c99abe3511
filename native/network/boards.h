// How bytes lie that go through a network: boards of [100][channels], the 64 squares with a border of zeros around them,
// so that every square has nine neighbours.
#pragma once

#include <cstdint>
#include <vector>

namespace penumbra {

constexpr int kSide = 10;               // of the board with its border
constexpr int kPadded = kSide * kSide;  // squares

// How many go through a convolution while its weights are at hand: the more weights, the more; and the fewer, the more of
// what is computed stays in the cache.
constexpr int boards_at_once(int width) { return width == 64 ? 4 : 8; }

constexpr int padded(int square) { return (square / 8 + 1) * kSide + square % 8 + 1; }

}  // namespace penumbra
