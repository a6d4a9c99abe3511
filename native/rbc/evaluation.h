// What a position is worth without search: knowledge of chess as weights, fitted to Stockfish's scores of positions from
// games of reconnaissance blind chess (studies/engine_weights.py). Each weight has a value for the middle game and one
// for the endgame, between which the pieces that are left decide.
#pragma once

#include "rbc/state.h"

namespace penumbra {

// Hundredths of a pawn for the player to move.
int evaluate_fitted(const Side& mover, const Side& other);

}  // namespace penumbra
