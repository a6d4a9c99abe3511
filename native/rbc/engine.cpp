#include "rbc/engine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_set>

#include "base/parallel.h"
#include "chess/attacks.h"
#include "rbc/evaluation.h"

namespace penumbra {

namespace {

constexpr std::array<int, 8> kWorth = {0, 100, 320, 330, 500, 900, 0, 0};
constexpr int kInfinity = 32000;

// Placement in hundredths of a pawn, first rank first, a-file to d-file; the other half is the mirror image.
constexpr std::array<std::array<std::int8_t, 32>, 7> kPlacement = {{
    {},
    {0, 0, 0,  0,  5,  8,  5,  -12, 3,  -2, -4, 4,  2, 2, 10, 22,
     6, 8, 16, 28, 18, 22, 30, 36,  50, 50, 50, 50, 0, 0, 0,  0},  // pawn
    {-40, -25, -20, -18, -25, -8, 4,  6,  -18, 8,  14, 18, -12, 8,   20,  24,
     -12, 10,  22,  26,  -16, 6,  16, 20, -26, -8, 4,  8,  -40, -26, -18, -16},  // knight
    {-12, -8, -12, -8, -4, 12, 6, 4,  2,  10, 12, 10, 0,   8,  14, 18,
     0,   8,  12,  16, -4, 4,  8, 10, -8, 2,  4,  4,  -14, -8, -8, -8},  // bishop
    {-2, 0, 6, 10, -6, 0, 2, 4, -6, 0,  0,  2,  -6, 0,  0,  2,
     -4, 0, 2, 4,  0,  4, 6, 8, 14, 18, 20, 20, 8,  10, 10, 12},  // rook
    {-8, -4, -2, 2,  -4, 2, 6,  4,  -2, 4, 6,  6,  0, 4, 8, 10,
     0,  6,  10, 12, 2,  8, 12, 14, 2,  6, 10, 12, 0, 4, 6, 8},  // queen
    {20,  32,  10,  -4,  12,  12,  -12, -20, -16, -24, -30, -36, -28, -36, -42, -50,
     -36, -44, -50, -58, -44, -52, -58, -64, -52, -58, -64, -68, -58, -62, -68, -72},  // king
}};

constexpr std::array<std::array<std::int8_t, 64>, 7> kTables = [] {
  std::array<std::array<std::int8_t, 64>, 7> tables{};
  for (int kind = 1; kind < 7; ++kind)
    for (Square s = 0; s < 64; ++s) {
      const int file = file_of(s) < 4 ? file_of(s) : 7 - file_of(s);
      tables[kind][s] = kPlacement[kind][rank_of(s) * 4 + file];
    }
  return tables;
}();

// One side's part of the evaluation, in its own view; `others` is occupied by the other side, whose king is `target`.
int evaluate_side(const Side& side, Bitboard others, Square target) {
  const Kinds k = side.kinds();
  const Bitboard own = side.occupied(), occupied = own | others;
  const Bitboard zone = target == kNoSquare ? 0 : window(target);
  int score = 0, mobility = 0, danger = 0;
  const auto piece = [&](int kind, Square s, Bitboard attacks, int weight) {
    score += kWorth[kind] + kTables[kind][s];
    mobility += weight * count(attacks & ~own);
    danger += kWorth[kind] / 50 * count(attacks & zone);
  };
  for_each(k.pawns, [&](Square s) { piece(kPawn, s, pawn_attacks_up(bit(s)), 0); });
  for_each(k.knights, [&](Square s) { piece(kKnight, s, kKnightAttacks[s], 3); });
  for_each(k.bishops, [&](Square s) { piece(kBishop, s, bishop_attacks(s, occupied), 3); });
  for_each(k.rooks, [&](Square s) { piece(kRook, s, rook_attacks(s, occupied), 2); });
  for_each(k.queens, [&](Square s) { piece(kQueen, s, bishop_attacks(s, occupied) | rook_attacks(s, occupied), 1); });
  for_each(k.king, [&](Square s) { score += kTables[kKing][s]; });
  if (count(k.bishops) > 1) score += 25;
  return score + mobility + danger;
}

struct Candidate {
  Outcome outcome;
  int order;
};

// One state's search. Moves are tried captures first, large victims by small pieces before others.
class Searcher {
 public:
  explicit Searcher(std::int64_t nodes) : left_(nodes) {}

