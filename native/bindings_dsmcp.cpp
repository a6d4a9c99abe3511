// The Python face of the node table, of the paths through it and of the kernels on particles.
#include <numeric>

#include "bindings.h"
#include "dsmcp/draw_actions.h"
#include "dsmcp/paths.h"
#include "rbc/particles.h"

namespace penumbra {

namespace {

using namespace nb::literals;

template <class T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Triples = nb::ndarray<const double, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<const T> span_of(const Column<T>& a) {
  return {a.data(), a.shape(0)};
}

void same_length(std::size_t rows, std::initializer_list<std::size_t> others) {
  for (const std::size_t n : others)
    if (n != rows)
      throw std::invalid_argument("columns differ in length: " + std::to_string(rows) + " and " + std::to_string(n));
}

void check_offsets(std::span<const std::int64_t> offsets, std::size_t actions) {
  if (offsets.empty() || offsets.front() != 0 || offsets.back() != static_cast<std::int64_t>(actions))
    throw std::invalid_argument("the offsets do not run from 0 to the number of actions");
  for (std::size_t row = 0; row + 1 < offsets.size(); ++row)
    if (offsets[row] >= offsets[row + 1]) throw std::invalid_argument("row " + std::to_string(row) + " has no actions");
}

void bind_node_table(nb::module_& m) {
  nb::class_<NodeTable>(m, "NodeTable",
                        "N, Q and the least value of (information state, action), in a table of fixed size.")
      .def(nb::init<std::size_t>(), "entries"_a)
      .def_prop_ro("entries", &NodeTable::entries)
      .def_prop_ro("used", &NodeTable::used)
      .def("new_decision", &NodeTable::new_decision, "Entries touched from now on are younger than all before.")
      .def(
          "forget",
          [](NodeTable& t, std::uint64_t key, const Column<std::int32_t>& actions) { t.forget(key, span_of(actions)); },
          "key"_a, "actions"_a)
      .def(
          "get",
          [](const NodeTable& t, std::uint64_t key, std::int32_t action) {
            const Statistics s = t.get(key, action);
            return std::make_tuple(s.n, s.q, s.least);
          },
          "key"_a, "action"_a, "(N, Q, least value).")
      .def(
          "statistics",
          [](const NodeTable& t, std::uint64_t key, const Column<std::int32_t>& actions) {
            const std::size_t n = actions.shape(0);
            std::vector<double> out(3 * n);
            for (std::size_t i = 0; i < n; ++i) {
              const Statistics s = t.get(key, actions.data()[i]);
              out[3 * i] = s.n;
              out[3 * i + 1] = s.q;
              out[3 * i + 2] = s.least;
            }
            return to_numpy(std::move(out), {n, 3});
          },
          "key"_a, "actions"_a, "float64[A, 3]: N, Q and least value of each action of one node.")
      .def(
          "select",
          [](NodeTable& t, const Column<std::uint64_t>& keys, const Column<std::int32_t>& actions,
             const Column<std::int64_t>& offsets, const Column<float>& priors, const Column<float>& values,
             const Triples& uniforms, double c, double m, double paranoia, int rule, bool root, bool visit_all,
             double virtual_loss, double virtual_value) {
            const std::size_t rows = keys.shape(0);
            same_length(rows, {values.shape(0), uniforms.shape(0), offsets.shape(0) - 1});
            same_length(actions.shape(0), {priors.shape(0)});
            if (rule != 0 && rule != 1) throw std::invalid_argument("the rule is 0 (UCB1) or 1 (aVoP)");
            if (offsets.data()[rows] != static_cast<std::int64_t>(actions.shape(0)))
              throw std::invalid_argument("the last offset is not the number of actions");
            std::vector<std::int32_t> chosen(rows);
            std::vector<std::uint8_t> known(rows);
            {
              const nb::gil_scoped_release release;
              t.select(span_of(keys), span_of(actions), span_of(offsets), span_of(priors), span_of(values),
                       {uniforms.data(), 3 * rows},
                       {c, m, paranoia, static_cast<Rule>(rule), root, visit_all, virtual_loss, virtual_value}, chosen,
                       known);
            }
            return std::make_pair(to_numpy(std::move(chosen), {rows}), to_numpy(std::move(known), {rows}));
          },
          "keys"_a, "actions"_a, "offsets"_a, "priors"_a, "values"_a, "uniforms"_a, "c"_a, "m"_a, "paranoia"_a,
          "rule"_a, "root"_a, "visit_all"_a, "virtual_loss"_a, "virtual_value"_a,
          "Algorithm 1, row after row: the actions chosen, and whether the nodes were known.")
      .def(
          "add",
          [](NodeTable& t, const Column<std::uint64_t>& keys, const Column<std::int32_t>& actions,
             const Column<double>& visits, const Column<double>& values, const Column<float>& least) {
            same_length(keys.shape(0), {actions.shape(0), visits.shape(0), values.shape(0), least.shape(0)});
            const nb::gil_scoped_release release;
            std::vector<Update> updates(keys.shape(0));
            for (std::size_t i = 0; i < updates.size(); ++i)
              updates[i] = {keys.data()[i], actions.data()[i], visits.data()[i], values.data()[i], least.data()[i]};
            t.add(updates);
          },
          "keys"_a, "actions"_a, "visits"_a, "values"_a, "least"_a);
}

void bind_paths(nb::module_& m) {
  using Rows = Column<std::int64_t>;
  nb::class_<Paths>(m, "Paths", "Nodes and actions on the way of each playout of a batch, and what is lent to them.")
      .def(nb::init<NodeTable&, std::size_t, double, double>(), "table"_a, "playouts"_a, "virtual_loss"_a,
           "virtual_value"_a, nb::keep_alive<1, 2>())
      .def(
          "append",
          [](Paths& p, const Rows& rows, const Column<std::uint64_t>& keys, const Column<std::int32_t>& actions,
             bool ours) {
            same_length(rows.shape(0), {keys.shape(0), actions.shape(0)});
            p.append(span_of(rows), span_of(keys), span_of(actions), ours);
          },
          "rows"_a, "keys"_a, "actions"_a, "ours"_a,
          "The actions just chosen, by us or not; the bandit has lent them their virtual loss.")
      .def(
          "visits",
          [](const Paths& p, const Rows& rows) {
            const std::size_t n = rows.shape(0);
            return to_numpy(p.visits(span_of(rows)), {n});
          },
          "rows"_a, "float64[B]: N of the last action of each row, its virtual loss included.")
      .def(
          "lose_virtually",
          [](Paths& p, const Rows& rows) {
            const nb::gil_scoped_release release;
            p.lose_virtually(span_of(rows));
          },
          "rows"_a, "Lends the virtual loss to every action of these rows that does not have it.")
      .def(
          "credit",
          [](Paths& p, const Rows& rows, const Column<float>& q, bool ours, const Column<double>& weights) {
            same_length(rows.shape(0), {q.shape(0), weights.shape(0)});
            const nb::gil_scoped_release release;
            p.credit(span_of(rows), span_of(q), ours, span_of(weights));
          },
          "rows"_a, "q"_a, "ours"_a, "weights"_a,
          "Adds `weights` visits of the value to every action on the way, (1 + q) / 2 for the player whose value q is\n"
          "and (1 - q) / 2 for the other, and takes back what was lent.")
      .def("cancel", &Paths::cancel, nb::call_guard<nb::gil_scoped_release>(), "Takes back all that is still lent.");
}

void bind_draws(nb::module_& m) {
  m.def(
      "draw_actions",
      [](const Column<std::int32_t>& actions, const Column<std::int64_t>& offsets, const Column<float>& priors,
         const Column<std::int64_t>& rows, const Column<double>& uniforms) {
        same_length(actions.shape(0), {priors.shape(0)});
        same_length(rows.shape(0), {uniforms.shape(0)});
        check_offsets(span_of(offsets), actions.shape(0));
        std::vector<std::int32_t> drawn;
        {
          const nb::gil_scoped_release release;
          drawn = draw_actions(span_of(actions), span_of(offsets), span_of(priors), span_of(rows), span_of(uniforms));
        }
        const std::size_t n = drawn.size();
        return to_numpy(std::move(drawn), {n});
      },
      "actions"_a, "offsets"_a, "priors"_a, "rows"_a, "uniforms"_a,
      nb::sig(
          "def draw_actions(actions: numpy.typing.NDArray[numpy.int32], offsets: numpy.typing.NDArray[numpy.int64], "
          "priors: numpy.typing.NDArray[numpy.float32], rows: numpy.typing.NDArray[numpy.int64], uniforms: "
          "numpy.typing.NDArray[numpy.float64]) -> numpy.typing.NDArray[numpy.int32]"),
      "int32[B]: an action for each of `rows` (int64), which may repeat, drawn in proportion to the row's priors by a "
      "uniform\n"
      "number below 1.");
}

auto flags(std::vector<std::uint8_t>&& values) {
  const std::size_t n = values.size();
  return to_numpy(std::move(values), {n});
}

void bind_particles(nb::module_& m) {
  m.def(
      "meets",
      [](const Infostates& particles, const StateSet& set) {
        std::vector<std::uint8_t> out;
        {
          const nb::gil_scoped_release release;
          out = meets(particles, set);
        }
        return flags(std::move(out));
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
        return flags(std::move(out));
      },
      "particles"_a, "before"_a, "after"_a, "actions"_a, "rows"_a = nb::none(),
      "uint8[B]: would each action, played where its particle and `before` stand, lead into `after`? The actions are "
      "those\n"
      "of particles `rows` (int64), which may repeat, or of all.");
  m.def(
      "advance_particles",
      [](const Infostates& particles, const Column<std::int64_t>& rows, const StateSet& set, int step,
         const Column<std::int32_t>& actions, int limit, std::uint64_t seed, bool keyed) {
        const nb::gil_scoped_release release;
        return advance_particles(particles, span_of(rows), set, static_cast<Step>(step != 0), span_of(actions), limit,
                                 {seed, keyed});
      },
      "particles"_a, "rows"_a, "set"_a, "step"_a, "actions"_a, "limit"_a = 128, "seed"_a = 0, "keyed"_a = false,
      "Particles `rows`, which may repeat, after these actions of whoever is to act where they and the set stand: as "
      "`advance`\n"
      "moves them on, the set's owner knowing the true state. Rows whose action takes the king stay as they were.");
  m.def(
      "singletons",
      [](const StateSet* before, const StateSet& after, int rows, int step, int limit, OptionalSquare capture,
         std::uint64_t seed) {
        const Square square = square_or_none(capture);
        const nb::gil_scoped_release release;
        return singletons(before, after, rows, limit, static_cast<Step>(step != 0), square, seed);
      },
      "before"_a.none(), "after"_a, "rows"_a, "step"_a, "limit"_a = 128, "capture"_a = nb::none(), "seed"_a = 0,
      "Particles that know the one state of `after` they stand in.");
}

}  // namespace

void bind_dsmcp(nb::module_& m) {
  bind_node_table(m);
  bind_paths(m);
  bind_draws(m);
  bind_particles(m);
}

}  // namespace penumbra
