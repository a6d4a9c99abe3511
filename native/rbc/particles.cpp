#include "rbc/particles.h"

#include <algorithm>

#include "rbc/synopsis.h"

namespace penumbra {

std::vector<std::uint8_t> meets(const Infostates& particles, const StateSet& set) {
  std::vector<std::uint8_t> out(particles.size());
  for_each_row(particles.size(),
               [&](int row) { out[row] = set.contains(particles.own[row]) && particles.find(row, set.own()) >= 0; });
  return out;
}

namespace {

// Whether an action, played by whoever is to act in the state of `before` and this opponent, leads into `after`.
bool leads(const StateSet& before, Side opponent, const StateSet& after, int action) {
  const bool owner_acts = before.turn() == before.owner();
  Side own = before.own();
  if (action >= kMoveBase) {
    Side& mover = owner_acts ? own : opponent;
    Side& other = owner_acts ? opponent : own;
    play(mover, other, resolve(mover, Obstacles::of(other), move_of(action)));
    if (!other.king()) return false;
  }
  return own == after.own() && after.contains(opponent);
}

}  // namespace

std::vector<std::uint8_t> leads_into(const Infostates& particles, const StateSet& before, const StateSet& after,
                                     std::span<const int> actions) {
  if (static_cast<int>(actions.size()) != particles.size())
    throw std::invalid_argument("there are " + std::to_string(actions.size()) + " actions for " +
                                std::to_string(particles.size()) + " particles");
  std::vector<std::uint8_t> out(particles.size());
  for_each_row(particles.size(), [&](int row) { out[row] = leads(before, particles.own[row], after, actions[row]); });
  return out;
}

std::vector<std::uint8_t> reaches(const Infostates& particles, const StateSet& before, const StateSet& after,
                                  std::span<const int> actions, std::span<const std::int64_t> offsets) {
  const auto rows = static_cast<std::size_t>(particles.size());
  if (offsets.size() != rows + 1 || offsets[0] != 0 || offsets[rows] != static_cast<std::int64_t>(actions.size()) ||
      !std::is_sorted(offsets.begin(), offsets.end()))
    throw std::invalid_argument("the offsets do not divide " + std::to_string(actions.size()) + " actions among " +
                                std::to_string(rows) + " particles");
  std::vector<std::uint8_t> out(actions.size());
  for_each_row(particles.size(), [&](int row) {
    for (auto i = static_cast<std::size_t>(offsets[row]); i < static_cast<std::size_t>(offsets[row + 1]); ++i)
      out[i] = leads(before, particles.own[row], after, actions[i]);
  });
  return out;
}

Infostates singletons(const StateSet* before, const StateSet& after, int rows, int limit, Step step, Square capture,
                      std::uint64_t seed) {
  Infostates out(rows, limit);
  const bool opponent_moved = before && before->turn() != before->owner() && after.turn() == after.owner();
  for_each_row(rows, [&](int row) {
    Random random(scramble(scramble(seed) + static_cast<std::uint64_t>(row)));
    out.players[row] = !after.owner();
    out.turns[row] = after.turn();
    out.steps[row] = static_cast<std::uint8_t>(step);
    out.counts[row] = 1;
    out.members(row)[0] = after.own();
    out.own[row] = after.members()[random.below(after.size())];
    if (!opponent_moved) {
      if (after.turn() != after.owner() && capture != kNoSquare) out.memories[row].opponent_moved(mirror(capture));
      return;
    }
    // A parent, and one of its ways into the set.
    const Side& parent = before->members()[random.below(before->size())];
    static thread_local std::vector<Outcome> outcomes;
    list_outcomes(parent, Obstacles::of(before->own()), outcomes);
    outcomes.push_back({});
    std::erase_if(outcomes, [&](const Outcome& o) {
      Side mover = parent, other = before->own();
      play(mover, other, o);
      return !(other == after.own()) || !after.contains(mover);
    });
    if (outcomes.empty()) return;
    const Outcome& way = outcomes[random.below(outcomes.size())];
    Side mover = parent, other = before->own();
    const Memory nothing;
    Bitboard seen[kRemembered];
    remembered_planes({&parent, &before->own(), 1, &nothing, Step::kMove}, seen);
    play(mover, other, way);
    out.own[row] = mover;
    out.memories[row].moved(way, seen);
  });
  return out;
}

}  // namespace penumbra
