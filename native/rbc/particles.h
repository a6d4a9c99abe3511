// Particles of a belief: information states of the opponent, tested against the exact sets of the player who holds the
// belief. A particle and a set stand in one state: the set owner's pieces and the particle's own.
#pragma once

#include "rbc/infostate.h"
#include "rbc/state_set.h"

namespace penumbra {

// Does a particle meet a set: is the state they stand in possible for both?
std::vector<std::uint8_t> meets(const Infostates& particles, const StateSet& set);

// Would this action, played by whoever is to act in the state where particle and `before` stand, lead into `after`?
// Nothing is moved on: this is the cheap test before `advance`.
std::vector<std::uint8_t> leads_into(const Infostates& particles, const StateSet& before, const StateSet& after,
                                     std::span<const int> actions);

// The same for several actions of each particle: row r has those in [offsets[r], offsets[r + 1]).
std::vector<std::uint8_t> reaches(const Infostates& particles, const StateSet& before, const StateSet& after,
                                  std::span<const int> actions, std::span<const std::int64_t> offsets);

// Particles that know the one state of `after` they stand in. Each is drawn as a random state of `before` and a random
// way on into `after`; so states with several parents are likelier, and what such a particle remembers of the
// opponent's last move is that way. `before` is null where none is kept: then a random state of `after`, nothing remembered.
Infostates singletons(const StateSet* before, const StateSet& after, int rows, int limit, Step step, Square capture,
                      std::uint64_t seed);

}  // namespace penumbra
