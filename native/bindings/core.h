// What the files of the core's module share: its parts, each bound in a file of its own, and conversions between Python's
// values and the core's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bindings/arrays.h"
#include "rbc/game.h"
#include "rbc/state_set.h"

namespace penumbra {

void bind_game(nb::module_& m);
void bind_state_set(nb::module_& m);
void bind_infostates(nb::module_& m);
void bind_static_analysis(nb::module_& m);
void bind_particles(nb::module_& m);
void bind_examples(nb::module_& m);
void bind_game_batch(nb::module_& m);
void bind_game_fleet(nb::module_& m);
void bind_engine(nb::module_& m);
void bind_dsmcp(nb::module_& m);

using OptionalSquare = std::optional<int>;

inline OptionalSquare square_or_none(Square s) { return s == kNoSquare ? OptionalSquare{} : OptionalSquare{s}; }

inline Square checked_square(OptionalSquare s) {
  if (!s) return kNoSquare;
  if (*s < 0 || *s > 63) throw std::invalid_argument("square " + std::to_string(*s) + " is not on the board (0 to 63)");
  return *s;
}

inline Move checked_move(int code) {
  if (code < 0 || code > 0xFFFF)
    throw std::invalid_argument("move code " + std::to_string(code) + " is not in 0 to 65535");
  return static_cast<Move>(code);
}

inline Step checked_step(int step) {
  if (step != 0 && step != 1)
    throw std::invalid_argument("a step is SENSE (0) or MOVE (1), not " + std::to_string(step));
  return static_cast<Step>(step);
}

inline std::vector<World> parse_fens(const std::vector<std::string>& fens) {
  std::vector<World> worlds;
  for (const std::string& fen : fens) worlds.push_back(parse_fen(fen));
  return worlds;
}

}  // namespace penumbra
