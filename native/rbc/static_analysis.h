// What can be said of a set of states without search: senses that cannot tell more than another, and captures of the
// king that cannot fail. Exact for the set given, so it must not be applied to a singleton particle
// that stands for our ignorance of the opponent.
#pragma once

#include <span>
#include <vector>

#include "rbc/infostate.h"
#include "rbc/state.h"

namespace penumbra {

constexpr Action kNoAction = -1;

// The senses worth making, as squares of the viewer. A sense splits the set into classes that look alike; it goes if
// another splits at least as finely everywhere and more finely somewhere, or equally with a lower number.
Bitboard useful_senses(std::span<const Side> opponents);

// A move, as an action, that takes the king in every state; kNoAction if there is none. A slide that is stopped early
// takes the king wherever it stands first on the line.
Action sure_capture(const Side& own, std::span<const Side> opponents);

// The lowest sense after which sure_capture finds a move whatever it shows; kNoAction if there is none.
Action sure_sense(const Side& own, std::span<const Side> opponents);

// The set of a player who waits: if the opponent can take our king in every state, how it would in the first one (an
// action of the opponent's view); kNoAction otherwise.
Action exposed_king(const Side& own, std::span<const Side> opponents);

// Of each move the share of the states in which it leaves our king where the opponent can take it at once, less the share
// in which it takes theirs; never below 0.
std::vector<float> danger(const Side& own, std::span<const Side> opponents, std::span<const Action> moves);

struct Settlement {
  Bitboard senses = ~Bitboard{0};
  Action win = kNoAction;   // sure_sense or sure_capture for a player to act
  Action loss = kNoAction;  // exposed_king for a player who waits
};

Settlement settle(const Side& own, std::span<const Side> opponents, bool to_act, Step step, bool with_senses);

// For every row of a batch.
std::vector<Settlement> settle(const Infostates& states, bool with_senses);

}  // namespace penumbra
