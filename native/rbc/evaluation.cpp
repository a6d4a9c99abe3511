#include "rbc/evaluation.h"

#include <algorithm>

#include "chess/attacks.h"
#include "rbc/evaluation_weights.h"

namespace penumbra {

namespace {

constexpr int kAllPieces = 24;  // knights and bishops count 1, rooks 2, queens 4

constexpr Bitboard file_bits(int file) { return file < 0 || file > 7 ? 0 : kFileA << file; }
constexpr Bitboard ranks_above(int rank) { return rank >= 7 ? 0 : ~Bitboard{0} << (8 * (rank + 1)); }

// One side in its own view, with what stands against it.
struct Seen {
  Kinds own, theirs;
  Bitboard occupied, opposing;
  Bitboard zone = 0;  // around the opposing king
  Bitboard attacks = 0, pawn_attacks = 0, minor_attacks = 0, rook_attacks = 0;
  Weight score;
};

Seen look(const Side& side, const Side& other) {
  Seen seen;
  seen.own = side.kinds();
  const Kinds k = other.kinds();
  seen.theirs = {mirror(k.pawns), mirror(k.knights), mirror(k.bishops),
                 mirror(k.rooks), mirror(k.queens),  mirror(k.king)};
  seen.occupied = side.occupied();
  seen.opposing = mirror(other.occupied());
  if (seen.theirs.king) seen.zone = window(first(seen.theirs.king));
  return seen;
}

void add_pieces(Seen& seen) {
  const Bitboard all = seen.occupied | seen.opposing;
  const auto piece = [&](int kind, Square s, Bitboard attacks) {
    const int file = std::min(file_of(s), 7 - file_of(s));
    seen.score += kPlacement[kind - 1][rank_of(s) * 4 + file];
    seen.attacks |= attacks;
    if (kind < kKnight || kind > kQueen) return;
    seen.score += kMobility[kind - kKnight] * count(attacks & ~seen.occupied);
    seen.score += kZone[kind - kKnight] * count(attacks & seen.zone);
  };
  seen.pawn_attacks = pawn_attacks_up(seen.own.pawns);
  for_each(seen.own.pawns, [&](Square s) { piece(kPawn, s, pawn_attacks_up(bit(s))); });
  for_each(seen.own.knights, [&](Square s) {
    piece(kKnight, s, kKnightAttacks[s]);
    seen.minor_attacks |= kKnightAttacks[s];
  });
  for_each(seen.own.bishops, [&](Square s) {
    const Bitboard attacks = bishop_attacks(s, all);
    piece(kBishop, s, attacks);
    seen.minor_attacks |= attacks;
  });
  for_each(seen.own.rooks, [&](Square s) {
    const Bitboard attacks = rook_attacks(s, all), file = file_bits(file_of(s));
    piece(kRook, s, attacks);
    seen.rook_attacks |= attacks;
    if (!(file & seen.own.pawns)) seen.score += file & seen.theirs.pawns ? kHalfOpenFile : kOpenFile;
  });
  for_each(seen.own.queens, [&](Square s) { piece(kQueen, s, bishop_attacks(s, all) | rook_attacks(s, all)); });
  for_each(seen.own.king, [&](Square s) { piece(kKing, s, kKingAttacks[s]); });
  if (count(seen.own.bishops) > 1) seen.score += kBishopPair;
}

void add_pawns(Seen& seen) {
  const Bitboard pawns = seen.own.pawns, all = seen.occupied | seen.opposing;
  for_each(pawns, [&](Square s) {
    const int rank = rank_of(s), file = file_of(s);
    const Bitboard ahead = ranks_above(rank), own_file = file_bits(file);
    const Bitboard beside = file_bits(file - 1) | file_bits(file + 1);
    if (!(seen.theirs.pawns & ahead & (own_file | beside))) {
      seen.score += kPassed[rank];
      if (rank < 7 && all & bit(s + 8)) seen.score += kPassedBlocked;
    }
    if (pawns & ahead & own_file) seen.score += kDoubled;
    if (!(pawns & beside)) seen.score += kIsolated;
  });
  for_each(seen.own.king, [&](Square s) {
    const int file = file_of(s);
    Bitboard files = 0;
    for (int f = std::max(file - 1, 0); f <= std::min(file + 1, 7); ++f) {
      files |= file_bits(f);
      if (!(file_bits(f) & pawns)) seen.score += kOpenBesideKing;
    }
    const Bitboard near = ranks_above(rank_of(s)) & ~ranks_above(rank_of(s) + 2);
    seen.score += kShield * count(files & near & pawns);
  });
}

void add_threats(Seen& seen, Bitboard defended) {
  const Bitboard minor = seen.theirs.knights | seen.theirs.bishops, major = seen.theirs.rooks | seen.theirs.queens;
  seen.score += kPawnOnMinor * count(seen.pawn_attacks & minor);
  seen.score += kPawnOnMajor * count(seen.pawn_attacks & major);
  seen.score += kMinorOnMajor * count(seen.minor_attacks & major);
  seen.score += kRookOnQueen * count(seen.rook_attacks & seen.theirs.queens);
  seen.score += kHanging * count(seen.attacks & ~defended & (minor | major));
}

int pieces_left(const Kinds& k) { return count(k.knights | k.bishops) + 2 * count(k.rooks) + 4 * count(k.queens); }

}  // namespace

int evaluate_fitted(const Side& mover, const Side& other) {
  Seen mine = look(mover, other), yours = look(other, mover);
  for (Seen* seen : {&mine, &yours}) {
    add_pieces(*seen);
    add_pawns(*seen);
  }
  add_threats(mine, mirror(yours.attacks));
  add_threats(yours, mirror(mine.attacks));
  const int left = std::min(pieces_left(mine.own) + pieces_left(yours.own), kAllPieces);
  const int middle = mine.score.middle - yours.score.middle + kTempo.middle;
  const int end = mine.score.end - yours.score.end + kTempo.end;
  return (middle * left + end * (kAllPieces - left)) / kAllPieces;
}

}  // namespace penumbra
