// A small search for positions of reconnaissance blind chess: alpha-beta with quiescence over the moves that can really
// be taken, where there is no check and a captured king ends the game. It searches one world state, fully visible; the
// players combine the scores of many states. Scores are hundredths of a pawn for the player to move.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rbc/rules.h"
#include "rbc/state.h"

namespace penumbra {

constexpr int kKingTaken = 30000;  // less one for every ply until the capture

struct EngineLimits {
  int depth = 2;               // plies before quiescence
  std::int64_t nodes = 20000;  // of one state, all its moves together; past it only captures of the king are looked for
  // Above 0: a deeper, selective search by the fitted evaluation, which finds of moves this much worse than the best
  // only a bound from above.
  int margin = 0;
};

// Material, placement, mobility and danger to the kings, for the player to move; no search. What the built-in opponents
// know; `evaluate_fitted` knows more.
int evaluate(const Side& mover, const Side& other);

// The value of a state by search.
int search_value(const Side& mover, const Side& other, const EngineLimits& limits);

// The chance to win that a state's quiescence score means for the player to move: 1 / (1 + e^(-score / scale)), of
// hundredths of a pawn, 1000 at most: what can be taken, the king too, need not be seen by its taker.
double quiet_chance(const Side& mover, const Side& other, double scale);

// The score of every request in every state, [states, requests]: what it becomes there is played and searched. The pass
// may be among the requests. States are searched on all cores.
std::vector<std::int32_t> score_requests(const Side& own, std::span<const Side> opponents,
                                         std::span<const Move> requests, const EngineLimits& limits);

// The value of every state for the player to move, who is the owner if `owner_to_move`.
std::vector<std::int32_t> state_values(const Side& own, std::span<const Side> opponents, bool owner_to_move,
                                       const EngineLimits& limits);

// The fewest own moves that take the king if the opponent only passes, at most `max_moves`, and the first of them; 0 moves if
// it takes more.
struct Hunt {
  int moves = 0;
  Move first = kPass;
};
Hunt hunt_king(const Side& mover, const Side& other, int max_moves);

}  // namespace penumbra
