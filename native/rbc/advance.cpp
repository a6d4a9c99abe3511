// One step of a playout for both players' information states.
#include <algorithm>
#include <array>
#include <string>

#include "rbc/infostate.h"
#include "rbc/rules.h"
#include "rbc/successors.h"
#include "rbc/synopsis.h"

namespace penumbra {

namespace {

[[noreturn]] void refuse(int row, const std::string& why) {
  throw std::invalid_argument("row " + std::to_string(row) + ": " + why);
}

// A successor not yet built: its rank under the salt, its parent, and what moved. `from` == `to` stands for one of the
// parent's few special successors, which are counted in order.
struct Candidate {
  std::uint64_t rank;
  std::int32_t parent;
  std::int8_t code, new_code, from, to;
};

// Finds the successors whose rank is below a threshold without building any of them.
class RankSink {
 public:
  RankSink(std::uint64_t salt, std::vector<Candidate>& out) : salt_(salt), out_(out) {}

  std::uint64_t threshold = 0;
  std::int64_t generated = 0;

  void parent(int index) {
    parent_ = index;
    specials_ = 0;
  }

  template <int Code, int NewCode>
  void piece(const Side& base, Square from, Bitboard targets) {
    generated += count(targets);
    const std::uint64_t lifted = base.hash ^ kZobrist[Code][from];
    for_each(targets, [&](Square to) { offer(lifted ^ kZobrist[NewCode][to], Code, NewCode, from, to); });
  }
  template <int NewCode>
  void pawns(const Side& base, Bitboard targets, int step) {
    generated += count(targets);
    for_each(targets, [&](Square to) {
      offer(base.hash ^ kZobrist[kPawn][to - step] ^ kZobrist[NewCode][to], kPawn, NewCode, to - step, to);
    });
  }
  void state(const Side& side) {
    ++generated;
    offer(side.hash, 0, 0, specials_, specials_);
    ++specials_;
  }

 private:
  void offer(std::uint64_t hash, int code, int new_code, int from, int to) {
    const std::uint64_t rank = salted(hash, salt_);
    if (rank > threshold) return;
    out_.push_back({rank, parent_, static_cast<std::int8_t>(code), static_cast<std::int8_t>(new_code),
                    static_cast<std::int8_t>(from), static_cast<std::int8_t>(to)});
  }

  std::uint64_t salt_;
  std::vector<Candidate>& out_;
  std::int32_t parent_ = 0;
  int specials_ = 0;
};

// Finds the n-th special successor.
struct SpecialSink {
  int wanted;
  Side found;
  template <int Code, int NewCode>
  void piece(const Side&, Square, Bitboard) {}
  template <int NewCode>
  void pawns(const Side&, Bitboard, int) {}
  void state(const Side& side) {
    if (wanted-- == 0) found = side;
  }
};

// Rebuilds a candidate from its parent.
Side build(const Candidate& candidate, const Side& parent, const Seen& seen) {
  if (candidate.from == candidate.to) {
    SpecialSink sink{candidate.from, {}};
    seen.successors(parent, sink);
    return sink.found;
  }
  Side next = parent;
  if (candidate.code == kKing) next.unmark_rooks();
  next.toggle(candidate.code, candidate.from);
  next.toggle(candidate.new_code, candidate.to);
  return next;
}

constexpr std::uint64_t kAll = ~std::uint64_t{0};

// A uniform draw of at most `limit` distinct successors of `parents`, `truth` always among them. Returns how many.
int draw_successors(std::span<const Side> parents, const Seen& seen, const Side& truth, int limit, std::uint64_t salt,
                    Side* out) {
  static thread_local std::vector<Candidate> candidates;
  RankSink sink(salt, candidates);
  const auto visit = [&](std::size_t first, std::size_t last, std::size_t stride) {
    for (std::size_t i = first; i < last; i += stride) {
      sink.parent(static_cast<int>(i));
      seen.successors(parents[i], sink);
    }
  };
  // A few parents tell how many successors there are, and so below which rank about two and a half times the limit of
  // them lie: enough to find `limit` distinct ones nearly always.
  const std::size_t stride = std::max<std::size_t>(1, parents.size() / 8);
  candidates.clear();
  visit(0, parents.size(), stride);
  const double expected = static_cast<double>(sink.generated) * static_cast<double>(stride);
  double share = expected > 0 ? 2.5 * limit / expected : 1;
  const std::uint64_t truth_rank = salted(truth.hash, salt);
  std::size_t distinct;
  do {
    candidates.clear();
    sink.threshold = share >= 1 ? kAll : static_cast<std::uint64_t>(share * 18446744073709551615.0);
    visit(0, parents.size(), 1);
    std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
      return a.rank != b.rank ? a.rank < b.rank : a.parent < b.parent;
    });
    const auto same = [](const Candidate& a, const Candidate& b) { return a.rank == b.rank; };
    distinct = static_cast<std::size_t>(std::unique(candidates.begin(), candidates.end(), same) - candidates.begin());
    share *= 2;
  } while (distinct < static_cast<std::size_t>(limit) && sink.threshold != kAll);

