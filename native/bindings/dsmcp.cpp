// The node table, the paths through it, and actions drawn from policies.
#include "bindings/core.h"
#include "dsmcp/draw_actions.h"
#include "dsmcp/paths.h"

namespace penumbra {

namespace {

using Triples = nb::ndarray<const double, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;

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
      .def_prop_ro("used", &NodeTable::used, "Entries in use.")
      .def("new_decision", &NodeTable::new_decision, "Entries touched from now on are younger than all before.")
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
             const Triples& uniforms, double c, double m, double phi, int rule, bool root, bool visit_all, double n_vl,
             double virtual_value) {
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
                       {c, m, phi, static_cast<Rule>(rule), root, visit_all, n_vl, virtual_value}, chosen, known);
            }
            return std::make_pair(to_numpy(std::move(chosen)), to_numpy(std::move(known)));
          },
          "keys"_a, "actions"_a, "offsets"_a, "priors"_a, "values"_a, "uniforms"_a, "c"_a, "m"_a, "phi"_a, "rule"_a,
          "root"_a, "visit_all"_a, "n_vl"_a, "virtual_value"_a,
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
  nb::class_<Paths>(m, "Paths",
                    "The nodes and actions on the path of each playout of a batch, and their virtual losses.")
      .def(nb::init<NodeTable&, std::size_t, double, double>(), "table"_a, "playouts"_a, "n_vl"_a, "virtual_value"_a,
           nb::keep_alive<1, 2>())
      .def(
          "append",
          [](Paths& p, const Rows& rows, const Column<std::uint64_t>& keys, const Column<std::int32_t>& actions,
             bool ours) {
            same_length(rows.shape(0), {keys.shape(0), actions.shape(0)});
            p.append(span_of(rows), span_of(keys), span_of(actions), ours);
          },
          "rows"_a, "keys"_a, "actions"_a, "ours"_a,
          "The actions just chosen, by us or not; `select` has added their virtual loss.")
      .def(
          "visits", [](const Paths& p, const Rows& rows) { return to_numpy(p.visits(span_of(rows))); }, "rows"_a,
          "float64[B]: N of the last action of each row, its virtual loss included.")
      .def(
          "add_virtual_loss",
          [](Paths& p, const Rows& rows) {
            const nb::gil_scoped_release release;
            p.add_virtual_loss(span_of(rows));
          },
          "rows"_a, "Adds the virtual loss to every action of these rows that does not have it.")
      .def(
          "credit",
          [](Paths& p, const Rows& rows, const Column<float>& q, bool ours, const Column<double>& weights) {
            same_length(rows.shape(0), {q.shape(0), weights.shape(0)});
            const nb::gil_scoped_release release;
            p.credit(span_of(rows), span_of(q), ours, span_of(weights));
          },
          "rows"_a, "q"_a, "ours"_a, "weights"_a,
          "Adds `weights` visits of the value to every action on the path, (1 + q) / 2 for the player whose value q "
          "is\n"
          "and (1 - q) / 2 for the other, and removes its virtual loss.")
      .def("cancel", &Paths::cancel, nb::call_guard<nb::gil_scoped_release>(),
           "Removes all virtual losses that are still pending.");
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
        return to_numpy(std::move(drawn));
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

}  // namespace

void bind_dsmcp(nb::module_& m) {
  bind_node_table(m);
  bind_paths(m);
  bind_draws(m);
}

}  // namespace penumbra
