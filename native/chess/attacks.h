// What pieces attack. Steppers and rays come from tables made at compile time; sliders from PEXT tables where the
// build has BMI2 and from subtraction on masked lines ("hyperbola quintessence") elsewhere.
#pragma once

#include <array>

#include "chess/bitboard.h"

#if defined(__BMI2__)
#include <immintrin.h>
#endif

namespace penumbra {

namespace detail {

constexpr Bitboard steps_from(Square s, const int (&steps)[8][2]) {
  Bitboard result = 0;
  for (const auto& step : steps) {
    const int f = file_of(s) + step[0], r = rank_of(s) + step[1];
    if (f >= 0 && f < 8 && r >= 0 && r < 8) result |= bit(r * 8 + f);
  }
  return result;
}

constexpr int kKnightSteps[8][2] = {{1, 2}, {2, 1}, {2, -1}, {1, -2}, {-1, -2}, {-2, -1}, {-2, 1}, {-1, 2}};
constexpr int kKingSteps[8][2] = {{1, 1}, {1, 0}, {1, -1}, {0, -1}, {-1, -1}, {-1, 0}, {-1, 1}, {0, 1}};

constexpr std::array<Bitboard, 64> step_table(const int (&steps)[8][2]) {
  std::array<Bitboard, 64> table{};
  for (Square s = 0; s < 64; ++s) table[s] = steps_from(s, steps);
  return table;
}

// The first blocker of each ray is included, whoever owns it.
constexpr Bitboard slide_slowly(Square s, Bitboard occupied, bool diagonal) {
  constexpr int lines[4][2] = {{0, 1}, {0, -1}, {1, 0}, {-1, 0}};
  constexpr int diagonals[4][2] = {{1, 1}, {1, -1}, {-1, 1}, {-1, -1}};
  Bitboard result = 0;
  for (int d = 0; d < 4; ++d) {
    const int df = diagonal ? diagonals[d][0] : lines[d][0], dr = diagonal ? diagonals[d][1] : lines[d][1];
    for (int f = file_of(s) + df, r = rank_of(s) + dr; f >= 0 && f < 8 && r >= 0 && r < 8; f += df, r += dr) {
      result |= bit(r * 8 + f);
      if (occupied & bit(r * 8 + f)) break;
    }
  }
  return result;
}

}  // namespace detail

constexpr std::array<Bitboard, 64> kKnightAttacks = detail::step_table(detail::kKnightSteps);
constexpr std::array<Bitboard, 64> kKingAttacks = detail::step_table(detail::kKingSteps);

// A pawn going up the board; the other side's pawns are reached by mirroring.
constexpr Bitboard pawn_attacks_up(Bitboard pawns) { return ((pawns & ~kFileA) << 7) | ((pawns & ~kFileH) << 9); }
constexpr Bitboard pawn_attacks_down(Bitboard pawns) { return ((pawns & ~kFileA) >> 9) | ((pawns & ~kFileH) >> 7); }

// The 3x3 window that a sense of `s` shows, cut at the edges.
constexpr Bitboard window(Square s) { return kKingAttacks[s] | bit(s); }

// Squares strictly between two squares of one line or diagonal; empty otherwise.
extern const std::array<std::array<Bitboard, 64>, 64> kBetween;

namespace detail {
#if defined(__BMI2__)
// Attack sets compressed to the squares reachable on the empty board: 16 bits each, so that the tables fit in the cache.
struct SliderSquare {
  Bitboard mask = 0;   // blockers that matter
  Bitboard reach = 0;  // attacks on the empty board
  std::uint32_t offset = 0;
};
struct SliderTables {
  std::array<SliderSquare, 64> rook, bishop;
  std::array<std::uint16_t, 107648> attacks;
};
extern const SliderTables kSliders;

inline Bitboard lookup(const SliderSquare& q, Bitboard occupied) {
  return _pdep_u64(kSliders.attacks[q.offset + _pext_u64(occupied, q.mask)], q.reach);
}
#else
struct Line {
  Bitboard file, rank, diagonal, antidiagonal;  // without the square itself
};
extern const std::array<Line, 64> kLines;

// Both rays of one line that is not a rank: subtraction runs up to the first blocker, once forwards, once mirrored.
inline Bitboard along(Bitboard line, Square s, Bitboard occupied) {
  const Bitboard forward = (occupied & line) - 2 * bit(s);
  const Bitboard backward = mirror(mirror(occupied & line) - 2 * mirror(bit(s)));
  return (forward ^ backward) & line;
}

constexpr Bitboard reverse(Bitboard b) {
  b = ((b >> 1) & 0x5555555555555555ULL) | ((b & 0x5555555555555555ULL) << 1);
  b = ((b >> 2) & 0x3333333333333333ULL) | ((b & 0x3333333333333333ULL) << 2);
  b = ((b >> 4) & 0x0F0F0F0F0F0F0F0FULL) | ((b & 0x0F0F0F0F0F0F0F0FULL) << 4);
  return mirror(b);
}

// A rank needs the bits reversed, not only the bytes.
inline Bitboard along_rank(Bitboard line, Square s, Bitboard occupied) {
  const Bitboard forward = (occupied & line) - 2 * bit(s);
  const Bitboard backward = reverse(reverse(occupied & line) - 2 * reverse(bit(s)));
  return (forward ^ backward) & line;
}
#endif
}  // namespace detail

inline Bitboard rook_attacks(Square s, Bitboard occupied) {
#if defined(__BMI2__)
  return detail::lookup(detail::kSliders.rook[s], occupied);
#else
  const detail::Line& line = detail::kLines[s];
  return detail::along(line.file, s, occupied) | detail::along_rank(line.rank, s, occupied);
#endif
}

inline Bitboard bishop_attacks(Square s, Bitboard occupied) {
#if defined(__BMI2__)
  return detail::lookup(detail::kSliders.bishop[s], occupied);
#else
  const detail::Line& line = detail::kLines[s];
  return detail::along(line.diagonal, s, occupied) | detail::along(line.antidiagonal, s, occupied);
#endif
}

}  // namespace penumbra
