// The layout of what goes into a network and through it. Activations are boards of [100][channels] bytes, the 64 squares
// with a border of zeros around them, so that every square has nine neighbours.
#pragma once

namespace penumbra {

// What goes in: planes of bits, a word each, and after them planes of bytes, eight words each.
struct Inputs {
  int bits, bytes;
  constexpr int planes() const { return bits + bytes; }
  constexpr int words() const { return bits + 8 * bytes; }
  constexpr int channels() const { return bytes ? (planes() + 15) / 16 * 16 : planes(); }  // with zeros behind
  bool operator==(const Inputs&) const = default;
};
constexpr int kBytePlanes = 46;
constexpr Inputs kBinary{104, 0}, kShareInputs{31, kBytePlanes}, kGraded{104, kBytePlanes};

// Action numbers: 64 senses, 64 x 64 moves by from and to, the pass.
constexpr int kFirstMove = 64;
constexpr int kPassMove = 64 + 64 * 64;

constexpr int kSide = 10;               // of the board with its border
constexpr int kPadded = kSide * kSide;  // squares

// Boards that go through a convolution together. The more there are, the more often weights that were loaded are used; the
// fewer, the more of the activations stays in the cache.
constexpr int boards_at_once(int width) { return width == 64 ? 4 : 8; }

constexpr int padded(int square) { return (square / 8 + 1) * kSide + square % 8 + 1; }

}  // namespace penumbra
