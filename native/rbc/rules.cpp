#include "rbc/rules.h"

namespace penumbra {

namespace {

constexpr Bitboard kRank3 = kRank1 << 16;

constexpr bool is_castling(int kind, Square from, Square to) {
  return kind == kKing && from == kKingHome && (to == 6 || to == 2);
}
constexpr Square castling_rook(Square king_to) { return king_to == 6 ? kKingSideRook : kQueenSideRook; }
constexpr Square castling_rook_to(Square king_to) { return king_to == 6 ? 5 : 3; }
constexpr Bitboard castling_path(Square king_to) { return king_to == 6 ? 0x60ULL : 0x0EULL; }

// Squares the king may ask to castle to, given what must stand empty.
Bitboard castling_targets(const Side& mover, Bitboard blockers) {
  const Bitboard rooks = mover.marked_rooks();
  if (!rooks || mover.king() != bit(kKingHome)) return 0;
  Bitboard targets = 0;
  for (const Square to : {6, 2})
    if ((rooks & bit(castling_rook(to))) && !(blockers & castling_path(to))) targets |= bit(to);
  return targets;
}

Bitboard slides(int kind, Square from, Bitboard occupied) {
  Bitboard targets = 0;
  if (kind != kRook) targets |= bishop_attacks(from, occupied);
  if (kind != kBishop) targets |= rook_attacks(from, occupied);
  return targets;
}

// Where a piece may ask to go on a board without opposing pieces; pawns may ask for every diagonal.
Bitboard request_targets(const Side& mover, Square from) {
  const Bitboard own = mover.occupied();
  switch (const int kind = mover.kind_at(from)) {
    case kPawn: {
      const Bitboard pawn = bit(from);
      const Bitboard one = (pawn << 8) & ~own;
      const Bitboard two = ((one & kRank3) << 8) & ~own;
      return one | two | (pawn_attacks_up(pawn) & ~own);
    }
    case kKnight: return kKnightAttacks[from] & ~own;
    case kBishop:
    case kRook:
    case kQueen: return slides(kind, from, own) & ~own;
    case kKing: return (kKingAttacks[from] & ~own) | castling_targets(mover, own);
    default: return 0;
  }
}

Outcome resolve_pawn(const Obstacles& others, Square from, Square to, int promotion) {
  const int becomes = rank_of(to) == 7 ? (promotion ? promotion : kQueen) : 0;
  if (file_of(from) != file_of(to)) {
    if (others.occupied & bit(to)) return {make_move(from, to, becomes), to};
    if (to == others.en_passant) return {make_move(from, to), to - 8};
    return {};
  }
  if (others.occupied & bit(from + 8)) return {};
  if (to == from + 16 && (others.occupied & bit(to))) return {make_move(from, from + 8), kNoSquare};
  return {make_move(from, to, becomes), kNoSquare};
}

// The king and the squares it passes must not be attacked when castling in ordinary chess.
bool castles_through_check(const World& world, const Outcome& outcome) {
  const Side& mover = world.sides[world.turn];
  const Square from = from_of(outcome.taken), to = to_of(outcome.taken);
  if (!is_castling(mover.kind_at(from), from, to)) return false;
  const Side& other = world.sides[!world.turn];
  const Bitboard occupied = mirror(mover.occupied());
  for (const Square s : {from, (from + to) / 2})
    if (attacks_square(other, occupied, mirror(s))) return true;
  return false;
}

}  // namespace

bool is_listed(const Side& mover, Move request) {
  const Square from = from_of(request), to = to_of(request);
  const int promotion = promotion_of(request);
  if (!(request_targets(mover, from) & bit(to))) return false;
  if (promotion == 0) return true;
  return promotion >= kKnight && promotion <= kQueen && mover.kind_at(from) == kPawn && rank_of(to) == 7;
}

bool is_move(const Side& mover, Action action) {
  return action == kPassAction || (action >= kMoveBase && action < kPassAction && is_listed(mover, move_of(action)));
}

void list_requests(const Side& mover, std::vector<Move>& requests) {
  requests.clear();
  for_each(mover.occupied(), [&](Square from) {
    for_each(request_targets(mover, from), [&](Square to) { requests.push_back(make_move(from, to)); });
  });
}

void list_actions(const Side& mover, std::vector<Action>& actions) {
  actions.clear();
  for_each(mover.occupied(), [&](Square from) {
    for_each(request_targets(mover, from), [&](Square to) { actions.push_back(kMoveBase + from * 64 + to); });
  });
  actions.push_back(kPassAction);
}

// Order: pieces from the highest square down, each to its highest target first; castling; pawn steps; then every pawn
// diagonal from the lowest square up.
void list_real_requests(const Side& mover, bool color, std::vector<Move>& requests) {
  requests.clear();
  const auto view = [color](Square s) { return color ? s : mirror(s); };
  const auto real = [color](Bitboard b) { return color ? b : mirror(b); };
  const auto downwards = [](Bitboard b, const auto& visit) {
    for (; b; b &= ~bit(last(b))) visit(last(b));
  };
  const Kinds kinds = mover.kinds();
  const Bitboard own = mover.occupied(), castling = castling_targets(mover, own);
  downwards(real(own & ~kinds.pawns), [&](Square from) {
    Bitboard targets = request_targets(mover, view(from));
    if (kinds.king & bit(view(from))) targets &= kKingAttacks[view(from)];
    downwards(real(targets), [&](Square to) { requests.push_back(make_move(from, to)); });
  });
  downwards(castling, [&](Square to) { requests.push_back(make_move(view(kKingHome), view(to))); });
  const Bitboard one = (kinds.pawns << 8) & ~own, two = ((one & kRank3) << 8) & ~own;
  const int ahead = color ? 8 : -8;
  downwards(real(one), [&](Square to) {
    if (rank_of(view(to)) != 7) return requests.push_back(make_move(to - ahead, to));
    for (int promotion = kQueen; promotion >= kKnight; --promotion)
      requests.push_back(make_move(to - ahead, to, promotion));
  });
  downwards(real(two), [&](Square to) { requests.push_back(make_move(to - 2 * ahead, to)); });
  for_each(real(kinds.pawns), [&](Square from) {
    for_each(real(pawn_attacks_up(bit(view(from))) & ~own), [&](Square to) {
      requests.push_back(make_move(from, to));
      if (rank_of(view(to)) != 7) return;
      for (int promotion = kKnight; promotion <= kQueen; ++promotion)
        requests.push_back(make_move(from, to, promotion));
    });
  });
}

Outcome resolve(const Side& mover, const Obstacles& others, Move request) {
  if (request == kPass) return {};
  const Square from = from_of(request), to = to_of(request);
  const int kind = mover.kind_at(from);
  if (kind == kPawn) return resolve_pawn(others, from, to, promotion_of(request));
  if (is_castling(kind, from, to)) return others.occupied & castling_path(to) ? Outcome{} : Outcome{request, kNoSquare};
  Square stop = to;
  if (kind >= kBishop && kind <= kQueen)
    if (const Bitboard blockers = kBetween[from][to] & others.occupied)
      stop = to > from ? first(blockers) : last(blockers);
  return {make_move(from, stop), others.occupied & bit(stop) ? stop : kNoSquare};
}

bool server_refuses(const Side& mover, const Side& other, const Outcome& outcome) {
  if (outcome.capture == kNoSquare || outcome.capture == to_of(outcome.taken)) return false;  // not en passant
  Side own = mover, opponent = other;
  play(own, opponent, outcome);
  return own.king() && attacks_square(opponent, mirror(own.occupied()), mirror(first(own.king())));
}

void lose(Side& other, const Outcome& outcome) {
  other.unmark_pawn();
  if (outcome.capture == kNoSquare) return;
  const Square lost = mirror(outcome.capture);
  if (other.code_at(lost) == kKing) other.unmark_rooks();  // no right without a king
  other.remove(lost);
}

void play(Side& mover, Side& other, const Outcome& outcome) {
  lose(other, outcome);
  if (outcome.taken == kPass) return;
  const Square from = from_of(outcome.taken), to = to_of(outcome.taken);
  const int code = mover.code_at(from), kind = mover.kind_at(from);
  mover.toggle(code, from);
  int lands_as = kind;
  if (const int promotion = promotion_of(outcome.taken)) lands_as = promotion;
  if (kind == kPawn && to == from + 16) lands_as = kMarked;
  mover.toggle(lands_as, to);
  if (kind != kKing) return;
  if (is_castling(kind, from, to)) {
    mover.remove(castling_rook(to));
    mover.toggle(kRook, castling_rook_to(to));
  }
  mover.unmark_rooks();
}

void list_outcomes(const Side& mover, const Obstacles& others, std::vector<Outcome>& outcomes) {
  outcomes.clear();
  const Bitboard own = mover.occupied(), occupied = own | others.occupied;
  const auto add = [&](Square from, Bitboard targets) {
    for_each(targets & ~own,
             [&](Square to) { outcomes.push_back({make_move(from, to), others.occupied & bit(to) ? to : kNoSquare}); });
  };
  for_each(own, [&](Square from) {
    switch (const int kind = mover.kind_at(from)) {
      case kPawn: {
        const Bitboard pawn = bit(from);
        const Bitboard one = (pawn << 8) & ~occupied, two = ((one & kRank3) << 8) & ~occupied;
        Bitboard captures = pawn_attacks_up(pawn) & others.occupied;
        if (rank_of(from) == 6) {
          for_each(one | captures, [&](Square to) {
            for (int promotion = kQueen; promotion >= kKnight; --promotion)
              outcomes.push_back({make_move(from, to, promotion), others.occupied & bit(to) ? to : kNoSquare});
          });
        } else {
          add(from, one | two | captures);
          if (others.en_passant != kNoSquare && (pawn_attacks_up(pawn) & bit(others.en_passant)))
            outcomes.push_back({make_move(from, others.en_passant), others.en_passant - 8});
        }
        break;
      }
      case kKnight: add(from, kKnightAttacks[from]); break;
      case kKing: add(from, kKingAttacks[from] | castling_targets(mover, occupied)); break;
      default: add(from, slides(kind, from, occupied));
    }
  });
}

bool attacks_square(const Side& mover, Bitboard other_occupied, Square s) {
  const Kinds k = mover.kinds();
  const Bitboard occupied = mover.occupied() | other_occupied;
  return (pawn_attacks_down(bit(s)) & k.pawns) || (kKnightAttacks[s] & k.knights) || (kKingAttacks[s] & k.king) ||
         (bishop_attacks(s, occupied) & (k.bishops | k.queens)) || (rook_attacks(s, occupied) & (k.rooks | k.queens));
}

std::uint64_t perft(const World& world, int depth, bool as_chess) {
  if (depth == 0) return 1;
  const Side& mover = world.sides[world.turn];
  const Side& other = world.sides[!world.turn];
  if (!mover.king()) return as_chess ? 0 : 1;
  std::vector<Outcome> outcomes;
  list_outcomes(mover, Obstacles::of(other), outcomes);
  std::uint64_t total = 0;
  for (const Outcome& outcome : outcomes) {
    const World next = after(world, outcome);
    if (as_chess) {
      const Side& moved = next.sides[world.turn];
      const Side& answer = next.sides[!world.turn];
      if (attacks_square(answer, mirror(moved.occupied()), mirror(first(moved.king())))) continue;
      if (castles_through_check(world, outcome)) continue;
    }
    total += perft(next, depth - 1, as_chess);
  }
  return as_chess ? total : total + perft(after(world, {}), depth - 1, false);
}

std::vector<Square> window_squares(Square center, bool viewer) {
  std::vector<Square> squares;
  const int step = viewer ? 1 : -1;  // the real board's upper rank, in the viewer's ranks
  for (const int rank : {rank_of(center) + step, rank_of(center), rank_of(center) - step})
    for (int file = file_of(center) - 1; file <= file_of(center) + 1; ++file)
      if (rank >= 0 && rank < 8 && file >= 0 && file < 8) squares.push_back(rank * 8 + file);
  return squares;
}

}  // namespace penumbra
