// What a synopsis asks of each state: features, which are sets of squares, of four states at a time.
#pragma once

#include "rbc/infostate.h"

namespace penumbra {

// Four states at once. Plain operators on these compile to AVX2, SSE2 or NEON.
typedef std::uint64_t Lanes __attribute__((vector_size(32)));
typedef std::uint8_t LaneBytes __attribute__((vector_size(32)));

constexpr Lanes broadcast(Bitboard b) { return Lanes{b, b, b, b}; }

inline Lanes mirror_lanes(Lanes v) {
#if defined(__clang__)
  const auto bytes = reinterpret_cast<LaneBytes>(v);
  return reinterpret_cast<Lanes>(__builtin_shufflevector(bytes, bytes, 7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10,
                                                         9, 8, 23, 22, 21, 20, 19, 18, 17, 16, 31, 30, 29, 28, 27, 26,
                                                         25, 24));
#else
  constexpr LaneBytes order = {7,  6,  5,  4,  3,  2,  1,  0,  15, 14, 13, 12, 11, 10, 9,  8,
                               23, 22, 21, 20, 19, 18, 17, 16, 31, 30, 29, 28, 27, 26, 25, 24};
  return reinterpret_cast<Lanes>(__builtin_shuffle(reinterpret_cast<LaneBytes>(v), order));
#endif
}

// The opposing pieces of four states, in the viewer's view.
struct OpposingLanes {
  Lanes code[3];        // planes of codes
  Lanes marks, rooks8;  // marked pieces; those of them that are rooks

  // States `at` to `at + 3`; past the end the last one is repeated, which changes no AND and no OR.
  OpposingLanes(const Side* members, int count, int at) {
    for (int lane = 0; lane < 4; ++lane) {
      const Side& side = members[at + lane < count ? at + lane : count - 1];
      for (int p = 0; p < 3; ++p) code[p][lane] = side.planes[p];
    }
    for (Lanes& plane : code) plane = mirror_lanes(plane);
    marks = code[0] & code[1] & code[2];
    rooks8 = marks & broadcast(kRank8);
  }
  Lanes occupied() const { return code[0] | code[1] | code[2]; }
  Lanes pawns() const { return (code[0] & ~code[1] & ~code[2]) | (marks ^ rooks8); }
  Lanes knights() const { return ~code[0] & code[1] & ~code[2]; }
  Lanes bishops() const { return code[0] & code[1] & ~code[2]; }
  Lanes rooks() const { return (~code[0] & ~code[1] & code[2]) | rooks8; }
  Lanes queens() const { return code[0] & ~code[1] & code[2]; }
  Lanes king() const { return ~code[0] & code[1] & code[2]; }
};

// What does not depend on the opposing pieces.
struct OwnPieces {
  Kinds kinds;
  Bitboard occupied;
  Bitboard knights_once = 0, knights_twice = 0;  // attacks, own squares excluded
  Bitboard king = 0;
  Bitboard castling_rooks;

  explicit OwnPieces(const Side& side);
};

// Each is a set of squares. The first seven are one to a square; the last three no share is kept of.
enum Feature : int {
  kNoOpposingPiece,
  kOpposingPawns,
  kOpposingKnights,
  kOpposingBishops,
  kOpposingRooks,
  kOpposingQueens,
  kOpposingKing,
  kOwnAttacks,
  kOwnDoubleAttacks,
  kOwnPawnCaptures,
  kOwnDiagonals,
  kOwnLines,
  kOwnWithoutKing,
  kOwnWithoutPawns,
  kOpposingAttacks,
  kOpposingDoubleAttacks,
  kOpposingPawnCaptures,
  kOpposingKnightSteps,
  kOpposingDiagonals,
  kOpposingLines,
  kOpposingWithoutKing,
  kOpposingWithoutPawns,
  kSafeKing,
  kDestinations,
  kCastlingRights,
  kKingDiagonals,
  kBishopsNearKing,
  kKingLines,
  kRooksNearKing,
  kMayCastle,
  kQueenLines,
  kQueenDiagonals,
  kOwnPawnsTwice,
  kOwnDiagonalsTwice,
  kOwnLinesTwice,
  kFeatures
};
constexpr int kPlacements = kOpposingKing + 1;

// Squares attacked at least once and at least twice, from attackers given one at a time.
struct Tally {
  Lanes once = broadcast(0), twice = broadcast(0);
  void add(Lanes v) {
    twice |= once & v;
    once |= v;
  }
  void add(const Tally& t) {
    twice |= t.twice | (once & t.once);
    once |= t.once;
  }
};

// Sliding in one of eight directions: how far the board is free, computed once for all pieces that slide that way.
template <int Shift, Bitboard Inside>
class Direction {
 public:
  explicit Direction(Lanes empty) {
    free1_ = empty & broadcast(Inside);
    free2_ = free1_ & step<1>(free1_);
    free4_ = free2_ & step<2>(free2_);
  }
  // Squares reached, the first piece in the way included. From one direction a square is reached by one piece only.
  Lanes from(Lanes pieces) const {
    Lanes g = pieces;
    g |= free1_ & step<1>(g);
    g |= free2_ & step<2>(g);
    g |= free4_ & step<4>(g);
    return step<1>(g) & broadcast(Inside);
  }

