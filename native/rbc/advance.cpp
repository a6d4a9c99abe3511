// One step of a playout for both players' information states.
#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "rbc/candidates.h"
#include "rbc/infostate.h"
#include "rbc/particles.h"
#include "rbc/rules.h"
#include "rbc/successors.h"
#include "rbc/synopsis.h"

namespace penumbra {

namespace {

[[noreturn]] void refuse(int row, const std::string& why) {
  throw std::invalid_argument("row " + std::to_string(row) + ": " + why);
}

// By rank, then by parent. Ranks are spread evenly up to `highest`, so that those that begin alike are put together first and
// little is left to sort.
void sort_candidates(std::vector<Candidate>& candidates, std::uint64_t highest) {
  const auto comes_first = [](const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank < b.rank : a.parent < b.parent;
  };
  constexpr int kBits = 9;
  if (candidates.size() > 4 << kBits) return std::sort(candidates.begin(), candidates.end(), comes_first);
  const int shift = std::max(0, static_cast<int>(std::bit_width(highest)) - kBits);
  std::array<std::uint16_t, (1 << kBits) + 1> places{};  // where those with each beginning go
  for (const Candidate& c : candidates) ++places[(c.rank >> shift) + 1];
  for (int i = 0; i < 1 << kBits; ++i) places[i + 1] += places[i];
  static thread_local std::vector<Candidate> sorted;
  sorted.resize(candidates.size());
  for (const Candidate& c : candidates) sorted[places[c.rank >> shift]++] = c;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const Candidate next = sorted[i];
    std::size_t at = i;
    for (; at > 0 && comes_first(next, sorted[at - 1]); --at) sorted[at] = sorted[at - 1];
    sorted[at] = next;
  }
  candidates.swap(sorted);
}

// A uniform draw of at most `ell` distinct successors of `parents`, `truth` always among them. Returns how many.
int draw_row(std::span<const Side> parents, const ObservedMove& seen, const Side& truth, int ell, std::uint64_t salt,
             Side* out) {
  static thread_local std::vector<Candidate> candidates;
  RankSink sink(salt, candidates);
  double share = share_for(sink, parents, seen, static_cast<std::size_t>(ell));
  const std::uint64_t truth_rank = salted(truth.hash, salt);
  std::size_t distinct;
  do {
    visit_below(sink, parents, seen, share);
    sort_candidates(candidates, sink.threshold);
    const auto same = [](const Candidate& a, const Candidate& b) { return a.rank == b.rank; };
    distinct = static_cast<std::size_t>(std::unique(candidates.begin(), candidates.end(), same) - candidates.begin());
    share *= 2;
  } while (distinct < static_cast<std::size_t>(ell) && sink.threshold != kEveryRank);

  const int kept = static_cast<int>(std::min<std::size_t>(distinct, ell));
  bool found = false;
  for (int i = 0; i < kept; ++i) {
    out[i] = build(candidates[i], parents[candidates[i].parent], seen);
    found = found || (candidates[i].rank == truth_rank && out[i] == truth);
  }
  if (!found) out[kept - 1] = truth;
  return kept;
}

// Keeps the truth and the lowest ranks.
int cut_states(Side* states, int n, int ell, const Side& truth, std::uint64_t salt) {
  if (n <= ell) return n;
  std::nth_element(states, states + ell - 1, states + n,
                   [&](const Side& a, const Side& b) { return salted(a.hash, salt) < salted(b.hash, salt); });
  for (int i = 0; i < ell; ++i)
    if (states[i] == truth) return ell;
  states[ell - 1] = truth;
  return ell;
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

// One row of a batch and the row of the next batch that it becomes.
struct RowTransition {
  const Infostates& from;
  int row;
  Infostates& to;
  int at;
  int ell;
  std::uint64_t salt;

  const Side& own() const { return from.own[row]; }

  // Everything but the states.
  void copy_head() const {
    to.own[at] = from.own[row];
    to.contexts[at] = from.contexts[row];
    to.players[at] = from.players[row];
    to.turns[at] = from.turns[row];
    to.steps[at] = from.steps[row];
  }
  void store(Side* states, int n, const Side& truth) const {
    n = cut_states(states, n, ell, truth, salt);
    std::copy_n(states, n, to.members(at));
    to.counts[at] = n;
  }
  // The row as it was, but for the cut.
  void copy(const Side& truth) const {
    copy_head();
    if (from.counts[row] <= ell) {
      std::copy_n(from.members(row), from.counts[row], to.members(at));
      to.counts[at] = from.counts[row];
      return;
    }
    std::vector<Side> states(from.members(row), from.members(row) + from.counts[row]);
    store(states.data(), from.counts[row], truth);
  }

  // -- a sense

  // The actor keeps the states that show what the truth does.
  void sense_as_actor(Square center, const Side& truth) const {
    const SenseResult result(center, truth);
    static thread_local std::vector<Side> kept;
    kept.resize(from.counts[row]);
    int n = 0;
    for (const Side& side : from.states(row))
      if (result.matches(side)) kept[n++] = side;
    copy_head();
    store(kept.data(), n, truth);
    to.steps[at] = static_cast<std::uint8_t>(Step::kMove);
  }
  void sense_as_other(const Side& truth) const {
    copy(truth);
    to.steps[at] = static_cast<std::uint8_t>(Step::kMove);
  }

  // -- a move after which the game goes on; `own` and `other` are this player's and the other's pieces after it

  // The actor keeps the states that answer alike, moved on.
  void move_as_actor(Move request, const Outcome& outcome, const Side& own_after, const Side& other_after) const {
    const Bitboard captured = outcome.capture == kNoSquare ? 0 : bit(mirror(outcome.capture));
    static thread_local std::vector<Side> kept;
    kept.resize(from.counts[row]);
    int n = 0;
    for (const Side& side : from.states(row)) {
      if ((captured & side.king()) || resolve(own(), Obstacles::of(side), request) != outcome) continue;
      kept[n] = side;
      lose(kept[n++], outcome);
    }
    n = drop_repeats(kept.data(), n);
    const Remembered seen = remembered(from.view(row));
    copy_head();
    store(kept.data(), n, other_after);
    to.own[at] = own_after;
    to.contexts[at].moved(outcome, seen);
    turn();
  }
  // The other player holds possible whatever the actor could have done that looks like this.
  void move_as_other(const Outcome& outcome, const Side& own_after, const Side& other_after) const {
    const ObservedMove seen{Obstacles::of(own()), outcome.capture};
    copy_head();
    to.own[at] = own_after;
    to.contexts[at].opponent_moved(outcome.capture == kNoSquare ? kNoSquare : mirror(outcome.capture));
    to.counts[at] = draw_row(from.states(row), seen, other_after, ell, salt, to.members(at));
    turn();
  }

 private:
  void turn() const {
    to.turns[at] = !from.turns[row];
    to.steps[at] = static_cast<std::uint8_t>(Step::kSense);
  }
};

// A move on the true state.
struct Played {
  Outcome outcome;
  bool takes_king;
  Side mover, other;  // after it, unless it takes the king

  Played(const Side& mover_before, const Side& other_before, Move request)
      : outcome(resolve(mover_before, Obstacles::of(other_before), request)), mover(mover_before), other(other_before) {
    takes_king = outcome.capture != kNoSquare && (other.king() & bit(mirror(outcome.capture)));
    if (!takes_king) play(mover, other, outcome);
  }
};

bool is_legal(const Side& actor, Step step, Action action) {
  return step == Step::kSense ? action >= 0 && action < kMoveBase : is_move(actor, action);
}

void check_row(const Infostates& actor, const Infostates& other, int row, Action action) {
  if (actor.players[row] == other.players[row]) refuse(row, "both information states belong to the same player");
  if (actor.turns[row] != actor.players[row]) refuse(row, "the actor's player is not to act");
  if (other.turns[row] != actor.turns[row] || other.steps[row] != actor.steps[row])
    refuse(row, "the two information states are of different moments");
  if (actor.find(row, other.own[row]) < 0) refuse(row, "the actor's set does not hold the true state");
  if (other.find(row, actor.own[row]) < 0) refuse(row, "the other player's set does not hold the true state");
  if (!is_legal(actor.own[row], actor.step(row), action))
    refuse(row, "action " + std::to_string(action) + " is not legal");
}

// The largest ell of a batch, once all of them are checked; `name` is that of the argument.
int largest_ell(std::span<const int> ells, const std::string& name, int rows) {
  if (static_cast<int>(ells.size()) != rows)
    throw std::invalid_argument(name + " has " + std::to_string(ells.size()) + " numbers for " + std::to_string(rows) +
                                " rows");
  int largest = 1;
  for (int row = 0; row < rows; ++row) {
    if (ells[row] < 1) refuse(row, name + " is " + std::to_string(ells[row]) + "; it must be at least one");
    largest = std::max(largest, ells[row]);
  }
  return largest;
}

}  // namespace

Advanced advance(const Infostates& actor, const Infostates& other, std::span<const int> actions,
                 std::span<const int> actor_ell, std::span<const int> other_ell, const Cut& cut) {
  const int rows = actor.size();
  if (other.size() != rows || static_cast<int>(actions.size()) != rows)
    throw std::invalid_argument("batches differ in length: " + std::to_string(rows) + " actors, " +
                                std::to_string(other.size()) + " others, " + std::to_string(actions.size()) +
                                " actions");
  Advanced out{Infostates(rows, largest_ell(actor_ell, "actor_ell", rows)),
               Infostates(rows, largest_ell(other_ell, "other_ell", rows)), std::vector<std::uint8_t>(rows, 0)};
  for_each_row(rows, [&](int row) {
    check_row(actor, other, row, actions[row]);
    const Side& own = actor.own[row];
    const Side& others = other.own[row];
    const RowTransition actor_row{actor, row, out.actor, row, actor_ell[row], cut.row_salt(row, 0)};
    const RowTransition other_row{other, row, out.other, row, other_ell[row], cut.row_salt(row, 1)};
    if (actions[row] < kMoveBase) {
      actor_row.sense_as_actor(actions[row], others);
      other_row.sense_as_other(own);
      return;
    }
    const Move request = move_of(actions[row]);
    const Played played(own, others, request);
    if (played.takes_king) {
      out.ended[row] = 1;
      actor_row.copy(others);
      other_row.copy(own);
      return;
    }
    actor_row.move_as_actor(request, played.outcome, played.mover, played.other);
    other_row.move_as_other(played.outcome, played.other, played.mover);
  });
  return out;
}

Infostates advance_particles(const Infostates& particles, std::span<const std::int64_t> rows, const StateSet& set,
                             Step step, std::span<const int> actions, int ell, const Cut& cut) {
  const int n = static_cast<int>(rows.size());
  if (actions.size() != rows.size())
    throw std::invalid_argument("there are " + std::to_string(actions.size()) + " actions for " + std::to_string(n) +
                                " rows");
  particles.check_rows(rows);
  Infostates out(n, ell);
  const bool owner_acts = set.turn() == set.owner();
  const Side& owner = set.own();
  for_each_row(n, [&](int i) {
    const int row = static_cast<int>(rows[i]);
    const Side& own = particles.own[row];
    if (particles.players[row] == set.owner()) refuse(row, "the particle belongs to the owner of the set");
    if (particles.turns[row] != set.turn() || particles.step(row) != step)
      refuse(row, "the particle and the set are of different moments");
    if (particles.find(row, owner) < 0 || !set.contains(own)) refuse(row, "the particle does not meet the set");
    const Side& actor = owner_acts ? owner : own;
    if (!is_legal(actor, step, actions[i])) refuse(row, "action " + std::to_string(actions[i]) + " is not legal");
    const RowTransition transition{particles, row, out, i, ell, cut.row_salt(i, owner_acts)};
    if (actions[i] < kMoveBase)
      return owner_acts ? transition.sense_as_other(owner) : transition.sense_as_actor(actions[i], owner);
    const Move request = move_of(actions[i]);
    const Played played(actor, owner_acts ? own : owner, request);
    if (played.takes_king) return transition.copy(owner);
    if (owner_acts) {
      transition.move_as_other(played.outcome, played.other, played.mover);
    } else {
      transition.move_as_actor(request, played.outcome, played.mover, played.other);
    }
  });
  return out;
}

}  // namespace penumbra
