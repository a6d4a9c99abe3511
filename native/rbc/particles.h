// Particles of a belief: information states of the opponent, tested against the exact sets of the player who holds the
// belief. A particle and a set stand in one state: the set owner's pieces and the particle's own.
#pragma once

#include "rbc/infostate.h"
#include "rbc/state_set.h"

namespace penumbra {

// Does a particle meet a set: is the state they stand in possible for both?
std::vector<std::uint8_t> meets(const Infostates& particles, const StateSet& set);

// Would action i, played by whoever is to act in the state where particle rows[i] and `before` stand, lead into `after`?
// Nothing is moved on: this is the cheap test before `advance_particles`. Rows may repeat.
std::vector<std::uint8_t> leads_into(const Infostates& particles, std::span<const std::int64_t> rows,
                                     const StateSet& before, const StateSet& after, std::span<const int> actions);

// Particles rows[i] after action i of whoever is to act in the state where they and the set stand: what `advance` makes
// of them with the set's owner in the other row, without making that row. `step` is the set's. A row whose action takes
// the king stays as it was. Throws std::invalid_argument naming the particle.
Infostates advance_particles(const Infostates& particles, std::span<const std::int64_t> rows, const StateSet& set,
                             Step step, std::span<const int> actions, int ell, const Cut& cut);

// Particles that know the one state of `after` they stand in. Each is drawn as a random state of `before` and a random
// way on into `after`; so states with several parents are likelier, and what such a particle remembers of the
// opponent's last move is that way. `before` is null where none is kept: then a random state of `after`, nothing remembered.
Infostates singletons(const StateSet* before, const StateSet& after, int rows, int ell, Step step, Square capture,
                      std::uint64_t seed);

}  // namespace penumbra
