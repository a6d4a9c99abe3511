#include "rbc/synopsis.h"

#include <cstring>

#include "chess/attacks.h"

namespace penumbra {

namespace {

// Four states at once. Plain operators on these compile to AVX2, SSE2 or NEON.
typedef std::uint64_t Lanes __attribute__((vector_size(32)));
typedef std::uint8_t LaneBytes __attribute__((vector_size(32)));

constexpr Lanes broadcast(Bitboard b) { return Lanes{b, b, b, b}; }

Lanes mirror_lanes(Lanes v) {
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

Bitboard all_of(Lanes v) { return v[0] & v[1] & v[2] & v[3]; }
Bitboard any_of(Lanes v) { return v[0] | v[1] | v[2] | v[3]; }

// AND and OR over the states seen so far.
struct Always {
  Lanes value = broadcast(~Bitboard{0});
  void operator()(Lanes v) { value &= v; }
  Bitboard get() const { return all_of(value); }
};
struct Sometimes {
  Lanes value = broadcast(0);
  void operator()(Lanes v) { value |= v; }
  Bitboard get() const { return any_of(value); }
};
struct Both {
  Always always;
  Sometimes sometimes;
  void operator()(Lanes v) {
    always(v);
    sometimes(v);
  }
};

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

Lanes king_steps(Lanes king) {
  const Lanes row = king | ((king << 1) & broadcast(kNotA)) | ((king >> 1) & broadcast(kNotH));
  return (row | (row << 8) | (row >> 8)) & ~king;
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

// Planes 18-31 in two groups of seven.
struct OpposingPlanes {
  Both nobody, pawns, knights, bishops, rooks, queens, king;

  void add(const OpposingLanes& o) {
    nobody(~o.occupied());
    pawns(o.pawns());
    knights(o.knights());
    bishops(o.bishops());
    rooks(o.rooks());
    queens(o.queens());
    king(o.king());
  }
  void write(Bitboard* planes) const {  // planes[0] is plane 18
    const Both* const kinds[7] = {&nobody, &pawns, &knights, &bishops, &rooks, &queens, &king};
    for (int i = 0; i < 7; ++i) {
      planes[i] = kinds[i]->always.get();
      planes[7 + i] = kinds[i]->sometimes.get();
    }
  }
};

Bitboard square_plane(int s) { return s == kNoSquare ? 0 : bit(s); }

void write_context(const Context& context, Bitboard* planes) {  // planes[0] is plane 32
  planes[0] = square_plane(context.last_from);
  planes[1] = square_plane(context.last_to);
  planes[2] = square_plane(context.own_capture);
  planes[3] = square_plane(context.opposing_capture);
}

// What does not depend on the opposing pieces.
struct OwnPieces {
  Kinds kinds;
  Bitboard occupied;
  Bitboard knights_once = 0, knights_twice = 0;  // attacks, own squares excluded
  Bitboard king = 0;
  Bitboard castling_rooks;

  explicit OwnPieces(const Side& side) : kinds(side.kinds()), occupied(side.occupied()) {
    for_each(kinds.knights, [&](Square s) {
      knights_twice |= knights_once & kKnightAttacks[s];
      knights_once |= kKnightAttacks[s];
    });
    knights_once &= ~occupied;
    knights_twice &= ~occupied;
    if (kinds.king) king = kKingAttacks[first(kinds.king)] & ~occupied;
    castling_rooks = kinds.king == bit(kKingHome) ? side.marked_rooks() : 0;
  }
};

constexpr Bitboard kKingSidePath = 0x60, kQueenSidePath = 0x0E;

// Everything that must be asked of each state.
struct Accumulators {
  OpposingPlanes opposing;
  // Own attacks.
  Both own_any, own_double;
  Both own_pawns, own_bishops, own_rooks;
  Always own_pawns_twice, own_bishops_twice, own_rooks_twice;
  Sometimes own_without_king, own_without_pawns;
  // Opposing attacks.
  Both their_any, their_double, their_pawns, their_knights, their_bishops, their_rooks;
  Sometimes their_without_king, their_without_pawns;
  Sometimes safe_king, destinations, castling_rights;
  Lanes seen_always[3] = {broadcast(~Bitboard{0}), broadcast(~Bitboard{0}), broadcast(~Bitboard{0})};
  Lanes seen_sometimes[3] = {broadcast(0), broadcast(0), broadcast(0)};
  // Rays from the own king and queens.
  Sometimes king_diagonals, king_lines, queen_diagonals, queen_lines;
  Both bishops_near_king, rooks_near_king;
  Both may_castle;

  void add(const OwnPieces& own, const OpposingLanes& o);
};

void Accumulators::add(const OwnPieces& own, const OpposingLanes& o) {
  opposing.add(o);
  const Lanes theirs = o.occupied(), ours = broadcast(own.occupied);
  const Lanes not_ours = ~ours, not_theirs = ~theirs, empty = not_ours & not_theirs;

  // What a sense would show of each square.
  const Lanes seen[3] = {o.code[0] ^ o.rooks8, o.code[1] ^ o.marks, o.code[2] ^ (o.marks ^ o.rooks8)};
  for (int p = 0; p < 3; ++p) {
    seen_always[p] &= seen[p];
    seen_sometimes[p] |= seen[p];
  }

  // Slides, one direction after the other.
  const Lanes queens = broadcast(own.kinds.queens), rooks = broadcast(own.kinds.rooks),
              bishops = broadcast(own.kinds.bishops), king = broadcast(own.kinds.king);
  const Lanes their_queens = o.queens(), their_diagonal = o.bishops() | their_queens,
              their_straight = o.rooks() | their_queens, their_king = o.king();
  Tally our_lines, our_diagonals, their_lines, their_diagonals_tally;
  Lanes king_line_rays = broadcast(0), king_diagonal_rays = broadcast(0);
  const auto straight = [&](const auto& direction) {
    const Lanes from_queens = direction.from(queens);
    queen_lines(from_queens);
    our_lines.add((from_queens | direction.from(rooks)) & not_ours);
    their_lines.add(direction.from(their_straight) & not_theirs);
    king_line_rays |= direction.from(king);
  };
  straight(Direction<8, ~Bitboard{0}>(empty));
  straight(Direction<-8, ~Bitboard{0}>(empty));
  straight(Direction<1, kNotA>(empty));
  straight(Direction<-1, kNotH>(empty));
  const auto diagonal = [&](const auto& direction) {
    const Lanes from_queens = direction.from(queens);
    queen_diagonals(from_queens);
    our_diagonals.add((from_queens | direction.from(bishops)) & not_ours);
    their_diagonals_tally.add(direction.from(their_diagonal) & not_theirs);
    king_diagonal_rays |= direction.from(king);
  };
  diagonal(Direction<9, kNotA>(empty));
  diagonal(Direction<7, kNotH>(empty));
  diagonal(Direction<-7, kNotA>(empty));
  diagonal(Direction<-9, kNotH>(empty));

  king_lines(king_line_rays);
  king_diagonals(king_diagonal_rays);
  rooks_near_king(king_line_rays & their_straight);
  bishops_near_king(king_diagonal_rays & their_diagonal);

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
  own_without_king(ours_all.once);
  without_pawns.add(broadcast(own.king));
  own_without_pawns(without_pawns.once);
  ours_all.add(broadcast(own.king));

  own_any(ours_all.once);
  own_double(ours_all.twice);
  own_pawns(our_pawns.once);
  own_pawns_twice(our_pawns.twice);
  own_bishops(our_diagonals.once);
  own_bishops_twice(our_diagonals.twice);
  own_rooks(our_lines.once);
  own_rooks_twice(our_lines.twice);

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
  their_without_pawns(theirs_all.once | king_reach);
  theirs_all.add(pawn_captures);
  their_without_king(theirs_all.once);
  theirs_all.add(king_reach);
  their_any(theirs_all.once);
  their_double(theirs_all.twice);
  their_pawns(pawn_captures.once);
  their_knights(knight_steps.once);
  their_bishops(their_diagonals_tally.once);
  their_rooks(their_lines.once);

  safe_king(their_king & ~ours_all.once);
  castling_rights(o.rooks8);
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
  destinations(theirs_all.once | one | two | castled);

  if (own.castling_rooks) {
    Lanes now = broadcast(0);
    for (int lane = 0; lane < 4; ++lane) {
      const Bitboard free = empty[lane];
      if (!(kKingSidePath & ~free)) now[lane] |= bit(kKingSideRook);
      if (!(kQueenSidePath & ~free)) now[lane] |= bit(kQueenSideRook);
    }
    may_castle(now & broadcast(own.castling_rooks));
  }
}

// Squares in at least two of the sets.
Bitboard in_two(std::initializer_list<Bitboard> sets) {
  Bitboard once = 0, twice = 0;
  for (const Bitboard b : sets) {
    twice |= once & b;
    once |= b;
  }
  return twice;
}

}  // namespace

void Context::moved(const Outcome& outcome, const Bitboard (&seen)[kRemembered]) {
  const bool passed = outcome.taken == kPass;
  last_from = static_cast<std::int8_t>(passed ? kNoSquare : from_of(outcome.taken));
  last_to = static_cast<std::int8_t>(passed ? kNoSquare : to_of(outcome.taken));
  own_capture = static_cast<std::int8_t>(outcome.capture);
  std::memcpy(previous, seen, sizeof previous);
}

void remembered_planes(const InfostateView& state, Bitboard (&planes)[kRemembered]) {
  OpposingPlanes opposing;
  for (int i = 0; i < state.count; i += 4) opposing.add(OpposingLanes(state.members, state.count, i));
  opposing.write(planes);
  write_context(*state.context, planes + 14);
}

void synopsis(const InfostateView& state, Bitboard (&planes)[kPlanes]) {
  const OwnPieces own(*state.own);
  Accumulators a;
  for (int i = 0; i < state.count; i += 4) a.add(own, OpposingLanes(state.members, state.count, i));

  constexpr Bitboard west = kFileA * 0x0F, south = 0x00000000FFFFFFFFULL;
  const Bitboard constants[10] = {~west,  west,   south,  ~south,       kRank1,
                                  kRank8, kFileA, kFileH, kDarkSquares, ~kDarkSquares};
  std::memcpy(planes, constants, sizeof constants);
  planes[10] = state.step == Step::kMove ? ~Bitboard{0} : 0;
  planes[11] = ~own.occupied;
  const Bitboard kinds[6] = {own.kinds.pawns, own.kinds.knights, own.kinds.bishops,
                             own.kinds.rooks, own.kinds.queens,  own.kinds.king};
  std::memcpy(planes + 12, kinds, sizeof kinds);
  a.opposing.write(planes + 18);
  write_context(*state.context, planes + 32);

  const Bitboard pawns = a.own_pawns.always.get(), bishops = a.own_bishops.always.get(),
                 rooks = a.own_rooks.always.get();
  planes[36] = pawns | own.knights_once | bishops | rooks | own.king;
  planes[37] = a.own_any.always.get();
  planes[38] = a.own_any.sometimes.get();
  planes[39] = in_two({pawns, own.knights_once, bishops, rooks, own.king}) | own.knights_twice |
               a.own_pawns_twice.get() | a.own_bishops_twice.get() | a.own_rooks_twice.get();
  planes[40] = a.own_double.always.get();
  planes[41] = a.own_double.sometimes.get();
  planes[42] = pawns;
  planes[43] = a.own_pawns.sometimes.get();
  planes[44] = own.knights_once;
  planes[45] = bishops;
  planes[46] = a.own_bishops.sometimes.get();
  planes[47] = rooks;
  planes[48] = a.own_rooks.sometimes.get();
  planes[49] = a.own_without_king.get();
  planes[50] = a.own_without_pawns.get();

  const Both* const theirs[6] = {&a.their_any,     &a.their_double,  &a.their_pawns,
                                 &a.their_knights, &a.their_bishops, &a.their_rooks};
  for (int i = 0; i < 6; ++i) {
    planes[51 + 2 * i] = theirs[i]->always.get();
    planes[52 + 2 * i] = theirs[i]->sometimes.get();
  }
  planes[63] = a.their_without_king.get();
  planes[64] = a.their_without_pawns.get();
  planes[65] = a.safe_king.get();
  planes[66] = a.destinations.get();
  planes[67] = a.castling_rights.get();
  planes[68] = ~Bitboard{0};
  for (int p = 0; p < 3; ++p) planes[68] &= ~(any_of(a.seen_sometimes[p]) & ~all_of(a.seen_always[p]));

  const Bitboard king = own.kinds.king;
  planes[69] = king ? kKingAttacks[first(king)] : 0;
  planes[70] = king ? kKnightAttacks[first(king)] : 0;
  planes[71] = planes[20] & planes[70];
  planes[72] = planes[27] & planes[70];
  planes[73] = a.king_diagonals.get();
  planes[74] = a.bishops_near_king.always.get();
  planes[75] = a.bishops_near_king.sometimes.get();
  planes[76] = a.king_lines.get();
  planes[77] = a.rooks_near_king.always.get();
  planes[78] = a.rooks_near_king.sometimes.get();
  planes[79] = own.occupied;
  planes[80] = planes[18] & planes[11];
  planes[81] = own.castling_rooks;
  planes[82] = a.may_castle.sometimes.get();
  planes[83] = own.castling_rooks ? a.may_castle.always.get() : 0;
  planes[84] = a.queen_lines.get();
  planes[85] = a.queen_diagonals.get();
  std::memcpy(planes + 86, state.context->previous, sizeof state.context->previous);
}

std::vector<Bitboard> synopses(const Infostates& states, std::span<const std::int64_t> rows,
                               const Bitboard (&leave_out)[2]) {
  states.check_rows(rows);
  std::vector<Bitboard> out(rows.size() * kPlanes);
  for_each_row(static_cast<int>(rows.size()), [&](int i) {
    auto& planes = *reinterpret_cast<Bitboard(*)[kPlanes]>(&out[static_cast<std::size_t>(i) * kPlanes]);
    synopsis(states.view(static_cast<int>(rows[i])), planes);
    for (int word = 0; word < 2; ++word) penumbra::for_each(leave_out[word], [&](int p) { planes[64 * word + p] = 0; });
  });
  return out;
}

}  // namespace penumbra
