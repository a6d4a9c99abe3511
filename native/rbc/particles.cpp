#include "rbc/particles.h"

#include "rbc/synopsis.h"

namespace penumbra {

std::vector<std::uint8_t> meets(const Infostates& particles, const StateSet& set) {
  std::vector<std::uint8_t> out(particles.size());
  for_each_row(particles.size(),
               [&](int row) { out[row] = set.contains(particles.own[row]) && particles.find(row, set.own()) >= 0; });
  return out;
}

std::vector<std::uint8_t> leads_into(const Infostates& particles, std::span<const std::int64_t> rows,
                                     const StateSet& before, const StateSet& after, std::span<const int> actions) {
  if (actions.size() != rows.size())
    throw std::invalid_argument("there are " + std::to_string(actions.size()) + " actions for " +
                                std::to_string(rows.size()) + " particles");
  particles.check_rows(rows);
  const bool owner_acts = before.turn() == before.owner();
  std::vector<std::uint8_t> out(rows.size());
  for_each_row(static_cast<int>(rows.size()), [&](int i) {
    Side own = before.own(), opponent = particles.own[rows[i]];
    if (actions[i] >= kMoveBase) {
      Side& mover = owner_acts ? own : opponent;
      Side& other = owner_acts ? opponent : own;
      const Outcome outcome = resolve(mover, Obstacles::of(other), move_of(actions[i]));
      play(mover, other, outcome);
      if (!other.king()) return;
    }
    out[i] = own == after.own() && after.contains(opponent);
  });
  return out;
}

Infostates singletons(const StateSet* before, const StateSet& after, int rows, int ell, Step step, Square capture,
                      std::uint64_t seed) {
  Infostates out(rows, ell);
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
      if (after.turn() != after.owner() && capture != kNoSquare) out.contexts[row].opponent_moved(mirror(capture));
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
    const Context nothing;
    const Remembered seen = remembered({&parent, &before->own(), 1, &nothing, Step::kMove});
    play(mover, other, way);
    out.own[row] = mover;
    out.contexts[row].moved(way, seen);
  });
  return out;
}

}  // namespace penumbra