  const int kept = static_cast<int>(std::min<std::size_t>(distinct, limit));
  bool found = false;
  for (int i = 0; i < kept; ++i) {
    out[i] = build(candidates[i], parents[candidates[i].parent], seen);
    found = found || (candidates[i].rank == truth_rank && out[i] == truth);
  }
  if (!found) out[kept - 1] = truth;
  return kept;
}

// Keeps the truth and the lowest ranks.
int cut_states(Side* states, int n, int limit, const Side& truth, std::uint64_t salt) {
  if (n <= limit) return n;
  std::nth_element(states, states + limit - 1, states + n,
                   [&](const Side& a, const Side& b) { return salted(a.hash, salt) < salted(b.hash, salt); });
  for (int i = 0; i < limit; ++i)
    if (states[i] == truth) return limit;
  states[limit - 1] = truth;
  return limit;
}

// Drops repeated states, keeping the order.
int drop_repeats(Side* states, int n) {
  static thread_local std::vector<std::int32_t> table;
  std::size_t size = 64;
  while (size < 2 * static_cast<std::size_t>(n)) size *= 2;
  table.assign(size, -1);
  int kept = 0;
  for (int i = 0; i < n; ++i) {
    std::size_t slot = states[i].hash & (size - 1);
    while (table[slot] >= 0 && !(states[table[slot]] == states[i])) slot = (slot + 1) & (size - 1);
    if (table[slot] >= 0) continue;
    table[slot] = kept;
    states[kept++] = states[i];
  }
  return kept;
}

struct RowStep {
  const Infostates& actor;
  const Infostates& other;
  Infostates& next_actor;
  Infostates& next_other;
  int row;
  int actor_limit, other_limit;
  const Cut& cut;

  void copy() const {
    copy_cut(next_actor, actor, actor_limit, other.own[row], 0);
    copy_cut(next_other, other, other_limit, actor.own[row], 1);
  }

  void sense(Square center) const {
    Bitboard want[3];
    other.own[row].visible(want);
    const Bitboard mask = mirror(window(center));
    copy_cut(next_other, other, other_limit, actor.own[row], 1);
    copy_head(next_actor, actor);
    int n = 0;
    static thread_local std::vector<Side> kept;
    kept.resize(actor.counts[row]);
    for (const Side& side : actor.states(row)) {
      Bitboard seen[3];
      side.visible(seen);
      if ((((seen[0] ^ want[0]) | (seen[1] ^ want[1]) | (seen[2] ^ want[2])) & mask) == 0) kept[n++] = side;
    }
    store(next_actor, kept.data(), n, actor_limit, other.own[row], 0);
    next_actor.steps[row] = next_other.steps[row] = static_cast<std::uint8_t>(Step::kMove);
  }

  // True if the king was taken; then nothing changes.
  bool move(Move request) const {
    const Side& own = actor.own[row];
    const Outcome outcome = resolve(own, Obstacles::of(other.own[row]), request);
    const Bitboard captured = outcome.capture == kNoSquare ? 0 : bit(mirror(outcome.capture));
    if (captured & other.own[row].king()) return true;
    Side new_own = own, new_other = other.own[row];
    play(new_own, new_other, outcome);

    // The actor: the states that answer alike, moved on.
    static thread_local std::vector<Side> kept;
    kept.resize(actor.counts[row]);
    int n = 0;
    for (const Side& side : actor.states(row)) {
      if ((captured & side.king()) || resolve(own, Obstacles::of(side), request) != outcome) continue;
      Side moved = own;
      kept[n] = side;
      play(moved, kept[n++], outcome);
    }
    n = drop_repeats(kept.data(), n);
    Bitboard remembered[kRemembered];
    remembered_planes(actor.view(row), remembered);
    copy_head(next_actor, actor);
    store(next_actor, kept.data(), n, actor_limit, new_other, 0);
    next_actor.own[row] = new_own;
    next_actor.memories[row].moved(outcome, remembered);

    // The other: whatever the actor could have done that looks like this.
    const Seen seen{Obstacles::of(other.own[row]), outcome.capture};
    copy_head(next_other, other);
    next_other.own[row] = new_other;
    next_other.memories[row].opponent_moved(outcome.capture == kNoSquare ? kNoSquare : mirror(outcome.capture));
    next_other.counts[row] =
        draw_successors(other.states(row), seen, new_own, other_limit, cut.row_salt(row, 1), next_other.members(row));
    for (Infostates* next : {&next_actor, &next_other}) {
      next->turns[row] = !actor.turns[row];
      next->steps[row] = static_cast<std::uint8_t>(Step::kSense);
    }
    return false;
  }

