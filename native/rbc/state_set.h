// The exact set of world states that one player, its *owner*, holds possible.
//
// All members share the owner's pieces, so a member is only the opponent's `Side`: 32 bytes. Sets are immutable; every
// operation makes a new one and leaves the old as it was. Results, their order included, do not depend on the number of
// threads. Squares and moves are the owner's view.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/hash_index.h"
#include "rbc/rules.h"
#include "rbc/state.h"
#include "rbc/successors.h"

namespace penumbra {

using SideIndex = HashIndex<Side>;

// No state of the set agrees with what was observed.
struct ImpossibleObservation : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// A set of more than `states` members (0: no cap) becomes a uniform random draw of that many, made by `seed`, and is no
// longer complete.
struct Cap {
  std::size_t states = 0;
  std::uint64_t seed = 0;
  const Side* keep = nullptr;  // a state that a cut must not lose: for replays, where the truth is known
};

class StateSet {
 public:
  StateSet(const World& world, bool owner);
  static StateSet from_worlds(std::span<const World> worlds, bool owner);

  bool owner() const { return owner_; }
  bool turn() const { return turn_; }
  std::size_t size() const { return members_.size(); }
  const Side& own() const { return own_; }
  const Buffer<Side>& members() const { return members_; }
  std::span<const Side> states() const { return {members_.data(), members_.size()}; }
  bool complete() const { return complete_; }
  // Successors counted before duplicates went, when this set was made by `expand` or `apply_move`.
  std::uint64_t generated() const { return generated_; }
  std::size_t nbytes() const;
  World world(std::size_t i) const;
  bool contains(const World& world) const;
  bool contains(const Side& opponent) const { return position(opponent) < size(); }
  // Where among the members these pieces of the opponent stand; size() if nowhere.
  std::size_t position(const Side& opponent) const;

  // The opponent moved: everything it could have done that shows this capture (of the owner's piece, or kNoSquare).
  StateSet expand(Square capture, const Cap& cap = {}) const;

  // The owner sensed: contents of the window's squares in the order of window_squares(), or the opponent's true pieces.
  StateSet filter_sense(Square center, std::span<const int> contents) const;
  StateSet filter_sense(Square center, const Side& truth) const;

  // The owner moved: the states in which this request becomes this move with this capture. A captured king ends the
  // game: `ended` says whether it did, and states that say otherwise go.
  StateSet apply_move(Move request, const Outcome& outcome, bool ended = false) const;

  // expand, and filter_sense(center, truth), in one pass: the set after the sense is exact even where
  // the one before it is cut.
  std::pair<StateSet, StateSet> expand_and_sense(Square capture, Square center, const Side& truth, const Cap& before,
                                                 const Cap& after) const;

  // The states of this set that lead into `next` by expand(capture) or by apply_move(...).
  StateSet prune_to_parents_of_expansion(const StateSet& next, Square capture) const;
  StateSet prune_to_parents_of_move(const StateSet& next, Move request, const Outcome& outcome,
                                    bool ended = false) const;

  // n members drawn without replacement (all if there are fewer).
  StateSet sample(std::size_t n, std::uint64_t seed) const;

  // How many members have each of the 13 contents on each square.
  std::vector<std::uint64_t> marginals() const;  // [64 * 13]

 private:
  StateSet(bool owner, bool turn, const Side& own, bool complete)
      : owner_(owner), turn_(turn), complete_(complete), own_(own), index_(std::make_shared<LazyIndex>()) {}

  struct LazyIndex {
    std::once_flag once;
    SideIndex index;
  };
  const SideIndex& index() const;
  ObservedMove seen_by_opponent(Square capture) const;
  StateSet after_opponent(Square capture) const;
  void draw_expansion(const ObservedMove& seen, const Cap& cap, StateSet& next) const;
  void require_turn(bool owner_to_act, const char* what) const;
  template <class Keep>
  StateSet keep_if(const Keep& keep) const;
  bool move_seen(const Side& opponent, Move request, const Outcome& outcome, bool ended, Side& after) const;

  bool owner_, turn_;
  bool complete_ = true;
  std::uint64_t generated_ = 0;
  Side own_;
  Buffer<Side> members_;
  std::shared_ptr<LazyIndex> index_;
};

}  // namespace penumbra
