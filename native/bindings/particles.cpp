// Particles of a belief.
#include "rbc/particles.h"

#include <numeric>

#include "bindings/core.h"

namespace penumbra {

void bind_particles(nb::module_& m) {
  m.def(
      "meets",
      [](const Infostates& particles, const StateSet& set) {
        std::vector<std::uint8_t> out;
        {
          const nb::gil_scoped_release release;
          out = meets(particles, set);
        }
        return to_numpy(std::move(out));
      },
      "particles"_a, "set"_a, "uint8[B]: is the state where each particle and the set stand possible for both?");
  m.def(
      "leads_into",
      [](const Infostates& particles, const StateSet& before, const StateSet& after,
         const Column<std::int32_t>& actions, std::optional<Column<std::int64_t>> rows) {
        std::vector<std::uint8_t> out;
        {
          const nb::gil_scoped_release release;
          std::vector<std::int64_t> each;
          if (!rows) {
            each.resize(particles.size());
            std::iota(each.begin(), each.end(), 0);
          }
          out = leads_into(particles, rows ? span_of(*rows) : each, before, after, span_of(actions));
        }
        return to_numpy(std::move(out));
      },
      "particles"_a, "before"_a, "after"_a, "actions"_a, "rows"_a = nb::none(),
      "uint8[B]: would each action, played where its particle and `before` stand, lead into `after`? The actions are "
      "those\n"
      "of particles `rows` (int64), which may repeat, or of all.");
  m.def(
      "advance_particles",
      [](const Infostates& particles, const Column<std::int64_t>& rows, const StateSet& set, int step,
         const Column<std::int32_t>& actions, int ell, std::uint64_t seed, bool keyed) {
        const Step kind = checked_step(step);
        const nb::gil_scoped_release release;
        return advance_particles(particles, span_of(rows), set, kind, span_of(actions), ell, {seed, keyed});
      },
      "particles"_a, "rows"_a, "set"_a, "step"_a, "actions"_a, "ell"_a = 128, "seed"_a = 0, "keyed"_a = false,
      "Particles `rows`, which may repeat, after these actions of whoever is to act where they and the set stand: as "
      "`advance`\n"
      "moves them on, the set's owner knowing the true state. Rows whose action takes the king stay as they were.");
  m.def(
      "singletons",
      [](const StateSet* before, const StateSet& after, int rows, int step, int ell, OptionalSquare capture,
         std::uint64_t seed) {
        const Square square = checked_square(capture);
        const Step kind = checked_step(step);
        const nb::gil_scoped_release release;
        return singletons(before, after, rows, ell, kind, square, seed);
      },
      "before"_a.none(), "after"_a, "rows"_a, "step"_a, "ell"_a = 128, "capture"_a = nb::none(), "seed"_a = 0,
      "Particles that know the one state of `after` they stand in.");
}

}  // namespace penumbra
