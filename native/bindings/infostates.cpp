// Batches of information states and their kernels.
#include "rbc/infostate.h"

#include <numeric>

#include "bindings/core.h"
#include "rbc/static_analysis.h"
#include "rbc/synopsis.h"

namespace penumbra {

namespace {

using PlaneArray = nb::ndarray<const std::uint64_t, nb::shape<kRemembered>, nb::c_contig, nb::device::cpu>;
using ShareArray = nb::ndarray<const std::uint8_t, nb::shape<kRememberedShares, 64>, nb::c_contig, nb::device::cpu>;

// numpy cannot hold std::vector<uint8_t> as bool, so flags travel as uint8.
template <class T>
auto copy_of(const std::vector<T>& values) {
  return to_numpy(std::vector<T>(values));
}

using OptionalRows = std::optional<Column<std::int64_t>>;

std::vector<std::int64_t> rows_or_all(const Infostates& states, const OptionalRows& rows) {
  if (rows) return {rows->data(), rows->data() + rows->shape(0)};
  std::vector<std::int64_t> all(states.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

void check_row(const Infostates& states, int row) {
  if (row < 0 || row >= states.size())
    throw nb::index_error(
        ("row " + std::to_string(row) + " is not in a batch of " + std::to_string(states.size())).c_str());
}

std::string rows_text(const Infostates& states) {
  const std::string rows = std::to_string(states.size()) + (states.size() == 1 ? " row" : " rows");
  return "<Infostates: " + rows + " of at most " + std::to_string(states.ell()) + " states each>";
}

Context make_context(OptionalSquare last_from, OptionalSquare last_to, OptionalSquare own_capture,
                     OptionalSquare opposing_capture, std::optional<PlaneArray> previous,
                     std::optional<ShareArray> previous_shares) {
  Context context;
  context.last_from = static_cast<std::int8_t>(checked_square(last_from));
  context.last_to = static_cast<std::int8_t>(checked_square(last_to));
  context.own_capture = static_cast<std::int8_t>(checked_square(own_capture));
  context.opposing_capture = static_cast<std::int8_t>(checked_square(opposing_capture));
  if (previous) std::copy_n(previous->data(), kRemembered, context.previous.planes);
  if (previous_shares)
    std::copy_n(previous_shares->data(), sizeof context.previous.shares, &context.previous.shares[0][0]);
  return context;
}

// One number for all rows, or an array with one for each.
std::vector<int> ells_of(nb::object ell, int rows) {
  if (nb::isinstance<nb::int_>(ell)) return std::vector<int>(rows, nb::cast<int>(ell));
  const auto array = nb::cast<Column<std::int32_t>>(ell);
  return {array.data(), array.data() + array.shape(0)};
}

nb::tuple settlements(std::vector<Settlement>&& settled) {
  const std::size_t n = settled.size();
  std::vector<std::uint64_t> senses(n);
  std::vector<std::int32_t> wins(n), losses(n);
  for (std::size_t i = 0; i < n; ++i) {
    senses[i] = settled[i].senses;
    wins[i] = settled[i].win;
    losses[i] = settled[i].loss;
  }
  return nb::make_tuple(to_numpy(std::move(senses)), to_numpy(std::move(wins)), to_numpy(std::move(losses)));
}

void bind_context(nb::module_& m) {
  nb::class_<Context>(m, "Context",
                      "The context of an information state: what its player remembers beside its set, in its own view.")
      .def(
          "__init__",
          [](Context* self, OptionalSquare last_from, OptionalSquare last_to, OptionalSquare own_capture,
             OptionalSquare opposing_capture, std::optional<PlaneArray> previous,
             std::optional<ShareArray> previous_shares) {
            new (self)
                Context(make_context(last_from, last_to, own_capture, opposing_capture, previous, previous_shares));
          },
          "last_from"_a = nb::none(), "last_to"_a = nb::none(), "own_capture"_a = nb::none(),
          "opposing_capture"_a = nb::none(), "previous"_a = nb::none(), "previous_shares"_a = nb::none())
      .def_prop_ro(
          "last_from", [](const Context& r) { return square_or_none(r.last_from); },
          "Where the own move taken last began.")
      .def_prop_ro(
          "last_to", [](const Context& r) { return square_or_none(r.last_to); }, "Where it ended.")
      .def_prop_ro(
          "own_capture", [](const Context& r) { return square_or_none(r.own_capture); }, "Where it captured.")
      .def_prop_ro(
          "opposing_capture", [](const Context& r) { return square_or_none(r.opposing_capture); },
          "Where the opponent's last move captured.")
      .def_prop_ro(
          "previous",
          [](const Context& r) {
            return to_numpy(std::vector<Bitboard>(r.previous.planes, r.previous.planes + kRemembered), {kRemembered});
          },
          nb::rv_policy::automatic, "uint64[18]: planes 18 to 35 at the move step of the previous turn.")
      .def_prop_ro(
          "previous_shares",
          [](const Context& r) {
            const std::uint8_t* const first = &r.previous.shares[0][0];
            return to_numpy(std::vector<std::uint8_t>(first, first + sizeof r.previous.shares),
                            {kRememberedShares, 64});
          },
          nb::rv_policy::automatic, "uint8[7, 64]: shares 104 to 110 at the move step of the previous turn.");
}

void bind_batch(nb::module_& m) {
  nb::class_<Infostates>(
      m, "Infostates",
      "A batch of approximate information states: at most `ell` world states each, and their contexts.")
      .def_static(
          "draw",
          [](const StateSet& set, int rows, int step, int ell, const Context& context, std::uint64_t seed, bool keyed,
             const Infostates* truths) {
            const Step kind = checked_step(step);
            const nb::gil_scoped_release release;
            return draw(set, rows, ell, kind, context, {seed, keyed}, truths);
          },
          "set"_a, "rows"_a, "step"_a, "ell"_a = 128, "context"_a = Context(), "seed"_a = 0, "keyed"_a = false,
          "truths"_a = nb::none(),
          "Rows that draw their states from a set. With `truths`, a batch of the other player, row r holds the state "
          "that\n"
          "its row r stands in.")
      .def_static(
          "from_fens",
          [](const std::vector<std::vector<std::string>>& rows, bool player, int step, int ell,
             std::vector<Context> contexts) {
            const int n = static_cast<int>(rows.size());
            if (!contexts.empty() && static_cast<int>(contexts.size()) != n)
              throw std::invalid_argument("there are " + std::to_string(contexts.size()) + " contexts for " +
                                          std::to_string(n) + " rows");
            Infostates out(n, ell);
            const Step kind = checked_step(step);
            for (int row = 0; row < n; ++row) {
              try {
                std::vector<World> worlds;
                for (const std::string& fen : rows[row]) worlds.push_back(parse_fen(fen));
                const StateSet set = StateSet::from_worlds(worlds, player);
                if (set.size() > static_cast<std::size_t>(ell))
                  throw std::invalid_argument(std::to_string(set.size()) + " states are more than ell");
                out.copy_row(row, draw(set, 1, ell, kind, contexts.empty() ? Context() : contexts[row], {}, nullptr),
                             0);
              } catch (const std::invalid_argument& error) {
                throw std::invalid_argument("row " + std::to_string(row) + ": " + error.what());
              }
            }
            return out;
          },
          "rows"_a, "player"_a, "step"_a, "ell"_a = 128, "contexts"_a = std::vector<Context>(),
          "One list of FENs for each row.")
      .def_static(
          "concatenate", [](const std::vector<const Infostates*>& parts) { return Infostates::concatenate(parts); },
          "parts"_a)
      .def("__len__", &Infostates::size)
      .def("__repr__", &rows_text)
      .def_prop_ro("ell", &Infostates::ell)
      .def_prop_ro(
          "counts", [](const Infostates& s) { return copy_of(s.counts); }, nb::rv_policy::automatic,
          "int32[B]: states in each row.")
      .def_prop_ro(
          "players", [](const Infostates& s) { return copy_of(s.players); }, nb::rv_policy::automatic,
          "uint8[B]: colour of the player.")
      .def_prop_ro(
          "turns", [](const Infostates& s) { return copy_of(s.turns); }, nb::rv_policy::automatic,
          "uint8[B]: colour of the player to act.")
      .def_prop_ro(
          "steps", [](const Infostates& s) { return copy_of(s.steps); }, nb::rv_policy::automatic,
          "uint8[B]: SENSE or MOVE.")
      .def(
          "context",
          [](const Infostates& s, int row) {
            check_row(s, row);
            return s.contexts[row];
          },
          "row"_a)
      .def(
          "context_after_move",
          [](const Infostates& s, int row, int taken, OptionalSquare capture) {
            check_row(s, row);
            Context context = s.contexts[row];
            context.moved({checked_move(taken), checked_square(capture)}, remembered(s.view(row)));
            return context;
          },
          "row"_a, "taken"_a, "capture"_a.none(),
          "What the player of a row before its move remembers after it: the move taken, its capture, and the planes "
          "before it.")
      .def(
          "fens",
          [](const Infostates& s, int row) {
            check_row(s, row);
            std::vector<std::string> fens;
            for (int i = 0; i < s.counts[row]; ++i) fens.push_back(to_fen(s.world(row, i)));
            return fens;
          },
          "row"_a, "The states of one row.")
      .def(
          "take",
          [](const Infostates& s, const Column<std::int64_t>& rows) {
            const nb::gil_scoped_release release;
            return s.take(span_of(rows));
          },
          "rows"_a, "A new batch of these rows (int64), which may repeat.")
      .def(
          "keys",
          [](const Infostates& s, bool with_context) {
            std::vector<std::uint64_t> keys;
            {
              const nb::gil_scoped_release release;
              keys = s.keys(with_context);
            }
            return to_numpy(std::move(keys));
          },
          "with_context"_a = false, "uint64[B]: equal for equal sets of one player at one kind of step.")
      .def(
          "synopsis",
          [](const Infostates& s, const std::vector<int>& leave_out, const OptionalRows& rows) {
            Bitboard mask[2] = {0, 0};
            for (const int p : leave_out) {
              if (p < 0 || p >= kPlanes)
                throw std::invalid_argument("plane " + std::to_string(p) + " is not in 0 to 103");
              mask[p / 64] |= bit(p % 64);
            }
            std::vector<Bitboard> planes;
            {
              const nb::gil_scoped_release release;
              planes = synopses(s, rows_or_all(s, rows), mask);
            }
            const std::size_t n = planes.size() / kPlanes;
            return to_numpy(std::move(planes), {n, kPlanes});
          },
          "leave_out"_a = std::vector<int>(), "rows"_a = nb::none(),
          "uint64[B, 104], of these rows (int64), which may repeat, or of all; planes left out are zero.")
      .def(
          "shares",
          [](const Infostates& s, const OptionalRows& rows) {
            std::vector<std::uint8_t> bytes;
            {
              const nb::gil_scoped_release release;
              bytes = shares(s, rows_or_all(s, rows));
            }
            const std::size_t n = bytes.size() / sizeof(ShareBytes);
            return to_numpy(std::move(bytes), {n, kShares, 64});
          },
          "rows"_a = nb::none(),
          "uint8[B, 46, 64]: the shares beside the synopsis, planes 104 to 149, of the same rows.")
      .def(
          "features",
          [](const Infostates& s, const std::string& synopsis, const OptionalRows& rows) {
            const SynopsisSort sort = synopsis_sort(synopsis);
            std::vector<std::uint64_t> words;
            {
              const nb::gil_scoped_release release;
              words = features(s, sort, rows_or_all(s, rows));
            }
            const std::size_t width = words_of(sort), n = words.size() / width;
            return to_numpy(std::move(words), {n, width});
          },
          "synopsis"_a = "binary", "rows"_a = nb::none(),
          "uint64[B, words], what a network reads of the same rows: some binary planes, then perhaps all shares, eight "
          "words each;\n"
          "see penumbra.rbc.synopsis.LAYOUTS.")
      .def(
          "legal",
          [](const Infostates& s, bool prune) {
            LegalActions out;
            {
              const nb::gil_scoped_release release;
              out = legal(s, prune);
            }
            return nb::make_tuple(to_numpy(std::move(out.actions)), to_numpy(std::move(out.offsets)));
          },
          "prune"_a = false,
          nb::sig("def legal(self, prune: bool = False) -> tuple[numpy.typing.NDArray[numpy.int32], "
                  "numpy.typing.NDArray[numpy.int64]]"),
          "Actions of all rows and where each row's begin, int32 and int64[B + 1]. `prune`: without dominated senses.")
      .def(
          "settle",
          [](const Infostates& s, bool senses) {
            std::vector<Settlement> settled;
            {
              const nb::gil_scoped_release release;
              settled = settle(s, senses);
            }
            return settlements(std::move(settled));
          },
          "senses"_a = true,
          nb::sig("def settle(self, senses: bool = True) -> tuple[numpy.typing.NDArray[numpy.uint64], "
                  "numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.int32]]"),
          "For each row: senses worth making (uint64), an action that surely wins the player to act the game (now, or "
          "after\n"
          "the sense whatever it shows), and one by which the opponent to act can take the king in every state; -1: "
          "none.");
}

}  // namespace

void bind_infostates(nb::module_& m) {
  bind_context(m);
  bind_batch(m);
  m.def(
      "synopsis_layout",
      [](const std::string& synopsis) {
        const SynopsisSort sort = synopsis_sort(synopsis);
        const std::span<const int> planes = binary_planes(sort);
        return std::make_pair(std::vector<int>(planes.begin(), planes.end()), has_shares(sort));
      },
      "synopsis"_a, "Of one sort of synopsis, the numbers of its binary planes, and whether it has the shares.");
  m.def(
      "advance",
      [](const Infostates& actor, const Infostates& other, const Column<std::int32_t>& actions, nb::object actor_ell,
         nb::object other_ell, std::uint64_t seed, bool keyed) {
        const auto mine = ells_of(actor_ell, actor.size()), theirs = ells_of(other_ell, actor.size());
        std::optional<Advanced> out;
        {
          const nb::gil_scoped_release release;
          out.emplace(advance(actor, other, span_of(actions), mine, theirs, {seed, keyed}));
        }
        return nb::make_tuple(std::move(out->actor), std::move(out->other), to_numpy(std::move(out->ended)));
      },
      "actor"_a, "other"_a, "actions"_a, "actor_ell"_a = 128, "other_ell"_a = 128, "seed"_a = 0, "keyed"_a = false,
      nb::sig(
          "def advance(actor: Infostates, other: Infostates, actions: numpy.typing.NDArray[numpy.int32], actor_ell: "
          "int | numpy.typing.NDArray[numpy.int32] = 128, other_ell: int | numpy.typing.NDArray[numpy.int32] = 128, "
          "seed: int = 0, keyed: bool = False) -> tuple[Infostates, Infostates, numpy.typing.NDArray[numpy.uint8]]"),
      "Plays one action per row on the true state, which is where the two rows stand. Returns the two batches after it "
      "and\n"
      "where the actor took the king (such rows stay as they were). `actor_ell` and `other_ell` are one number or one "
      "per row.");
}

}  // namespace penumbra