  int search(const Side& mover, const Side& other, int depth, int alpha, int beta, int ply) {
    const Obstacles obstacles = Obstacles::of(other);
    if (can_take_king(mover, other, obstacles)) return kKingTaken - ply;
    if (depth <= 0 || left_ <= 0) return quiesce(mover, other, alpha, beta, ply, kQuietPlies);
    --left_;
    Candidate list[kMaxMoves];
    const int n = generate(mover, other, obstacles, false, list);
    int best = -kInfinity;
    for (int i = 0; i < n; ++i) {
      pick(list, i, n);
      Side next = mover, rest = other;
      play(next, rest, list[i].outcome);
      best = std::max(best, -search(rest, next, depth - 1, -beta, -alpha, ply + 1));
      alpha = std::max(alpha, best);
      if (alpha >= beta) break;
    }
    if (best < alpha && n == 0) best = evaluate(mover, other);
    return best;
  }

 protected:
  static constexpr int kMaxMoves = 256;
  static constexpr int kQuietPlies = 8;

  int quiesce(const Side& mover, const Side& other, int alpha, int beta, int ply, int plies) {
    --left_;
    const Obstacles obstacles = Obstacles::of(other);
    if (can_take_king(mover, other, obstacles)) return kKingTaken - ply;
    int best = evaluate(mover, other);
    if (best >= beta || plies == 0) return best;
    alpha = std::max(alpha, best);
    Candidate list[kMaxMoves];
    const int n = generate(mover, other, obstacles, true, list);
    for (int i = 0; i < n; ++i) {
      pick(list, i, n);
      Side next = mover, rest = other;
      play(next, rest, list[i].outcome);
      best = std::max(best, -quiesce(rest, next, -beta, -alpha, ply + 1, plies - 1));
      alpha = std::max(alpha, best);
      if (alpha >= beta) break;
    }
    return best;
  }

  static bool can_take_king(const Side& mover, const Side& other, const Obstacles& obstacles) {
    return other.king() && attacks_square(mover, obstacles.occupied, mirror(first(other.king())));
  }

  static int generate(const Side& mover, const Side& other, const Obstacles& obstacles, bool captures_only,
                      Candidate* list) {
    static thread_local std::vector<Outcome> outcomes;
    list_outcomes(mover, obstacles, outcomes);
    int n = 0;
    for (const Outcome& o : outcomes) {
      const bool promotes = promotion_of(o.taken) == kQueen;
      if (captures_only && o.capture == kNoSquare && !promotes) continue;
      if (n == kMaxMoves) break;
      const int mine = mover.kind_at(from_of(o.taken));
      int order = kTables[mine][to_of(o.taken)] - kTables[mine][from_of(o.taken)];
      if (o.capture != kNoSquare) order += 1000 + 10 * kWorth[other.kind_at(mirror(o.capture))] - kWorth[mine];
      if (promotes) order += 8000;
      list[n++] = {o, order};
    }
    return n;
  }

  // Brings the best of what is left to the front: lists are short and often cut off.
  static void pick(Candidate* list, int i, int n) {
    int best = i;
    for (int j = i + 1; j < n; ++j)
      if (list[j].order > list[best].order) best = j;
    std::swap(list[i], list[best]);
  }

