// The search for single states.
#include "rbc/engine.h"

#include "rbc/evaluation.h"

#include "bindings/core.h"

namespace penumbra {

namespace {

EngineLimits checked(int depth, std::int64_t nodes, int least = 1) {
  if (depth < least)
    throw std::invalid_argument("the engine's depth must be at least " + std::string(least ? "one" : "zero") +
                                ", not " + std::to_string(depth));
  if (nodes < 1) throw std::invalid_argument("the engine's nodes must be at least one, not " + std::to_string(nodes));
  return {depth, nodes};
}

}  // namespace

void bind_engine(nb::module_& m) {
  m.attr("KING_TAKEN") = kKingTaken;
  m.def(
      "engine_evaluate",
      [](const std::string& fen) {
        const World world = parse_fen(fen);
        return evaluate(world.sides[world.turn], world.sides[!world.turn]);
      },
      "fen"_a, "Hundredths of a pawn for the player to move, without search.");
  m.def(
      "engine_evaluate_fitted",
      [](const std::string& fen) {
        const World world = parse_fen(fen);
        return evaluate_fitted(world.sides[world.turn], world.sides[!world.turn]);
      },
      "fen"_a, "The same by the fitted weights, as a search with a margin does.");
  m.def(
      "engine_scores",
      [](const StateSet& set, const Column<std::int32_t>& actions, int depth, std::int64_t nodes, int margin) {
        EngineLimits limits = checked(depth, nodes);
        if (margin < 0)
          throw std::invalid_argument("the margin is " + std::to_string(margin) + "; it must not be negative");
        limits.margin = margin;
        std::vector<Move> requests;
        for (const Action action : span_of(actions)) {
          if (!is_move(set.own(), action))
            throw std::invalid_argument("action " + std::to_string(action) + " is not a listed move");
          requests.push_back(move_of(action));
        }
        std::vector<std::int32_t> scores;
        {
          const nb::gil_scoped_release release;
          scores = score_requests(set.own(), set.states(), requests, limits);
        }
        return to_numpy(std::move(scores), {set.size(), requests.size()});
      },
      "set"_a, "actions"_a, "depth"_a = 2, "nodes"_a = 20000, "margin"_a = 0,
      "int32[states, actions]: the score of every move of the set's owner in every state. With a margin, those of "
      "moves\n"
      "that much worse than a state's best are bounds from above.");
  m.def(
      "engine_values",
      [](const StateSet& set, int depth, std::int64_t nodes) {
        const EngineLimits limits = checked(depth, nodes, 0);
        std::vector<std::int32_t> values;
        {
          const nb::gil_scoped_release release;
          values = state_values(set.own(), set.states(), set.turn() == set.owner(), limits);
        }
        return to_numpy(std::move(values));
      },
      "set"_a, "depth"_a = 2, "nodes"_a = 20000,
      "int32[states]: the value of every state for the player to move; at depth 0, of captures and new queens alone.");
  m.def(
      "hunt_king",
      [](const std::string& fen, int max_moves) {
        const World world = parse_fen(fen);
        const nb::gil_scoped_release release;
        const Hunt hunt = hunt_king(world.sides[world.turn], world.sides[!world.turn], max_moves);
        return std::make_pair(hunt.moves, action_of(hunt.first));
      },
      "fen"_a, "max_moves"_a = 4,
      "The fewest moves that take the king if the opponent passes (0: more than `max_moves`), and the first as an "
      "action.");
}

}  // namespace penumbra
