// Every state a player's move can lead to, as fast as states can be written down.
//
// The generators hand out *groups*: one piece and the set of its targets, so that a sink may build the successors, hash
// them without building them, or only count them. Squares and sides are the mover's own view. A sink has
//   piece<Code, NewCode>(base, from, targets)  the piece on `from` lands on each target as NewCode
//   pawns<NewCode>(base, targets, step)        pawns come to each target from target - step
//   state(side)                                one successor, whole
#pragma once

#include "chess/attacks.h"
#include "rbc/rules.h"
#include "rbc/state.h"

namespace penumbra {

// Moves that capture nothing, and the pass. `others` is occupied by the other side. The mover has no marked pawn: its
// mark went when the other side moved.
template <class Sink>
inline void for_each_quiet(const Side& mover, Bitboard others, Sink& sink) {
  const Bitboard a = mover.planes[0], b = mover.planes[1], c = mover.planes[2];
  const Bitboard marked = a & b & c;
  const Bitboard occupied = a | b | c | others, free = ~occupied;

  for_each(~a & b & ~c,
           [&](Square from) { sink.template piece<kKnight, kKnight>(mover, from, kKnightAttacks[from] & free); });
  for_each(a & b & ~c, [&](Square from) {
    sink.template piece<kBishop, kBishop>(mover, from, bishop_attacks(from, occupied) & free);
  });
  for_each(~a & ~b & c,
           [&](Square from) { sink.template piece<kRook, kRook>(mover, from, rook_attacks(from, occupied) & free); });
  for_each(a & ~b & c, [&](Square from) {
    sink.template piece<kQueen, kQueen>(mover, from,
                                        (bishop_attacks(from, occupied) | rook_attacks(from, occupied)) & free);
  });

  const Bitboard pawns = a & ~b & ~c;
  const Bitboard one = (pawns << 8) & free;
  const Bitboard two = ((one & (kRank1 << 16)) << 8) & free;
  sink.template pawns<kPawn>(mover, one & ~kRank8, 8);
  sink.template pawns<kMarked>(mover, two, 16);
  if (const Bitboard last = one & kRank8) {
    sink.template pawns<kKnight>(mover, last, 8);
    sink.template pawns<kBishop>(mover, last, 8);
    sink.template pawns<kRook>(mover, last, 8);
    sink.template pawns<kQueen>(mover, last, 8);
  }

  const Bitboard king = ~a & b & c;
  if (marked == 0) [[likely]] {
    if (king) sink.template piece<kKing, kKing>(mover, first(king), kKingAttacks[first(king)] & free);
  } else {
    for_each(marked, [&](Square from) {
      sink.template piece<kMarked, kRook>(mover, from, rook_attacks(from, occupied) & free);
    });
    Side settled = mover;  // a king that moves gives up its rights
    settled.unmark_rooks();
    if (king) sink.template piece<kKing, kKing>(settled, first(king), kKingAttacks[first(king)] & free);
    for (const Square to : {6, 2}) {
      const Square rook = to == 6 ? kKingSideRook : kQueenSideRook;
      const Bitboard path = to == 6 ? 0x60ULL : 0x0EULL;
      if (!(marked & bit(rook)) || (occupied & path)) continue;
      Side castled = settled;
      castled.toggle(kKing, kKingHome);
      castled.toggle(kKing, to);
      castled.toggle(kRook, rook);
      castled.toggle(kRook, to == 6 ? 5 : 3);
      sink.state(castled);
    }
  }
  sink.state(mover);
}

// Moves that capture the piece on `target` (of the mover's view), which the other side occupies; en passant by a pawn
// that passes behind it if that square is `en_passant`.
template <class Sink>
inline void for_each_capture(const Side& mover, Bitboard others, Square target, Square en_passant, Sink& sink) {
  const Kinds k = mover.kinds();
  const Bitboard goal = bit(target), occupied = mover.occupied() | others;
  const Bitboard marked = mover.marked();

  for_each(kKnightAttacks[target] & k.knights,
           [&](Square from) { sink.template piece<kKnight, kKnight>(mover, from, goal); });
  const Bitboard diagonals = bishop_attacks(target, occupied), lines = rook_attacks(target, occupied);
  for_each(diagonals & k.bishops, [&](Square from) { sink.template piece<kBishop, kBishop>(mover, from, goal); });
  for_each(lines & k.rooks & ~marked, [&](Square from) { sink.template piece<kRook, kRook>(mover, from, goal); });
  for_each(lines & marked, [&](Square from) { sink.template piece<kMarked, kRook>(mover, from, goal); });
  for_each((diagonals | lines) & k.queens,
           [&](Square from) { sink.template piece<kQueen, kQueen>(mover, from, goal); });
  for_each(pawn_attacks_down(goal) & k.pawns, [&](Square from) {
    if (!(goal & kRank8)) return sink.template piece<kPawn, kPawn>(mover, from, goal);
    sink.template piece<kPawn, kKnight>(mover, from, goal);
    sink.template piece<kPawn, kBishop>(mover, from, goal);
    sink.template piece<kPawn, kRook>(mover, from, goal);
    sink.template piece<kPawn, kQueen>(mover, from, goal);
  });
  if (kKingAttacks[target] & k.king) {
    Side settled = mover;
    settled.unmark_rooks();
    sink.template piece<kKing, kKing>(settled, first(k.king), goal);
  }
  if (en_passant != kNoSquare && en_passant == target + 8)
    for_each(pawn_attacks_down(bit(en_passant)) & k.pawns,
             [&](Square from) { sink.template piece<kPawn, kPawn>(mover, from, bit(en_passant)); });
}

// What the other player observes of a move: no capture, or a capture on one square.
struct ObservedMove {
  Obstacles others;            // the other player's pieces, in the mover's view
  Square capture = kNoSquare;  // in the mover's view

