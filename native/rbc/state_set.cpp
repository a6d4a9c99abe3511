#include "rbc/state_set.h"

#include <unordered_set>

#include "rbc/collect.h"
#include "rbc/draw_successors.h"

namespace penumbra {

namespace {

std::string seen_at(Square s) { return s == kNoSquare ? "no capture" : "a capture on " + square_name(s); }

// Runs `work(block, first, last)` over blocks of a fixed size.
template <class Work>
void in_blocks(std::size_t n, const Work& work) {
  constexpr std::size_t kBlock = 1 << 16;
  parallel_for(static_cast<int>((n + kBlock - 1) / kBlock),
               [&](int b) { work(b, b * kBlock, std::min(n, (b + 1) * kBlock)); });
}

constexpr std::size_t kSmallCap = 1 << 14;  // what one core draws faster than all of them collect

std::size_t blocks_of(std::size_t n) { return (n + 65535) >> 16; }

}  // namespace

StateSet::StateSet(const World& world, bool owner) : StateSet(owner, world.turn, world.sides[owner], true) {
  members_.push_back(world.sides[!owner]);
}

StateSet StateSet::from_worlds(std::span<const World> worlds, bool owner) {
  if (worlds.empty()) throw std::invalid_argument("a state set needs at least one state");
  StateSet set(owner, worlds[0].turn, worlds[0].sides[owner], true);
  SideIndex index;
  for (const World& world : worlds) {
    if (world.turn != set.turn_ || !(world.sides[owner] == set.own_))
      throw std::invalid_argument("all states of a set must have the same turn and the same pieces of its owner");
    index.insert(&world.sides[!owner], 1, set.members_);
  }
  return set;
}

std::size_t StateSet::nbytes() const {
  return sizeof(StateSet) + members_.capacity() * sizeof(Side) + index_->index.nbytes();
}

World StateSet::world(std::size_t i) const {
  World world;
  world.turn = turn_;
  world.sides[owner_] = own_;
  world.sides[!owner_] = members_[i];
  return world;
}

const SideIndex& StateSet::index() const {
  std::call_once(index_->once, [this] { index_->index.build(members_); });
  return index_->index;
}

std::size_t StateSet::position(const Side& opponent) const {
  const std::uint32_t at = index().find(opponent, members_);
  return at == SideIndex::kAbsent ? size() : at;
}

bool StateSet::contains(const World& world) const {
  return world.turn == turn_ && world.sides[owner_] == own_ && contains(world.sides[!owner_]);
}

void StateSet::require_turn(bool owner_to_act, const char* what) const {
  if ((turn_ == owner_) != owner_to_act)
    throw std::invalid_argument(std::string(what) +
                                (owner_to_act ? ": it is the opponent's turn" : ": it is the owner's turn"));
}

// What the opponent may have done, in its own view.
ObservedMove StateSet::seen_by_opponent(Square capture) const {
  require_turn(false, "the opponent moved");
  if (capture != kNoSquare && !(own_.occupied() & bit(capture)))
    throw ImpossibleObservation("the opponent captured on " + square_name(capture) + ", where nothing of ours stood");
  return {Obstacles::of(own_), capture == kNoSquare ? kNoSquare : mirror(capture)};
}

// The set after the opponent's move, still without members.
StateSet StateSet::after_opponent(Square capture) const {
  Side own = own_;
  own.unmark_pawn();
  if (capture != kNoSquare) own.remove(capture);
  return StateSet(owner_, owner_, own, complete_);
}

// Into `next`: what a collection under this cap keeps, found without collecting.
void StateSet::draw_expansion(const ObservedMove& seen, const Cap& cap, StateSet& next) const {
  DrawnSuccessors drawn = draw_successors(states(), seen, cap.states, salt_of(cap));
  next.members_ = std::move(drawn.states);
  next.complete_ = !drawn.cut && complete_;
  next.generated_ = drawn.generated;
  if (drawn.cut) keep_in(next.members_, cap.keep);
}

StateSet StateSet::expand(Square capture, const Cap& cap) const {
  const ObservedMove seen = seen_by_opponent(capture);
  StateSet next = after_opponent(capture);
  if (cap.states && cap.states <= kSmallCap && size() <= kSmallCap) {
    draw_expansion(seen, cap, next);
  } else {
    Collector collector(size() * seen.branching(), cap);
    collector.run(members_, [&](const Side& mover, const HashShare& share, const auto& emit) {
      Build sink{emit, share};
      seen.successors(mover, sink);
    });
    next.complete_ = !collector.finish(next.members_) && complete_;
    next.generated_ = collector.generated();
  }
  if (next.members_.empty()) throw ImpossibleObservation("no state allows " + seen_at(capture) + " by the opponent");
  return next;
}

std::pair<StateSet, StateSet> StateSet::expand_and_sense(Square capture, Square center, const Side& truth,
                                                         const Cap& before, const Cap& after) const {
  const ObservedMove seen = seen_by_opponent(capture);
  std::pair<StateSet, StateSet> sets{after_opponent(capture), after_opponent(capture)};
  const SenseResult result(center, truth);
  Collector all(size() * seen.branching(), before);
  all.run(members_, [&](const Side& mover, const HashShare& share, const auto& emit) {
    Build sink{emit, share};
    seen.successors(mover, sink);
  });
  Collector some(size() * 2, after);
  some.run(members_, [&](const Side& mover, const HashShare& share, const auto& emit) {
    const auto emit_if_shown = [&](const Side& side) {
      if (result.matches(side)) emit(side);
    };
    Build sink{emit_if_shown, share};
    seen.successors(mover, sink);
  });
  sets.first.complete_ = !all.finish(sets.first.members_) && complete_;
  sets.second.complete_ = !some.finish(sets.second.members_) && complete_;
  sets.first.generated_ = all.generated();
  if (sets.second.members_.empty())
    throw ImpossibleObservation("no state allows " + seen_at(capture) + " and shows this at the sense of " +
                                square_name(center));
  return sets;
}

template <class Keep>
StateSet StateSet::keep_if(const Keep& keep) const {
  StateSet next(owner_, turn_, own_, complete_);
  std::vector<Buffer<Side>> kept(blocks_of(size()));
  in_blocks(size(), [&](int block, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      if (keep(members_[i])) kept[block].push_back(members_[i]);
  });
  std::size_t total = 0;
  for (const auto& part : kept) total += part.size();
  next.members_.reserve(total);
  for (auto& part : kept) {
    next.members_.append(part.data(), part.size());
    part.release();
  }
  return next;
}

StateSet StateSet::filter_sense(Square center, std::span<const int> contents) const {
  if (center < 0 || center > 63)
    throw std::invalid_argument("square " + std::to_string(center) + " is not on the board (0 to 63)");
  const std::vector<Square> squares = window_squares(center, owner_);
  if (contents.size() != squares.size())
    throw std::invalid_argument("a sense of " + square_name(center) + " shows " + std::to_string(squares.size()) +
                                " squares, not " + std::to_string(contents.size()));
  Side shown;
  for (std::size_t i = 0; i < squares.size(); ++i) {
    const int content = contents[i], kind = content > 6 ? content - 6 : 0;
    if (content < 0 || content >= kContents)
      throw std::invalid_argument("content " + std::to_string(content) + " is not in 0 to 12");
    if (own_.kind_at(squares[i]) != (content > 6 ? 0 : content))
      throw ImpossibleObservation("the sense of " + square_name(center) + " contradicts our own pieces on " +
                                  square_name(squares[i]));
    if (kind) shown.toggle(kind, mirror(squares[i]));
  }
  return filter_sense(center, shown);
}

StateSet StateSet::filter_sense(Square center, const Side& truth) const {
  const SenseResult result(center, truth);
  StateSet next = keep_if([&](const Side& side) { return result.matches(side); });
  if (next.members_.empty()) throw ImpossibleObservation("no state shows this at the sense of " + square_name(center));
  return next;
}

// Would the opponent's pieces answer so, here or on the official server? If they would, `after` is what is left of them.
bool StateSet::move_seen(const Side& opponent, Move request, const Outcome& outcome, bool ended, Side& after) const {
  const Outcome resolved = resolve(own_, Obstacles::of(opponent), request);
  const bool refused = outcome == Outcome{} && server_refuses(own_, opponent, resolved);
  if (resolved != outcome && !refused) return false;
  const bool takes_king = outcome.capture != kNoSquare && (opponent.king() & bit(mirror(outcome.capture)));
  if (takes_king != ended) return false;
  Side own = own_;
  after = opponent;
  play(own, after, outcome);
  return true;
}

StateSet StateSet::apply_move(Move request, const Outcome& outcome, bool ended) const {
  require_turn(true, "apply_move");
  if (request != kPass && !is_listed(own_, request))
    throw std::invalid_argument("move " + square_name(from_of(request)) + square_name(to_of(request)) +
                                " (seen by its player) is not on the list of moves");
  Collector collector(size(), {});
  collector.run(members_, [&](const Side& opponent, const HashShare& share, const auto& emit) {
    Side after;
    if (move_seen(opponent, request, outcome, ended, after) && share.contains(after.hash)) emit(after);
  });
  Side own = own_, nobody;
  if (outcome.capture != kNoSquare) nobody.toggle(kPawn, mirror(outcome.capture));
  play(own, nobody, outcome);
  StateSet next(owner_, !owner_, own, complete_);
  collector.finish(next.members_);
  next.generated_ = collector.generated();
  if (next.members_.empty())
    throw ImpossibleObservation("no state answers this request with that move and " + seen_at(outcome.capture));
  return next;
}

StateSet StateSet::prune_to_parents_of_expansion(const StateSet& next, Square capture) const {
  const ObservedMove seen = seen_by_opponent(capture);
  const SideIndex& index = next.index();
  StateSet kept = keep_if([&](const Side& mover) {
    bool found = false;
    Build sink{[&](const Side& side) { found = found || index.find(side, next.members_) != SideIndex::kAbsent; }};
    seen.successors(mover, sink);
    return found;
  });
  kept.complete_ = complete_ && next.complete_;  // what a cut has lost may have had its parents here
  return kept;
}

StateSet StateSet::prune_to_parents_of_move(const StateSet& next, Move request, const Outcome& outcome,
                                            bool ended) const {
  require_turn(true, "prune_to_parents_of_move");
  const SideIndex& index = next.index();
  StateSet kept = keep_if([&](const Side& opponent) {
    Side after;
    return move_seen(opponent, request, outcome, ended, after) &&
           index.find(after, next.members_) != SideIndex::kAbsent;
  });
  kept.complete_ = complete_ && next.complete_;
  return kept;
}

// Floyd's draw of n distinct positions, each subset equally likely, in increasing order.
StateSet StateSet::sample(std::size_t n, std::uint64_t seed) const {
  StateSet next(owner_, turn_, own_, complete_ && n >= size());
  if (n >= size()) {
    next.members_.append(members_.data(), size());
    return next;
  }
  Random random(scramble(seed));
  std::unordered_set<std::size_t> drawn;
  for (std::size_t j = size() - n; j < size(); ++j)
    if (const std::size_t t = random.below(j + 1); !drawn.insert(t).second) drawn.insert(j);
  std::vector<std::size_t> order(drawn.begin(), drawn.end());
  std::sort(order.begin(), order.end());
  next.members_.reserve(n);
  for (const std::size_t i : order) next.members_.push_back(members_[i]);
  return next;
}

std::vector<std::uint64_t> StateSet::marginals() const {
  std::vector<std::vector<std::uint64_t>> parts(blocks_of(size()));
  in_blocks(size(), [&](int block, std::size_t first, std::size_t last) {
    auto& counts = parts[block];
    counts.assign(64 * 7, 0);
    for (std::size_t i = first; i < last; ++i)
      for_each(members_[i].occupied(), [&](Square s) { ++counts[s * 7 + members_[i].kind_at(s)]; });
  });
  std::vector<std::uint64_t> total(64 * kContents, 0);
  for (Square s = 0; s < 64; ++s) {
    std::uint64_t* const row = &total[mirror(s) * kContents];
    std::uint64_t pieces = 0;
    for (const auto& counts : parts)
      for (int kind = 1; kind < 7; ++kind) {
        row[6 + kind] += counts[s * 7 + kind];
        pieces += counts[s * 7 + kind];
      }
    const int own = own_.kind_at(mirror(s));
    row[own] += size() - pieces;  // empty, or our own piece
  }
  return total;
}

}  // namespace penumbra
