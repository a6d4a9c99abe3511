// Training examples from game records: both players of each game are tracked, and every sense and move step yields the
// synopsis of fresh draws from the player's set, with the facts of the game beside it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rbc/game.h"
#include "rbc/synopsis.h"

namespace penumbra {

struct ExampleSettings {
  int ell = 128;           // ℓ, states summarised by a synopsis
  int multiplicity = 1;    // draws from each set
  std::size_t cap = 5000;  // states tracked; past it a uniform draw that keeps the truth
  std::uint64_t seed = 0;
  bool settle = true;  // look for forced wins that were missed
  SynopsisSort synopsis = SynopsisSort::kBinary;
  int engine_states = 0;       // of each set, drawn at random, whose quiescence the engine scores; 0: it is not asked
  double engine_scale = 1000;  // hundredths of a pawn, see quiet_chance
};

// One row per draw; all arrays have as many entries, `legal` is ragged.
struct Examples {
  std::vector<std::uint64_t> synopses;  // [rows, words_of(synopsis)]
  std::vector<std::int32_t> actions;    // the action chosen (promotions count as queens)
  std::vector<std::int32_t> legal;
  std::vector<std::int64_t> legal_offsets;
  std::vector<std::int8_t> outcomes;              // 1 the player won, -1 lost, 0 drawn or undecided
  std::vector<std::uint8_t> soon_won, soon_lost;  // within five own steps, senses included
  std::vector<std::uint16_t> left;                // own steps to the end of the game, this one included
  std::vector<std::uint8_t> piece_counts;         // [rows, 12] true own P..K, opposing P..K
  std::vector<std::int64_t> set_sizes;
  std::vector<std::int32_t> games;    // position in the batch
  std::vector<std::int32_t> turns;    // ply
  std::vector<std::uint8_t> players;  // colour
  std::vector<std::uint8_t> cut;      // a cap has cut the set since it was last exact
  // [rows, 2] chances to win by the engine: the mean over states of the set, and in the true state; NaN without it.
  std::vector<float> engine;
  std::vector<std::uint8_t> missed_win;  // the loser of this game once had a forced win with what it knew
};

// Throws std::invalid_argument naming the game whose record breaks the rules.
Examples make_examples(std::span<const GameRecord* const> records, const ExampleSettings& settings);

}  // namespace penumbra
