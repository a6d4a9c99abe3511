// What a synopsis asks of each state: features, which are sets of squares, of four states at a time.
#pragma once

#include "rbc/infostate.h"

namespace penumbra {

// Four states at once. Plain operators on these compile to AVX2, SSE2 or NEON.
typedef std::uint64_t Lanes __attribute__((vector_size(32)));
typedef std::uint8_t LaneBytes __attribute__((vector_size(32)));

constexpr Lanes broadcast(Bitboard b) { return Lanes{b, b, b, b}; }

// The opposing pieces of four states, in the viewer's view.
struct OpposingLanes {
  Lanes code[3];        // planes of codes
  Lanes marks, rooks8;  // marked pieces; those of them that are rooks

  // States `at` to `at + 3`; past the end the last one is repeated, which changes no AND and no OR.
  OpposingLanes(const Side* members, int count, int at);
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

// Those of four states; `features` has room for all, and the first `kPlacements` of them need the opposing pieces alone.
void state_features(const OwnPieces& own, const OpposingLanes& opposing, Lanes* features);
void opposing_placement(const OpposingLanes& opposing, Lanes* features);

}  // namespace penumbra