  std::int64_t left_;
};

// The same search made deeper: what was found before is remembered, likely refutations come first, quiet moves late in
// the order are looked at one ply less, and where even a pass is good enough nothing better is looked for (to pass is
// allowed, so this is no guess about zugzwang). Its scores are those of a good but not of an exhaustive search.
class SelectiveSearcher : public Searcher {
 public:
  explicit SelectiveSearcher(std::int64_t nodes) : Searcher(nodes), table_(kEntries) {}

  int search(const Side& mover, const Side& other, int depth, int alpha, int beta, int ply, bool passed = false) {
    const Obstacles obstacles = Obstacles::of(other);
    if (can_take_king(mover, other, obstacles)) return kKingTaken - ply;
    if (depth <= 0 || left_ <= 0) return quiesce_selectively(mover, other, alpha, beta, ply, kQuietPlies);
    --left_;
    const std::uint64_t key = mover.hash ^ scramble(other.hash);
    Entry& entry = table_[key % kEntries];
    const bool known = entry.key == key;
    if (known && entry.depth >= depth) {
      const int score = from_table(entry.score, ply);
      if (entry.bound == Bound::kExact || (entry.bound == Bound::kLower && score >= beta) ||
          (entry.bound == Bound::kUpper && score <= alpha))
        return score;
    }
    if (!passed && depth > kPassReduction && beta < kFar) {
      Side next = mover, rest = other;
      play(next, rest, {});
      const int score = -search(rest, next, depth - 1 - kPassReduction, -beta, 1 - beta, ply + 1, true);
      if (score >= beta) return std::min(score, kFar);
    }
    Candidate list[kMaxMoves];
    const int n = generate(mover, other, obstacles, false, list);
    if (n == 0) return evaluate_fitted(mover, other);
    Move(&killers)[2] = killers_[std::min(ply, kMaxPlies - 1)];
    for (int i = 0; i < n; ++i) {
      const Outcome& o = list[i].outcome;
      if (known && o.taken == entry.best) list[i].order = kInfinity;
      if (o.capture == kNoSquare && (o.taken == killers[0] || o.taken == killers[1])) list[i].order += kKillerOrder;
    }
    const int first_alpha = alpha;
    int best = -kInfinity;
    Move best_move = kPass;
    for (int i = 0; i < n; ++i) {
      pick(list, i, n);
      const Outcome& o = list[i].outcome;
      Side next = mover, rest = other;
      play(next, rest, o);
      const bool quiet = o.capture == kNoSquare && promotion_of(o.taken) == 0;
      const int reduction = quiet && i >= kLateMoves && depth > 2 ? 1 : 0;
      int score = 0;
      if (i > 0) score = -search(rest, next, depth - 1 - reduction, -alpha - 1, -alpha, ply + 1);
      if (i == 0 || (score > alpha && (reduction || score < beta)))
        score = -search(rest, next, depth - 1, -beta, -alpha, ply + 1);
      if (score > best) {
        best = score;
        best_move = o.taken;
      }
      alpha = std::max(alpha, best);
      if (alpha < beta) continue;
      if (quiet && killers[0] != o.taken) {
        killers[1] = killers[0];
        killers[0] = o.taken;
      }
      break;
    }
    if (left_ > 0) {
      const Bound bound = best >= beta ? Bound::kLower : best > first_alpha ? Bound::kExact : Bound::kUpper;
      entry = {key, to_table(best, ply), best_move, static_cast<std::int8_t>(depth), bound};
    }
    return best;
  }

  bool exhausted() const { return left_ <= 0; }