  // About how many successors a state has.
  std::size_t branching() const { return capture == kNoSquare ? 32 : 2; }

  template <class Sink>
  void successors(const Side& mover, Sink& sink) const {
    if (capture == kNoSquare) return for_each_quiet(mover, others.occupied, sink);
    for_each_capture(mover, others.occupied, capture, others.en_passant, sink);
  }
};

// The states whose hash begins with certain bits, up to kMaxBits of them. Keys are XORed into a hash, so where a piece
// must land for its successor to be one of them can be looked up: the others need not be built.
class HashShare {
 public:
  static constexpr int kMaxBits = 3;

  HashShare() : HashShare(0, 0) {}  // all states
  HashShare(int bits, std::uint64_t beginning) : bits_(bits), beginning_(beginning), landings_(&kLandings[bits]) {}

  bool contains(std::uint64_t hash) const { return begin_of(hash, bits_) == beginning_; }

  // Those of the targets on which a piece, lifted from a state with this hash, lands in the share.
  template <int NewCode>
  Bitboard of_piece(std::uint64_t lifted, Bitboard targets) const {
    return targets & landings_->piece[NewCode][begin_of(lifted, bits_) ^ beginning_];
  }
  // The same for pawns that step straight ahead and become NewCode.
  template <int NewCode>
  Bitboard of_pawns(std::uint64_t hash, Bitboard targets) const {
    return targets & landings_->pawn[NewCode][begin_of(hash, bits_) ^ beginning_];
  }

 private:
  static constexpr std::uint64_t begin_of(std::uint64_t hash, int bits) { return (hash >> 1) >> (63 - bits); }

  // Squares by how the key of coming there begins.
  struct Landings {
    std::array<std::array<Bitboard, 1 << kMaxBits>, 8> piece{}, pawn{};  // [new code][beginning]
  };
  static constexpr Landings landings_by(int bits) {
    Landings found;
    for (int code = kPawn; code <= kMarked; ++code)
      for (Square to = 0; to < 64; ++to) {
        const std::uint64_t key = kZobrist[code][to];
        found.piece[code][begin_of(key, bits)] |= bit(to);
        const Square from = to - (code == kMarked ? 16 : 8);
        if (from >= 0) found.pawn[code][begin_of(key ^ kZobrist[kPawn][from], bits)] |= bit(to);
      }
    return found;
  }
  static const std::array<Landings, kMaxBits + 1> kLandings;

  int bits_;
  std::uint64_t beginning_;
  const Landings* landings_;
};

inline constexpr std::array<HashShare::Landings, HashShare::kMaxBits + 1> HashShare::kLandings = [] {
  std::array<Landings, kMaxBits + 1> all;
  for (int bits = 0; bits <= kMaxBits; ++bits) all[bits] = landings_by(bits);
  return all;
}();

// A sink that builds each successor in a share of the states, or every one, and passes it to `visit(side)`.
template <class Visit>
struct Build {
  Visit visit;
  HashShare share{};

  template <int Code, int NewCode>
  void piece(const Side& base, Square from, Bitboard targets) {
    Side lifted = base;
    lifted.toggle(Code, from);
    for_each(share.of_piece<NewCode>(lifted.hash, targets), [&](Square to) {
      Side next = lifted;
      next.toggle(NewCode, to);
      visit(next);
    });
  }
  template <int NewCode>
  void pawns(const Side& base, Bitboard targets, int step) {
    for_each(share.of_pawns<NewCode>(base.hash, targets), [&](Square to) {
      Side next = base;
      next.toggle(kPawn, to - step);
      next.toggle(NewCode, to);
      visit(next);
    });
  }
  void state(const Side& side) {
    if (share.contains(side.hash)) visit(side);
  }
};
template <class Visit>
Build(Visit) -> Build<Visit>;
template <class Visit>
Build(Visit, HashShare) -> Build<Visit>;

}  // namespace penumbra
