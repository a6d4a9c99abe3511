// Sets of squares as 64-bit words. Square s is bit s; a1 = 0, b1 = 1, ... h8 = 63.
#pragma once

#include <bit>
#include <cstdint>

namespace penumbra {

using Bitboard = std::uint64_t;
using Square = int;

constexpr Square kNoSquare = -1;

constexpr Bitboard kFileA = 0x0101010101010101ULL;
constexpr Bitboard kFileH = kFileA << 7;
constexpr Bitboard kRank1 = 0xFFULL;
constexpr Bitboard kRank4 = kRank1 << 24;
constexpr Bitboard kRank8 = kRank1 << 56;
constexpr Bitboard kDarkSquares = 0xAA55AA55AA55AA55ULL;

constexpr Bitboard bit(Square s) { return Bitboard{1} << s; }
constexpr int file_of(Square s) { return s & 7; }
constexpr int rank_of(Square s) { return s >> 3; }
constexpr int count(Bitboard b) { return std::popcount(b); }
constexpr Square first(Bitboard b) { return std::countr_zero(b); }
constexpr Square last(Bitboard b) { return 63 - std::countl_zero(b); }

// The same squares seen from the other side of the board: a8 becomes a1.
constexpr Square mirror(Square s) { return s ^ 56; }
constexpr Bitboard mirror(Bitboard b) { return __builtin_bswap64(b); }

// Calls `visit(square)` for every square of the set, lowest first.
template <class Visit>
constexpr void for_each(Bitboard b, Visit&& visit) {
  for (; b; b &= b - 1) visit(first(b));
}

}  // namespace penumbra
