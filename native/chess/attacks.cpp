#include "chess/attacks.h"

namespace penumbra {

namespace {

std::array<std::array<Bitboard, 64>, 64> make_between() {
  std::array<std::array<Bitboard, 64>, 64> table{};
  for (Square a = 0; a < 64; ++a)
    for (const bool diagonal : {false, true})
      for_each(detail::slide_slowly(a, 0, diagonal), [&](Square b) {
        table[a][b] = detail::slide_slowly(a, bit(b), diagonal) & detail::slide_slowly(b, bit(a), diagonal);
      });
  return table;
}

#if defined(__BMI2__)
detail::SliderTables make_sliders() {
  detail::SliderTables t{};
  std::uint32_t offset = 0;
  for (const bool diagonal : {false, true}) {
    for (Square s = 0; s < 64; ++s) {
      detail::SliderSquare& q = (diagonal ? t.bishop : t.rook)[s];
      q.reach = detail::slide_slowly(s, 0, diagonal);
      // A blocker on the last square of a ray changes nothing.
      const Bitboard edge = ((kFileA | kFileH) & ~(kFileA << file_of(s))) | ((kRank1 | kRank8) & ~(kRank1 << (s & 56)));
      q.mask = q.reach & ~edge;
      q.offset = offset;
      const std::uint32_t subsets = 1U << count(q.mask);
      for (std::uint32_t i = 0; i < subsets; ++i)
        t.attacks[offset + i] =
            static_cast<std::uint16_t>(_pext_u64(detail::slide_slowly(s, _pdep_u64(i, q.mask), diagonal), q.reach));
      offset += subsets;
    }
  }
  return t;
}
#else
std::array<detail::Line, 64> make_lines() {
  std::array<detail::Line, 64> lines{};
  for (Square s = 0; s < 64; ++s) {
    const Bitboard diagonals = detail::slide_slowly(s, 0, true);
    lines[s].file = (kFileA << file_of(s)) & ~bit(s);
    lines[s].rank = (kRank1 << (s & 56)) & ~bit(s);
    for_each(diagonals, [&](Square t) {
      const bool rising = (file_of(t) > file_of(s)) == (rank_of(t) > rank_of(s));
      (rising ? lines[s].diagonal : lines[s].antidiagonal) |= bit(t);
    });
  }
  return lines;
}
#endif

}  // namespace

const std::array<std::array<Bitboard, 64>, 64> kBetween = make_between();
#if defined(__BMI2__)
const detail::SliderTables detail::kSliders = make_sliders();
#else
const std::array<detail::Line, 64> detail::kLines = make_lines();
#endif

}  // namespace penumbra