 private:
  // Everything but the states.
  void copy_head(Infostates& to, const Infostates& from) const {
    to.own[row] = from.own[row];
    to.memories[row] = from.memories[row];
    to.players[row] = from.players[row];
    to.turns[row] = from.turns[row];
    to.steps[row] = from.steps[row];
  }
  void store(Infostates& to, Side* states, int n, int limit, const Side& truth, int which) const {
    n = cut_states(states, n, limit, truth, cut.row_salt(row, which));
    std::copy_n(states, n, to.members(row));
    to.counts[row] = n;
  }
  void copy_cut(Infostates& to, const Infostates& from, int limit, const Side& truth, int which) const {
    copy_head(to, from);
    if (from.counts[row] <= limit) {
      std::copy_n(from.members(row), from.counts[row], to.members(row));
      to.counts[row] = from.counts[row];
      return;
    }
    std::vector<Side> states(from.members(row), from.members(row) + from.counts[row]);
    store(to, states.data(), from.counts[row], limit, truth, which);
  }
};

void check_row(const Infostates& actor, const Infostates& other, int row, Action action) {
  if (actor.players[row] == other.players[row]) refuse(row, "both information states belong to the same player");
  if (actor.turns[row] != actor.players[row]) refuse(row, "the actor's player is not to act");
  if (other.turns[row] != actor.turns[row] || other.steps[row] != actor.steps[row])
    refuse(row, "the two information states are of different moments");
  if (actor.find(row, other.own[row]) < 0) refuse(row, "the actor's set does not hold the true state");
  if (other.find(row, actor.own[row]) < 0) refuse(row, "the other player's set does not hold the true state");
  const bool is_sense = action >= 0 && action < kMoveBase;
  if (!(actor.step(row) == Step::kSense ? is_sense : is_move(actor.own[row], action)))
    refuse(row, "action " + std::to_string(action) + " is not legal");
}

int widest(std::span<const int> limits, const char* whose, int rows) {
  if (static_cast<int>(limits.size()) != rows)
    throw std::invalid_argument(std::string("there are ") + std::to_string(limits.size()) + " limits of the " + whose +
                                " for " + std::to_string(rows) + " rows");
  int most = 1;
  for (int row = 0; row < rows; ++row) {
    if (limits[row] < 1)
      refuse(row, std::string("the limit of the ") + whose + " is " + std::to_string(limits[row]) +
                      "; it must be at least one");
    most = std::max(most, limits[row]);
  }
  return most;
}

}  // namespace

Advanced advance(const Infostates& actor, const Infostates& other, std::span<const int> actions,
                 std::span<const int> actor_limits, std::span<const int> other_limits, const Cut& cut) {
  const int rows = actor.size();
  if (other.size() != rows || static_cast<int>(actions.size()) != rows)
    throw std::invalid_argument("batches differ in length: " + std::to_string(rows) + " actors, " +
                                std::to_string(other.size()) + " others, " + std::to_string(actions.size()) +
                                " actions");
  Advanced out{Infostates(rows, widest(actor_limits, "actor", rows)),
               Infostates(rows, widest(other_limits, "other player", rows)), std::vector<std::uint8_t>(rows, 0)};
  for_each_row(rows, [&](int row) {
    check_row(actor, other, row, actions[row]);
    const RowStep step{actor, other, out.actor, out.other, row, actor_limits[row], other_limits[row], cut};
    if (actions[row] < kMoveBase) return step.sense(actions[row]);
    if (!step.move(move_of(actions[row]))) return;
    out.ended[row] = 1;
    step.copy();
  });
  return out;
}

}  // namespace penumbra