 private:
  // Captures alone, without those that cannot reach alpha and those of a smaller piece that is protected; but all moves
  // where the own king is attacked and captures have only begun.
  int quiesce_selectively(const Side& mover, const Side& other, int alpha, int beta, int ply, int plies) {
    --left_;
    const Obstacles obstacles = Obstacles::of(other);
    if (can_take_king(mover, other, obstacles)) return kKingTaken - ply;
    const bool attacked = plies > kQuietPlies - kAttackedPlies && can_take_king(other, mover, Obstacles::of(mover));
    const int standing = evaluate_fitted(mover, other);
    int best = attacked ? -kInfinity : standing;
    if (best >= beta || plies == 0) return best;
    alpha = std::max(alpha, best);
    Candidate list[kMaxMoves];
    const int n = generate(mover, other, obstacles, !attacked, list);
    for (int i = 0; i < n; ++i) {
      pick(list, i, n);
      const Outcome& o = list[i].outcome;
      if (!attacked && promotion_of(o.taken) == 0) {
        const int victim = kWorth[other.kind_at(mirror(o.capture))], mine = kWorth[mover.kind_at(from_of(o.taken))];
        if (standing + victim + kPositional < alpha) continue;
        const Bitboard left = mover.occupied() & ~bit(from_of(o.taken));
        if (victim < mine && attacks_square(other, mirror(left), mirror(to_of(o.taken)))) continue;
      }
      Side next = mover, rest = other;
      play(next, rest, o);
      best = std::max(best, -quiesce_selectively(rest, next, -beta, -alpha, ply + 1, plies - 1));
      alpha = std::max(alpha, best);
      if (alpha >= beta) break;
    }
    return best;
  }

  enum class Bound : std::int8_t { kExact, kLower, kUpper };
  struct Entry {
    std::uint64_t key = 0;
    std::int16_t score = 0;
    Move best = kPass;
    std::int8_t depth = -1;
    Bound bound = Bound::kExact;
  };
  static constexpr std::size_t kEntries = 1 << 14;
  static constexpr int kFar = kKingTaken - 1000;  // no position is worth as much without a king that can be taken
  static constexpr int kPassReduction = 2;
  static constexpr int kAttackedPlies = 2;  // of quiescence, in which an attacked king may flee
  static constexpr int kPositional = 150;   // hundredths of a pawn that a capture may be worth beside its piece
  static constexpr int kLateMoves = 4;
  static constexpr int kKillerOrder = 500;
  static constexpr int kMaxPlies = 32;

  // Kings are taken so many plies from here, not from the root.
  static std::int16_t to_table(int score, int ply) {
    return static_cast<std::int16_t>(score > kFar ? score + ply : score < -kFar ? score - ply : score);
  }
  static int from_table(int score, int ply) { return score > kFar ? score - ply : score < -kFar ? score + ply : score; }

