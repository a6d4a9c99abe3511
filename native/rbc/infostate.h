// Batches of approximate information states: a player, the kind of step, at most `ell` world states that the player
// holds possible, and its context. Rows lie in flat memory; kernels work on whole batches on all cores, and their
// results do not depend on the number of threads.
//
// Two rows of the two players that meet in a playout need no third record of the truth: the true state is the own
// pieces of the one and the own pieces of the other. A set holds the truth if it holds the other row's own pieces.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "rbc/game.h"
#include "rbc/state.h"
#include "rbc/state_set.h"

namespace penumbra {

constexpr int kPlanes = 104;
constexpr int kFirstRemembered = 18;  // planes 18-35 of a turn are remembered in the next one
constexpr int kRemembered = 18;
constexpr int kRememberedShares = 7;  // and shares 0-6, those of the opposing kinds

// What a player remembers of its turn before.
struct Remembered {
  Bitboard planes[kRemembered] = {};
  std::uint8_t shares[kRememberedShares][64] = {};
};

// The context of an information state: what its player remembers beside its set, in its own view; kNoSquare where there
// is nothing.
struct Context {
  std::int8_t last_from = kNoSquare, last_to = kNoSquare;  // the own move taken last
  std::int8_t own_capture = kNoSquare;                     // where it captured
  std::int8_t opposing_capture = kNoSquare;                // where the opponent's last move captured
  Remembered previous;                                     // at the move step of the previous turn

  // The own move is known; `seen` is what was remembered before it.
  void moved(const Outcome& outcome, const Remembered& seen);
  void opponent_moved(Square capture) { opposing_capture = static_cast<std::int8_t>(capture); }
};

// One information state, wherever its states are kept.
struct InfostateView {
  const Side* own;
  const Side* members;
  int count;
  const Context* context;
  Step step;
};

class Infostates {
 public:
  Infostates(int rows, int ell);
  ~Infostates();
  Infostates(Infostates&&) = default;
  Infostates& operator=(Infostates&&) = default;

  int size() const { return static_cast<int>(own.size()); }
  int ell() const { return ell_; }
  Side* members(int row) { return members_.data() + static_cast<std::size_t>(row) * ell_; }
  const Side* members(int row) const { return members_.data() + static_cast<std::size_t>(row) * ell_; }
  std::span<const Side> states(int row) const { return {members(row), static_cast<std::size_t>(counts[row])}; }
  InfostateView view(int row) const { return {&own[row], members(row), counts[row], &contexts[row], step(row)}; }
  Step step(int row) const { return static_cast<Step>(steps[row]); }
  World world(int row, int i) const;
  // Where the row's set holds these pieces of the opponent; -1 if it does not.
  int find(int row, const Side& opponent) const;
  void copy_row(int to, const Infostates& from, int row);

  // Sums of member hashes with the own pieces, player and step mixed in, and the context if `with_context`.
  std::vector<std::uint64_t> keys(bool with_context) const;

  // Throws std::out_of_range naming the first that is not a row.
  void check_rows(std::span<const std::int64_t> rows) const;
  Infostates take(std::span<const std::int64_t> rows) const;
  static Infostates concatenate(std::span<const Infostates* const> parts);

  std::vector<Side> own;
  std::vector<int> counts;
  std::vector<Context> contexts;
  std::vector<std::uint8_t> players, turns, steps;  // colours, colours, kinds of steps

 private:
  int ell_;
  Buffer<Side> members_;  // [rows, ell]; the memory of destroyed batches is used again
};

// How sets are cut to ell states. Both kinds keep a uniform draw of the distinct states, the truth apart: *random* cuts
// draw anew for every row and call; *keyed* cuts keep the smallest hashes under one salt, so equal sets are cut alike.
struct Cut {
  std::uint64_t salt = 0;
  bool keyed = false;
  std::uint64_t row_salt(int row, int which) const {
    const std::uint64_t base = scramble(salt);
    // Scrambled between the parts: else row r under salt s would draw like row r + 1 under salt s - 1.
    return keyed ? base
                 : scramble(scramble(base + static_cast<std::uint64_t>(row)) + static_cast<std::uint64_t>(which));
  }
};

// Rows that draw at most `ell` states of a set. Where `truths` is given, row r holds the own pieces of its row r.
Infostates draw(const StateSet& set, int rows, int ell, Step step, const Context& context, const Cut& cut,
                const Infostates* truths);

struct Advanced {
  Infostates actor, other;
  std::vector<std::uint8_t> ended;  // 1: the actor took the king; such a row stays as it was
};

// Plays one action per row on the true state. Every row has its own ell. Throws std::invalid_argument naming the row.
Advanced advance(const Infostates& actor, const Infostates& other, std::span<const int> actions,
                 std::span<const int> actor_ell, std::span<const int> other_ell, const Cut& cut);

// Legal actions of all rows, row r in [offsets[r], offsets[r + 1]). Without `prune` a sense step has all 64.
struct LegalActions {
  std::vector<std::int32_t> actions;
  std::vector<std::int64_t> offsets;
};
LegalActions legal(const Infostates& states, bool prune);

// Runs `work(row)` for every row, in blocks on all cores.
void for_each_row(int rows, const std::function<void(int)>& work);

}  // namespace penumbra
