// Static analysis of whole sets.
#include "rbc/static_analysis.h"

#include "bindings/core.h"

namespace penumbra {

void bind_static_analysis(nb::module_& m) {
  m.def(
      "settle_set",
      [](const StateSet& set, int step, bool senses) {
        const Step kind = checked_step(step);
        Settlement settled;
        {
          const nb::gil_scoped_release release;
          settled = settle(set.own(), set.states(), set.owner() == set.turn(), kind, senses);
        }
        return nb::make_tuple(settled.senses, settled.win, settled.loss);
      },
      "set"_a, "step"_a, "senses"_a = true,
      nb::sig("def settle_set(set: StateSet, step: int, senses: bool = True) -> tuple[int, int, int]"),
      "Infostates.settle for a whole set.");
  m.def(
      "danger",
      [](const StateSet& set, const Column<std::int32_t>& moves) {
        if (set.owner() != set.turn()) throw std::invalid_argument("the owner of the set is not to move");
        const std::span<const Action> asked = span_of(moves);
        for (const Action move : asked)
          if (!is_move(set.own(), move))
            throw std::invalid_argument("action " + std::to_string(move) + " is not a listed move");
        std::vector<float> shares;
        {
          const nb::gil_scoped_release release;
          shares = danger(set.own(), set.states(), asked);
        }
        return to_numpy(std::move(shares));
      },
      "set"_a, "moves"_a,
      nb::sig("def danger(set: StateSet, moves: numpy.typing.NDArray[numpy.int32]) -> "
              "numpy.typing.NDArray[numpy.float32]"),
      "Of each move of the owner's the share of the states in which it leaves the king where the opponent can take it "
      "at once, less the share in which it takes the opponent's; never below 0.");
}

}  // namespace penumbra
