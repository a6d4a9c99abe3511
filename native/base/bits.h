// Bit matrices in words.
#pragma once

namespace penumbra {

// Eight bytes of eight bits each, rows made columns; or several such at once, in a vector of words.
template <class Word>
constexpr Word transposed(Word x) {
  Word t = (x ^ (x >> 7)) & 0x00AA00AA00AA00AAULL;
  x ^= t ^ (t << 7);
  t = (x ^ (x >> 14)) & 0x0000CCCC0000CCCCULL;
  x ^= t ^ (t << 14);
  t = (x ^ (x >> 28)) & 0x00000000F0F0F0F0ULL;
  return x ^ t ^ (t << 28);
}

}  // namespace penumbra