  std::vector<Entry> table_;
  Move killers_[kMaxPlies][2] = {};
};

}  // namespace

int evaluate(const Side& mover, const Side& other) {
  const Bitboard own = mover.occupied(), theirs = other.occupied();
  const Square my_king = mover.king() ? mirror(first(mover.king())) : kNoSquare;
  const Square their_king = other.king() ? mirror(first(other.king())) : kNoSquare;
  return evaluate_side(mover, mirror(theirs), their_king) - evaluate_side(other, mirror(own), my_king) + 10;
}

int search_value(const Side& mover, const Side& other, const EngineLimits& limits) {
  return Searcher(limits.nodes).search(mover, other, limits.depth, -kInfinity, kInfinity, 0);
}

double quiet_chance(const Side& mover, const Side& other, double scale) {
  constexpr int kMost = 1000;
  const int score = std::clamp(search_value(mover, other, {.depth = 0}), -kMost, kMost);
  return 1 / (1 + std::exp(-score / scale));
}

namespace {

// The moves of one state that its requests become, each once, with the score of each.
struct Scored {
  Outcome outcome;
  std::int32_t score;
};

// Deeper and deeper, the best moves of the ply before first, so that the bound of the best is tight early. The scores
// are those of the last depth for which the nodes were enough; one ply is always looked at.
void score_with_margin(const Side& own, const Side& opponent, const EngineLimits& limits, std::vector<Scored>& moves) {
  SelectiveSearcher searcher(limits.nodes);
  for (int depth = 1; depth <= limits.depth; ++depth) {
    std::vector<std::int32_t> scores;
    int best = -kInfinity;
    for (const Scored& move : moves) {
      Side next = own, rest = opponent;
      play(next, rest, move.outcome);
      const int alpha = depth == 1 ? -kInfinity : std::max(best - limits.margin, -kInfinity);
      scores.push_back(rest.king() ? -searcher.search(rest, next, depth - 1, -kInfinity, -alpha, 1) : kKingTaken);
      best = std::max<int>(best, scores.back());
      if (depth > 1 && searcher.exhausted()) return;
    }
    for (std::size_t i = 0; i < moves.size(); ++i) moves[i].score = scores[i];
    std::stable_sort(moves.begin(), moves.end(), [](const Scored& a, const Scored& b) { return a.score > b.score; });
  }
}

}  // namespace

std::vector<std::int32_t> score_requests(const Side& own, std::span<const Side> opponents,
                                         std::span<const Move> requests, const EngineLimits& limits) {
  const std::size_t n = requests.size();
  std::vector<std::int32_t> scores(opponents.size() * n);
  parallel_for(static_cast<int>(opponents.size()), [&](int i) {
    const Side& opponent = opponents[i];
    const Obstacles obstacles = Obstacles::of(opponent);
    // Requests that become the same move score the same.
    std::vector<Scored> moves;
    std::vector<Outcome> outcomes;
    const auto find = [&](const Outcome& outcome) {
      return std::find_if(moves.begin(), moves.end(), [&](const Scored& m) { return m.outcome == outcome; });
    };
    for (std::size_t r = 0; r < n; ++r) {
      outcomes.push_back(resolve(own, obstacles, requests[r]));
      if (find(outcomes.back()) == moves.end()) moves.push_back({outcomes.back(), 0});
    }
    if (limits.margin > 0) {
      score_with_margin(own, opponent, limits, moves);
    } else {
      Searcher searcher(limits.nodes);
      for (Scored& move : moves) {
        Side next = own, rest = opponent;
        play(next, rest, move.outcome);
        move.score =
            rest.king() ? -searcher.search(rest, next, limits.depth - 1, -kInfinity, kInfinity, 1) : kKingTaken;
      }
    }
    for (std::size_t r = 0; r < n; ++r) scores[static_cast<std::size_t>(i) * n + r] = find(outcomes[r])->score;
  });
  return scores;
}

std::vector<std::int32_t> state_values(const Side& own, std::span<const Side> opponents, bool owner_to_move,
                                       const EngineLimits& limits) {
  std::vector<std::int32_t> values(opponents.size());
  parallel_for(static_cast<int>(opponents.size()), [&](int i) {
    const Side& opponent = opponents[i];
    values[i] = owner_to_move ? search_value(own, opponent, limits) : search_value(opponent, own, limits);
  });
  return values;
}

Hunt hunt_king(const Side& mover, const Side& other, int max_moves) {
  struct Node {
    Side side, rest;
    Move first;
  };
  std::vector<Node> front = {{mover, other, kPass}};
  std::unordered_set<std::uint64_t> seen;
  std::vector<Outcome> outcomes;
  for (int moves = 1; moves <= max_moves; ++moves) {
    std::vector<Node> next_front;
    for (const Node& node : front) {
      list_outcomes(node.side, Obstacles::of(node.rest), outcomes);
      for (const Outcome& o : outcomes) {
        const Move way = moves == 1 ? o.taken : node.first;
        if (o.capture != kNoSquare && (node.rest.king() & bit(mirror(o.capture)))) return {moves, way};
        if (moves == max_moves) continue;
        Node next{node.side, node.rest, way};
        play(next.side, next.rest, o);
        next.side.unmark_pawn();  // the opponent passes
        if (seen.insert(next.side.hash ^ scramble(next.rest.hash)).second) next_front.push_back(next);
      }
    }
    front = std::move(next_front);
  }
  return {};
}

}  // namespace penumbra