 private:
  template <int Times>
  static Lanes step(Lanes v) {
    if constexpr (Shift > 0)
      return v << (Shift * Times);
    else
      return v >> (-Shift * Times);
  }
  Lanes free1_, free2_, free4_;
};

constexpr Bitboard kNotA = ~kFileA, kNotH = ~kFileH, kNotAB = kNotA & ~(kFileA << 1), kNotGH = kNotH & ~(kFileH >> 1);

template <class Visit>
void each_knight_step(Lanes knights, const Visit& visit) {
  visit((knights << 17) & broadcast(kNotA));
  visit((knights << 10) & broadcast(kNotAB));
  visit((knights >> 6) & broadcast(kNotAB));
  visit((knights >> 15) & broadcast(kNotA));
  visit((knights >> 17) & broadcast(kNotH));
  visit((knights >> 10) & broadcast(kNotGH));
  visit((knights << 6) & broadcast(kNotGH));
  visit((knights << 15) & broadcast(kNotH));
}

inline Lanes king_steps(Lanes king) {
  const Lanes row = king | ((king << 1) & broadcast(kNotA)) | ((king >> 1) & broadcast(kNotH));
  return (row | (row << 8) | (row >> 8)) & ~king;
}

constexpr Bitboard kKingSidePath = 0x60, kQueenSidePath = 0x0E;

// Calls use(feature, squares) for each of the first `kPlacements` features of four states, which need the opposing pieces alone.
template <class Use>
inline void opposing_placement(const OpposingLanes& o, const Use& use) {
  use(kNoOpposingPiece, ~o.occupied());
  use(kOpposingPawns, o.pawns());
  use(kOpposingKnights, o.knights());
  use(kOpposingBishops, o.bishops());
  use(kOpposingRooks, o.rooks());
  use(kOpposingQueens, o.queens());
  use(kOpposingKing, o.king());
}

// The same for all features.
template <class Use>
inline void state_features(const OwnPieces& own, const OpposingLanes& o, const Use& use) {
  opposing_placement(o, use);
  const Lanes theirs = o.occupied(), ours = broadcast(own.occupied);
  const Lanes not_ours = ~ours, not_theirs = ~theirs, empty = not_ours & not_theirs;

  // Slides, one direction after the other.
  const Lanes queens = broadcast(own.kinds.queens), rooks = broadcast(own.kinds.rooks),
              bishops = broadcast(own.kinds.bishops), king = broadcast(own.kinds.king);
  const Lanes their_queens = o.queens(), their_diagonal = o.bishops() | their_queens,
              their_straight = o.rooks() | their_queens, their_king = o.king();
  Tally our_lines, our_diagonals, their_lines, their_diagonals_tally;
  Lanes king_lines = broadcast(0), king_diagonals = broadcast(0), queen_lines = broadcast(0),
        queen_diagonals = broadcast(0);
  const auto straight = [&](const auto& direction) {
    const Lanes from_queens = direction.from(queens);
    queen_lines |= from_queens;
    our_lines.add((from_queens | direction.from(rooks)) & not_ours);
    their_lines.add(direction.from(their_straight) & not_theirs);
    king_lines |= direction.from(king);
  };
  straight(Direction<8, ~Bitboard{0}>(empty));
  straight(Direction<-8, ~Bitboard{0}>(empty));
  straight(Direction<1, kNotA>(empty));
  straight(Direction<-1, kNotH>(empty));
  const auto diagonal = [&](const auto& direction) {
    const Lanes from_queens = direction.from(queens);
    queen_diagonals |= from_queens;
    our_diagonals.add((from_queens | direction.from(bishops)) & not_ours);
    their_diagonals_tally.add(direction.from(their_diagonal) & not_theirs);
    king_diagonals |= direction.from(king);
  };
  diagonal(Direction<9, kNotA>(empty));
  diagonal(Direction<7, kNotH>(empty));
  diagonal(Direction<-7, kNotA>(empty));
  diagonal(Direction<-9, kNotH>(empty));

  use(kQueenLines, queen_lines);
  use(kQueenDiagonals, queen_diagonals);
  use(kKingLines, king_lines);
  use(kKingDiagonals, king_diagonals);
  use(kRooksNearKing, king_lines & their_straight);
  use(kBishopsNearKing, king_diagonals & their_diagonal);

  // Own pawns capture what is there, or en passant behind a marked pawn.
  const Lanes targets = theirs | ((o.marks ^ o.rooks8) << 8);
  const Lanes pawns = broadcast(own.kinds.pawns);
  Tally our_pawns;
  our_pawns.add((pawns << 7) & broadcast(kNotH) & targets);
  our_pawns.add((pawns << 9) & broadcast(kNotA) & targets);

  Tally ours_all;
  ours_all.add(our_lines);
  ours_all.add(our_diagonals);
  ours_all.add(Tally{broadcast(own.knights_once), broadcast(own.knights_twice)});
  Tally without_pawns = ours_all;
  ours_all.add(our_pawns);
  use(kOwnWithoutKing, ours_all.once);
  without_pawns.add(broadcast(own.king));
  use(kOwnWithoutPawns, without_pawns.once);
  ours_all.add(broadcast(own.king));

  use(kOwnAttacks, ours_all.once);
  use(kOwnDoubleAttacks, ours_all.twice);
  use(kOwnPawnCaptures, our_pawns.once);
  use(kOwnPawnsTwice, our_pawns.twice);
  use(kOwnDiagonals, our_diagonals.once);
  use(kOwnDiagonalsTwice, our_diagonals.twice);
  use(kOwnLines, our_lines.once);
  use(kOwnLinesTwice, our_lines.twice);

  // The opponent's.
  const Lanes their_pawns_here = o.pawns();
  Tally pawn_captures, knight_steps;
  pawn_captures.add((their_pawns_here >> 9) & broadcast(kNotH) & ours);
  pawn_captures.add((their_pawns_here >> 7) & broadcast(kNotA) & ours);
  each_knight_step(o.knights(), [&](Lanes v) { knight_steps.add(v & not_theirs); });
  const Lanes king_reach = king_steps(their_king) & not_theirs;
  Tally theirs_all;
  theirs_all.add(their_lines);
  theirs_all.add(their_diagonals_tally);
  theirs_all.add(knight_steps);
  use(kOpposingWithoutPawns, theirs_all.once | king_reach);
  theirs_all.add(pawn_captures);
  use(kOpposingWithoutKing, theirs_all.once);
  theirs_all.add(king_reach);
  use(kOpposingAttacks, theirs_all.once);
  use(kOpposingDoubleAttacks, theirs_all.twice);
  use(kOpposingPawnCaptures, pawn_captures.once);
  use(kOpposingKnightSteps, knight_steps.once);
  use(kOpposingDiagonals, their_diagonals_tally.once);
  use(kOpposingLines, their_lines.once);

  use(kSafeKing, their_king & ~ours_all.once);
  use(kCastlingRights, o.rooks8);
  const Lanes one = (their_pawns_here >> 8) & empty;
  const Lanes two = ((one & broadcast(kRank1 << 40)) >> 8) & empty;
  Lanes castled = broadcast(0);
  const Lanes their_rooks8 = o.rooks8;
  for (int lane = 0; lane < 4; ++lane) {
    if (!their_rooks8[lane] || their_king[lane] != bit(mirror(kKingHome))) continue;
    const Bitboard free = empty[lane];
    if ((their_rooks8[lane] & bit(mirror(kKingSideRook))) && !(mirror(kKingSidePath) & ~free))
      castled[lane] |= bit(mirror(6));
    if ((their_rooks8[lane] & bit(mirror(kQueenSideRook))) && !(mirror(kQueenSidePath) & ~free))
      castled[lane] |= bit(mirror(2));
  }
  use(kDestinations, theirs_all.once | one | two | castled);

  Lanes castle = broadcast(0);
  if (own.castling_rooks) {
    for (int lane = 0; lane < 4; ++lane) {
      const Bitboard free = empty[lane];
      if (!(kKingSidePath & ~free)) castle[lane] |= bit(kKingSideRook);
      if (!(kQueenSidePath & ~free)) castle[lane] |= bit(kQueenSideRook);
    }
    castle &= broadcast(own.castling_rooks);
  }
  use(kMayCastle, castle);
}

}  // namespace penumbra
